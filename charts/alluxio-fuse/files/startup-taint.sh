# Removes the taint KEY from this node once something is mounted at every POINT, FUSE or a copy, then waits to be ended.
# The API server is asked through openssl, so that the image needs no client: a patch per index, of which one whose test holds removes.
# usage: startup-taint.sh KEY POINT...     environment: NODE_NAME, KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT_HTTPS
set -uo pipefail
key=$1
shift
trap 'exit 0' TERM
pause() { sleep "$1" & wait $!; }

mounted() { awk -v point="$1" '$5 == point {found = 1} END {exit !found}' /proc/self/mountinfo; }

# Prints the status of removing the taint at index $1.
remove() {
  local body
  body=$(printf '[{"op":"test","path":"/spec/taints/%s/key","value":"%s"},{"op":"remove","path":"/spec/taints/%s"}]' "$1" "$key" "$1")
  printf '%s\r\n' "PATCH /api/v1/nodes/$NODE_NAME?fieldManager=alluxio-fuse HTTP/1.0" "Authorization: Bearer $(cat /token/token)" \
    'Content-Type: application/json-patch+json' "Content-Length: ${#body}" '' "$body" |
    timeout 20 openssl s_client -quiet -verify_return_error -CAfile /token/ca.crt -verify_ip "$KUBERNETES_SERVICE_HOST" \
      -connect "$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT_HTTPS" 2>/dev/null | awk 'NR == 1 {print $2}'
}

for point in "$@"; do
  until mounted "$point"; do pause 2; done
done
index=0
until [ $index -gt 31 ]; do
  case $(remove $index) in
    200) echo "$NODE_NAME: mounts are there, removed the taint $key" ;;
    422|404) index=$((index + 1)) ;;
    403) echo "$NODE_NAME: the API server forbids removing the taint $key: see the ClusterRole and the ValidatingAdmissionPolicy of startup-taint"; exit 1 ;;
    *) echo "$NODE_NAME: the API server did not answer, trying again"; pause 5 ;;
  esac
done
sleep infinity & wait $!
