# Claims the folder that a dataset's readers enter, in which its copy is mounted.   usage: stage-prepare.sh [PARENT UID GID MODE OWNER]...
set -euo pipefail
. "${0%/*}/claim.sh"
while [ $# -gt 0 ]; do
  claim "$1" "$1" "$5" fuse.mountRoot data
  chown "$2:$3" "$1"
  chmod "$4" "$1"
  shift 5
done
