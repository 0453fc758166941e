#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The time limit of the tests passes codes, input and signals on, shows the
# stacks of whoever hangs, also of one that left its parents, and ends it.
set -u
. "$(dirname "$0")/tap.sh"
stacks=$top/tests/stacks.sh
export TMPDIR
TMPDIR=$(mktemp -d)
orphan=
trap '[ -z "$orphan" ] || kill "$orphan" 2>/dev/null; rm -rf "$TMPDIR"' EXIT
unset STACKS_TO STACKS_FIND SF_SLOW
export STACKS_DIR=$TMPDIR
long=100

"$stacks" limit $long sh -c 'exit 7' 2>"$TMPDIR/out"
[ $? = 7 ] && [ ! -s "$TMPDIR/out" ]
report $? "the exit code of the command" "$TMPDIR"/out*
"$stacks" limit $long sh -c 'kill -KILL $$' 2>"$TMPDIR/out"
[ $? = 137 ]
report $? "the signal that ended the command" "$TMPDIR"/out*
[ "$(echo hello | "$stacks" limit $long cat)" = hello ]
report $? "its input and output" "$TMPDIR"/out*

cat >"$TMPDIR/stops" <<'STOPS'
for _ in 1 2 3 4 5 6 7 8 9 10; do
    {
        until grep -q '^State:.T' "/proc/$$/status"; do :; done
        kill -CONT $$
    } &
    kill -STOP $$
    wait
done
exit 9
STOPS
"$stacks" limit $long bash "$TMPDIR/stops" 2>"$TMPDIR/out"
[ $? = 9 ]
report $? "a command that is stopped for a while has not ended" "$TMPDIR"/out*

mkfifo "$TMPDIR/ready" "$TMPDIR/never" "$TMPDIR/silent"
"$stacks" limit $long bash -c 'trap "exit 9" INT; echo >"$TMPDIR/ready"
    read -r <>"$TMPDIR/never"' &
pid=$!
read -r <"$TMPDIR/ready"
kill -INT $pid
wait $pid
[ $? = 9 ]
report $? "a signal is passed on" "$TMPDIR"/out*

# One that reads what never comes, and its child that has gone elsewhere.
cat >"$TMPDIR/hang" <<'HANG'
setsid -f tail -n 1 "$TMPDIR/silent"
exec tail -n 1 "$TMPDIR/silent"
HANG
exec 8<>"$TMPDIR/silent"
STACKS_TO=$TMPDIR/out.stacks "$stacks" limit 5 bash "$TMPDIR/hang" 8>&- \
    >"$TMPDIR/out" 2>&1
code=$?
orphan=$(sed -n 's/^---- process \([0-9]*\): .*/\1/p' "$TMPDIR/out.stacks" |
    while read -r p; do [ ! -d "/proc/$p" ] || echo "$p"; done)
[ $code = 124 ]
report $? "the limit is over: 124" "$TMPDIR"/out*
[ "$(grep -c '^---- process .*tail -n 1' "$TMPDIR/out.stacks")" = 2 ]
report $? "the command and who left it are named" "$TMPDIR"/out*
if command -v gdb >/dev/null; then
    [ "$(grep -c '^#0 ' "$TMPDIR/out.stacks")" = 2 ]
    report $? "with their stacks" "$TMPDIR"/out*
else
    skipped "with their stacks" "gdb is not installed"
fi
[ "$(wc -w <<<"$orphan")" = 1 ]
report $? "the command was ended" "$TMPDIR"/out*

size=$(stat -c %s "$TMPDIR/out.stacks")
STACKS_TO=$TMPDIR/out.stacks "$stacks" limit 1 tail -n 1 \
    "$TMPDIR/silent" >"$TMPDIR/out" 2>&1
[ $? = 124 ] && [ "$(stat -c %s "$TMPDIR/out.stacks")" = "$size" ]
report $? "stacks are shown once" "$TMPDIR"/out*
finish
