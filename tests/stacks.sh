#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A time limit that shows what hangs: when it is over, the stacks of all
# processes of the test are printed, then they are ended.
#     tests/stacks.sh limit SECONDS COMMAND..   exit code of COMMAND, or 124
#     tests/stacks.sh show PID..
# On a slow machine SECONDS are longer (mini/patience.sh).  COMMAND has a process group of
# its own and gets TERM, INT and HUP.
# The processes of the test are the descendants of COMMAND, those that were
# started with TMPDIR=$STACKS_DIR, and those that $STACKS_FIND prints (a shell
# command).
# The stacks go to the file $STACKS_TO, or to stderr; of several limits of one
# test with one $STACKS_TO the first that is over shows them, the others wait.
# Needs gdb; without it /proc says what each waits for.
set -u
self=$(readlink -f "$0")
. "${self%/*}/cluster/mini/patience.sh"
# Seconds for all stacks, for one, and until whoever does not end is killed.
all_limit=100 one_limit=30 grace=130

descendants() { # PID
    local child
    for child in $(cat "/proc/$1"/task/*/children 2>/dev/null); do
        echo "$child"
        descendants "$child"
    done
}

# Who was started in the directory of this test; its own script was not.
same_tmpdir() {
    local p
    [ -n "${STACKS_DIR-}" ] || return 0
    for p in /proc/[0-9]*; do
        grep -qzxF "TMPDIR=$STACKS_DIR" "$p/environ" 2>/dev/null &&
            echo "${p#/proc/}"
    done
    return 0
}

# Of the helpers of a harness nobody wants to see a stack.
members() { # PID
    local pid
    {
        echo "$1"
        descendants "$1"
        same_tmpdir
        [ -z "${STACKS_FIND-}" ] || eval "$STACKS_FIND"
    } | sort -un | while read -r pid; do
        case $(cat "/proc/$pid/comm" 2>/dev/null) in
        '' | bash | sh | timeout | stacks.sh | sleep | cat | tee | grep | \
            munged | slurmctld | slurmd) ;;
        *) echo "$pid" ;;
        esac
    done
}

stack_of() { # PID
    local p=/proc/$1
    echo "---- process $1: $(tr '\0' ' ' <"$p/cmdline" | cut -c1-200)"
    grep -hE '^(State|Threads):' "$p/status"
    if ! command -v gdb >/dev/null; then
        echo "waits in $(cat "$p/wchan") (no gdb: install it for stacks)"
        return
    fi
    env -u DEBUGINFOD_URLS timeout -k 5 $one_limit gdb -nx -batch -p "$1" \
        -ex 'set pagination off' -ex 'thread apply all -q bt 40' 2>&1 |
        grep -E '^(#|Thread| +at |ptrace|Could not attach)' | cut -c1-160
}

show() { # PID..
    local pid
    SECONDS=0
    for pid; do
        if [ $SECONDS -ge $all_limit ]; then
            echo "---- process $pid: not shown, the others took too long"
        elif [ -d "/proc/$pid" ]; then
            stack_of "$pid"
        fi
    done 2>/dev/null
}

show_all() { # PID
    # shellcheck disable=SC2046
    show $(members "$1")
}

# With a file: the first shows, whoever comes meanwhile waits for it.
show_once() { # PID
    if [ -z "${STACKS_TO-}" ]; then
        show_all "$1" >&2
        return
    fi
    (
        flock 9
        [ -s "$STACKS_TO" ] || show_all "$1" >&9
    ) 9>>"$STACKS_TO"
}

over() {
    show_once "$child"
    kill -TERM -- "-$child" 2>/dev/null
}

# watch COMMAND..: timeout sends USR1.
watch() {
    local code interrupted=1 s
    trap 'interrupted=1; over' USR1
    for s in TERM INT HUP; do
        # shellcheck disable=SC2064
        trap "interrupted=1; kill -$s -- -\$child 2>/dev/null" $s
    done
    export -n STACKS_TO STACKS_DIR STACKS_FIND
    set -m
    "$@" <&0 &
    child=$!
    set +m # or wait would end when the command is stopped
    while [ -n "$interrupted" ]; do
        interrupted=
        wait "$child" 2>/dev/null
        code=$?
    done
    exit $code
}

case ${1-} in
limit)
    seconds=$(patience "$2")
    shift 2
    exec timeout --foreground -s USR1 -k $grace "$seconds" \
        "$self" watch "$@" ;;
watch) shift; watch "$@" ;;
show) shift; show "$@" ;;
*) echo "usage: stacks.sh limit SECONDS COMMAND.. | show PID.." >&2; exit 2 ;;
esac
