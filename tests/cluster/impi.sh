# SPDX-License-Identifier: BSD-3-Clause
# What the tests of mpi/impi share.  Source after lib.sh.

need_stage slurm/mpi_impi.so libexec/slurm-fabric/impid \
    libexec/slurm-fabric/impi-server lib/slurm-fabric/libimpi.so

# The programs, copied to where the job user can read them (after
# cluster_up).
impi_programs() {
    local f
    for f in mpich openmpi; do
        [ -x "$SF_TOP_BUILDDIR/tests/cluster/impi_rank_$f" ] ||
            skip_all "impi_rank_$f is not built"
        install -m 755 "$SF_TOP_BUILDDIR/tests/cluster/impi_rank_$f" \
            "$WORK/$f"
    done
    M=$WORK/mpich O=$WORK/openmpi
}

# One world of $1 ranks: each said so once, with the right sum.
assert_world() {
    local n=$1 sum=$(($1 * ($1 + 1) / 2)) r
    for ((r = 0; r < n; r++)); do
        assert_output "^rank $r of $n sum $sum on " 1
    done
}

# One line from us, and it names rank, node and client.
assert_cause() {
    assert_error "mpi/impi: SF-E[0-9]+: $1"
    assert_equal 1 "$(grep -c 'mpi/impi: .*the job ends' <<<"$err")" "causes"
}

# Whatever an impi step may leave behind: processes of the user in the
# cluster, impid or impi-server anywhere in it, step directories.
impi_leftovers() {
    local pid dir
    user_pids
    for pid in $("$MINISLURM" pids --dir "$CLUSTER"); do
        case $(cat "/proc/$pid/comm" 2>/dev/null) in
        impid | impi-server) echo "$pid impid or impi-server" ;;
        esac
    done
    for dir in "$CLUSTER"/run.*/impi/*; do
        [ ! -e "$dir" ] || echo "$dir"
    done
    return 0
}

impi_nothing_left() {
    [ -z "$(impi_leftovers)" ]
}

# After each case: steps are over and nothing of them is left.
assert_nothing_left() {
    wait_for 30 no_job_left
    wait_for 15 impi_nothing_left || impi_leftovers | sed 's/^/#   left: /'
}

# The pid of impid for a step on a node whose command line is known by its
# parent: any impid in the cluster on that node (one step at a time).
impi_pid_of() { # impid|impi-server
    local pid
    for pid in $("$MINISLURM" pids --dir "$CLUSTER"); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$1" ] && echo "$pid"
    done
    return 0
}

# The agents of a node.
agents_of() { # NODE
    local pid
    for pid in $(impi_pid_of impid); do
        [ "$(place_of "$pid")" != "$1" ] || echo "$pid"
    done
}

# The slurmstepd of the one step that runs on a node.
stepd_of() { # NODE
    local pid words
    for pid in $("$MINISLURM" pids --dir "$CLUSTER"); do
        words=$(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline")
        case $words in 'slurmstepd: '*extern* | 'slurmstepd: '*batch*) ;;
        'slurmstepd: '*)
            [ "$(place_of "$pid")" != "$1" ] || echo "$pid" ;;
        esac
    done
    return 0
}
place_of() { # a place of the cluster by the name of its host
    nsenter -t "$1" -u hostname 2>/dev/null
}

# start_as_user left its command behind: wait for "ready N" N times.
ready() {
    [ "$(grep -c '^ready' "$case_tmp/bg.out")" = "$1" ]
}

# Wait for the command of start_as_user ($!): fills code, out, err.
collect() {
    wait "$1"
    code=$?
    out=$(cat "$case_tmp/bg.out") err=$(cat "$case_tmp/bg.err")
}

# Before a command of salloc: the job lasts until steps that were spawned have
# ended, too.
# shellcheck disable=SC2016,SC2034
to_the_last_step=(sh -c '"$@"
code=$?
while squeue -h -s -j "$SLURM_JOB_ID" -o %i | grep -qv extern; do
    sleep 0.1
done
exit $code' sh)
