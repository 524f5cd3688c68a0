# Reads a dataset as a consumer does, and fails when it is not the dataset, not whole, or too slow.
# usage: test-read.sh MOUNT_POINT DATASET BYTES MEGABYTES_PER_SECOND     environment: DIGESTS (lines of sha256sum, may be empty)
set -euo pipefail
point=$1 dataset=$2 bytes=$3 least=$4

deadline=$((SECONDS + 300))
mounted() { awk -v point="$point" '$5 == point {$1 = $2 = $3 = $4 = $5 = ""; sub(/.* - /, ""); found = $0} END {print found; exit !found}' /proc/self/mountinfo; }
until mounted >/dev/null; do
  [ $SECONDS -lt $deadline ] || { echo "no mount of $dataset appeared at $point within 300 s"; exit 1; }
  sleep 1
done
echo "$dataset: $(mounted)"

if [ -n "${DIGESTS//[[:space:]]/}" ]; then
  (cd "$point" && grep . <<<"$DIGESTS" | sha256sum --check --strict)
fi

read_bytes=0 files=0 started=${EPOCHREALTIME/./}
while IFS= read -r -d '' file; do
  size=$(stat --format=%s "$file")
  got=$(head -c $((bytes - read_bytes)) "$file" | wc -c)
  want=$((size < bytes - read_bytes ? size : bytes - read_bytes))
  [ "$got" = "$want" ] || { echo "$file: read $got of $want bytes"; exit 1; }
  read_bytes=$((read_bytes + got)) files=$((files + 1))
  [ $read_bytes -lt "$bytes" ] || break
done < <(find "$point" -type f -print0)
microseconds=$((${EPOCHREALTIME/./} - started))
[ $read_bytes -gt 0 ] || { echo "$dataset: no file with data below $point"; exit 1; }

speed=$((read_bytes / microseconds))
echo "$dataset: read $files files, $read_bytes bytes in $((microseconds / 1000)) ms: $speed MB/s (one reader)"
[ $speed -ge "$least" ] || { echo "$dataset: slower than tests.minMBps $least"; exit 1; }
