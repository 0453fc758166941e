#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# impi-conform on both libraries: clients that only their hosts connect
# (strict, external32), and clients whose processes talk to each other.
# CONFORM_CLIENTS and CONFORM_PROCS make it longer (make check-mpi).
dir=${SF_TOP_BUILDDIR:?}/tests/mpi
stage=$SF_TOP_BUILDDIR/stage
conform=$stage/bin/impi-conform
export BARE_FRONT=$SF_TOP_BUILDDIR/src/libimpi/.libs/libimpi.so
export IMPI_AUTH_KEY=4711

export TMPDIR
TMPDIR=$(mktemp -d) || exit 99
trap 'rm -rf "$TMPDIR"' EXIT

if [ ! -x "$conform" ] || [ ! -e "$dir/ring.mpich" ] ||
    [ ! -e "$dir/ring.openmpi" ] || ! command -v python3 >/dev/null; then
    echo "1..0 # SKIP needs both MPI libraries, a stage and python3"
    exit 0
fi
for family in mpich openmpi; do
    "$conform" --compile "mpicc.$family" -o "$TMPDIR/run.$family" \
        >"$TMPDIR/log" 2>&1 || {
        cat "$TMPDIR/log"
        echo "Bail out! the interpreter does not compile with mpicc.$family"
        exit 1
    }
done

: "${CONFORM_CLIENTS:=2}"

# The numbers go on from one run to the next.
n=0
renumber()
{
    local line
    while IFS= read -r line; do
        case $line in
        ok\ * | not\ ok\ *)
            n=$((n + 1))
            echo "${line%%ok *}ok $n - $1: ${line#* - }"
            ;;
        1..*) ;;
        *) echo "$line" ;;
        esac
    done <"$TMPDIR/tap"
}

# Open MPI 4.1 by itself breaks its heap when a long message is truncated
# between two of its processes, and a persistent buffered send of it sends old
# data when it is started again: both only where a client is one process.
own_faults='!truncation_is_an_error,!persistent_buffered'

for procs in ${CONFORM_PROCS:-1}; do
    tests='*'
    [ "$procs" = 1 ] || tests="*,$own_faults"
    "$conform" --clients "$CONFORM_CLIENTS" --procs "$procs" \
        --tests "$tests" --program "$TMPDIR/run.mpich" \
        --program "$TMPDIR/run.openmpi" >"$TMPDIR/tap" 2>&1
    renumber im_014_im_015_strict
done
# world CLIENTS: so many clients of {np} processes, the libraries in turn.
world()
{
    local families=(mpich openmpi) i
    for ((i = 0; i < $1; i++)); do
        printf '%s:{np} ' "${families[i % 2]}"
    done
}
for clients in ${CONFORM_CLIENTS//,/ }; do
    for procs in ${CONFORM_PROCS:-2}; do
        "$conform" --clients "$clients" --procs "$procs" \
            --tests "*,$own_faults" --job "$dir/bare_world $(world "$clients")
                -- $TMPDIR/run {script}" >"$TMPDIR/tap" 2>&1
        renumber im_014_im_015_direct
    done
done
echo "1..$n"
