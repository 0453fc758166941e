# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For the tests in this folder: a directory of their own, a time limit that
# shows the stacks of who hangs.  Sourced.
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"
dir=$build/tests/mpi
tests=$top/tests
stage=$build/stage
impirun=$stage/bin/impirun
front=$build/src/libimpi/.libs/libimpi.so
sanitized=$(grep -Eac '__[at]san_init' "$front" 2>/dev/null)
# SF_MPI_RUNTIME is that of the sanitizer of this build, which comes first.
front=${SF_MPI_RUNTIME:+$SF_MPI_RUNTIME:}$front

# Open MPI looks for its own daemons' directory here.
export TMPDIR
TMPDIR=$(mktemp -d) || exit 99
trap 'rm -rf "$TMPDIR"' EXIT
export STACKS_TO=$TMPDIR/stacks STACKS_DIR=$TMPDIR
# "${limited[@]}" SECONDS COMMAND..: 124 after so long, and stacks for report.
limited=("$tests/stacks.sh" limit)

# need_both PROGRAM: it is there for MPICH and for Open MPI.
need_both()
{
    [ "$sanitized" = 0 ] || [ -n "${SF_MPI_RUNTIME-}" ] ||
        skip_all "a sanitizer is built in: make check-mpi-sanitized"
    [ -x "$dir/$1.mpich" ] && [ -x "$dir/$1.openmpi" ] ||
        skip_all "both MPI libraries are needed"
}

have_ipv6()
{
    grep -q "^0*1 .* lo$" /proc/net/if_inet6 2>/dev/null
}

need_stage() # PROGRAM
{
    [ -x "$stage/bin/$1" ] || skip_all "a stage is needed"
}

# What was said goes into out and out.*, which a failure shows whole: also what
# ends within a line, so that the next case begins one.
report() # CODE TITLE
{
    result "$1" "$2" ||
        cat "$TMPDIR"/out "$TMPDIR"/out.* "$STACKS_TO" 2>/dev/null |
        tr -d '\0' | awk '{ print "# " $0 }'
    rm -f "$TMPDIR"/out "$TMPDIR"/out.* "$STACKS_TO"
}

can_see_what_is_left()
{
    unshare -m true 2>/dev/null
}

# death_ends COMMAND..: a world of which a process is killed: the job ends, the
# launcher names one that vanished (the library's own launcher may have killed
# others by then), and of shared memory nothing is left.
death_ends()
{
    rm -f "$TMPDIR/left"
    # shellcheck disable=SC2016
    "${limited[@]}" 60 unshare -m bash -c '
        mount -t tmpfs none /dev/shm || exit 98
        "${@:2}"
        rc=$?
        ls -A /dev/shm >"$1"
        exit $rc' - "$TMPDIR/left" "$@" >"$TMPDIR/out" 2>&1
    local rc=$?
    [ $rc = 1 ] && grep -qE "rank [0-9]+ vanished" "$TMPDIR/out" &&
        ! grep -q "^PASS" "$TMPDIR/out" &&
        [ -e "$TMPDIR/left" ] && [ ! -s "$TMPDIR/left" ] && return
    echo "exit code $rc; left: $(cat "$TMPDIR/left")" >>"$TMPDIR/out"
    return 1
}
