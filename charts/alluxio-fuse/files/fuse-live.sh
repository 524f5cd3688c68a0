# Alive: the mount is in the kernel's table, and the local FUSE process answers on its own port. Asks nothing of masters, workers or
# the under store, and never touches the mount, so it cannot hang.  usage: fuse-live.sh MOUNT_POINT PORT
point=$1 port=$2
if ! awk -v point="$point" '$5 == point {type = ""; for (i = 7; i <= NF; i++) if ($i == "-") type = $(i + 1)} END {exit (type !~ /^fuse/)}' /proc/self/mountinfo; then
  echo "nothing of type fuse is mounted at $point"
  exit 1
fi
if ! exec 3<>"/dev/tcp/127.0.0.1/$port"; then
  echo "the FUSE process does not listen on $port"
  exit 1
fi
printf 'GET / HTTP/1.0\r\n\r\n' >&3
if ! read -r -t 10 -u 3 line; then
  echo "the FUSE process did not answer on $port within 10 s"
  exit 1
fi
