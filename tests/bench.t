#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The benchmark driver: names, usage, and the arithmetic of its output.
. "$(dirname "$0")/tap.sh"
is() { same "$1" "$3" "$2"; } # TEXT GOT EXPECTED
emit() {
    awk -v bench=b -v name=c -v unit=us -v ref=r -v goal="$1" \
        -v better="$2" -v a="$3" -v b="$4" -f "$top/bench/emit.awk"
}
key() { grep -oE "\"$1\":(\[[^]]*\]|[^,}]*)" | cut -d: -f2; }

is "every benchmark is listed" "$("$top/bench/run" --list | tr '\n' ' ')" \
    "$(cd "$top/bench" && echo *.bench | sed 's/\.bench//g') "
check "doc/bench.md tells of every benchmark" \
    "$("$top/bench/run" --list | while read -r name; do
        grep -q "\b$name\b" "$top/doc/bench.md" || echo "$name"
    done)"
is "the page's paint has a benchmark" \
    "$("$top/bench/run" --list | grep -x page-paint)" page-paint
is "an unknown name is a usage error" \
    "$("$top/bench/run" nonsense 2>/dev/null; echo $?)" 2
is "only what runs both sides under it can be disturbed" \
    "$("$top/bench/run" --disturbed map-clos 2>/dev/null; echo $?)" 2
line=$(emit 1.0 lower "3 1 2" "4 4 1")
is "medians" "$(key ours <<<"$line") $(key reference <<<"$line")" "2 4"
is "ratio of the medians" "$(key ratio <<<"$line")" 0.5
is "best and worst pair" \
    "$(key ratio_best <<<"$line") $(key ratio_worst <<<"$line")" "0.25 2"
is "quartiles" "$(key ours_iqr <<<"$line")" "[1.5,2.5]"
is "goal met" "$(key met <<<"$line")" true
is "goal missed" "$(emit 1.0 lower "5 5" "4 4" | key met)" false
is "higher is better" "$(emit 1.0 higher "5 5" "4 4" | key met)" true
is "no goal" "$(emit - lower 5 4 | key met) $(emit - lower 5 4 | key goal)" \
    "null null"
is "no samples is an error" "$(emit 1 lower "" 4 2>/dev/null; echo $?)" 1
if command -v python3 >/dev/null; then
    is "it is JSON" "$(python3 -c 'import json, sys
print(json.loads(sys.argv[1])["runs"])' "$line")" 3
fi
finish
