# What is mounted at a path, and how a dead FUSE mount of ours is cleared. Sourced by entrypoint.sh and alluxio-fuse.
# shellcheck shell=bash

# mount_entry PATH: "TYPE SOURCE DEVICE" of the topmost mount at exactly PATH; nothing when none.
mount_entry() {
  local path found='' line point rest
  # Not the path itself: a dead mount cannot be looked at.
  path=$(realpath --canonicalize-missing "$(dirname "$1")")
  path=${path%/}/$(basename "$1")
  while read -r line; do
    point=$(cut -d' ' -f5 <<< "$line")
    [[ $(printf '%b' "${point//\\/\\0}") == "$path" ]] || continue
    rest=${line#* - }
    found="$(cut -d' ' -f1,2 <<< "$rest") $(cut -d' ' -f3 <<< "$line")"
  done < /proc/self/mountinfo
  echo "$found"
}

# mounted_at PATH: "TYPE SOURCE" of that mount.
mounted_at() {
  local entry
  entry=$(mount_entry "$1")
  echo "${entry% *}"
}

# is_ours MOUNT: whether a "TYPE SOURCE" is a mount that AlluxioFuse made.
is_ours() { [[ $1 == "fuse.alluxio-fuse "* ]]; }

# is_dead PATH: whether the process that served the mount at PATH is gone.
is_dead() { [[ $(LC_ALL=C timeout 10 stat --file-system "$1" 2>&1) == *"Transport endpoint is not connected"* ]]; }

# serves PATH: whether an alluxio-fuse answers there.
serves() { is_ours "$(mounted_at "$1")" && timeout 10 stat --file-system "$1" > /dev/null 2>&1; }

# apply_settings PATH FILE: gives the kernel's side of the mount at PATH what FILE says, a KEY=AMOUNT per line. A container's /sys
# cannot be written to, so it is mounted anew for as long as it takes; a mount without its settings serves all the same.
# What others mounted over it keeps theirs: it may be a disk.
apply_settings() {
  local mount device key amount folder sys=/sys control=/sys/fs/fuse/connections
  mount=$(mount_entry "$1")
  device=${mount##* }
  [[ -r $2 && -n $device ]] || return 0
  is_ours "$mount" || { echo "$1: no settings, something else is mounted over it ($mount)" >&2; return 0; }
  folder=$(mktemp -d)
  mkdir "$folder/sys" "$folder/control"
  if [[ ! -w $sys/class/bdi/$device/read_ahead_kb ]]; then
    mount -t sysfs none "$folder/sys" && sys=$folder/sys
  fi
  if [[ ! -w $control/${device#*:}/max_background ]]; then
    mount -t fusectl none "$folder/control" && control=$folder/control
  fi
  while IFS='=' read -r key amount; do
    case $key in
      read_ahead_kb) echo "$amount" > "$sys/class/bdi/$device/$key" ;;
      max_background | congestion_threshold) echo "$amount" > "$control/${device#*:}/$key" ;;
    esac || echo "$1: $key could not be set to $amount" >&2
  done < "$2"
  for key in sys control; do
    ! mountpoint --quiet "$folder/$key" || umount "$folder/$key"
  done
  rm -r --one-file-system "$folder"
}

unmount() { umount "$1" 2> /dev/null || fusermount3 -u "$1" 2> /dev/null; }

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
