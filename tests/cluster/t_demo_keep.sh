#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `./quickstart demo --keep`, behind its building: the fabric's page stays up
# until Ctrl-C, which leaves nothing behind; what a cable that is pulled as it
# says looks like in a browser.  PAGE_SHOTS=DIR keeps the pictures.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so slurm/mpi_impi.so libexec/slurm-fabric/mapperd \
    bin/sfabric
[ -e "$SF_TOP_BUILDDIR/examples/hello_mpich" ] &&
    [ -e "$SF_TOP_BUILDDIR/examples/hello_openmpi" ] ||
    skip_all "the examples are not built"

# As a shell starts what stands in front: with Ctrl-C, in a group of its own.
in_front() {
    exec python3 -c '
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.setsid()
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}

stays_up() {
    kill -0 "$demo" 2>/dev/null || fail "it ended: $(tail -n 20 "$log")"
    grep -q '^Ctrl-C ends it' "$log"
}

# told WORDS: the command that stands behind them.
told() {
    sed -n "s/^$1: *//p" "$log"
}
browser_saw() {
    kill -0 "$browser" 2>/dev/null || grep -q "^seen $1\$" "$saw" ||
        fail "the browser ended: $(cat "$saw")"
    grep -q "^seen $1\$" "$saw"
}
# Open all the time, as somebody's who tries it.
a_fault_is_seen_on_the_page() {
    local saw=$case_tmp/saw browser shots=${PAGE_SHOTS:-$case_tmp}
    local quiet='!document.querySelector("#faults .fault")'
    HOME=$case_tmp PAGE_PATIENCE=200 python3 \
        "$SF_TOP_SRCDIR/tests/cluster/page_look.py" "$url" 1280x600 \
        "$shots/demo.png" \
        "$quiet && document.querySelectorAll('#map g[role=button]').length == 8 &&
         document.querySelector('#map [aria-label=\"node n2, healthy\"]')" \
        'document.querySelector("#faults .fault.down") &&
         document.querySelector("#map [aria-label^=\"node n2, down\"]") &&
         document.getElementById("faults").textContent.includes("drained by the fabric")' \
        "$quiet" >"$saw" 2>&1 &
    browser=$!
    wait_for 120 browser_saw 1
    # shellcheck disable=SC2046
    capture $(told "Pull the cable of n2")
    assert_code 0
    wait_for 120 browser_saw 2
    # shellcheck disable=SC2046
    capture $(told "Put it back")
    assert_code 0
    wait_for 120 browser_saw 3
    wait "$browser" || fail "errors of the console: $(cat "$saw")"
}

case_the_page_stays_up_until_ctrl_c() {
    local log=$case_tmp/demo.log demo url dir
    in_front "$SF_TOP_SRCDIR/tools/demo" "$SF_TOP_BUILDDIR" --keep >"$log" 2>&1 \
        </dev/null &
    demo=$!
    wait_for 400 stays_up
    url=$(sed -n 's/^== the fabric stays up: //p' "$log")
    dir=$(sed -n 's/.* --dir \([^ ]*\) -- sinfo$/\1/p' "$log")
    capture python3 -c '
import json, sys, urllib.request
f = json.load(urllib.request.urlopen(sys.argv[1] + "fabric.json", timeout=20))
print(len(f["hosts"]), "hosts")' "$url"
    assert_output '^4 hosts$'
    ! command -v chromium >/dev/null || a_fault_is_seen_on_the_page
    kill -INT -- "-$demo"
    wait "$demo"
    assert_equal 0 $? "exit status"
    [ -n "$dir" ] && [ ! -e "$dir" ] || fail "left behind: $dir"
    assert_equal "" "$(pgrep -f "$dir")" "processes left"
}

run_cases
