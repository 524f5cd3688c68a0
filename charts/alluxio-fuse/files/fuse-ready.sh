# Ready: the mount answers within the time. A stat that hangs is left behind, and no second one is started beside it.
# usage: fuse-ready.sh MOUNT_POINT SECONDS
point=$1 seconds=$2 pending=/tmp/fuse-ready.pid
if [ -e "$pending" ] && [ "$(cat "/proc/$(cat "$pending")/comm" 2>/dev/null)" = stat ]; then
  echo "an earlier stat of $point still waits"
  exit 1
fi
stat --format=%F "$point" >/tmp/fuse-ready.out 2>&1 &
echo $! >"$pending"
for _ in $(seq $((seconds * 10))); do
  if ! kill -0 $! 2>/dev/null; then
    wait $! && grep -q directory /tmp/fuse-ready.out && grep -q " $point .* - fuse" /proc/self/mountinfo && exit 0
    cat /tmp/fuse-ready.out
    exit 1
  fi
  sleep 0.1
done
echo "$point did not answer within $seconds s"
exit 1
