#!/usr/bin/env bash
# `alluxio fs distributedLoad`, which Alluxio dropped at 2.9.4 and Fluid's DataLoad still calls: submits `fs load` and waits for its end.
set -euo pipefail
alluxio=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../bin/alluxio
path=''
properties=()

fail() { echo "alluxio fs distributedLoad: $*" >&2; exit 1; }

while (($# > 0)); do
  case $1 in
    --replication)
      [[ ${2:-} == 1 ]] || fail "--replication ${2:-} is not offered: fs load puts one copy of each block into the workers. Ask for 1"
      shift
      ;;
    -D*) properties+=("$1") ;;
    -*) fail "option $1 is not offered" ;;
    *)
      [[ -z $path ]] || fail "more than one path: $path and $1"
      path=$1
      ;;
  esac
  shift
done
[[ -n $path ]] || fail 'which path?'

"$alluxio" fs load "${properties[@]}" "$path" --submit
while true; do
  report=$("$alluxio" fs load "$path" --progress)
  case $report in
    *'Job State: SUCCEEDED'*) echo "$report"; exit ;;
    *'Job State: RUNNING'* | *'Job State: VERIFYING'*) sleep 5 ;;
    *) fail "$report" ;;
  esac
done
