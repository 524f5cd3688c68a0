#!/usr/bin/env bash
# The verbs and environment variables of Alluxio's official 2.9 image. README.md says where this one is stricter.
set -euo pipefail
ALLUXIO_HOME=/opt/alluxio
# shellcheck source=images/alluxio/libexec/mounts.sh
. "$ALLUXIO_HOME/libexec/mounts.sh"

usage() {
  cat << 'USAGE'
Usage: VERB [OPTION]

  master [--no-format]         master and job master; an empty journal is formatted first
  master-only [--no-format]    the master alone
  job-master
  worker [--no-format]         worker and job worker; the worker's storage is emptied first
  worker-only [--no-format]    the worker alone
  job-worker
  proxy
  logserver
  fuse [--fuse-opts=option,…] [mount point] [Alluxio path]
  csi [OPTION]…                the CSI node plugin
USAGE
}

fail() { echo "$*" >&2; exit 1; }

# The bodies of configuration files may come in the environment.
write_configuration() {
  [[ -z ${ALLUXIO_SITE_PROPERTIES:-} ]] || printf '%s\n' "$ALLUXIO_SITE_PROPERTIES" > "$ALLUXIO_HOME/conf/alluxio-site.properties"
  [[ -z ${ALLUXIO_LOG4J_PROPERTIES:-} ]] || printf '%s\n' "$ALLUXIO_LOG4J_PROPERTIES" > "$ALLUXIO_HOME/conf/log4j.properties"
}

# Where nothing else is said, upstream's image caches in the container's shared memory.
default_tier() {
  local key=alluxio.worker.tieredstore.level0.dirs.path
  grep -qsF "$key" "$ALLUXIO_HOME/conf/alluxio-site.properties" <(echo "${ALLUXIO_JAVA_OPTS:-} ${ALLUXIO_WORKER_JAVA_OPTS:-}") || export ALLUXIO_RAM_FOLDER="${ALLUXIO_RAM_FOLDER:-/dev/shm}"
}

# Root may be told to become somebody else.
become_user() {
  ((UID == 0 && ${ALLUXIO_UID:-0} != 0)) || return 0
  local gid=${ALLUXIO_GID:-$ALLUXIO_UID}
  chown "$ALLUXIO_UID:$gid" "$ALLUXIO_HOME/conf" "$ALLUXIO_HOME/logs" /journal
  exec setpriv --reuid "$ALLUXIO_UID" --regid "$gid" --clear-groups -- "$0" "$@"
}

# service NAME [ARGUMENT]…: fills the array `java` with the whole command line of a service.
service() {
  local name=$1
  local -a start
  shift
  case $name in
    master) java_command Console MASTER '-Xmx8g -XX:MetaspaceSize=256M'; start=(alluxio.image.Start master "$format") ;;
    job-master) java_command Console JOB_MASTER ''; start=(alluxio.master.AlluxioJobMaster) ;;
    worker) java_command Console WORKER '-Xmx4g -XX:MaxDirectMemorySize=4g'; start=(alluxio.image.Start worker) ;;
    job-worker) java_command Console JOB_WORKER ''; start=(alluxio.worker.AlluxioJobWorker) ;;
    proxy) java_command Console PROXY ''; start=(alluxio.proxy.AlluxioProxy) ;;
    logserver) java_command Console LOGSERVER ''; start=(alluxio.logserver.AlluxioLogServer "${ALLUXIO_LOGSERVER_LOGS_DIR:-$ALLUXIO_LOGS_DIR}") ;;
    fuse) java_command Console FUSE '-Xms1G -Xmx1G -XX:MaxDirectMemorySize=4g'; start=(alluxio.image.Start fuse) ;;
  esac
  java+=("${start[@]}" "$@")
}

run_one() {
  service "$@"
  exec "${java[@]}"
}

# Two services in one container, as upstream has them: what ends one ends both.
run_both() {
  local name status=0
  local -a pids=()
  for name; do
    service "$name"
    "${java[@]}" &
    pids+=($!)
  done
  trap 'kill "${pids[@]}" 2> /dev/null || true' TERM INT
  wait -n || status=$?
  kill "${pids[@]}" 2> /dev/null || true
  wait
  exit "$status"
}

# settle MOUNT_POINT PID: sets what ALLUXIO_FUSE_SETTINGS names, as soon as the process serves the mount.
settle() {
  [[ -n ${ALLUXIO_FUSE_SETTINGS:-} ]] || return 0
  until serves "$1"; do
    kill -0 "$2" 2> /dev/null || return 0
    sleep 0.5
  done
  apply_settings "$1" "$ALLUXIO_FUSE_SETTINGS"
}

# Serves the mount until told to end, and leaves no dead mount behind however it ended.
run_fuse() {
  local options='' status=0 pid
  if [[ ${1:-} == --fuse-opts=* ]]; then
    options=${1#--fuse-opts=}
    shift
  fi
  (($# <= 2)) || { usage >&2; exit 1; }
  local mount_point=${1:-/mnt/alluxio-fuse} alluxio_path=${2:-/}
  clear_mount_point "$mount_point"
  mkdir -p "$mount_point"
  service fuse -m "$mount_point" -a "$alluxio_path" ${options:+-o "$options"}
  "${java[@]}" &
  pid=$!
  # AlluxioFuse unmounts on TERM by itself, once open files are closed; with some grace left, the mount is taken from under it.
  settle "$mount_point" "$pid" &
  trap 'kill -TERM "$pid" 2> /dev/null; (sleep "${ALLUXIO_FUSE_GRACE:-8}"; detach "$mount_point"; kill -KILL "$pid") 2> /dev/null &' TERM INT
  while kill -0 "$pid" 2> /dev/null; do
    wait "$pid" && status=0 || status=$?
  done
  if is_ours "$(mounted_at "$mount_point")" && is_dead "$mount_point"; then
    detach "$mount_point"
  fi
  exit "$status"
}

(($# > 0)) || { usage >&2; exit 1; }
for variable in MOUNT_POINT FUSE_ALLUXIO_PATH; do
  [[ -z ${!variable:-} ]] || fail "$variable is not read any more: give the mount point and the Alluxio path as arguments of fuse"
done
become_user "$@"
cd "$ALLUXIO_HOME"
write_configuration
default_tier

verb=$1
shift
format=format
if [[ ${verb} =~ ^(master|worker)(-only)?$ ]]; then
  case $* in
    '') ;;
    --no-format) format=keep ;;
    *) usage >&2; exit 1 ;;
  esac
fi
if [[ $verb =~ ^worker && $format == format ]]; then
  bin/alluxio formatWorker
fi
# Not before: bin/alluxio reads the environment as this container was given it.
# shellcheck source=images/alluxio/libexec/launch.sh
. "$ALLUXIO_HOME/libexec/launch.sh"
case $verb in
  master) run_both job-master master ;;
  worker) run_both job-worker worker ;;
  master-only | worker-only) run_one "${verb%-only}" ;;
  job-master | job-worker | proxy | logserver) run_one "$verb" ;;
  fuse) run_fuse "$@" ;;
  csi) exec python3 "$ALLUXIO_HOME/csi" "$@" ;;
  *) usage >&2; exit 1 ;;
esac
