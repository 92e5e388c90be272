# shellcheck shell=bash disable=SC2154
# Machines for tests: roots in $work that systemd-nspawn boots as containers, each with a network of its own. They end
# with the test. To be sourced by a script with "set -euo pipefail".
#
# Needs root, a Debian mirror, and the packages of "deploy/install-deps packages". make_root and make_next_version take
# our packages from $debs.

[[ $(id -u) -eq 0 ]] || {
  echo "tests/packages: run this as root" >&2
  exit 1
}
work=$(mktemp -d)
declare -A nspawn leader # the process ids of systemd-nspawn and of the machine's systemd
networks=()              # network namespaces

# Stops the machines, which may hang on to their root for a moment, and removes their networks.
stop_machines() {
  local name
  for name in "${!nspawn[@]}"; do
    { kill "${nspawn[$name]}" && wait "${nspawn[$name]}"; } 2>/dev/null || true
  done
  for name in "${networks[@]}"; do ip netns delete "$name" || true; done
}
# A mount that mmdebstrap left behind, such as /dev, is none of ours to empty.
remove_work() { rm -rf --one-file-system "$work"; }
trap 'stop_machines; remove_work' EXIT

step() { echo "=== $*"; }
fail() {
  local name
  for name in "${!nspawn[@]}"; do
    echo "--- the log of $name" >&2
    tail -n 20 "$work/boot-$name" >&2
    [[ -z ${leader[$name]} ]] || on "$name" journalctl --no-pager --lines 50 >&2 || true
  done
  echo "tests/packages: $*" >&2
  exit 1
}

# make_root NAME DIRECTORY PACKAGES: makes a root of this system's Debian, for which ours are built, with packages of
# Debian, ours in a directory, and those that ours depend on in apt's cache, because the machine cannot reach the mirror.
make_root() {
  local system=$work/$1 directory=$2
  mmdebstrap --quiet --variant=minbase --include="$3" "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$system"
  echo "$1" >"$system/etc/hostname"
  echo "127.0.0.1 localhost" >"$system/etc/hosts"
  echo 'APT::Sandbox::User "root";' >"$system/etc/apt/apt.conf.d/90test"
  mkdir -p "$system$directory"
  cp "$debs"/fleetperf*.deb "$system$directory"
  systemd-nspawn --quiet --register=no --keep-unit --directory="$system" --pipe \
    sh -c "apt-get -q update && apt-get -q -y install --download-only $directory/fleetperf*.deb" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2 && fail "cannot download the dependencies"; }
}

# copy_root FROM NAME: makes a root like another one.
copy_root() {
  cp --archive --reflink=auto "$work/$1" "$work/$2"
  rm -f "$work/$2/etc/machine-id"
  echo "$2" >"$work/$2/etc/hostname"
}

# make_next_version DIRECTORY: makes packages of a later version with the same contents.
make_next_version() {
  local deb
  mkdir -p "$1"
  for deb in "$debs"/fleetperf*.deb; do
    rm -rf "$work/next"
    dpkg-deb --raw-extract "$deb" "$work/next"
    sed -i 's/^Version: .*/&+next/' "$work/next/DEBIAN/control"
    dpkg-deb -Zgzip -z1 --root-owner-group --build "$work/next" "$1" >/dev/null
  done
}

# network_of NAME: the network namespace of a machine that connect connects.
network_of() { echo "fleetperf-$$-$1"; }

# connect FIRST SECOND: makes the networks of two machines, 10.77.0.1 and 10.77.0.2, and a cable between these. Both
# roots know both names.
connect() {
  local name number=0
  for name in "$@"; do
    ip netns add "$(network_of "$name")"
    networks+=("$(network_of "$name")")
  done
  ip -n "$(network_of "$1")" link add name eth0 type veth peer name eth0 netns "$(network_of "$2")"
  for name in "$@"; do
    ip -n "$(network_of "$name")" address add "10.77.0.$((++number))/24" dev eth0
    ip -n "$(network_of "$name")" link set lo up
    ip -n "$(network_of "$name")" link set eth0 up
    printf '10.77.0.1 %s\n10.77.0.2 %s\n' "$@" >>"$work/$name/etc/hosts"
  done
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
  [[ ${leader[$name]} ]] || fail "$name does not boot"
  await_on "$name" systemctl is-active multi-user.target
}

# boot_connected NAME: boots a machine in the network that connect made.
boot_connected() { boot "$1" --network-namespace-path="/run/netns/$(network_of "$1")"; }

# on NAME COMMAND...: runs a command on a machine.
on() {
  local name=$1
  shift
  nsenter --target "${leader[$name]}" --all --root --wdns=/ -- \
    env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"
}

# await COMMAND...: waits until a command succeeds.
await() {
  local tries
  for ((tries = 0; tries < 300; ++tries)); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.2
  done
  fail "no success after a minute: $*"
}

# await_on NAME COMMAND...: waits until a command on a machine succeeds.
await_on() { await on "$@"; }

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
    printf "%s\n" "aggregators: localhost:7443" "tls:" "  authority: /root/pki/authority.pem" \
      "  certificate: /root/pki/reader-admin.pem" "  key: /root/pki/reader-admin.key" >.config/fleetperf/config.yaml
  ' "$1" >"$work/log"
}

# await_value NAME PATH: waits until the machine has a value of a counter. In place of one, a query may show why there
# is none.
await_value() {
  await_on "$1" sh -c 'fleetperf query "$1" --since 10s | grep -q "^$0 .* [0-9]"' "$1" "$2"
}
