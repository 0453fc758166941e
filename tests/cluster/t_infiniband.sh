#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The health of an InfiniBand fabric in Slurm, with nothing else of ours: a
# cable of ibsim's is pulled, sinfo and sfabric tell which it is, by names.
. "$(dirname "$0")/lib.sh"
need_stage libexec/slurm-fabric/mapperd libexec/slurm-fabric/switchmgrd \
    bin/sfabric
. "$SF_TOP_SRCDIR/tests/cluster/infiniband.sh"
lacks=$(ib_missing)
[ -z "$lacks" ] || skip_all "this machine lacks: $(echo $lacks)"
cluster_up --nodes 4 --switch none \
    --node-conf "Features=$FABRIC_FEATURES"
LIMIT=300
# n1's cable.
IB_EDIT='/0000110"\[1\]/s/w=31/w=1/; /^\[1\] "S-0000000000001001"\[2\]/s/w=31/w=1/'
# A second fabric of n0 and n1, of which the first mapper sees nothing.
IB_MORE='
switchguid=0x3001
Switch 4 "S-0000000000003001" # "plane1"
[1] "H-0000000000000150"[1]
[2] "H-0000000000000160"[1]

caguid=0x150
Ca 1 "H-0000000000000150" # "n0 mlx5_1"
[1] "S-0000000000003001"[1]

caguid=0x160
Ca 1 "H-0000000000000160" # "n1 mlx5_1"
[1] "S-0000000000003001"[2]'
ib_up || exit 99

says() { # PATTERN WORDS..: sfabric
    run_as_root ctl "$STAGE/bin/sfabric" "${@:2}"
    grep -Eq "$1" <<<"$out"
}

case_a_pulled_cable_of_infiniband_reaches_sinfo() { # SL-24
    local k
    fabric_settles
    ib_pull 1002 1
    wait_for 60 is_drained n2
    capture sinfo -h -n n2 -o %E
    assert_output '^switchmgrd: fabric rail 0 down \(no link at leaf1:1: '
    says 'no link at leaf1:1' why n2 || fail "sfabric why: $out"
    for k in n0 n1 n3; do
        fabric_is $k up || fail "$k: $(fabric_log | grep "host $k")"
        is_idle $k || fail "$k is $(sinfo -h -n $k -o '%T %E')"
    done
    assert_equal 1 "$(fabric_log | grep -cE 'host n2 .*-> down')" "times told"
    ib_plug 1002 1
    fabric_settles
}

# One node, two rails: the reason says which.
case_a_rail_of_two_is_told_apart() { # SL-24
    fabric_settles
    ib_pull 1002 3
    wait_for 60 fabric_is n3 down
    wait_for 60 is_drained n3
    capture sinfo -h -n n3 -o %E
    assert_output '^switchmgrd: fabric rail 1 down \(no link at leaf1:3: '
    ib_plug 1002 3
    fabric_settles
}

# A cable between switches is nobody's drain.
case_a_cable_between_switches_is_shown() { # SL-24
    local k
    fabric_settles
    ib_pull 1001 5
    wait_for 60 says 'link leaf0:5 - spine0:1 is down: no link at .* routes to'
    grep -Eq 'link leaf0:5 - spine0:1 is not well: routes to [1-4] nodes: n[0-3]' \
        "$CLUSTER/log/mapperd.ib.log" || fail "the log names no node"
    for k in $FABRIC_NODES; do
        is_idle $k || fail "$k is $(sinfo -h -n $k -o '%T %E')"
    done
    # The map does not have it now; no other one is taken for it.
    wait_for 60 is_drawn 'leaf0:6 - spine1:1, healthy'
    ib_plug 1001 5
    wait_for 60 no_link_down
    wait_for 60 is_drawn 'leaf0:5 - spine0:1, healthy'
    fabric_settles
}
# The map that mapperd wrote, with its health; ports as the switch has them.
is_drawn() { # CABLE, STATE
    run_as_root ctl "$STAGE/bin/sfabric" draw --all --health "$CLUSTER/map.ib"
    grep -q "<title>$1</title>" <<<"$out"
}
no_link_down() { ! says 'link leaf0:5 .* is down'; }

# A job runs while the cable of one of its nodes is pulled: why tells so, then
# and when it is over, and the epilog's script logs it.
case_why_tells_what_a_jobs_links_were_like() { # SL-24
    local id
    fabric_settles
    id=$(sbatch --parsable -w n1,n2 -N 2 -o /dev/null \
        --wrap 'while [ ! -e '"$WORK"'/over ]; do sleep 0.1; done')
    wait_for 60 job_is "$id" RUNNING
    run_as_root ctl "$STAGE/bin/sfabric" why "$id"
    assert_equal 0 "$code" "exit status: $out"
    grep -q 'n2 rail 0 - leaf1:1: well' <<<"$out" || fail "$out"
    ib_pull 1002 1
    wait_for 60 fabric_is n2 down
    run_as_root ctl "$STAGE/bin/sfabric" why "$id"
    assert_equal 2 "$code" "exit status: $out"
    ib_plug 1002 1
    wait_for 60 fabric_is n2 up
    touch "$WORK/over"
    wait_for 60 job_is "$id" COMPLETED
    run_as_root ctl "$STAGE/bin/sfabric" why "$id"
    assert_equal 2 "$code" "exit status: $out"
    grep -Eq 'n2 rail 0 - leaf1:1: down at 20.*, now healthy' <<<"$out" ||
        fail "$out"
    grep -Eq 'n1 rail 0 - leaf0:2: well' <<<"$out" || fail "$out"
    grep -Eq 'host n2 rail 0: .*-> down \(.*no link at leaf1:1' <<<"$out" ||
        fail "$out"
    mkdir "$WORK/bin"
    printf '%s\n' '#!/bin/sh' 'echo "$*" >>'"$WORK/logged" >"$WORK/bin/logger"
    chmod +x "$WORK/bin/logger"
    run_as_root ctl env SFABRIC="$STAGE/bin/sfabric" SLURM_JOB_ID="$id" \
        PATH="$WORK/bin:$PATH" \
        "$SF_TOP_SRCDIR/contrib/slurm_fabric_epilog"
    grep -q "^-t slurm-fabric job $id: fabric: n2 rail 0 - leaf1:1 was down at" \
        "$WORK/logged" || fail "logged: $(cat "$WORK/logged")"
    run_as_root ctl "$STAGE/bin/sfabric" why 999999
    assert_equal 3 "$code" "exit status: $out"
}
job_is() { scontrol -o show job "$1" | grep -q "JobState=$2"; }

# A subnet manager is what brings a port up: none does here any more.
case_a_port_without_a_subnet_manager_is_not_up() { # SL-24
    local pid
    fabric_settles
    for pid in $(fabric_pids opensm); do pidkill KILL "$pid"; done
    ib_pull 1002 1
    wait_for 60 is_drained n2
    ib_plug 1002 1
    wait_for 60 says 'leaf1:1 is INIT: no subnet manager' why n2
    is_drained n2 || fail "n2 is $(sinfo -h -n n2 -o '%T %E')"
    ib_start_sm
    fabric_settles
}

# errors NUMBER: the symbol errors that leaf1's port to n2 has counted.
errors() {
    ib_fault "PerformanceSet \"S-0000000000001002\"[1]" \
        "PortCounters.SymbolErrorCounter=$1"
}

# Shown with rate and limit, by default nobody's drain, and over when it is.
case_symbol_errors_are_shown_with_rate_and_limit() { # SL-24
    local n=0
    fabric_settles
    while ! fabric_is n2 degraded && [ $n -lt 60000 ]; do
        errors $((n += 500))
        sleep 1
    done
    says 'leaf1:1 symbol errors [0-9]+/s > 10/s' why n2 || fail "why: $out"
    capture scontrol show node n2
    assert_output 'Extra=.*why=leaf1:1_symbol_errors_[0-9]+/s_>'
    is_idle n2 || fail "n2 is $(sinfo -h -n n2 -o '%T %E')"
    wait_for 120 fabric_is n2 up
    assert_equal 1 "$(fabric_log | grep -cE 'host n2 .*-> degraded')" \
        "times told"
    fabric_settles
}

# Of the lanes that both ends support somebody has enabled one.
case_less_than_both_ends_support_is_shown() { # SL-24
    fabric_settles
    says 'leaf0:2 runs 1x of 12x supported' why n1 || fail "sfabric why: $out"
    says ' runs ' why n0 && fail "sfabric why: $out"
    is_idle n1 || fail "n1 is $(sinfo -h -n n1 -o '%T %E')"
    assert_empty "$(fabric_log | grep -E 'host n1 .*-> degraded')" \
        "what was told"
}

case_a_mapper_started_again_drains_nobody() { # SL-24
    local pid k
    fabric_settles
    for pid in $(fabric_pids mapperd); do pidkill KILL "$pid"; done
    ib_start_mapperd
    ib_pull 1002 1 # when this is seen there were some sweeps
    wait_for 60 is_drained n2
    for k in n0 n1 n3; do
        is_idle $k || fail "$k is $(sinfo -h -n $k -o '%T %E')"
    done
    assert_empty "$(fabric_log | grep -E 'host n[013] .*-> (down|flapping)')" \
        "what was told"
    ib_plug 1002 1
    fabric_settles
}

# Two fabrics of the same nodes have a mapper each.  The second one stays.
case_a_second_fabric_is_another_rail() { # SL-24
    local k
    fabric_settles
    sed -e 's/^MapFile=.*/&.1/' -e '$aUnit=1' "$CLUSTER/etc.fabric/mapper.n0" \
        >"$CLUSTER/etc.fabric/mapper.second"
    ib_start_sm 150
    ib_start_mapperd 150 second
    wait_for 60 says 'plane1:2' why n1
    fabric_settles
    ib_pull 3001 2
    wait_for 60 is_drained n1
    capture sinfo -h -n n1 -o %E
    assert_output '^switchmgrd: fabric rail 1 down \(no link at plane1:2: '
    says 'leaf0:2' why n1 || fail "the first rail of n1: $out"
    for k in n0 n2 n3; do
        is_idle $k || fail "$k is $(sinfo -h -n $k -o '%T %E')"
    done
    assert_empty "$(fabric_log | grep 'two mappers say')" "rivals"
    ib_plug 3001 2
    fabric_settles
}

run_cases
