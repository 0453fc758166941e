#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# impi-conform on both libraries: clients that only their hosts connect
# (strict, external32), and clients whose processes talk to each other.
# CONFORM_CLIENTS and CONFORM_PROCS make it longer (make check-mpi).  What
# passed is noted in the directory CONFORM_STATE, if that is given, and not run
# again with the same build; the directory goes when all has passed.
. "$(dirname "$0")/lib.sh"
conform=$stage/bin/impi-conform
export BARE_FRONT=$front
export IMPI_AUTH_KEY=4711

need_both ring
need_stage impi-conform
command -v python3 >/dev/null || skip_all "python3 is not installed"
for family in mpich openmpi; do
    "$conform" --compile "mpicc.$family" -o "$TMPDIR/run.$family" \
        >"$TMPDIR/log" 2>&1 || {
        cat "$TMPDIR/log"
        echo "Bail out! the interpreter does not compile with mpicc.$family"
        exit 1
    }
done

: "${CONFORM_CLIENTS:=2}"
state=${CONFORM_STATE:-$TMPDIR/state}
failed=0

build()
{
    cat "$conform" "$impirun" "$SF_TOP_BUILDDIR"/src/libimpi/.libs/*.so | cksum
}
if [ "$(cat "$state/build" 2>/dev/null)" != "$(build)" ]; then
    rm -rf "$state"
    mkdir "$state" && build >"$state/build" || exit 99
fi

# conform KIND ARGS: the numbers go on from one run to the next.
conform()
{
    local line end=''
    while IFS= read -r line; do
        case $line in
        ok\ * | not\ ok\ *)
            n=$((n + 1))
            [ "${line%%ok *}" = '' ] || failed=1
            echo "${line%%ok *}ok $n - im_014_im_015_$1: ${line#* - }"
            ;;
        1..*) end=$line ;;
        *) echo "$line" ;;
        esac
    done < <("$conform" --state "$state/$1" "${@:2}" 2>&1)
    [ -n "$end" ] && return
    echo "Bail out! impi-conform did not come to its end"
    exit 1
}

# Open MPI 4.1 by itself breaks its heap when a long message is truncated
# between two of its processes, and a persistent buffered send of it sends old
# data when it is started again: both only where a client is one process.
own_faults='!truncation_is_an_error,!persistent_buffered'

for procs in ${CONFORM_PROCS:-1}; do
    chosen='*'
    [ "$procs" = 1 ] || chosen="*,$own_faults"
    conform strict --clients "$CONFORM_CLIENTS" --procs "$procs" \
        --tests "$chosen" --program "$TMPDIR/run.mpich" \
        --program "$TMPDIR/run.openmpi"
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
        conform direct --clients "$clients" --procs "$procs" \
            --tests "*,$own_faults" --job "$dir/bare_world $(world "$clients")
                -- $TMPDIR/run {script}"
    done
done
[ $failed = 1 ] || rm -rf "$state"
echo "1..$n"
