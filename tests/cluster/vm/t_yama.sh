#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Windows of the program's own memory where yama lets no process copy that of
# another that it has not started: processes of different clients are siblings.
# Copies then go as messages, which the target's thread serves.  In a guest only:
#     vm -- t_yama.sh     (see vm/check)
set -u
. "${SF_TOP_SRCDIR:?}/tests/tap.sh"
[ -d /run/vm ] || skip_all "not in a guest"
. "$top/tests/cluster/mini/patience.sh"
scope=/proc/sys/kernel/yama/ptrace_scope
[ -w $scope ] || skip_all "the guest's kernel has no yama"
mpi=$build/tests/mpi
for f in mpich openmpi; do
    [ -x "$mpi/rma_passive.$f" ] && [ -x "$mpi/rma_ops.$f" ] ||
        skip_all "programs of both MPI libraries are not built"
done
TMPDIR=$(mktemp -d) && chmod 777 "$TMPDIR" || exit 99
trap 'rm -rf "$TMPDIR"' EXIT
export TMPDIR HOME=$TMPDIR BARE_FRONT=$build/src/libimpi/.libs/libimpi.so
export IMPI_STATS=1

# world USER PROGRAM [ARG..]: one process of each library; root may copy
# whatever yama says up to scope 2.
world() {
    timeout "$(patience 60)" setpriv --reuid="$1" --regid="$1" --clear-groups \
        "$mpi/bare_world" mpich:1 openmpi:1 -- "$mpi/$2" "${@:3}" \
        >"$TMPDIR/out" 2>&1 && grep -q "^PASS $2" "$TMPDIR/out"
}

# sent: bytes that rank 0 sent to rank 1.
sent() {
    awk '/^slurm-fabric: rank 0: +1 / { print $7 }' "$TMPDIR/out"
}

is() { # TITLE COMMAND..
    "${@:2}"
    result $? "$1" || sed 's/^/# /' "$TMPDIR/out"
}

# The window gets 16 KB in one piece, with a target that is out of MPI.
passive() { # USER
    rm -f "$TMPDIR/fifo"
    mkfifo -m 666 "$TMPDIR/fifo"
    world "$1" rma_passive "$TMPDIR/fifo" create
}
copied() { passive "$1" && [ "$(sent)" -lt 16384 ]; }
by_messages() { passive "$1" && [ "$(sent)" -gt 16384 ]; }

set_scope() { # NUMBER: it only goes up to 3, and never back from there
    echo "$1" >$scope && [ "$(cat $scope)" = "$1" ]
}

nobody=65534
set_scope 0
is "ptrace_scope 0: memory is copied" copied $nobody
set_scope 1
is "ptrace_scope 1: it goes by messages while the target is out of MPI" \
    by_messages $nobody
is "ptrace_scope 1: every operation" world $nobody rma_ops
is "ptrace_scope 1: root's memory is copied" copied 0
set_scope 2
is "ptrace_scope 2: it goes by messages" by_messages $nobody
set_scope 3
is "ptrace_scope 3: it goes by messages, root's too" by_messages 0
finish
