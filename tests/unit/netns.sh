# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For tests that run daemons on this machine: runs the test again in a network
# namespace of its own, as root, with a directory $tmp; what was told to mine()
# ends with it.  Sourced first; $needs names tools beside the usual ones.

. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"
for tool in munged munge unshare ip python3 perl ${needs-}; do
    command -v "$tool" >/dev/null || skip_all "$tool is not installed"
done
if [ "${SF_NETNS_OF-}" != "$0" ]; then
    [ "$(id -u)" = 0 ] || skip_all "needs root for a network namespace"
    unshare -n true 2>/dev/null || skip_all "no network namespaces here"
    SF_NETNS_OF=$0 exec unshare -n bash "$0" "$@"
fi
ip link set lo up

tmp=$(mktemp -d "/tmp/$(basename "$0" .t).XXXXXX")
chmod 755 "$tmp"
# The shell reaps what has ended at any time, and the kernel uses pids again:
# a signal goes only to who started when ours did.
pidkill=$top/tests/cluster/mini/pidkill
declare -A born=()
started() { # PID: when
    local stat
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    # shellcheck disable=SC2086
    set -- ${stat##*) }
    echo "${20}"
}
mine() { born[$1]=$(started "$1"); } # PID
signal() { # SIGNAL PID: one that was told to mine()
    [ -z "${born[$2]-}" ] || "$pidkill" "$1" "start=${born[$2]}" "$2"
}
# SF_KEEP: the directory stays.
netns_end() {
    local pid
    for pid in "${!born[@]}"; do signal KILL "$pid"; done
    wait
    if [ -n "${SF_KEEP-}" ]; then echo "# kept $tmp"; else rm -rf "$tmp"; fi
} 2>/dev/null
trap netns_end EXIT
trap 'exit 1' HUP INT TERM

. "$(dirname "${BASH_SOURCE[0]}")/../cluster/mini/patience.sh"

# within SECONDS COMMAND..: 124 when it takes longer.
within() {
    local seconds=$1
    shift
    timeout "$(patience "$seconds")" "$@"
}

# until_ok SECONDS COMMAND..: ask until it succeeds, twenty times a second; what
# asking takes itself is not counted.  At least a minute: any machine may stand
# still for some seconds.
until_ok() {
    local tries=$1
    shift
    [ "$tries" -ge 60 ] || tries=60
    tries=$((20 * $(patience "$tries")))
    while ! "$@" >/dev/null 2>&1; do
        [ $((tries -= 1)) -gt 0 ] || return 1
        sleep 0.05
    done
}

# start_munged NAME [OF]: at $tmp/NAME.munge, with a key of its own or that of
# OF, which may be NAME itself that was there before; $last is its pid.
start_munged() {
    if [ -n "${2-}" ]; then
        [ "$1" = "$2" ] || cp "$tmp/$2.key" "$tmp/$1.key"
    else
        head -c 1024 /dev/urandom >"$tmp/$1.key"
    fi
    chmod 400 "$tmp/$1.key"
    munged -F --force --num-threads 2 -S "$tmp/$1.munge" \
        --key-file "$tmp/$1.key" --pid-file "$tmp/$1.munge.pid" \
        --seed-file "$tmp/$1.seed" --log-file "$tmp/$1.munge.log" \
        >"$tmp/$1.munge.out" 2>&1 &
    last=$!
    mine "$last"
    until_ok 15 munge -n -S "$tmp/$1.munge" ||
        skip_all "munged does not start"
}
