# Refuses to start on the wrong storage.
# usage: verify.sh [storage FOLDER POINT NAME_OF_POINT | own FOLDER NAME OWNER | marker FILE SHA256]...     NAME, NAME_OF_POINT: paths on the node
set -euo pipefail
. "${0%/*}/claim.sh"
refuse() { echo "$*" >&2; exit 1; }

# A folder bound from the host shows, as the fourth field, where it lies in its filesystem: "/" when it is a mount point there.
# On btrfs that is the subvolume's name; the root of a subvolume has inode 256.
is_mount_point() {
  local root type
  read -r root type < <(awk -v at="$1" '$5 == at {root = $4; for (i = 7; i <= NF; i++) if ($i == "-") type = $(i + 1)} END {print root, type}' /proc/self/mountinfo)
  [ "$root" = / ] || [ "$type:$(stat -c %i "$1")" = btrfs:256 ]
}

own() {
  claim "$1" "$2" "$3" worker.tiers[].hostPath
  chown 1000:1000 "$1"
}

while [ $# -gt 0 ]; do
  case $1 in
    storage)
      is_mount_point "$3" || refuse "$NODE_NAME: nothing is mounted at $4, so the cache would fill the node's own disk: mount the device there, or correct hostPath.mountPoint"
      [ "$(stat -c %d "$2")" = "$(stat -c %d "$3")" ] || refuse "$NODE_NAME: $2 is not on the filesystem that is mounted at $4: correct hostPath.path"
      shift 4 ;;
    own) own "$2" "$3" "$4"; shift 4 ;;
    marker)
      [ -e "$2" ] || refuse "$NODE_NAME: $2 is missing, so this is not the dataset's filesystem: mount it on the node, or correct the dataset's volume"
      [ "$(sha256sum <"$2")" = "$3  -" ] || refuse "$NODE_NAME: $2 has another digest than the dataset's marker: this node sees another filesystem"
      shift 3 ;;
    *) refuse "verify.sh: unknown word $1" ;;
  esac
done
