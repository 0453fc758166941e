#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The manager of impi-conform, with jobs that only play an interpreter: what it
# makes of one that ends early, hangs, or passes, and what it notes of that.
. "${SF_TOP_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/tap.sh"
conform=${SF_TOP_BUILDDIR:-.}/src/conform/impi-conform
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
mkfifo "$dir/never"
command -v python3 >/dev/null || skip_all "python3 is not installed"

# job SCRIPT: one rank, which says FAIL, dies or hangs in the test of that name,
# as the file there tells.  Who hangs has begun another process with its output.
cat >"$dir/job" <<'EOF2'
#!/bin/bash
dir=${0%/*} last=''
while read -r word name; do
    [ "$word" = test ] || continue
    [ -z "$last" ] || echo "DONE $last"
    last=$name
    echo "$name" >>"$dir/ran"
    case $(cat "$dir/$name" 2>/dev/null) in
    fail) echo "FAIL rank 0 line 3 ($name): send: played" ;;
    die) echo "dies in $name"; exit 9 ;;
    hang)
        sleep 1000 &
        echo $! >"$dir/left"
        wait
        ;;
    esac
done <"$1"
echo "END rank 0 of 1 failures 0"
EOF2
chmod +x "$dir/job"

# Test NAMES, which the caller has told what to do.
conform() { # NAMES ARGS..
    rm -f "$dir/ran"
    "$conform" --clients 1 --procs 1 --tests "$1" --job "$dir/job {script}" \
        "${@:2}" >"$dir/tap" 2>&1
}
ran() {
    tr '\n' ' ' <"$dir/ran"
}
says() { # LINES, without their diagnostics
    [ "$(grep -v '^#' "$dir/tap")" = "$1" ]
}
three=data_int,data_long,data_char
mapfile -t names < <("$conform" --list | grep -x -e data_int -e data_long \
    -e data_char)

conform $three && says "ok 1 - 1 x 1: ${names[0]}
ok 2 - 1 x 1: ${names[1]}
ok 3 - 1 x 1: ${names[2]}
1..3" && [ "$(ran)" = "${names[*]} " ]
report $? "all tests of a layout are one job"

echo fail >"$dir/${names[1]}"
conform $three
[ $? = 1 ] && says "ok 1 - 1 x 1: ${names[0]}
not ok 2 - 1 x 1: ${names[1]}
ok 3 - 1 x 1: ${names[2]}
1..3" && grep -q "^# FAIL rank 0 line 3" "$dir/tap"
report $? "a test that fails"

for what in die hang; do
    echo $what >"$dir/${names[1]}"
    conform $three --timeout 10 --state "$dir/state.$what"
    [ $? = 1 ] && says "ok 1 - 1 x 1: ${names[0]}
not ok 2 - 1 x 1: ${names[1]}
ok 3 - 1 x 1: ${names[2]}
1..3" && [ "$(ran)" = "${names[*]} " ]
    report $? "a job may $what: that test has failed, the next are a job again"
done
grep -q "^# no test ended for 10 s" "$dir/tap"
report $? "the limit is told"

rm "$dir/${names[1]}"
conform $three --state "$dir/state.die" && [ "$(ran)" = "${names[1]} " ] && says "ok 1 - 1 x 1: ${names[0]} (before)
ok 2 - 1 x 1: ${names[2]} (before)
ok 3 - 1 x 1: ${names[1]}
1..3"
report $? "what has passed is not run again, what has failed is"

# As far as the manager heard of it before it was ended itself.
rm -f "$dir/ran" "$dir/left"
echo hang >"$dir/${names[2]}"
"$conform" --clients 1 --procs 1 --tests $three --job "$dir/job {script}" \
    --state "$dir/state" >"$dir/tap" 2>&1 &
until grep -q "${names[0]}" "$dir/state" 2>/dev/null && [ -s "$dir/left" ]; do
    kill -0 $! 2>/dev/null || break
    read -rt 0.1 <>"$dir/never"
done
kill $! && wait $!
! grep -q "^State:.[RSD]" "/proc/$(cat "$dir/left")/status" 2>/dev/null
report $? "who stops it stops what it started"
rm "$dir/${names[2]}"
conform $three --state "$dir/state" &&
    [ "$(ran)" = "${names[1]} ${names[2]} " ]
report $? "what has passed before it was stopped is not run again"

# Exit codes count where nobody said FAIL.
sed -i '$a exit 4' "$dir/job"
conform data_int
[ $? = 1 ] && says "ok 1 - 1 x 1: data_int
not ok 2 - 1 x 1: exit codes
1..2"
report $? "a job that says END and another code than 0"
finish
