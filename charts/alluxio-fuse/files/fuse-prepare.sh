# Makes a dataset's folder on the node: the parent for its readers, and in it a mount point that nobody can fill while nothing is mounted.
# usage: fuse-prepare.sh PARENT UID GID MODE OWNER [CACHE NAME_OF_CACHE]     OWNER: who a folder belongs to, written into it; NAME_OF_CACHE: its path on the node
set -euo pipefail
parent=$1 uid=$2 gid=$3 mode=$4 owner=$5 cache=${6:-}
. "${0%/*}/claim.sh"

mounted() { awk -v point="$parent/data" '$5 == point {found = 1} END {exit !found}' /proc/self/mountinfo; }

if [ -L "$parent/data" ]; then
  echo "$parent/data on this node is a symbolic link, and a mount would follow it: look where it leads, take it away" >&2
  exit 1
fi
empty=''
mounted || [ -n "$(ls -A "$parent/data" 2>/dev/null)" ] || empty=data
claim "$parent" "$parent" "$owner" fuse.mountRoot "$empty"
chown "$uid:$gid" "$parent"
chmod "$mode" "$parent"
# A mount that a dead process left cannot be touched here: the image's entrypoint clears it.
if ! mounted; then
  mkdir -p "$parent/data"
  if [ -n "$(ls -A "$parent/data")" ]; then
    echo "$parent/data on this node is not empty, so a mount would hide files: move them away" >&2
    exit 1
  fi
  # Where a copy was mounted before, it is immutable.
  [ "$(stat -c %a "$parent/data")" = 555 ] || chmod 0555 "$parent/data"
fi
if [ -n "$cache" ]; then
  claim "$cache" "${7:-$cache}" "$owner" fuse.clientCache.hostPath
fi
