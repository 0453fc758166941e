#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `./quickstart demo --keep`, behind its building: the fabric's page stays up
# until Ctrl-C, which leaves nothing behind.
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
    kill -INT -- "-$demo"
    wait "$demo"
    assert_equal 0 $? "exit status"
    [ -n "$dir" ] && [ ! -e "$dir" ] || fail "left behind: $dir"
    assert_equal "" "$(pgrep -f "$dir")" "processes left"
}

run_cases
