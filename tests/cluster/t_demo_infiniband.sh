#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `./quickstart demo infiniband`, behind its building, as a user runs it: what
# it prints has each fault, by the names of node and cable, in sinfo -R and in
# sfabric; all of it heals, and nothing is left behind.
. "$(dirname "$0")/lib.sh"
need_stage libexec/slurm-fabric/mapperd libexec/slurm-fabric/switchmgrd \
    bin/sfabric
. "$SF_TOP_SRCDIR/tests/cluster/infiniband.sh"
lacks=$(ib_missing)
[ -z "$lacks" ] || skip_all "this machine lacks: $(echo $lacks)"
LIMIT=400

# after HEADING COMMAND: what the command last printed below that heading.
after() {
    awk -v h="== $1" -v c="\$ $2" '
        /^== / { here = index($0, h) == 1; show = 0; next }
        here && /^\$ / { show = $0 == c; if (show) text = ""; next }
        here && show { text = text $0 "\n" }
        END { printf "%s", text }' "$said"
}

# has HEADING COMMAND PATTERN
has() {
    after "$1" "$2" | grep -Eq "$3" ||
        fail "below '$1', '$2' has no /$3/: $(after "$1" "$2")"
}

case_the_infiniband_demo_shows_each_fault_and_heals() { # SL-24
    local said=$case_tmp/demo.log dir
    local reasons='sinfo -R -o %N: %E' of=switchmgrd:
    "$SF_TOP_SRCDIR/tools/demo-infiniband" "$SF_TOP_BUILDDIR" >"$said" 2>&1 \
        </dev/null
    assert_equal 0 $? "exit status; $(tail -n 40 "$said")"
    assert_equal "The demonstration went well." "$(tail -n 1 "$said")" "end"
    has 'a simulated InfiniBand' sfabric '^healthy +4 n\[0-3\]$'
    has 'the cable of n2' "$reasons" "^n2: $of fabric rail 0 down \(no link at leaf1:1:"
    has 'the cable of n2' sfabric '^down +1 n2$'
    has 'the cable of n2' 'sfabric why n2' 'no link at leaf1:1'
    has 'one of the two rails of n3' "$reasons" \
        "^n3: $of fabric rail 1 down \(no link at leaf1:3:"
    has 'a cable between two switches' sfabric \
        '^ +link leaf0:5 - spine0:1 is down: .* - routes to [1-4] nodes$'
    has 'a cable between two switches' sfabric '^healthy +2 n\[0-1\]$'
    assert_equal "NODELIST: REASON" "$(after 'all is mended' "$reasons")" \
        "reasons that stay"
    has 'all is mended' sfabric '^healthy +4 n\[0-3\]$'
    has 'all is mended' sfabric '^links: 4 healthy$'
    dir=$(sed -n 's,^MapFile=\(/[^ ]*\)/map.ib$,\1,p' "$said")
    [ -n "$dir" ] && [ ! -e "$dir" ] || fail "left behind: '$dir'"
    assert_equal "" "$(pgrep -f "${dir##*/}")" "processes left"
    assert_equal "" "$(find /tmp /dev/shm -maxdepth 1 -name "*${dir##*/}*")" \
        "left behind"
}

run_cases
