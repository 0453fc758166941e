#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# One fault in the whole software fabric, and everybody who should see it: a
# cable is pulled, and a browser that was open before, sinfo, a Prometheus that
# scrapes switchmgrd and its alert show it; it is put back, and all are well.
# PAGE_SHOTS=DIR keeps the pictures.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so libexec/slurm-fabric/hsnd \
    libexec/slurm-fabric/swfabd libexec/slurm-fabric/mapperd \
    libexec/slurm-fabric/switchmgrd bin/sfabric
. "$SF_TOP_SRCDIR/tests/cluster/health.sh"
. "$SF_TOP_SRCDIR/tests/cluster/fabric.sh"
command -v prometheus >/dev/null ||
    skip_all "no prometheus (Debian: prometheus)"
cluster_up --nodes 4 --switch elan --node-conf "Features=$FABRIC_FEATURES"
FABRIC_SWITCHMGR="MetricsListen=127.0.0.1:0 TopologyInterval=1
    TopologyMap=$CLUSTER/map.n3"
SHOTS=${PAGE_SHOTS:-$case_tmp}
PROM_LOG=$CLUSTER/log/prometheus.log
fabric_up

page_port() {
    sed -n 's/.*metrics at 127.0.0.1:\([0-9]*\)$/\1/p' \
        "$CLUSTER/log/switchmgrd.log" | tail -n 1
}

# Once; with the rules as they are shipped. It asks every second.
prometheus_start() {
    [ -e "$PROM_LOG" ] && prometheus_listens && return
    cat >"$case_tmp/prometheus.yml" <<YML
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$SF_TOP_SRCDIR/contrib/slurm_fabric.rules.yml]
scrape_configs:
  - job_name: slurm-fabric
    static_configs: [{targets: ["127.0.0.1:$(page_port)"]}]
YML
    fabric_daemon ctl prometheus.log prometheus \
        "--config.file=$case_tmp/prometheus.yml" \
        "--storage.tsdb.path=$case_tmp/tsdb" --web.listen-address=127.0.0.1:0
    wait_for 60 prometheus_listens
}

prometheus_listens() {
    prom=$(sed -n 's/.*msg="Listening on" address=\([0-9.:]*\).*/\1/p' \
        "$PROM_LOG")
    [ -n "$prom" ]
}

# query EXPRESSION: a line for each sample, its value first.
query() {
    python3 -c '
import json, sys, urllib.parse, urllib.request, urllib.error
url = "http://%s/api/v1/query?query=%s" % (
    sys.argv[1], urllib.parse.quote(sys.argv[2]))
try:
    answer = json.load(urllib.request.urlopen(url, timeout=20))
except urllib.error.HTTPError as e:
    sys.exit("%s: %s" % (sys.argv[2], e.read().decode()))
if answer["status"] != "success":
    sys.exit("%s: %s" % (sys.argv[2], answer))
for s in answer["data"]["result"]:
    print(s["value"][1], json.dumps(s["metric"]))' "$prom" "$1"
}

sees() { # VALUE EXPRESSION
    query "$2" | grep -q "^$1 "
}
sees_any() { # EXPRESSION
    [ -n "$(query "$1")" ]
}
sees_none() { # EXPRESSION
    local out
    out=$(query "$1") && [ -z "$out" ]
}

FIRING='ALERTS{alertname="FabricHostDown",node="n2",alertstate="firing"}'

# Open before the fault, and all the time.
browser_start() {
    local quiet='!document.querySelector("#faults .fault")'
    local well='document.querySelector("#map [aria-label=\"node n2, healthy\"]")'
    fabric_daemon ctl browser.log env HOME="$case_tmp" PAGE_PATIENCE=300 \
        python3 "$SF_TOP_SRCDIR/tests/cluster/page_look.py" \
        "http://127.0.0.1:$(page_port)/" 1440x900 "$SHOTS/chain.png" \
        "$quiet && $well" \
        'document.querySelector("#faults .fault.down") &&
         document.querySelector("#map [aria-label^=\"node n2, down\"]") &&
         document.getElementById("faults").textContent.includes("n2 down") &&
         document.getElementById("faults").textContent.includes("drained by the fabric")' \
        "$quiet && $well"
}
browser_saw() {
    grep -q "^seen $1\$" "$CLUSTER/log/browser.log"
}
browser_is_done() {
    grep -q 'As of' "$CLUSTER/log/browser.log"
}

case_a_pulled_cable_is_seen_by_all_and_heals() { # SL-23
    fabric_settles
    prometheus_start
    wait_for 60 sees 4 'slurm_fabric_hosts{state="healthy"}'
    wait_for 60 sees_none ALERTS
    if command -v chromium >/dev/null; then
        browser_start
        wait_for 120 browser_saw 1
    fi
    fabric_fault "down n2:0"
    wait_for 60 is_drained n2
    wait_for 60 sees 1 'slurm_fabric_host_state{node="n2",state="down"}'
    wait_for 60 sees 1 slurm_fabric_drained_nodes
    ! command -v chromium >/dev/null || wait_for 120 browser_saw 2
    wait_for 180 sees 1 "$FIRING" # after a minute, as its rule says
    assert_equal "" "$(query 'ALERTS{alertname!="FabricHostDown"}')" \
        "other alerts"
    fabric_fault "up n2:0"
    wait_for 120 is_idle n2
    wait_for 60 sees_none 'slurm_fabric_host_state{node="n2"}'
    wait_for 60 sees_none "$FIRING"
    wait_for 60 sees 0 slurm_fabric_drained_nodes
    command -v chromium >/dev/null || return 0
    wait_for 120 browser_saw 3
    wait_for 60 browser_is_done
    assert_equal "" "$(grep '^error' "$CLUSTER/log/browser.log")" \
        "errors of the console"
}

case_every_panel_of_the_dashboard_runs() {
    local expr n=0
    fabric_settles
    prometheus_start
    wait_for 60 sees 4 'slurm_fabric_hosts{state="healthy"}'
    wait_for 60 sees_any 'rate(slurm_fabric_reports_total[5m])'
    while IFS= read -r expr; do
        n=$((n + 1))
        out=$(query "$expr" 2>&1) || fail "$out"
        # A family of what is not healthy may have no series.
        [ -n "$out" ] || [ "$expr" = slurm_fabric_host_state ] ||
            fail "nothing: $expr"
    done < <(grep -o '"expr": *"[^"]*"' \
        "$SF_TOP_SRCDIR/contrib/slurm_fabric.dashboard.json" |
        sed 's/^"expr": *"//; s/"$//')
    [ "$n" -ge 10 ] || fail "only $n panels"
}

# alike: names of machines, numbers and times that differ each time, and how
# often a node of this cluster was down before; a column is as wide as what
# README.md has in it.
alike() {
    sed -E 's/map [0-9]+ by n[0-3],/map MAP by NODE,/
        s/verified in [0-9.]+ [a-z]+/verified in TIME/
        s/heard of [0-9.]+ [a-z]+ ago/heard of TIME ago/
        s/since 20[-0-9T:]*(, [0-9 times]*)?/since DATE/; s/ +$//'
}

# What README.md shows below "A cable is pulled": its commands, and what each
# prints there.
readme_capture() {
    awk '/^A cable is pulled/ { on = 1; next }
        on && /^    / { print substr($0, 5); seen = 1; next }
        seen { exit }' "$SF_TOP_SRCDIR/README.md"
}
printed_capture() {
    local command
    while IFS= read -r command; do
        printf '$ %s\n' "$command"
        # shellcheck disable=SC2086
        fabric_on ctl env PATH="$STAGE/bin:$PATH" $command 2>&1
    done < <(readme_capture | sed -n 's/^\$ //p')
}
readme_is_so() {
    diff <(readme_capture | alike) <(printed_capture | alike) \
        >"$case_tmp/readme.diff"
}

case_the_readme_shows_what_is_printed() {
    fabric_settles
    readme_capture | grep -q '^\$ sfabric$' || fail "no sfabric in README.md"
    readme_capture | grep -q '^\$ sinfo ' || fail "no sinfo in README.md"
    fabric_fault "down n2:0"
    wait_for 60 is_drained n2
    wait_until 60 readme_is_so ||
        fail "README.md (<) and what is printed (>): $(cat "$case_tmp/readme.diff")"
    fabric_fault "up n2:0"
    wait_for 120 is_idle n2
}

run_cases
