# Keeps Alluxio's mount table as declared: one file per dataset in /datasets, its keys in /credentials/<dataset>.
# A mount carries a digest of its declaration, so a changed option or key is seen and brought over without an unmount.
# environment: INTERVAL (seconds between looks)
set -uo pipefail
readonly MARK=alluxio.fuse.chart.declaration
readonly HOME_FOLDER=${ALLUXIO_HOME:-/opt/alluxio}
[ ! -e "$HOME_FOLDER/libexec/launch.sh" ] || . "$HOME_FOLDER/libexec/launch.sh"

# Runs `alluxio fs ARGUMENTS` from a file in memory, because arguments can hold keys and every process can read a command line.
fs() {
  local file status=0
  if ! declare -F java_command >/dev/null; then
    # The official image; the chart gives it no keys.
    timeout 120 "$HOME_FOLDER/bin/alluxio" fs "$@" 2>&1
    return
  fi
  file=$(mktemp /memory/arguments.XXXXXX)
  java_command USER_LOGGER USER -Xmx128m
  # In such a file a quotation mark ends an argument, and a backslash changes what follows.
  printf '%s\n' "${java[@]:1}" alluxio.cli.fs.FileSystemShell "$@" | sed 's/[\\"]/\\&/g; s/.*/"&"/' >"$file"
  timeout 120 java "@$file" 2>&1 || status=$?
  rm -f "$file"
  return $status
}

# Prints the options of the declaration file $1, one `key=amount` per line, keys of the Secret included.
options_of() {
  local name line pair
  name=$(basename "$1")
  while read -r line; do
    case $line in
      option=*) echo "${line#option=}" ;;
      optional-secret=*)
        pair=${line#optional-secret=}
        [ ! -s "/credentials/$name/${pair#*=}" ] || echo "${pair%%=*}=$(cat "/credentials/$name/${pair#*=}")"
        ;;
      secret=*)
        pair=${line#secret=}
        if [ ! -e "/credentials/$name/${pair#*=}" ]; then
          echo "$name: its Secret is missing, or has no key ${pair#*=}" >&2
          return 1
        fi
        echo "${pair%%=*}=$(cat "/credentials/$name/${pair#*=}")"
        ;;
    esac
  done <"$1"
}

# Brings one dataset over. $1: its declaration file; $2: the mount table.
declare_mount() {
  local name uri options digest current arguments=() option
  name=$(basename "$1")
  uri=$(sed -n 's/^uri=//p' "$1")
  options=$(options_of "$1") || return 1
  digest=$(printf '%s\n' "$(cat "$1")" "$options" | sha256sum | cut -c1-16)
  current=$(awk -v path="/$name" '$2 == "on" && $3 == path' <<<"$2")
  case $current in *"$MARK=$digest"*) return 0 ;; esac

  grep -q '^readonly=true$' "$1" && arguments+=(--readonly)
  while read -r option; do
    [ -z "$option" ] || arguments+=(--option "$option")
  done <<<"$options"
  arguments+=(--option "$MARK=$digest")

  if [ -n "$current" ] && [ "$(awk '{print $1}' <<<"$current" | sed 's,/*$,,')" = "$uri" ]; then
    echo "$name: its options changed"
    fs updateMount "${arguments[@]}" "/$name"
    return
  fi
  if [ -n "$current" ]; then
    echo "$name: its source changed to $uri"
    fs unmount "/$name" || return 1
  fi
  echo "$name: mounting $uri"
  fs mount "${arguments[@]}" "/$name" "$uri"
}

# One look: true when the table is as declared.
reconcile() {
  local table file path good=0
  table=$(fs mount) || { echo "the master does not answer: $(grep -m 1 -o -E '^Failed.{0,120}' <<<"$table" || echo "nothing within 120 s")"; return 1; }
  for file in /datasets/*; do
    [ -e "$file" ] || continue
    declare_mount "$file" "$table" || { echo "$(basename "$file"): not mounted, see above"; good=1; }
  done
  for path in $(awk '$2 == "on" && $3 != "/" {print $3}' <<<"$table"); do
    [ -e "/datasets$path" ] || { echo "${path#/}: no longer a dataset, unmounting"; fs unmount "$path" || good=1; }
  done
  return $good
}

trap 'exit 0' TERM
while true; do
  pause=$INTERVAL
  if reconcile; then
    [ -e /tmp/declared ] || echo "the mount table is as declared"
    touch /tmp/declared
  else
    rm -f /tmp/declared
    pause=10
  fi
  sleep "$pause" &
  wait $!
done
