# What is mounted at a path, and how a dead FUSE mount of ours is cleared. Sourced by entrypoint.sh.
# shellcheck shell=bash

# mounted_at PATH: "TYPE SOURCE" of the topmost mount at exactly PATH; nothing when none.
mounted_at() {
  local path found='' line point rest
  # Not the path itself: a dead mount cannot be looked at.
  path=$(realpath --canonicalize-missing "$(dirname "$1")")
  path=${path%/}/$(basename "$1")
  while read -r line; do
    point=$(cut -d' ' -f5 <<< "$line")
    [[ $(printf '%b' "${point//\\/\\0}") == "$path" ]] || continue
    rest=${line#* - }
    found=$(cut -d' ' -f1,2 <<< "$rest")
  done < /proc/self/mountinfo
  echo "$found"
}

# is_ours MOUNT: whether a "TYPE SOURCE" is a mount that AlluxioFuse made.
is_ours() { [[ $1 == "fuse.alluxio-fuse "* ]]; }

# is_dead PATH: whether the process that served the mount at PATH is gone.
is_dead() { [[ $(LC_ALL=C timeout 10 stat --file-system "$1" 2>&1) == *"Transport endpoint is not connected"* ]]; }

detach() { umount --lazy "$1" 2> /dev/null || fusermount3 -u -z "$1"; }

# clear_mount_point PATH: returns 0 with nothing mounted at PATH, or says why not.
clear_mount_point() {
  local path=$1 mount
  while mount=$(mounted_at "$path") && [[ -n $mount ]]; do
    is_ours "$mount" || { echo "$path is a mount point of something else ($mount): unmount it or choose another mount point" >&2; return 1; }
    is_dead "$path" || { echo "$path is served by another running alluxio-fuse: stop it or choose another mount point" >&2; return 1; }
    echo "clearing the mount that a dead alluxio-fuse left at $path"
    detach "$path"
  done
}
