# How a JVM of this image is started. Sourced by bin/alluxio and entrypoint.sh.
# shellcheck shell=bash

export ALLUXIO_HOME=${ALLUXIO_HOME:-/opt/alluxio}
ALLUXIO_CONF_DIR=${ALLUXIO_CONF_DIR:-$ALLUXIO_HOME/conf}
ALLUXIO_LOGS_DIR=${ALLUXIO_LOGS_DIR:-$ALLUXIO_HOME/logs}
ALLUXIO_USER_LOGS_DIR=${ALLUXIO_USER_LOGS_DIR:-$ALLUXIO_LOGS_DIR/user}

# expand_java_options NAME...: the official entrypoint writes these variables between double quotes into conf/alluxio-env.sh, so that
# the shell which reads that file expands ${…} and backticks in them. A process that is started from here must not expand them again.
# Without variables of its own, which would stand for those of the environment.
expand_java_options() {
  while (($# > 0)); do
    [[ ${!1:-} != *[\$\`]* ]] || eval "export $1=\"${!1}\""
    shift
  done
}

# As upstream's scripts have it: what is not defined is empty. The file's own text is expanded once, as it is read.
shell_flags=$-
set +u
expand_java_options ALLUXIO{,_MASTER,_WORKER,_JOB_MASTER,_JOB_WORKER,_PROXY,_LOGSERVER,_FUSE,_USER}_JAVA_OPTS
if [[ -r $ALLUXIO_CONF_DIR/alluxio-env.sh ]]; then
  # shellcheck source=/dev/null
  . "$ALLUXIO_CONF_DIR/alluxio-env.sh"
fi
[[ $shell_flags != *u* ]] || set -u

# property_options: the properties that upstream's scripts take from the environment and append to ALLUXIO_JAVA_OPTS, one -D per line.
property_options() {
  local pair
  for pair in ALLUXIO_MASTER_HOSTNAME:alluxio.master.hostname \
      ALLUXIO_MASTER_MOUNT_TABLE_ROOT_UFS:alluxio.master.mount.table.root.ufs \
      ALLUXIO_RAM_FOLDER:alluxio.worker.tieredstore.level0.dirs.path \
      ALLUXIO_WORKER_RAMDISK_SIZE:alluxio.worker.ramdisk.size \
      ALLUXIO_LOGSERVER_HOSTNAME:alluxio.logserver.hostname \
      ALLUXIO_LOGSERVER_PORT:alluxio.logserver.port \
      ALLUXIO_LOGSERVER_LOGS_DIR:alluxio.logserver.logs.dir; do
    local variable=${pair%%:*}
    [[ -z ${!variable:-} ]] || printf -- '-D%s=%s\n' "${pair#*:}" "${!variable}"
  done
  [[ -z ${ALLUXIO_RAM_FOLDER:-} ]] || echo -Dalluxio.worker.tieredstore.level0.alias=MEM
}

# heap_options DEFAULTS OPTION...: upstream's default heap, unless the options speak of the heap themselves.
heap_options() {
  local defaults=$1
  shift
  [[ -z $defaults || " $* " =~ \ -(Xm[sx]|XX:(Max|Initial)RAMPercentage=|XX:MaxHeapSize=) ]] || tr ' ' '\n' <<< "$defaults"
}

# trust_options: the JDK's certificates and those of conf/ca.pem, for under stores behind a private CA.
trust_options() {
  local store certificate
  [[ -r $ALLUXIO_CONF_DIR/ca.pem ]] || return 0
  store=$(mktemp -d)
  cp /etc/ssl/certs/java/cacerts "$store/trusted"
  chmod u+w "$store/trusted"
  csplit --quiet --elide-empty-files --prefix "$store/ca-" "$ALLUXIO_CONF_DIR/ca.pem" '/BEGIN CERTIFICATE/' '{*}'
  for certificate in "$store"/ca-*; do
    keytool -importcert -noprompt -alias "${certificate##*/}" -file "$certificate" -keystore "$store/trusted" -storepass changeit > /dev/null 2>&1
  done
  echo "-Djavax.net.ssl.trustStore=$store/trusted"
}

# password_options: what has the JVM's logins carry the deployment's password, where there is one.
password_options() {
  [[ ! -e $ALLUXIO_CONF_DIR/rpc-password ]] || echo "-javaagent:$ALLUXIO_HOME/jars/alluxio-image.jar"
}

# quiet_options: what keeps the JVM of a command from writing to its standard output, which belongs to the command's answer.
quiet_options() { printf '%s\n' -XX:+DisplayVMOutputToStderr -Xlog:disable -Xlog:all=warning:stderr; }

# without_logs OPTION...: the options but those that have a service's JVM log; a command would log into its answer, or the same file.
without_logs() {
  local option
  for option; do
    [[ $option =~ ^-(Xlog|verbose|XX:\+Print) ]] || echo "$option"
  done
}

# java_command LOGGER SERVICE HEAP: fills the array `java` with the command line of a service up to its main class.
#   LOGGER: an appender of log4j.properties. SERVICE: MASTER, WORKER, … whose ALLUXIO_<SERVICE>_JAVA_OPTS apply. HEAP: default options.
java_command() {
  local logger=$1 variable=ALLUXIO_$2_JAVA_OPTS heap=$3 user
  local -a general own properties defaults password trust=() quiet=()
  IFS=$' \t\n' read -r -d '' -a general <<< "${ALLUXIO_JAVA_OPTS:-}" || true
  IFS=$' \t\n' read -r -d '' -a own <<< "${!variable:-}" || true
  mapfile -t properties < <(property_options)
  mapfile -t defaults < <(heap_options "$heap" "${general[@]}" "${own[@]}")
  mapfile -t password < <(password_options)
  if [[ $2 == USER ]]; then
    mapfile -t quiet < <(quiet_options)
    mapfile -t general < <(without_logs "${general[@]}")
  else
    mapfile -t trust < <(trust_options)
  fi
  # An arbitrary uid has no name, and Alluxio's login is by name.
  user=$(id -un 2> /dev/null) || user=${ALLUXIO_USERNAME:-alluxio}
  # shellcheck disable=SC2034  # for who sources this
  java=("${JAVA_HOME:+$JAVA_HOME/bin/}java"
    --add-opens=java.base/java.lang=ALL-UNNAMED --add-opens=java.base/java.nio=ALL-UNNAMED --add-opens=java.base/sun.nio.ch=ALL-UNNAMED
    -Duser.name="$user" -Djava.library.path="$ALLUXIO_HOME/lib" -Djava.net.preferIPv4Stack=true
    -Dalluxio.home="$ALLUXIO_HOME" -Dalluxio.conf.dir="$ALLUXIO_CONF_DIR"
    -Dalluxio.logs.dir="$ALLUXIO_LOGS_DIR" -Dalluxio.user.logs.dir="$ALLUXIO_USER_LOGS_DIR"
    -Dlog4j.configuration="file:$ALLUXIO_CONF_DIR/log4j.properties" -Dalluxio.logger.type="$logger"
    "${quiet[@]}" "${password[@]}" "${trust[@]}" "${defaults[@]}" "${general[@]}" "${properties[@]}" "${own[@]}"
    -cp "$(< "$ALLUXIO_HOME/libexec/classpath"):$ALLUXIO_CONF_DIR${ALLUXIO_CLASSPATH:+:$ALLUXIO_CLASSPATH}")
}
