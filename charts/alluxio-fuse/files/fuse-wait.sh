# Waits until Alluxio has something mounted at PATH, or URI alone: what is listed of a former source stays listed.   usage: fuse-wait.sh PATH [URI]
set -euo pipefail
export ALLUXIO_USER_JAVA_OPTS=-Xmx96m
said=''
while true; do
  table=$(timeout 120 "${ALLUXIO_HOME:-/opt/alluxio}/bin/alluxio" fs mount 2>&1) || table="the master does not answer: $(grep -m 1 -o -E '^Failed.{0,120}' <<<"$table" || echo "nothing within 120 s")"
  awk -v path="$1" -v uri="${2:-}" '{sub("/$", "", $1)} $2 == "on" && $3 == path && (uri == "" || $1 == uri) {found = 1} END {exit !found}' <<<"$table" && exit 0
  case $table in "the master"*) now=$table ;; *) now="${2:+$2 at }$1 is not mounted in Alluxio yet: the log of the mounts deployment says why" ;; esac
  [ "$now" = "$said" ] || echo "$now"
  said=$now
  sleep 3
done
