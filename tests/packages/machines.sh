# Machines for tests: roots in $work that systemd-nspawn boots as containers, each with a network of its own. They end
# with the test. To be sourced by a script with "set -euo pipefail", which needs root.

work=$(mktemp -d)
declare -A nspawn leader # the process ids of systemd-nspawn and of the machine's systemd

# Stops the machines, which may hang on to their root for a moment.
stop_machines() {
  local name
  for name in "${!nspawn[@]}"; do
    { kill "${nspawn[$name]}" && wait "${nspawn[$name]}"; } 2>/dev/null || true
  done
}
trap 'stop_machines; rm -rf "$work"' EXIT

step() { echo "=== $*"; }
fail() {
  local name
  for name in "${!leader[@]}"; do
    echo "--- the log of $name" >&2
    on "$name" journalctl --no-pager --lines 50 >&2 || true
  done
  echo "tests/packages: $*" >&2
  exit 1
}

# boot NAME [ARGUMENT]...: boots the root $work/NAME with arguments of systemd-nspawn.
boot() {
  local name=$1 tries
  shift
  systemd-nspawn --quiet --register=no --keep-unit --directory="$work/$name" --machine="$name" --capability=all \
    --boot --console=pipe "$@" </dev/null >"$work/boot-$name" 2>&1 &
  nspawn[$name]=$!
  for ((tries = 0; tries < 100; ++tries)); do
    leader[$name]=$(pgrep --parent "${nspawn[$name]}" -x systemd) && break
    sleep 0.2
  done
  await_on "$name" systemctl is-active multi-user.target
}

# on NAME COMMAND...: runs a command on a machine.
on() {
  local name=$1
  shift
  nsenter --target "${leader[$name]}" --all --root --wdns=/ -- \
    env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"
}

# await_on NAME COMMAND...: waits until a command on a machine succeeds.
await_on() {
  local tries
  for ((tries = 0; tries < 300; ++tries)); do
    if on "$@" >/dev/null 2>&1; then return; fi
    sleep 0.2
  done
  fail "no success after a minute: $*"
}

# make_certificates NAME: makes a machine both an aggregator and an agent of its own, and its root a reader.
make_certificates() {
  on "$1" sh -e -c '
    cd /root
    fleetperf pki init --directory pki --name test
    fleetperf pki issue aggregator localhost --directory pki --output pki/aggregator
    fleetperf pki issue agent "$0" --directory pki --output pki/agent
    fleetperf pki issue reader admin --directory pki
    cp pki/authority.pem pki/aggregator.pem pki/aggregator.key pki/agent.pem pki/agent.key /etc/fleetperf/
    mkdir -p .config/fleetperf
    printf "%s\n" "aggregator: localhost:7443" "tls:" "  authority: /root/pki/authority.pem" \
      "  certificate: /root/pki/reader-admin.pem" "  key: /root/pki/reader-admin.key" >.config/fleetperf/config.yaml
  ' "$1" >"$work/log"
}

# await_value NAME PATH: waits until the machine has a value of a counter. In place of one, a query may show why there
# is none.
await_value() {
  await_on "$1" sh -c 'fleetperf query "$1" --since 10s | grep -q "^$0 .* [0-9]"' "$1" "$2"
}
