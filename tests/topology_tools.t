#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The graph of our topology.yaml is the one that others' tools find in the same
# fabric: NVIDIA's topograph and ib2slurm.  tests/topology/NAME.ibnetdiscover is
# a fabric, NAME.topograph.yaml and NAME.ib2slurm.conf what these tools' rules
# make of it, written by hand.  With the tools themselves (make
# check-topology-tools):
#     IB2SLURM=PROGRAM   ib2slurm explores each of the fabrics in ibsim
#     BY_TOPOGRAPH=PROGRAM   topograph reads each of the fabrics, and makes
#                        blocks of domains: tests/topology/by_topograph.go says
#                        how it is built
#     TOPOGRAPH=DIR      topograph's sources: its own example with the file that
#                        its test expects
set -u
. "$(dirname "$0")/tap.sh"
tmp=$(mktemp -d)
sim=
trap '[ -z "$sim" ] || kill "$sim"; rm -rf "$tmp"' EXIT
sfabric=$build/src/sfabric/sfabric
graph=$top/tests/topology/graph.py
[ -x "$sfabric" ] || { echo "1..0 # SKIP sfabric is not built"; exit 77; }
command -v python3 >/dev/null || { echo "1..0 # SKIP no python3"; exit 77; }

ours() { # FILE [NODES]
    "$sfabric" topology "$1" >"$tmp/ours" && "$graph" tree "$tmp/ours" "${@:2}"
}

# ibsim_up FILE: which it simulates under the name $tmp.
ibsim_up() {
    mkfifo "$tmp/in" 2>/dev/null
    export IBSIM_SOCKNAME=sim${tmp//\//.} SIM_HOST=H-0000000000000100
    ibsim -s "$1" <>"$tmp/in" >"$tmp/ibsim.log" 2>&1 &
    sim=$!
    timeout 30 bash -c 'until grep -q MaxMcastCap "$1"; do sleep 0.05; done' \
        - "$tmp/ibsim.log"
}

ibsim_down() {
    kill "$sim"
    wait "$sim" 2>/dev/null
    sim=
}

in_ibsim() {
    LD_PRELOAD=$(echo /usr/lib/*/umad2sim/libumad2sim.so) timeout 60 "$@"
}

# What ib2slurm itself says, and what we make of ibnetdiscover's own output.
by_ib2slurm() { # FILE
    ibsim_up "$1" &&
        in_ibsim "$IB2SLURM" >"$tmp/theirs" 2>"$tmp/err" &&
        in_ibsim ibnetdiscover >"$tmp/seen" 2>>"$tmp/err"
    local rc=$?
    ibsim_down
    return $rc
}

compare_with_ib2slurm() { # FILE
    by_ib2slurm "$1" || { cat "$tmp/err" "$tmp/ibsim.log"; return 1; }
    local theirs mine
    theirs=$("$graph" cables "$tmp/theirs") && mine=$(ours "$tmp/seen") ||
        return
    echo "ib2slurm: $theirs"
    echo "ours:     $mine"
    [ "$theirs" = "$mine" ]
}

nodes_of() { # FILE
    grep -oE '"n[0-9]+ ' "$1" | tr -d '" ' | sort -u
}

# What topograph itself makes of ibnetdiscover's output.
compare_by_topograph() { # FILE
    local theirs mine
    nodes_of "$1" >"$tmp/nodes"
    # shellcheck disable=SC2086
    $BY_TOPOGRAPH tree "$1" "$tmp/nodes" >"$tmp/theirs" &&
        theirs=$("$graph" tree "$tmp/theirs") && mine=$(ours "$1") || return
    echo "topograph: $theirs"
    echo "ours:      $mine"
    [ "$theirs" = "$mine" ]
}

# Blocks and their sizes by the same domains, across the leaves.
compare_blocks_by_topograph() { # FILE
    local theirs mine
    nodes_of "$1" >"$tmp/nodes"
    printf '%s\n' 'rack1 n0 n5 n1 n4' 'rack2 n2 n7 n3 n6' >"$tmp/domains"
    # shellcheck disable=SC2086
    $BY_TOPOGRAPH block "$1" "$tmp/nodes" "$tmp/domains" >"$tmp/theirs" ||
        return
    sed -i 's/ n/ n[/; s/ n\([0-9]\)/,\1/g; s/$/]/' "$tmp/domains"
    "$sfabric" topology --domains "$tmp/domains" "$1" >"$tmp/ours" || return
    theirs=$(sed -nE 's/^BlockName=.* Nodes=/ /p; s/^BlockSizes=/sizes /p' \
        "$tmp/theirs" | tr -d '\n')
    mine=$(awk '/- topology: blocks/ { on = 1 } !on { next }
        $1 == "nodes:" { gsub("\"", "", $2); b = b " " $2 }
        $1 == "-" && $2 + 0 { s = s (s ? "," : "") $2 }
        END { printf "%ssizes %s", b, s }' "$tmp/ours")
    echo "topograph: $theirs"
    echo "ours:      $mine"
    [ -n "$mine" ] && [ "$theirs" = "$mine" ]
}

# The nodes of a cluster that topograph's own test has, and what it expects.
compare_with_topograph() { # DIR
    local test=$1/pkg/ib/ib_test.go theirs mine
    sed -n '/^func TestGenerateTopologyConfigValid/,/^}/p' "$test" >"$tmp/test"
    sed -n 's/^\t*"\([^"]*\)": *"\1",$/\1/p' "$tmp/test" >"$tmp/nodes"
    sed -n '/expected := `/,/^`/{ s/.*`//; /SwitchName/p }' "$tmp/test" \
        >"$tmp/theirs"
    theirs=$("$graph" tree "$tmp/theirs") &&
        mine=$(ours "$1/tests/output/ibnetdiscover/example.out" "$tmp/nodes") ||
        return
    echo "topograph: $theirs"
    echo "ours:      $mine"
    [ "$theirs" = "$mine" ]
}

for file in "$top"/tests/topology/*.ibnetdiscover; do
    name=${file##*/}
    name=${name%.ibnetdiscover}
    same "topograph has this graph of $name" \
        "$("$graph" tree "${file%.*}.topograph.yaml")" "$(ours "$file")"
    same "ib2slurm has this graph of $name" \
        "$("$graph" cables "${file%.*}.ib2slurm.conf")" "$(ours "$file")"
    [ -z "${IB2SLURM-}" ] ||
        ok "ib2slurm itself has this graph of $name" compare_with_ib2slurm "$file"
    [ -z "${BY_TOPOGRAPH-}" ] ||
        ok "topograph itself has this graph of $name" compare_by_topograph "$file"
done
[ -z "${BY_TOPOGRAPH-}" ] ||
    ok "topograph itself has these blocks" \
        compare_blocks_by_topograph "$top/tests/topology/clos.ibnetdiscover"
[ -z "${TOPOGRAPH-}" ] ||
    ok "topograph's own example has the graph that it expects" \
        compare_with_topograph "$TOPOGRAPH"
finish
