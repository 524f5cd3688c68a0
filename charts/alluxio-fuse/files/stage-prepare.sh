# Claims the folders that readers of staged datasets enter, in which copies are mounted, and those of the copies themselves.
# usage: stage-prepare.sh [readers PARENT UID GID MODE OWNER | own FOLDER OWNER VALUE EXCEPT]...     VALUE, EXCEPT: as claim.sh has them
set -euo pipefail
. "${0%/*}/claim.sh"
mounted() { awk -v point="$1" '$5 == point {found = 1} END {exit !found}' /proc/self/mountinfo; }

while [ $# -gt 0 ]; do
  case $1 in
    readers)
      mkdir -p "$2"
      claim "$2" "$2" "$6" fuse.mountRoot data
      chown "$3:$4" "$2"
      chmod "$5" "$2"
      # On a mount that a dead process left, mkdir fails.
      mounted "$2/data" || [ -d "$2/data" ] || mkdir --mode=0555 "$2/data"
      shift 6 ;;
    own)
      mkdir -p "$2"
      claim "$2" "$2" "$3" "$4" "$5"
      shift 5 ;;
    *) echo "stage-prepare.sh: unknown word $1" >&2; exit 1 ;;
  esac
done
