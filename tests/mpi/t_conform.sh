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

build()
{
    cat "$conform" "$impirun" "$SF_TOP_BUILDDIR"/src/libimpi/.libs/*.so | cksum
}
if [ "$(cat "$state/build" 2>/dev/null)" != "$(build)" ]; then
    rm -rf "$state"
    mkdir "$state" && build >"$state/build" || exit 99
fi

# sees TITLE FAILURE LINE...: the interpreter says that of this script, once, and
# ends with 1.
sees()
{
    printf '%s\n' 'test wrong' "${@:3}" >"$TMPDIR/wrong"
    "${limited[@]}" 100 mpiexec.hydra -n 1 "$TMPDIR/run.mpich" \
        "$TMPDIR/wrong" >"$TMPDIR/out" 2>&1
    [ $? = 1 ] && grep -q "^FAIL rank 0 line [0-9]* (wrong): $2" "$TMPDIR/out" &&
        grep -q '^END rank 0 of 1 failures 1$' "$TMPDIR/out"
    report $? "the_interpreter_sees: $1"
}

# tells TITLE CODE LINE COMMANDS: the manager ends with that code and says that
# line of a job that is these commands of a shell.
tells()
{
    echo "$4" >"$TMPDIR/job"
    "$conform" --clients 1 --procs 1 --tests data_int,data_long \
        --job "sh $TMPDIR/job" >"$TMPDIR/out" 2>&1
    [ $? = "$2" ] && grep -qx "$3" "$TMPDIR/out"
    report $? "the_manager_tells: $1"
}

# conform KIND ARGS: the numbers go on from one run to the next.
conform()
{
    local line end=''
    while IFS= read -r line; do
        case $line in
        ok\ *) result 0 "$1: ${line#* - }" ;;
        not\ ok\ *) result 1 "$1: ${line#* - }" ;;
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

sent='0 send req=0 to=0 tag=1 count=3 seed=1'
sees 'other data' 'recv: element 0 is 31, expected 62' "$sent" \
    '0 recv from=0 tag=1 count=3 seed=2' '0 wait req=0'
sees 'another count' 'recv: 3 elements, expected 2' "$sent" \
    '0 recv from=0 tag=1 count=3 got=2 seed=1' '0 wait req=0'
sees 'another tag' 'recv: ' "$sent" \
    '0 recv from=0 tag=any realtag=2 count=3 seed=1' '0 wait req=0'
sees 'an error' 'recv: error class [1-9][0-9]*, expected 0' "$sent" \
    '0 recv from=0 tag=1 count=2 seed=1' '0 wait req=0'
sees 'no error' 'recv: error class 0, expected' "$sent" \
    '0 recv from=0 tag=1 count=3 seed=1 error=truncate' '0 wait req=0'
sees 'other memory' 'holds: element 0 is 31, expected 62' \
    'all window win=0 count=3' 'all lock win=0 to=0' \
    'all put win=0 to=0 count=3 seed=1' 'all unlock win=0 to=0' \
    'all holds win=0 count=3 seed=2 locked=1' 'all endwindow win=0'
right='echo DONE data_int; echo END rank 0 of 1 failures 0'
wrong='echo "FAIL rank 0 line 2 (data_int): recv: other data"'
where='1 x 1:'
tells 'what passed' 0 "ok 2 - $where data_long" "$right"
tells 'what failed' 1 "not ok 1 - $where data_int" "$wrong; $right; exit 1"
tells 'that no other failed' 1 "ok 2 - $where data_long" "$wrong; $right; exit 1"
tells 'a test that was not ended' 1 "not ok 1 - $where data_int" 'exit 0'
tells 'a code without a failure' 1 "not ok 3 - $where exit codes" \
    "$right; exit 3"

for procs in ${CONFORM_PROCS:-1}; do
    chosen='*,!window_*' # refused there
    [ "$procs" = 1 ] || chosen="$chosen,$own_faults"
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
[ $tap_failed = 1 ] || rm -rf "$state"
finish
