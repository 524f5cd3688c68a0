# Sourced. A folder of the node belongs to whom its file .owner names. What has none and holds something is somebody else's.
# usage: claim FOLDER NAME OWNER VALUE [EXCEPT]     NAME: its path on the node; VALUE: where it comes from; EXCEPT: an entry that may be there
claim() {
  # A pod of an older release, which is left to its readers, does not know its node.
  local node=${NODE_NAME:-this node} held
  if [ -L "$1/.owner" ]; then
    echo "$node: $2/.owner is a symbolic link, which a user who can write there has put there: look where it leads, take it away" >&2
    exit 1
  fi
  if [ ! -e "$1/.owner" ]; then
    held=$(find "$1" -mindepth 1 -maxdepth 1 ! -name lost+found ! -name "${5:-lost+found}" -printf '%f\n' -quit)
    if [ -n "$held" ]; then
      echo "$node: $2 has no .owner and holds $held, so it may be somebody else's: name an empty folder in $4, or move away what is in it" >&2
      exit 1
    fi
    echo "$3" >"$1/.owner"
  fi
  if [ "$(cat "$1/.owner")" != "$3" ]; then
    echo "$node: $2 belongs to $(cat "$1/.owner"), not to $3: give one of them another $4" >&2
    exit 1
  fi
}
