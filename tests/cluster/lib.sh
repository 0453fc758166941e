# SPDX-License-Identifier: BSD-3-Clause
# Harness of the cluster tests.  A test script t_NAME.sh sources this, calls
# cluster_up (options of minislurm) at its top, defines functions case_NAME
# and ends with `run_cases`.  Cases run in the order in which they stand in
# the file; each is one TAP line.  A case fails if it returns non-zero or any
# assertion in it failed; assertions print what was expected and what came.
# On failure the tail of the cluster's logs is printed.
#
#     . "$(dirname "$0")/lib.sh"
#     cluster_up --nodes 2 --proctrack cgroup
#     case_hello() {                 # prints hello
#         run_as_user srun -n1 echo hello
#         assert_code 0
#         assert_output '^hello$'
#     }
#     run_cases
#
# Inside a case: $CLUSTER is the cluster's directory ($CLUSTER/log,
# $CLUSTER/etc/slurm.conf), $WORK a directory of the job user, $STAGE the
# installed tree; SLURM_CONF is set.  $PLAIN says why there are no namespaces, or
# is empty.  $case_tmp is a root-only directory
# (removed afterwards).

set -u
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"
SF_TOP_SRCDIR=$top SF_TOP_BUILDDIR=$build
test_script=$(readlink -f "$0")
MINISLURM=$SF_TOP_SRCDIR/tests/cluster/minislurm
. "$SF_TOP_SRCDIR/tests/cluster/mini/patience.sh"
STAGE=$SF_TOP_BUILDDIR/stage
# The Slurm that this build is for.
SF_SLURM=$(sed -n 's/^S\["SLURM_PREFIX"\]="\(.*\)"$/\1/p' \
    "$SF_TOP_BUILDDIR/config.status")
export SF_SLURM
[ "$SF_SLURM" = /usr ] || PATH=$SF_SLURM/bin:$SF_SLURM/sbin:$PATH
JOB_USER=${JOB_USER:-nobody}
CLUSTER='' WORK='' PLAIN='' out='' err='' code=0
case_tmp=$(mktemp -d)
# "${limited[@]}" SECONDS COMMAND..: 124 after so long, and stacks.
limited=(env "STACKS_TO=$case_tmp/stacks"
    "STACKS_FIND=[ -z \"\${MINISLURM_DIR-}\" ] ||
        '$MINISLURM' pids --dir \"\$MINISLURM_DIR\""
    "$SF_TOP_SRCDIR/tests/stacks.sh" limit)
unset MINISLURM_DIR SLURM_CONF
trap 'harness_end' EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

# skip REASON: this case can not run here (leaves the case).
skip() {
    echo "$*" >"$case_tmp/skip"
    exit 0
}

# What Slurm says of a node.
is_idle() { # NODE
    [ "$(sinfo -h -n "$1" -o %T)" = idle ]
}

is_drained() { # NODE
    case $(sinfo -h -n "$1" -o %T) in drain*) return 0 ;; esac
    return 1
}

# slurm_since MAJOR.MINOR: is this Slurm of that release or later?
slurm_since() {
    local version
    version=$(sinfo -V) # slurm 24.11.5, slurm-wlm 22.05.8
    printf '%s\n%s\n' "$1" "${version##* }" | sort -CV
}

# programs_remembered: how many of a program that lives slurmctld knows when it
# starts; 24.11.0 to 24.11.4 forget what steps were given, and say so.
programs_remembered() {
    case $(sinfo -V) in
    "slurm 24.11."[0-4]) echo 0 ;;
    *) echo 1 ;;
    esac
}

need_cluster() {
    local why
    why=$("$MINISLURM" why-not)
    [ -z "$why" ] || skip_all "$why"
}

# need_cgroups: this case is about control groups (leaves the case).
need_cgroups() {
    [ -z "$PLAIN" ] || skip "needs a writable cgroup tree (here: $PLAIN)"
}

# need_namespaces: this case is about host names, mounts or /dev/shm of a node.
need_namespaces() {
    [ -z "$PLAIN" ] || skip "needs namespaces (here: $PLAIN)"
}

# need_stage FILE..: paths below the stage that the script needs.
need_stage() {
    local f
    [ -d "$STAGE" ] || skip_all "no stage: configure with --enable-stage"
    for f in "$@"; do
        [ -e "$STAGE/$f" ] || skip_all "$f is not built"
    done
}

# need_hello: the example, for both libraries.
need_hello() {
    local l
    for l in mpich openmpi; do
        [ -x "$SF_TOP_BUILDDIR/examples/hello_$l" ] ||
            skip_all "examples/hello_$l is not built"
    done
}

# cgroup_if_any: what --proctrack may be here.
cgroup_if_any() {
    [ -n "$("$MINISLURM" why-plain)" ] && echo linuxproc || echo cgroup
}

# cluster_up OPTION..: once per script; options of `minislurm up`.
cluster_up() {
    need_cluster
    PLAIN=$("$MINISLURM" why-plain)
    [[ -z $PLAIN || ! " $* " =~ 'proctrack cgroup '|proctrack/cgroup ]] ||
        skip_all "needs a writable cgroup tree (here: $PLAIN)"
    CLUSTER=$(mktemp -d /tmp/minislurm.XXXXXX)
    "$MINISLURM" up --dir "$CLUSTER" --owner $$ --user "$JOB_USER" \
        --stage "$STAGE" "$@" >"$case_tmp/up" 2>&1 || {
        sed 's/^/# /' "$case_tmp/up"
        echo "Bail out! no cluster"
        exit 1
    }
    WORK=$CLUSTER/work
    export SLURM_CONF=$CLUSTER/etc/slurm.conf MINISLURM_DIR=$CLUSTER
}

cluster_down() {
    [ -n "$CLUSTER" ] || return 0
    "$MINISLURM" down --dir "$CLUSTER"
    CLUSTER=
    unset MINISLURM_DIR SLURM_CONF
}

harness_end() {
    cluster_down
    rm -rf "$case_tmp"
}

# capture COMMAND..: run it; stdout in $out, stderr in $err, status in $code.
# Ended after $LIMIT seconds (120), with the stacks of what runs in the
# cluster: a hang is a failure, not a stop.
capture() {
    "${limited[@]}" "${LIMIT:-120}" "$@" >"$case_tmp/out" \
        2>"$case_tmp/err" </dev/null
    code=$?
    out=$(cat "$case_tmp/out") err=$(cat "$case_tmp/err")
    [ $code != 124 ] || echo "# timed out: $*"
    show_stacks
    return 0
}

show_stacks() {
    [ -s "$case_tmp/stacks" ] || return 0
    sed 's/^/# /' "$case_tmp/stacks"
    rm -f "$case_tmp/stacks"
}

# run_as_user COMMAND..: on the host "ctl", as the job user.  See capture.
run_as_user() {
    capture "$MINISLURM" exec --dir "$CLUSTER" -- "$@"
}

# The same without waiting; $! is a process that passes signals on to the
# command, and ends it after $LIMIT seconds.  Output goes to $case_tmp/bg.out
# and bg.err.
start_as_user() {
    # At once: who looks for a line must not find one of the command before.
    : >"$case_tmp/bg.out"
    : >"$case_tmp/bg.err"
    "${limited[@]}" "${LIMIT:-120}" \
        "$MINISLURM" exec --dir "$CLUSTER" -- "$@" >"$case_tmp/bg.out" \
        2>"$case_tmp/bg.err" </dev/null &
}

# run_as_root PLACE COMMAND..: on a node (n0, n1 .. or ctl).  See capture.
run_as_root() {
    local place=$1
    shift
    capture "$MINISLURM" exec --dir "$CLUSTER" --on "$place" --as root -- "$@"
}

# ctld|slurmd control: daemon start|stop|kill|pid slurmctld|nK
daemon() {
    "$MINISLURM" daemon --dir "$CLUSTER" "$@"
}

# wait_for SECONDS COMMAND..: ask until it succeeds; a failed assertion else.
# At least a minute: any machine may stand still for some seconds.
wait_for() {
    local seconds=$1
    shift
    [ "$seconds" -ge 60 ] || seconds=60
    wait_until "$seconds" "$@" || fail "waited in vain for: $*"
}

# log_has NAME PATTERN: does $CLUSTER/log/NAME hold it (slurmctld.log,
# slurmd.n0.log ...)?
log_has() {
    grep -qE -- "$2" "$CLUSTER/log/$1"
}

# programs_are N [LOG]: how many live, by the last word of a slurmctld on it?
programs_are() {
    grep -o 'switch/elan: [0-9]* programs live' \
        "$CLUSTER/log/${2-slurmctld.log}" | tail -n 1 |
        grep -q ": $1 programs"
}

# cluster_id: the word in the names of the cluster's control groups,
# <hierarchy>/minislurm-ID/PLACE.
cluster_id() {
    (
        . "$CLUSTER/state.sh"
        echo "$id"
    )
}

# no_job_left: every job has left the queue.
no_job_left() {
    [ -z "$(squeue -h 2>&1)" ]
}

# Of our steps nothing is left on n0.
assert_no_step_left() {
    wait_for 20 no_job_left
    run_as_root n0 ls /run/slurm-fabric
    assert_output '^(step|[0-9]+\.)' 0
}

# pidkill SIGNAL PID..: those that are processes of this cluster.  A pid that
# was read a moment ago may be a stranger's by now.
pidkill() {
    "$MINISLURM" kill --dir "$CLUSTER" "$@"
}

# started PID: when; for `mini/pidkill SIGNAL start=TIME PID`.
started() {
    local stat
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    # shellcheck disable=SC2086
    set -- ${stat##*) }
    echo "${20}"
}

# user_pids: processes of the job user inside this cluster, "PID COMMAND".  One
# without a command has ended; it waits for its parent to see that.
user_pids() {
    local pid words
    for pid in $("$MINISLURM" pids --dir "$CLUSTER"); do
        [ "$(stat -c %U "/proc/$pid" 2>/dev/null)" = "$JOB_USER" ] || continue
        words=$(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline")
        [ -z "$words" ] || echo "$pid $words"
    done
    return 0
}

fail() {
    echo "# FAILED in ${FUNCNAME[2]:-case}: $*"
    : >"$case_tmp/failed"
    return 1
}

show_last() {
    printf '%s\n' "${out:0:4000}" | sed 's/^/#   stdout: /'
    printf '%s\n' "${err:0:4000}" | sed 's/^/#   stderr: /'
}

assert_code() {
    [ "$code" = "$1" ] && return 0
    fail "exit code: expected $1, got $code"
    show_last
}

assert_code_not() {
    [ "$code" != "$1" ] && return 0
    fail "exit code: expected anything but $1"
    show_last
}

# assert_output REGEX [COUNT]: lines of $out that match (at least 1).
assert_output() {
    local n
    n=$(grep -cE -- "$1" <<<"$out")
    if [ $# -gt 1 ]; then [ "$n" = "$2" ] && return 0
    else [ "$n" -gt 0 ] && return 0; fi
    fail "stdout: expected ${2:-some} lines like /$1/, got $n"
    show_last
}

assert_error() {
    grep -qE -- "$1" <<<"$err" && return 0
    fail "stderr: expected a line like /$1/"
    show_last
}

assert_equal() {
    [ "$1" = "$2" ] && return 0
    fail "${3:-value}: expected '$1', got '$2'"
}

assert_log() {
    log_has "$1" "$2" && return 0
    fail "$1: expected a line like /$2/"
}

assert_empty() {
    [ -z "$1" ] && return 0
    fail "${2:-text}: expected nothing, got: $1"
}

cases() {
    grep -oE '^case_[A-Za-z0-9_]+' "$test_script"
}

print_logs() {
    local f
    [ -n "$CLUSTER" ] || return 0
    for f in "$CLUSTER"/log/{slurmctld,slurmd.*,switchmgrd,mapperd.*,hsnd.*}.log; do
        [ -s "$f" ] || continue
        echo "# --- ${f##*/}"
        grep -v 'Running job scheduler' "$f" | tail -n "${LOG_LINES:-15}" |
            cut -c1-300 | sed 's/^/# /'
    done
}

# run_cases [NAME..]: run them (all) and leave.
run_cases() {
    local name list status begin
    list=${*:-${SF_CASES:-$(cases)}}
    # shellcheck disable=SC2086
    set -- $list
    for name; do
        rm -f "$case_tmp"/{failed,skip}
        begin=$SECONDS
        ( trap - EXIT; "$name" )
        status=$?
        show_stacks
        if [ -e "$case_tmp/skip" ]; then
            skipped "$name" "$(cat "$case_tmp/skip")"
        else
            [ $status = 0 ] && [ ! -e "$case_tmp/failed" ]
            result $? "$name" || print_logs
        fi
        echo "# $((SECONDS - begin)) s"
    done
    finish
}
