# Read by the shell of every scene.

# Waits until a file that a command in the background writes has this many lines, and shows them.
# The command may not have begun, so the file may not be there yet.
await_lines() {
  for _ in $(seq 600); do
    if [ -e "$2" ] && [ "$(wc -l <"$2")" -ge "$1" ]; then
      cat "$2"
      return 0
    fi
    sleep 0.05
  done
  echo "only these lines came:"
  cat "$2"
  return 1
}

# Waits until this many watches are open.
await_watches() {
  for _ in $(seq 600); do
    open=$(kubectl get --raw /metrics | awk '/^apiserver_longrunning_requests/ {n += $NF} END {print n + 0}')
    if [ "$open" -ge "$1" ]; then
      return 0
    fi
    sleep 0.05
  done
  echo "only $open watches are open"
  return 1
}

# Ends the commands in the background.
end_background() {
  kill $(jobs -p) 2>/dev/null
  wait 2>/dev/null
  return 0
}
