#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# impi-server under srun: what users choose, and who else comes to its port.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/impi.sh"
cluster_up --nodes 3 --switch elan
impi_programs

case_thresholds_reach_the_world() {
    run_as_user env IMPI_COLL_XSIZE=0 IMPI_COLL_MAXLINEAR=1 \
        srun --mpi=impi -n2 "$M" : -n1 "$O" : -n2 "$M"
    assert_code 0
    assert_world 5
    assert_nothing_left
}

case_clients_that_disagree_do_not_start() {
    local name
    for name in XSIZE MAXLINEAR; do
        run_as_user srun --mpi=impi \
            "--export=ALL,IMPI_COLL_$name=5" -n1 "$M" : \
            "--export=ALL,IMPI_COLL_$name=7" -n1 "$O"
        assert_code_not 0
        assert_error "SF-E215: clients disagree: IMPI_C_COLL_$name is 5 .* 7"
        assert_nothing_left
    done
}

case_threshold_that_is_no_number_is_named() {
    run_as_user env IMPI_COLL_MAXLINEAR=few srun --mpi=impi \
        -n1 "$M" : -n1 "$O"
    assert_code_not 0
    assert_error 'SF-E219: IMPI_COLL_MAXLINEAR is not a number .*: few'
    assert_nothing_left
}

# Listening ports of a process of the cluster.
ports_of() { # PID
    local inode
    for inode in $(find "/proc/$1/fd" -lname 'socket:*' -printf '%l\n' |
        tr -dc '0-9\n'); do
        awk -v i="$inode" '$4 == "0A" && $10 == i { split($2, a, ":");
            print a[2] }' "/proc/$1/net/tcp"
    done | while read -r hex; do echo $((16#$hex)); done
}

# Strangers say nothing, or nonsense, at every port of the server while a
# job runs; it neither stops nor fails.
case_strangers_harm_nobody() {
    local pid port srun said=0 end=$WORK/said
    start_as_user srun --mpi=impi -n1 "$M" until "$end" : \
        -n1 "$O" until "$end"
    srun=$!
    wait_for 30 ready 2
    pid=$(impi_pid_of impi-server)
    for port in $(ports_of "$pid"); do
        for _ in 1 2 3 4 5; do
            (
                exec 4<>"/dev/tcp/127.0.0.1/$port" || exit 1
                head -c 500 /dev/urandom >&4 2>/dev/null
                exit 0
            ) 2>/dev/null && said=$((said + 1))
        done
    done
    touch "$end"
    collect $srun
    assert_code 0
    assert_world 2
    [ $said -gt 0 ] || fail "no port of impi-server was reached"
    assert_nothing_left
}

# A tool that stops rank 1 where somebody asks for a variable of the
# environment whose name begins with $STOP_AT.
build_stop() {
    cat >"$WORK/stop.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>
char *getenv(const char *name)
{
    static char *(*real)(const char *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "getenv");
    const char *at = real("STOP_AT");
    if (at && !strncmp(name, at, strlen(at)) && real("GO_ON") &&
        !strcmp(real("SLURM_PROCID"), "1"))
        while (access(real("GO_ON"), F_OK))
            usleep(10000);
    return real(name);
}
END
    cc -shared -fPIC -o "$WORK/stop.so" "$WORK/stop.c" -ldl ||
        skip "no compiler"
}

# The native library is between its processes, and has no time limit: who is
# behind is told.
who_is_behind_is_told() { # STOP_AT WHERE
    local srun
    build_stop
    rm -f "$WORK/go"
    start_as_user srun --mpi=impi \
        --export="ALL,LD_PRELOAD=$WORK/stop.so,GO_ON=$WORK/go,STOP_AT=$1" \
        -n2 "$M" : -n1 "$O"
    srun=$!
    wait_for 60 grep -q SF-E410 "$case_tmp/bg.err"
    touch "$WORK/go"
    collect $srun
    assert_code 0
    assert_world 3
    assert_error "SF-E410: MPI_Init stands still for 20 seconds on node [^ ]*: \
rank 1 of client 0 \(MPICH\) has $2 \(rank 1 is process [0-9]*, [a-z ]*\); \
rank 0 waits"
    assert_nothing_left
}
case_who_is_behind_after_the_native_mpi_init() {
    who_is_behind_is_told SLURM_IMPI_DATA \
        "not taken the world from impid"
}
case_who_is_behind_in_the_native_mpi_init() {
    who_is_behind_is_told MPIR_CVAR_ \
        "not come out of the native MPI_Init"
}

# The world ended well; what a task does afterwards is still the job's result.
case_exit_code_after_finalize() {
    run_as_user srun --mpi=impi -n1 sh -c "$M; exit 3" : -n1 "$O"
    assert_code 3
    assert_world 2
    assert_nothing_left
}


# From glibc 2.41 on exit() waits for the lock of every stream, also of one that
# a thread of ours reads.  fflush(NULL) does that everywhere.
case_no_stream_is_locked_when_srun_ends() {
    cat >"$WORK/flush.c" <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
__attribute__((destructor)) static void lock_all(void)
{
    if (strcmp(program_invocation_short_name, "srun") == 0)
        fflush(NULL);
}
C
    cc -shared -fPIC -o "$WORK/flush.so" "$WORK/flush.c" || skip "no compiler"
    start_as_user env LD_PRELOAD="$WORK/flush.so" srun --mpi=impi -N1 -n2 sh -c \
        "$M; echo ready; until [ -e $WORK/go ]; do sleep 0.05; done"
    srun_pid=$!
    wait_for 30 ready 2
    server=$(impi_pid_of impi-server)
    kill -STOP "$server" # it has not said its last word when srun ends
    touch "$WORK/go"
    collect $srun_pid
    rm "$WORK/go"
    kill -CONT "$server"
    assert_code 0
    assert_nothing_left
}

run_cases
