#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# contrib/slurm_fabric.rules.yml: the names in it are names that switchmgrd
# tells, doc/metrics.md has both, and by promtool (where it is installed) the
# rules are sound and fire for their faults.
set -u
. "$(dirname "$0")/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
rules=$top/contrib/slurm_fabric.rules.yml
dashboard=$top/contrib/slurm_fabric.dashboard.json

# The families that switchmgrd tells, without the counters of NICs, which are
# named by who reports them.
told() {
    tr -d '\n' <"$top/src/switchmgrd/metrics.c" |
        grep -oE '(put_one|put_states|put_by_map|head)\(f, (n, )?"[a-z_]+"' |
        grep -oE '"[a-z_]+"' | tr -d '"' | sed 's/^/slurm_fabric_/' | sort -u
}

asked() { # FILE
    grep -oE 'slurm_fabric_[a-z_]+' "$1" | grep -v '^slurm_fabric_nic_' | sort -u
}

all_told() { # FILE
    local lacking
    [ -n "$(asked "$1")" ] || return 1
    lacking=$(comm -23 <(asked "$1") <(told))
    echo "nobody tells: $lacking"
    [ -z "$lacking" ]
}

documented() {
    local lacking
    lacking=$(comm -3 <(told) <(grep -oE '^\| `slurm_fabric_[a-z_]+' \
        "$top/doc/metrics.md" | grep -oE 'slurm_fabric_[a-z_]+' |
        grep -v '^slurm_fabric_nic_' | sort -u))
    echo "only on one side: $lacking"
    [ -n "$(told)" ] && [ -z "$lacking" ]
}

alerts_documented() {
    diff <(grep -oE 'alert: [A-Za-z]+' "$rules" | sed 's/.* //' | sort) \
        <(grep -oE '^\| `Fabric[A-Za-z]+' "$top/doc/metrics.md" |
            grep -oE 'Fabric[A-Za-z]+' | sort)
}

all_fire() {
    diff <(grep -oE 'alert: [A-Za-z]+' "$rules" | sed 's/.* //' | sort) \
        <(awk '/alertname: / { a = $2 } /exp_labels/ { print a }' \
            "$top/contrib/slurm_fabric.rules_test.yml" | sort -u)
}

ok "each family that an alert asks for is told" all_told "$rules"
ok "each family that the dashboard asks for is told" all_told "$dashboard"
ok "doc/metrics.md has each family, and no other" documented
ok "doc/metrics.md has each alert, and no other" alerts_documented
ok "each alert has a test in which it fires" all_fire
ok "the dashboard is JSON" python3 -m json.tool "$dashboard" /dev/null
if command -v promtool >/dev/null; then
    ok "promtool: the rules are sound" promtool check rules "$rules"
    ok "promtool: each fires for its fault" promtool test rules \
        "$top/contrib/slurm_fabric.rules_test.yml"
else
    skipped "promtool: the rules are sound" "no promtool (Debian: prometheus)"
    skipped "promtool: each fires for its fault" \
        "no promtool (Debian: prometheus)"
fi
finish
