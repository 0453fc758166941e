#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The web page, served by a real switchmgrd and looked at in headless Chromium.
# PAGE_SHOTS=DIR keeps the pictures.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so libexec/slurm-fabric/switchmgrd bin/sfabric
. "$SF_TOP_SRCDIR/tests/cluster/health.sh"
cluster_up --nodes 4 --switch elan
MAP=$CLUSTER/map.net
SHOTS=${PAGE_SHOTS:-$case_tmp}
PAGE_JS=$SF_TOP_SRCDIR/src/switchmgrd/page.js
cp "$SF_TOP_SRCDIR/etc/swfab.net.example" "$MAP"
page_conf() { # LINE.. more of switchmgr.conf
    switchmgr_conf MetricsListen=0 "TopologyMap=$MAP" \
        TopologyInterval=1 MetricsHosts=proxy.site,fabric.site "$@"
}
page_conf
# A year that others have seen: switchmgrd finds it at its start.
mkdir -p "$CLUSTER/switchmgr.state/switchmgrd"
"$SF_TOP_BUILDDIR/tests/cluster/history_make" \
    "$CLUSTER/switchmgr.state/switchmgrd/history" n0 n1 n2 n3 ||
    fail "no history"
chown -R nobody "$CLUSTER/switchmgr.state/switchmgrd"
switchmgr_start

url() {
    sed -n 's/.*metrics at \(127.0.0.1:[0-9]*\)$/http:\/\/\1/p' \
        "$CLUSTER/log/switchmgrd.log" | tail -n 1
}

# fetch PATH: status and headers, then the body.
fetch() {
    run_as_root ctl python3 -c '
import sys, urllib.request, urllib.error
try: r = urllib.request.urlopen(sys.argv[1], timeout=30)
except urllib.error.HTTPError as e: r = e
print(r.status); print(r.headers); print(r.read().decode())' "$(url)$1"
}

# fetch_as HOST PATH: the same, with another Host header; just its status.
fetch_as() {
    run_as_root ctl python3 -c '
import sys, urllib.request, urllib.error
q = urllib.request.Request(sys.argv[1], headers={"Host": sys.argv[2]})
try: print(urllib.request.urlopen(q, timeout=30).status)
except urllib.error.HTTPError as e: print(e.code)' "$(url)$2" "$1"
}

# looks SIZE NAME EXPRESSION..: a picture NAME.png without console errors.
looks() {
    LIMIT=150 run_as_root ctl env HOME="$case_tmp" \
        python3 "$SF_TOP_SRCDIR/tests/cluster/page_look.py" \
        "$(url)/" "$1" "$SHOTS/$2.png" "${@:3}"
    assert_code 0
    [ -s "$SHOTS/$2.png" ] || fail "no picture $2"
}

need_browser() {
    command -v chromium >/dev/null || skip "no chromium (Debian: chromium)"
}

fabric_has() { # HOSTS
    fetch /fabric.json
    sed -n '/^{/p' <<<"$out" | python3 -c '
import json, sys
sys.exit(len(json.load(sys.stdin)["hosts"]) != int(sys.argv[1]))' "$1"
}

# Who is early is told so, and not that there is no such node.
case_a_search_before_there_is_a_map_waits_for_it() {
    local said='document.getElementById("detail").textContent'
    need_browser
    switchmgr_stop
    mv "$MAP" "$MAP.kept"
    switchmgr_start
    rm -f "$SHOTS"/early*.png
    (wait_for 120 test -e "$SHOTS/early-3.png" && mv "$MAP.kept" "$MAP") &
    looks 1000x700 early true keys:/,n,2,Enter \
        "$said.includes('no map of the fabric yet') && !$said.includes('no node')" \
        "$said.includes('Noden2') && document.querySelector('#map g.sel[aria-label^=\"node n2\"]')" \
        keys:/,Delete "document.getElementById('q').value = 'n77'" keys:Enter \
        "$said.startsWith('There is no node or switch n77')"
}

case_the_page_is_closed_to_what_is_not_its_own() {
    fetch /
    assert_output '^200$'
    assert_output "^Content-Security-Policy: default-src 'none'; script-src 'self'"
    assert_output '^X-Content-Type-Options: nosniff'
    assert_output '<title>Fabric</title>'
    grep -nE '(src|href)="(https?:)?//|innerHTML|document\.write|eval\(' \
        "$SF_TOP_SRCDIR"/src/switchmgrd/page.{html,js} &&
        fail "something from outside, or markup from data"
    fetch /../etc/passwd
    assert_output '^404$'
    fetch /page.js
    assert_output '^Content-Type: text/javascript'
    diff <(tail -n "$(wc -l <"$PAGE_JS")" <<<"$out") "$PAGE_JS" ||
        fail "the script is not what it was written as"
}

# Who leads a name of his own here reads nothing.
case_only_names_of_this_host_are_answered() {
    local path
    for path in / /health.json /metrics /day/n1; do
        fetch_as evil.example $path
        assert_output '^421$'
        fetch_as evil.example:80 $path
        assert_output '^421$'
        fetch_as localhost:99 $path
        assert_output '^200$'
        fetch_as fabric.site $path
        assert_output '^200$'
    done
    assert_equal 1 "$(grep -c SF-E709 "$CLUSTER/log/switchmgrd.log")" warnings
}

# Nothing but what scrolls by itself is wider than the window.
FITS='document.documentElement.scrollWidth <= innerWidth &&
    document.getElementById("map").scrollWidth <= document.getElementById("map").clientWidth'

case_sixteen_hosts() {
    need_browser
    page_of 16 < <(clos 4 4 2)
    # Nobody has told anything yet.
    looks 1440x900 c16 "document.querySelectorAll('#map svg g[role=button]').length == 22 &&
        document.querySelectorAll('#map g[role=button] > rect.unknown').length == 22 && $FITS"
    looks_on_phones c16
}

# looks_on_phones NAME: light and dark, as it comes and with a node chosen, whose
# words stand below the map and not beyond it.
looks_on_phones() {
    local scheme
    for scheme in "" dark; do
        PAGE_DARK=$scheme looks 390x844 "$1-phone$scheme" "$FITS" \
            keys:/,n,2,Enter "$FITS && (() => {
                const at = document.getElementById('detail').getBoundingClientRect();
                const held = document.querySelector('#map g.sel').getBoundingClientRect();
                return at.top < innerHeight && held.top >= 0 && held.bottom <= at.top;
            })()" 'document.getElementById("drop").click() || true' \
            '!document.querySelector("#map .sel") && document.getElementById("drop").hidden'
    done
    PAGE_DARK=1 looks 1440x900 "$1-dark" "$FITS"
    unset PAGE_DARK # of a function it would stay
}

# clos LEAVES HOSTS SPINES: as many hosts on each leaf, a cable to each spine.
clos() {
    awk -v leaves="$1" -v hosts="$2" -v spines="$3" 'BEGIN {
        for (l = 0; l < leaves; l++) for (h = 0; h < hosts; h++)
            printf "host n%d 0060dd%06x\n", l * hosts + h, l * hosts + h
        for (l = 0; l < leaves; l++) printf "xbar leaf%d %d\n", l, hosts + spines
        for (s = 0; s < spines; s++) printf "xbar spine%d %d\n", s, leaves
        for (l = 0; l < leaves; l++) for (h = 0; h < hosts; h++)
            printf "cable n%d leaf%d:%d\n", l * hosts + h, l, h
        for (l = 0; l < leaves; l++) for (s = 0; s < spines; s++)
            printf "cable leaf%d:%d spine%d:%d\n", l, hosts + s, s, l
    }'
}

page_of() { # HOSTS, a map on stdin
    cat >"$MAP.new"
    mv "$MAP.new" "$MAP"
    wait_for 60 fabric_has "$1"
}

case_larger_ones() {
    need_browser
    page_of 128 < <(clos 8 16 8)
    looks 1440x900 c128 "document.querySelectorAll('#map svg g[role=button]').length >= 128 && $FITS"
    looks_on_phones c128
    page_of 1024 < <(clos 64 16 16)
    looks 1440x900 c1024 'document.querySelectorAll("#map details").length'
    looks_on_phones c1024
    "$SF_TOP_BUILDDIR/tests/unit/same_net" --write C8192 "$case_tmp/c8192"
    page_of 8192 < <(sed 's/\bh\([0-9]\)/n\1/' "$case_tmp/c8192")
    looks_on_phones c8192
    looks 1440x900 c8192 'document.querySelectorAll("#map details").length'
    # The goal is 2 s; printed, because this machine may be a busy one.
    sed -n 's/^first-paint/# 8192 hosts: first-paint/p' <<<"$out"
    assert_output 'fabric drawn [0-9]* ms'
}

# drawn QUESTION: of the SVG in $out: boxes, as JSON {NAME: [x, y, w, h]}; or
# groups, as JSON ["NAME: FIRST … LAST, N nodes"..]; or how many cells there are.
drawn() {
    python3 -c '
import json, re, sys
svg = sys.stdin.read()
number = r"=\"([-0-9.]+)\""
box = (r"<g><rect x%s y%s width%s height%s [^>]*/><text [^>]*>[^<]*</text>"
       r"<title>(?:node|switch) ([^ ,]*)") % ((number,) * 4)
if sys.argv[1] == "boxes":
    print(json.dumps({m[4]: [float(v) for v in m[:4]]
                      for m in re.findall(box, svg)}))
if sys.argv[1] == "cells":
    print(len(re.findall(r"height=\"13.0\" class=", svg)))
if sys.argv[1] == "groups":
    cards = re.split(r"<text [^>]*>([^<]*): (\d+) nodes?</text>", svg)[1:]
    hosts = [re.findall(r"<title>([^,<]*), ", c) for c in cards[2::3]]
    print(json.dumps(["%s: %s \u2026 %s, %s nodes" % (n, h[0], h[-1], k)
                      for n, k, h in zip(cards[0::3], cards[1::3], hosts)]))
' "$1" <<<"$out"
}

# The same boxes at the same places, the same groups with the same nodes.
case_the_page_and_sfabric_draw_have_one_layout() {
    local boxes groups cells net
    need_browser
    for net in '4 4 2' '8 16 8' '3 20 2'; do
        # shellcheck disable=SC2086
        page_of "$(awk '{ print $1 * $2 }' <<<"$net")" < <(clos $net)
        fabric draw "$MAP"
        assert_output '^<text class="t" .*>Fabric of '
        assert_output 'nothing is known|Nobody was asked for its health: all is grey'
        boxes=$(drawn boxes)
        # So wide that both have the same hosts side by side.
        looks 1900x900 alike "(() => {
            const want = $boxes, got = {};
            for (const g of document.querySelectorAll('#map svg g[role=button]')) {
                const r = g.querySelector('rect');
                const name = /^(node|switch) ([^,]*),/.exec(g.getAttribute('aria-label'));
                got[name[2]] = ['x', 'y', 'width', 'height'].map(
                    k => r[k].baseVal.value - (k == 'y' ? 24 : 0));
            }
            return Object.keys(want).length >= 22 &&
                Object.keys(want).length == Object.keys(got).length &&
                Object.keys(want).every(n => got[n] &&
                    want[n].every((v, i) => Math.abs(v - got[n][i]) < .1));
        })()"
    done
    for net in 1024 8192; do
        if [ $net = 1024 ]; then
            page_of $net < <(clos 64 16 16)
        else
            "$SF_TOP_BUILDDIR/tests/unit/same_net" --write C8192 \
                "$case_tmp/c8192"
            page_of $net <"$case_tmp/c8192"
        fi
        fabric draw "$MAP"
        groups=$(drawn groups) cells=$(drawn cells)
        [ "$cells" -ge 1024 ] || fail "$cells cells"
        looks 1440x900 "alike$net" "(() => {
            const got = [...document.querySelectorAll('#map summary span')].map(e => e.textContent);
            const cells = document.querySelectorAll('#map > div > svg [role=button]').length;
            return JSON.stringify(got) == JSON.stringify($groups) && cells == $cells && $FITS;
        })()"
    done
}

healthy_are() { # HOSTS
    sfabric -h | grep -Eq "^healthy +$1 "
}

# Names come from files and networks.
case_a_hostile_name_stays_text() {
    need_browser
    sed 's/n3/<img_src=x_onerror=alert(1)>/g' \
        "$SF_TOP_SRCDIR/etc/swfab.net.example" >"$MAP.new"
    mv "$MAP.new" "$MAP"
    wait_for 20 fabric_says onerror
    looks 1000x700 hostile 'document.querySelector("[aria-label*=onerror]") && !document.images.length'
}

fabric_says() {
    fetch /fabric.json
    grep -q "$1" <<<"$out"
}

case_a_pulled_cable_is_seen() {
    need_browser
    cp "$SF_TOP_SRCDIR/etc/swfab.net.example" "$MAP.new"
    mv "$MAP.new" "$MAP"
    wait_for 20 fabric_has 4
    reporters_speak
    wait_for 20 all_healthy
    looks 1440x900 well 'document.querySelectorAll("#map g > rect.healthy").length >= 4'
    say n2 hsnd down no carrier
    looks 1440x900 pulled 'document.querySelector("#faults .fault.down") && document.querySelector("[aria-label^=\"node n2, down\"]")'
}

# What has the focus is one whose label, or text, begins so.
focused() { # TEXT
    echo "(document.activeElement.getAttribute('aria-label') ||
        document.activeElement.textContent).startsWith('$1')"
}

# No mouse: all of it is pressed keys.
case_the_keyboard_is_enough() {
    local selected='document.getElementById("detail").textContent'
    need_browser
    page_of 16 < <(clos 4 4 2)
    reporters_speak
    say n0 hsnd up link up
    say n1 hsnd down no carrier
    wait_for 60 page_has 'no carrier'
    looks 1440x900 keys true \
        keys:/,n,6,Enter "$selected.includes('Noden6') && $(focused 'node n6,')" \
        keys:ArrowRight "$(focused 'node n7,')" \
        keys:ArrowLeft,ArrowLeft "$(focused 'node n5,')" \
        keys:ArrowUp "$(focused 'switch leaf1,')" \
        keys:ArrowRight,Enter "$selected.includes('Switchleaf2')" \
        keys:ArrowUp "$(focused 'switch spine')" \
        keys:Escape "$selected.startsWith('Nothing is selected')" \
        keys:/,l,e,a,f,1,Enter "$selected.includes('Switchleaf1')" \
        'document.querySelector("#detail button").focus() || true' \
        keys:Enter "$selected.includes('Cable')" \
        'document.querySelector("#faults button").focus() ||
            (window.said = document.getElementById("sum").textContent)' \
        "$(focused n1) && document.getElementById('sum').textContent != said" \
        keys:Enter "$selected.includes('Noden1') && $selected.includes('no carrier')"
    say n1 hsnd up link up
    wait_for 60 sfabric_says n1 healthy
    # Groups open, and a matrix is walked through by its rows and columns.
    page_of 1024 < <(clos 64 16 16)
    looks 1440x900 keys-groups \
        'document.querySelector("#map [tabindex=\"0\"]").focus() || true' \
        "$(focused 'leaf0 to spine0:')" \
        keys:ArrowRight "$(focused 'leaf0 to spine1:')" \
        keys:ArrowDown,ArrowDown "$(focused 'leaf2 to spine1:')" \
        keys:ArrowLeft,ArrowUp,Enter \
        "$(focused 'leaf1 to spine0:') && $selected.includes('leaf1 to spine0')" \
        'document.querySelector("#map summary").focus() || true' \
        keys:Enter 'document.querySelector("#map details").open' \
        keys:Tab "$(focused 'switch leaf0,')" \
        keys:ArrowRight,ArrowRight,Enter "$selected.includes('Noden1')"
}

# Whatever Tab comes to is seen to have the focus, and all that matters is come to.
case_tab_goes_through_all_that_can_be_chosen() {
    local tabs
    need_browser
    page_of 16 < <(clos 4 4 2)
    tabs=$(printf 'Tab,%.0s' {1..24})
    looks 1440x900 tabs 'document.addEventListener("focusin", e =>
            (window.met = window.met || []).push(e.target)) || true' \
        "keys:${tabs%,}" \
        'met.length >= 23 && met[0].id == "q" &&
         new Set(met.map(e => e.getAttribute("aria-label"))).size >= 22 &&
         [...document.querySelectorAll("#map [role=button]")].every(e => met.includes(e))' \
        'getComputedStyle(document.activeElement.querySelector("rect") || document.activeElement).strokeWidth == "3px" ||
         getComputedStyle(document.activeElement).outlineStyle != "none"'
}

job_is_known() { # NUMBER
    fetch "/job/$1"
    grep -q '"nodes":\["n0","n1"\]' <<<"$out"
}

case_a_job_is_found_at_its_nodes() {
    local job find
    cp "$SF_TOP_SRCDIR/etc/swfab.net.example" "$MAP.new"
    mv "$MAP.new" "$MAP"
    wait_for 20 fabric_has 4
    # (n2 is drained where its cable was pulled before.)
    run_as_user sbatch --parsable -N2 -w n0,n1 --output=/dev/null \
        --wrap 'sleep 600'
    assert_code 0
    job=$out
    wait_for 60 job_is_known "$job"
    fetch /job/999999
    assert_output '^[{][}]$'
    if command -v chromium >/dev/null; then
        find="(document.getElementById('q').value ||
             ((document.getElementById('q').value = '$job'),
              document.getElementById('find').requestSubmit(), false))"
        looks 1440x900 job "$find &&
            document.querySelectorAll('#map g.sel').length == 2 &&
            document.querySelector('#map g.sel[aria-label^=\"node n1\"]') &&
            document.getElementById('detail').textContent.includes('Job$job')"
    fi
    scancel "$job"
    wait_for 60 job_is_gone "$job"
    run_as_user sbatch --parsable -N2 -w n0,n1 --output=/dev/null \
        --wrap 'sleep 600'
    job=$out
    wait_for 60 job_is_known "$job"
    # Whose jobs are nobody's business is not told.
    echo PrivateData=jobs >>"$SLURM_CONF"
    scontrol reconfigure
    wait_for 60 job_is_gone "$job"
    sed -i /^PrivateData=jobs/d "$SLURM_CONF"
    scontrol reconfigure
    scancel "$job"
}

job_is_gone() { # NUMBER
    fetch "/job/$1"
    grep -q '^[{][}]$' <<<"$out"
}

case_a_link_shows_its_last_day() {
    need_browser
    fetch /day/n1
    assert_output '"from":[0-9]*,"step":60000,'
    fetch /day/nobody
    assert_output '^[{][}]$'
    wait_for 60 fabric_has 4 # who searches before that is told of no node
    looks 1440x1000 day '
        (document.getElementById("q").value ||
         ((document.getElementById("q").value = "n1"),
          document.getElementById("find").requestSubmit(), false)) &&
        document.querySelectorAll("#detail polyline.in").length'
    looks 390x1400 day-phone '
        (document.getElementById("q").value ||
         ((document.getElementById("q").value = "n1"),
          document.getElementById("find").requestSubmit(), false)) &&
        document.querySelectorAll("#detail polyline.in").length' "$FITS"
    fabric history n1
    assert_code 0
    assert_output '^FROM  *IN  *OUT  *ERRORS  *WORST$'
    [ "$(grep -c 'healthy$' <<<"$out")" -ge 20 ] || fail "hours: $out"
    assert_output ' 1440 .*degraded$'
    fabric history --hour n1
    [ "$(wc -l <<<"$out")" -ge 50 ] || fail "minutes: $out"
    fabric history --year n1
    # "down" when an hour has passed since a case before this one
    assert_output ' 1440  *(degraded|down)$'
    fabric history nobody
    assert_code 3
    fabric --json history n1
    assert_output '"step": 60000'
}

# Bounded: so many hours and no more, however long a link was seen.
year_is_whole() {
    sed -n '/^{/p' <<<"$out" | python3 -c '
import json, sys
text = sys.stdin.read()
y = json.loads(text)
lists = [y[k] for k in ("in", "out", "errors", "known", "state")]
sys.exit(y["step"] != 3600000 or {len(l) for l in lists} != {8784} or
         len(text) > 8784 * 64 or sum(v is not None for v in y["in"]) < 380)'
}

# Five days on which it was down, long ago: on the year's strip alone.  (n0 has no
# fault in the cases before.)
case_a_link_shows_its_last_year() {
    local shown='document.querySelectorAll("#detail polyline.in").length'
    local down='document.querySelectorAll("#detail figure rect.down").length'
    local years='document.getElementById("detail").textContent.includes("Last year")'
    need_browser
    wait_for 60 fabric_has 4
    fetch /year/n0
    year_is_whole || fail "not a year"
    fetch /year/nobody
    assert_output '^[{][}]$'
    # No mouse: the switch is come to by Tab and has the focus when it was used.
    looks 1440x1000 year true keys:/,n,0,Enter \
        "$shown && !$down && !$years && document.getElementById('drop').focus() === undefined" \
        keys:Tab,Tab "$(focused Day)" keys:Tab,Enter \
        "$years && $down == 1 && $shown && $(focused Year) &&
         document.activeElement.getAttribute('aria-pressed') == 'true'" \
        'document.querySelectorAll("#detail polyline.in")[0].points.length >= 300 &&
         document.querySelectorAll("#detail line.grid").length >= 11' \
        "document.getElementById('sum').textContent != window.said &&
         (window.said ? true : (window.said = document.getElementById('sum').textContent, false)) &&
         $(focused Year) && $years" \
        keys:Shift+Tab,Enter "!$years && !$down && $shown && $(focused Day)"
    PAGE_DARK=1 looks 390x844 year-phone true keys:/,n,0,Enter "$shown" \
        'document.querySelectorAll(".spans button")[1].click() || true' \
        "$years && $shown && $FITS"
}

somebody_waits() { [ -n "$(find "${1%/*}" -name 'disk.*' -user nobody)" ]; }
day_is_there() { grep -q '"step":60000' "$case_tmp/day"; }

# Who reads a history waits for the disk, and nobody else does.
case_a_disk_that_stands_still_holds_up_only_its_reader() {
    local slow=$WORK/slow/disk SWITCHMGRD=$SWITCHMGRD
    mkdir -m 777 "${slow%/*}"
    switchmgr_stop
    cat >"$case_tmp/on_slow_disk" <<SH
#!/bin/sh
export SLOW_DISK=$slow LD_PRELOAD=$SF_TOP_BUILDDIR/tests/cluster/slow_disk.so
exec $SWITCHMGRD
SH
    chmod +x "$case_tmp/on_slow_disk"
    SWITCHMGRD=$case_tmp/on_slow_disk
    switchmgr_start
    reporters_speak
    say n1 hsnd up link up
    wait_for 30 sfabric_says n1 healthy
    touch "$slow"
    (fetch /day/n1 && printf '%s\n' "$out" >"$case_tmp/day") &
    wait_for 60 somebody_waits "$slow"
    say n1 hsnd down no light # which no fault before this one was
    wait_for 60 page_has 'no light'
    sfabric_says n1 'no light' || fail "sfabric waits"
    [ -e "$case_tmp/day" ] && fail "nobody waited for the disk"
    say n1 hsnd up link up
    rm "$slow"
    wait_for 60 day_is_there
    wait_for 60 sfabric_says n1 healthy
}

# The clocks of switchmgrd are put to the next full minute.
to_the_next_minute() {
    truncate -s "+$((60 - ($(date +%s) + $(stat -c %s "$LATER")) % 60))" \
        "$LATER"
}
minute_is() { echo $((($(date +%s) + $(stat -c %s "$LATER")) / 60)); }
# day FILE: n1's last day, as the page gets it.
day() {
    fetch /day/n1
    sed -n '/^{/p' <<<"$out" >"$1"
}
# day_ends_with FILE STATE: the last minute that is known in it.
day_ends_with() {
    day "$1"
    python3 -c '
import json, sys
known = [s for s in json.load(open(sys.argv[1]))["state"] if s]
sys.exit(known[-1:] != [sys.argv[2]])' "$1" "$2"
}
# What a kill has cost: minutes that BEFORE had and AFTER has otherwise; then
# those after them, up to KILLED, of which nothing is known.
minutes_lost() { # BEFORE AFTER KILLED
    python3 -c '
import json, sys
def minutes(path):
    d = json.load(open(path))
    return {d["from"] // 60000 + i: v for i, v in enumerate(
        zip(*(d[k] for k in ("in", "out", "errors", "known", "state"))))}
before, after = (minutes(p) for p in sys.argv[1:3])
before = {m: v for m, v in before.items() if v[-1]}
last = max(before)
print(sum(after[m] != v for m, v in before.items() if m in after),
      sum(after.get(m, [None])[-1] is None
          for m in range(last + 1, int(sys.argv[3]))))' "$@"
}

# Before it is in the file, and before it is on the disk.
case_a_kill_while_history_is_written_costs_a_minute() {
    local slow=$WORK/kill/disk SWITCHMGRD=$SWITCHMGRD LATER=$WORK/kill/later
    local held killed had
    mkdir -m 777 "${slow%/*}"
    : >"$LATER"
    switchmgr_stop
    cat >"$case_tmp/later" <<SH
#!/bin/sh
export SLOW_DISK=$slow LATER=$LATER
LD_PRELOAD="$SF_TOP_BUILDDIR/tests/cluster/slow_disk.so $SF_TOP_BUILDDIR/tests/cluster/later.so"
export LD_PRELOAD
exec $SWITCHMGRD
SH
    chmod +x "$case_tmp/later"
    page_conf HsndStale=600 # a minute passes at once
    reporters_speak
    for held in "$slow.write" "$slow"; do
        SWITCHMGRD=$case_tmp/later
        switchmgr_start
        say n1 hsnd down no carrier
        wait_for 30 sfabric_says n1 'no carrier'
        to_the_next_minute
        wait_for 60 day_ends_with "$case_tmp/before" down
        rm -f "$slow".[0-9]*
        touch "$held"
        to_the_next_minute
        had=$(minute_is)
        wait_for 60 somebody_waits "$slow"
        killed=$(minute_is)
        switchmgr_stop KILL
        rm "$held"
        switchmgr_start
        say n1 hsnd up link up
        wait_for 30 sfabric_says n1 healthy
        day "$case_tmp/after"
        # shellcheck disable=SC2046 # two numbers
        set -- $(minutes_lost "$case_tmp/before" "$case_tmp/after" "$killed")
        assert_equal 0 "$1" "older minutes that are not what they were"
        # Each turn that came before the kill waited for this disk.
        [ "$2" -le $((1 + killed - had)) ] || fail "$2 minutes are lost"
        [ "$held" = "$slow" ] || assert_equal $((1 + killed - had)) "$2" \
            "minutes that were not written"
        assert_empty "$(grep SF-E708 "$CLUSTER/log/switchmgrd.log")" damage
        assert_empty "$(find "$CLUSTER/switchmgr.state" -name '*.bad')" \
            "put aside"
        fabric history --hour n1
        assert_output ' down$'
        if command -v chromium >/dev/null; then
            wait_for 60 fabric_has 4
            looks 1440x900 killed '
                (document.getElementById("q").value ||
                 ((document.getElementById("q").value = "n1"),
                  document.getElementById("find").requestSubmit(), false)) &&
                document.querySelectorAll("#detail polyline.in").length &&
                document.querySelector("#detail figure rect.down")'
        fi
        switchmgr_stop
    done
    page_conf
    SWITCHMGRD=$STAGE/libexec/slurm-fabric/switchmgrd
    switchmgr_start
}

# row NAME: what the page says there of Slurm.
row() {
    echo "[...document.querySelectorAll('#slurm dt')].find(
        e => e.textContent == '$1').nextSibling.textContent"
}
# fault_says NODE TEXT: in the list of faults.
fault_says() {
    echo "[...document.querySelectorAll('#faults .fault')].some(
        e => e.textContent.startsWith('$1 ') && e.textContent.includes('$2'))"
}
# seen_then FILE COMMAND..: in the background, once that picture is there.
seen_then() {
    local picture=$SHOTS/$1
    shift
    (wait_for 120 test -e "$picture" && "$@") &
}
# Slurm's nodes as the administrator wants them, and no drain of ours.
all_back() {
    local node
    for node in n0 n1 n2 n3; do say $node hsnd up link up; done
    wait_for 60 all_healthy
    for node in n0 n1 n2 n3; do # those that are drained
        run_as_root ctl scontrol update nodename=$node state=resume
    done
    wait_for 60 all_idle
}
page_rereads() { # LINE..
    local before
    before=$(times_read)
    page_conf "$@"
    pidkill HUP "$(switchmgr_pids | head -1)"
    wait_for 10 read_more_than "$before"
}

case_maintenance_and_caps_are_shown_while_they_stand() {
    need_browser
    cp "$SF_TOP_SRCDIR/etc/swfab.net.example" "$MAP.new"
    mv "$MAP.new" "$MAP"
    wait_for 20 fabric_has 4
    reporters_speak
    all_back
    fabric maintenance on n1
    assert_code 0
    say n1 hsnd down no carrier
    rm -f "$SHOTS"/{kept,caps}*.png
    seen_then kept.png sfabric maintenance off n1
    looks 1440x1000 kept \
        "$(row Maintenance) == 'n1' && $(fault_says n1 'maintenance: not drained') &&
         $(row 'Drained by the fabric') == '0'" \
        "$(row Maintenance) == 'none' && $(fault_says n1 'drained by the fabric') &&
         $(row 'Drained by the fabric') == '1'"
    wait_for 60 is_drained n1
    # One at a time: the second one waits until the first is well.
    page_rereads DrainPercent=25
    say n2 hsnd down no carrier
    seen_then caps.png say n1 hsnd up link up
    seen_then caps-2.png say n2 hsnd up link up
    looks 1440x1000 caps \
        "$(row Caps) == '1000 drains within 600 s, 25 % of the nodes at a time' && $(row 'Held back by the caps') == '1' &&
         $(fault_says n2 'drain held back by the caps')" \
        "$(row 'Held back by the caps') == '0' && $(fault_says n2 'drained by the fabric')" \
        "$(row 'Drained by the fabric') == '0' && !document.querySelector('#faults .fault')"
    page_rereads
    looks 1440x1000 caps-back "$(row Caps).includes(' 50 %')"
    all_back
}

# Two rails, each with a mapper that leads it and a map of its own.
case_each_rails_map_is_shown() {
    reporters_speak
    all_back
    say n3 "hsnd up"$'\n'"mapper 7 n0=up n3=up"
    wait_for 60 page_has '"leader":"n3"'
    metrics
    assert_output '^slurm_fabric_map_version[{]rail="0"[}] 7$' 1
    assert_output '^slurm_fabric_map_version' 1
    say n2 "hsnd up"$'\n'"mapper 9 rail=1 n0=up n2=up"
    wait_for 60 page_has '"leader":"n2"'
    metrics
    assert_output '^slurm_fabric_map_version[{]rail="0"[}] 7$' 1
    assert_output '^slurm_fabric_map_version[{]rail="1"[}] 9$' 1
    for family in configured report_age_seconds verify_seconds; do
        assert_output "^slurm_fabric_map_${family}[{]rail=\"[01]\"[}] " 2
    done
    assert_empty "$(python3 "$SF_TOP_SRCDIR/tests/cluster/metrics_check.py" \
        <<<"$out" 2>&1)" "what is wrong with the metrics"
    need_browser
    looks 1440x1000 rails \
        "$(row 'Mapper of rail 0').startsWith('n3, heard ') &&
         $(row 'Mapper of rail 1').startsWith('n2, heard ')"
    page_of 4 <"$SF_TOP_SRCDIR/etc/swfab.net.example"
    clos 2 2 1 | sed 's/leaf/other/; s/spine/top/' >"$MAP.1"
    page_rereads "TopologyMap=$MAP,$MAP.1"
    wait_for 60 page_has '"rail":1,"version"'
    say n2 "hsnd up"$'\n'"mapper 10 rail=1 n0=up n1=up n2=down n3=up"
    wait_for 60 page_has scripted
    looks 1440x1000 rails-two \
        "$(pressed 0) && $(held n2 healthy) && !$(held 'other') &&
         $(rail_button 1).textContent == 'Rail 1, 1 fault' &&
         document.getElementById('sum').textContent.startsWith('Rail 0: 4 nodes')" \
        "$(rail_button 1).click() || true" \
        "$(pressed 1) && $(held n2 down) && $(held n3 healthy) && $(held 'switch other1') &&
         document.getElementById('sum').textContent.startsWith('Rail 1: 4 nodes')" \
        keys:/,n,2,Enter \
        "document.getElementById('detail').textContent.includes('scripted') && $FITS" \
        "$(rail_button 0).click() || true" \
        "$(pressed 0) && $(held n2 healthy) && $(fault_says n2 'on rail 1')"
    say n2 "hsnd up"$'\n'"mapper 11 rail=1 n0=up n1=up n2=up n3=up"
    wait_for 60 sfabric_says n2 healthy
    page_rereads # and one map
    looks 1440x1000 rails-one "document.getElementById('rails').hidden"
    all_back
}
rail_button() { # RAIL
    echo "[...document.querySelectorAll('#rails button')][$1]"
}
pressed() { # RAIL
    echo "$(rail_button "$1") && $(rail_button "$1").getAttribute('aria-pressed') == 'true'"
}
# Is it in the picture, of that state?
held() { # NAME [STATE]
    if [ $# = 1 ]; then
        echo "document.querySelector('#map [aria-label*=\"$1\"]')"
    else
        echo "document.querySelector('#map [aria-label^=\"node $1, $2\"]')"
    fi
}

# One node of very many: it alone is red, with its row of the matrix, and in view.
case_a_fault_stands_out_among_many() {
    local n red='[...document.querySelectorAll("#map rect.down, #map path.down")]'
    local seen="$red.some(e => { const r = e.getBoundingClientRect();
        return r.top >= 0 && r.bottom <= innerHeight && r.width > 0; })"
    need_browser
    reporters_speak
    for n in 1024 8192; do
        if [ $n = 1024 ]; then
            page_of $n < <(clos 64 16 16)
        else
            "$SF_TOP_BUILDDIR/tests/unit/same_net" --write C8192 \
                "$case_tmp/c8192"
            page_of $n < <(sed 's/\bh\([0-9]\)/n\1/' "$case_tmp/c8192")
        fi
        say n3 "hsnd up"$'\n'"map 1 n[0-$((n - 1))]"
        say n2 hsnd up link up
        wait_for 90 healthy_are $n
        # n2's cable is pulled while the browser looks.
        (wait_for 120 test -e "$SHOTS/fault$n.png" && say n2 hsnd down no carrier) &
        looks 1440x900 "fault$n" \
            "document.querySelectorAll('#map rect.healthy').length > $n / 2 &&
             !$red.length && !document.querySelector('#faults .fault')" \
            "document.querySelector('#faults .fault.down') && $red.length == 2 && $seen &&
             document.getElementById('sum').textContent.includes('1 down')" \
            keys:/,n,2,Enter \
            "document.getElementById('detail').textContent.includes('no carrier') &&
             $seen"
        say n2 hsnd up link up
        sed -n 's/^first-paint/# '$n' hosts: first-paint/p' <<<"$out"
    done
    say n3 hsnd up link up
}

# The map lacks it then; the picture does not.
case_a_pulled_cable_between_switches_is_red_where_it_was() {
    local red='[...document.querySelectorAll("#map path.c.down")].map(e => e.getAttribute("aria-label")).join()'
    local was='cable leaf1:5 to spine1:1, down' story
    need_browser
    switchmgr_stop # it knows thousands of nodes
    rm -f "$CLUSTER/switchmgr.state/switchmgrd/"*.json
    switchmgr_start
    page_of 16 < <(clos 4 4 2)
    reporters_speak
    say n3 "hsnd up"$'\n'"mapper 20 n0=up n1=up n2=up n3=up link.leaf1:5-spine1:1=up"
    wait_for 60 page_has '"leaf1:5"'
    (wait_for 120 test -e "$SHOTS/lost-cable.png" &&
        page_of 16 < <(clos 4 4 2 | grep -v 'leaf1:5 spine1:1') &&
        say n3 "hsnd up"$'\n'"mapper 21 n0=up n1=up n2=up n3=up link.leaf1:5-spine1:1=down" &&
        wait_for 120 test -e "$SHOTS/lost-cable-2.png" &&
        page_of 16 < <(clos 4 4 2) &&
        say n3 "hsnd up"$'\n'"mapper 22 n0=up n1=up n2=up n3=up link.leaf1:5-spine1:1=up") &
    story=$!
    rm -f "$SHOTS"/lost-cable*.png
    looks 1440x900 lost-cable \
        "document.querySelectorAll('#map path.c').length && !($red)" \
        "($red) == '$was' && document.getElementById('sum').textContent.includes('23 cables')" \
        "!($red) && document.getElementById('sum').textContent.includes('24 cables')"
    wait "$story"
}

reporters_speak() {
    local node
    for node in n0 n1 n2 n3; do
        [ -e "$CLUSTER/speaks.$node" ] || reporter $node
    done
}
page_has() { # TEXT
    fetch /health.json
    grep -q "$1" <<<"$out"
}

run_cases
