# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# OpenSM over ibsim on a net file, for the benchmarks of bench/net.am.
net_bench=$bench_dir/net_bench

opensm_needs() {
    local p
    for p in opensm ibsim; do need_program $p || return 1; done
    umad2sim=$(find /usr/lib* -name libumad2sim.so 2>/dev/null | head -1)
    [ -n "$umad2sim" ] || { note "libumad2sim.so is not there"; return 1; }
    osm='' osm_pid='' osm_sim_pid=''
    trap opensm_down EXIT
}

# opensm_up NETFILE HOST ENGINE [dump|phases]: until the subnet is up.  Sets
# $osm (its directory) and $osm_pid.  dump: its tables into opensm-lfts.dump;
# phases: its CPU time at two lines of the log into `phases`.  A name of its
# own for the simulator's socket: two with one name share their clients.
opensm_up() {
    local flags=0x03
    [ "${4-}" != dump ] || flags=0x43
    osm=$(mktemp -d "$tmp/osm.XXXXXX")
    mkfifo "$osm/in" "$osm/sim"
    exec {osm_in}<>"$osm/in" {osm_sim}<>"$osm/sim"
    cat >"$osm/conf" <<CONF
force_log_flush TRUE
dump_files_dir $osm
log_file $osm/log
max_wire_smps 64
max_smps_timeout 600000
${opensm_conf-}
CONF
    export IBSIM_SOCKNAME=sf.$BASHPID.${osm##*.}
    : >"$osm/ibsim.log"
    ibsim -s -N 12000 -S 2000 -P 200000 -L 49151 "$1" \
        <"$osm/sim" >"$osm/ibsim.log" 2>&1 &
    osm_sim_pid=$!
    opensm_seen "$osm/ibsim.log" 'sim>' 1 || return 1
    : >"$osm/log"
    SIM_HOST=$2 LD_PRELOAD=$umad2sim OSM_TMP_DIR=$osm opensm -F "$osm/conf" \
        -R "$3" -D $flags --console local <"$osm/in" >"$osm/out" 2>&1 &
    osm_pid=$!
    [ "${4-}" != phases ] || opensm_phases >"$osm/phases"
    opensm_seen "$osm/log" 'SUBNET UP' 1
}

# When routing begins and ends: lines "from CPU" and "to CPU".
opensm_phases() {
    local line tail_pid
    exec {tail_fd}< <(exec tail -n +1 -s 0.002 -f --pid=$osm_pid "$osm/log")
    tail_pid=$!
    while IFS= read -r -u "$tail_fd" line; do
        case $line in
        *"Entering MASTER state"*) echo "from $(opensm_cpu)" ;;
        *"tables configured"*) echo "to $(opensm_cpu)"; break ;;
        esac
    done
    kill $tail_pid 2>/dev/null
    exec {tail_fd}<&-
}

# opensm_seen FILE TEXT N: until TEXT stands there N times.
opensm_seen() {
    local i
    for ((i = 0; i < 60000; i++)); do
        [ "$(grep -ac "$2" "$1")" -lt "$3" ] || return 0
        sleep 0.01
    done
    note "OpenSM: no '$2' in $1"
    return 1
}

# CPU seconds of all its threads so far.
opensm_cpu() {
    awk '{ ns += $1 } END { printf "%.6f\n", ns / 1e9 }' \
        /proc/"$osm_pid"/task/*/schedstat
}

# Messages sent so far, as its console counts them.
opensm_sent() {
    local n
    n=$(grep -ac 'QP0 MADs sent' "$osm/out")
    echo status >&"$osm_in"
    opensm_seen "$osm/out" 'QP0 MADs sent' $((n + 1)) || return 1
    grep -a 'QP0 MADs sent' "$osm/out" | tail -1 | grep -oE '[0-9]+$'
}

opensm_down() {
    [ -n "$osm" ] || return 0
    [ -z "$osm_pid" ] || kill -9 "$osm_pid" 2>/dev/null
    [ -z "$osm_sim_pid" ] || kill -9 "$osm_sim_pid" 2>/dev/null
    wait "$osm_pid" "$osm_sim_pid" 2>/dev/null
    exec {osm_in}>&- {osm_sim}>&-
    rm -rf "$osm"
    osm='' osm_pid='' osm_sim_pid=''
}
