#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What sfabric says about net files: hosts, links, routes, longest, diff,
# conflicts.  And what mapperd --check says, with its exit status, and
# about a fabric of two rails.
set -u
. "$(dirname "$0")/../tap.sh"
same=$build/tests/unit/same_net
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

sfabric() { "$build/src/sfabric/sfabric" "$@"; }
mapperd() { "$build/src/mapperd/mapperd" "$@"; }
# The command's output has this many lines, and its status is STATUS.
lines() { # STATUS COUNT COMMAND...
    local rc
    "${@:3}" >"$tmp/out" 2>&1
    rc=$?
    cat "$tmp/out"
    [ $rc = "$1" ] && [ "$(wc -l <"$tmp/out")" = "$2" ]
}
says() { # STATUS PATTERN COMMAND...
    local rc
    "${@:3}" >"$tmp/out" 2>&1
    rc=$?
    cat "$tmp/out"
    [ $rc = "$1" ] && grep -q -- "$2" "$tmp/out"
}
"$same" --write C64 "$tmp/c64.net"
"$same" --write C64+cut=3 "$tmp/cut.net"
"$same" --write C64 "$tmp/c64.ibnet"
c64=$tmp/c64.net

ok "hosts: one line each" lines 0 64 sfabric hosts -h "$c64"
ok "hosts: where each hangs" says 0 '^h9 *0060dd00000a *s1.1 *1' \
    sfabric hosts "$c64"
ok "hosts: as JSON" says 0 '"address": "0060dd00000a"' \
    sfabric hosts --json "$c64"
ok "hosts: of a net in InfiniBand's form" lines 0 64 sfabric hosts -h \
    "$tmp/c64.ibnet"
ok "links: each once" lines 0 64 sfabric links -h "$c64"
ok "links --all: hosts' cables, too" lines 0 128 sfabric links -h --all "$c64"
ok "routes: all alternatives of a pair" lines 0 8 \
    sfabric routes -h h0 h63 "$c64"
ok "routes: bytes and ports" says 0 '^h63 *3 *8f8eb8 *s1.0:15 s2.3:15 s1.7:7' \
    sfabric routes h0 h63 "$c64"
ok "routes: one to each host" lines 0 63 sfabric routes -h h0 "$c64"
ok "routes: an unknown host is told which there are" \
    says 3 'no host is called nn; they are h\[0-63\]' sfabric routes nn "$c64"
ok "routes: a host by its board address" says 0 '^h5 *1 ' \
    sfabric routes h0 0060dd000006 "$c64"
ok "longest: 448 of one hop, 3584 of three" says 0 '^3 *3584' \
    sfabric longest "$c64"
ok "diff: nothing" lines 0 0 sfabric diff "$c64" "$c64"
ok "diff: cables missing" says 1 'cable missing: s1.0 port 10 to s2.1' \
    sfabric diff "$c64" "$tmp/cut.net"
ok "conflicts: none" lines 0 0 sfabric conflicts "$c64"
sed '/^host h5 /s/0060dd000006/0060dd000007/' "$c64" >"$tmp/twice.net"
ok "conflicts: a net file with an address twice is refused" \
    says 3 'twice.net:' sfabric conflicts "$tmp/twice.net"
sed '/^host h6 /s/0060dd000007.*/0060dd000006 twin/' "$c64" >"$tmp/twin.net"
ok "conflicts: an address twice in a map" \
    says 1 'h5 and h6 have the same address 0060dd000006' \
    sfabric conflicts "$tmp/twin.net"
ok "hosts: those of such a map" lines 0 64 sfabric hosts -h "$tmp/twin.net"
ok "no file and no mapperd: status 3" says 3 mapperd sfabric hosts \
    --socket "$tmp/none"

ok "no daemon: it is asked whether it runs" says 3 'does it run' sfabric why n0 \
    --socket "$tmp/none"
ok "help of a command" says 0 'usage: sfabric why NODE|' sfabric why --help
ok "help is a command, too" says 0 'EXIT STATUS' sfabric help
ok "a timeout is a number" says 3 '--timeout has a wrong value "soon"' \
    sfabric -t soon hosts "$c64"
ok "a timeout is more than nothing" says 3 '--timeout has a wrong value "0"' \
    sfabric --timeout=0 hosts "$c64"
ok "an option without its value" says 3 '-s lacks its value' sfabric hosts -s
ok "an unknown option is named" says 3 'no option "--nonsense"' \
    sfabric --nonsense
ok "an unknown option of a command is named, with its usage" \
    says 3 'no option "--al1"; usage: sfabric links' sfabric links --al1 "$c64"
ok "an unknown letter is named" says 3 'no option "-x"' sfabric links -hx "$c64"
ok "options behind the operands" lines 0 128 sfabric links "$c64" --all -h
ok "options before the command" lines 0 64 sfabric -h --timeout 3 links "$c64"
ok "behind -- there are operands only" says 3 'usage: sfabric links' \
    sfabric links -- "$c64" --all
ok "the value of an option may be its next word" lines 0 8 \
    sfabric routes -h --engine auto h0 h63 "$c64"
ok "operands that are too many" says 3 'usage: sfabric hosts' \
    sfabric hosts "$c64" "$c64"
ok "help of a command, behind its operands" says 0 'usage: sfabric links' \
    sfabric links "$c64" --help
ok "letters of the first command, with a common one" \
    says 3 'does it run' sfabric -hNl --socket "$tmp/none"
ok "why: one node, no list" says 3 'one node at a time' sfabric why 'n[0-1]'
ok "events: -n takes a number" says 3 'usage: sfabric events' \
    sfabric events -n soon --socket "$tmp/none"
echo '# nothing' >"$tmp/empty.net"
ok "draw: of an empty net the picture says so" says 0 'The map is empty' \
    sfabric draw "$tmp/empty.net"
ok "draw: without switchmgrd the picture says that nothing is known" says 0 \
    'switchmgrd does not answer: nothing is known' \
    sfabric draw --health --socket "$tmp/none" "$c64"
ok "draw: title, legend and ports" says 0 '>degraded or flapping</text>' \
    sfabric draw "$c64"
tree_of() {
    sfabric topology "$1" | sed -E 's/"(h|n)[^"]*"/HOSTS/; s/s[0-9]_[0-9a-f]+/S/g'
}
same_tree() { diff <(tree_of "$c64") <(tree_of "$tmp/c64.ibnet"); }
ok "topology: a tree and blocks" says 0 '^- topology: blocks$' \
    sfabric topology "$c64"
ok "topology: the same of InfiniBand's form" same_tree
ok "topology: topology.conf" says 0 '^SwitchName=s1_.* Nodes=h\[0-' \
    sfabric topology --conf "$c64"
ok "topology: a plane without hosts" says 3 'plane 3 has no host' \
    sfabric topology --plane 3 "$c64"
ok "topology: not a number" says 3 'usage' sfabric topology --plane x "$c64"
ok "draw: -o is no file" says 3 'sfabric draw >x.svg' \
    sfabric draw "$c64" -o x.svg

# What completion offers for the last of the words.
completes() { # "WORDS" WORD: one of those offered
    PATH=$build/src/sfabric:$PATH bash -c '
        . "$1"
        COMP_WORDS=($2)
        [ "${2% }" = "$2" ] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _sfabric
        printf "%s\n" "${COMPREPLY[@]}"' - \
        "${SF_TOP_SRCDIR:-$PWD}/dist/completions/sfabric" "$1" | grep -qxF -- "$2"
}
ok "completion: commands" completes 'sfabric ev' events
ok "completion: files of nets behind their commands" \
    completes "sfabric hosts $tmp/c64.n" "$c64"
ok "completion: no commands there" \
    eval "! completes 'sfabric --json hosts ' events"
ok "completion: options of a command" completes 'sfabric draw --d' --dot
# not_offered: options in the usage of a command that are not completed.
not_offered() {
    sfabric --help | awk '/^  [a-z]/ { print $1 }' | while read -r command; do
        sfabric "$command" --help | sed -n '1s/ \[/\n/gp' |
            grep -oE -- '--[a-z-]+=?' | while read -r option; do
                completes "sfabric $command $option" "$option" ||
                    echo "$command $option"
            done
    done
}
ok "completion: each option in the usage of a command" lines 0 0 not_offered
ok "completion: what maintenance takes" completes 'sfabric maintenance o' off
ok "completion: what --color takes" completes "sfabric --color = al" always
ok "completion: an option's value is no command" \
    completes "sfabric -s $tmp/none wh" why

# The nets that a site sees first: that of etc/ and that of the manual page.
sed -n '/^\.SH EXAMPLE/,/^\.fi/p' "$top/doc/man/swfab.net.5" |
    grep -v '^\.' | sed 's/\\-/-/g' >"$tmp/page.net"
ok "check: the example of swfab.net(5)" says 0 'map *exact' \
    mapperd --check="$tmp/page.net"
# switchmgrd calls hosts by their node, crossbars by their place in the map;
# the map, by board and number: nothing was painted.
cat >"$tmp/paint.net" <<'NET'
host 020000000001 020000000001
host 020000000002 020000000002
xbar x0 4
xbar x1 4
cable 020000000001 x0:0
cable 020000000002 x1:0
cable x0:1 x1:1
NET
python3 -c '
import json, os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1] + ".new")
s.listen()
os.rename(sys.argv[1] + ".new", sys.argv[1])  # who finds it is heard
items = {
    "host": [{"kind": "host", "name": "n1", "board": "020000000001",
              "peer": "anon2:0", "state": "down"}],
    "link": [{"kind": "link", "name": "anon2:1", "peer": "anon3:1",
              "state": "degraded"}],
    "xbar": [{"kind": "xbar", "name": "anon2", "state": "healthy"}]}
for _ in range(3):
    c, _ = s.accept()
    kind = json.loads(c.makefile().readline())["kind"]
    c.sendall(json.dumps({"ok": True, "items": items[kind]}).encode() + b"\n")
    c.close()' "$tmp/paint.sock" &
until [ -S "$tmp/paint.sock" ]; do sleep 0.05; done
sfabric -s "$tmp/paint.sock" draw --dot --health "$tmp/paint.net" \
    >"$tmp/painted" 2>&1
sfabric draw --dot "$tmp/paint.net" >"$tmp/plain" 2>&1
wait
differ() { diff "$tmp/plain" "$tmp/painted" | grep -E "^> .*$1"; }
ok "draw: a host that is down is painted" differ 020000000001
ok "draw: a link that is degraded is painted" differ '--'

draws() { # NET CROSSBAR..: each is to be seen
    local net=$1 name
    shift
    sfabric draw "$net" >"$tmp/svg" || return 1
    for name; do grep -q ">$name</text>" "$tmp/svg" || return 1; done
}
if command -v dot >/dev/null; then
    ok "draw: a crossbar that is alone in its row" \
        draws "$top/etc/swfab.net.example" leaf0 leaf1 spine
    ok "draw: a row without crossbars" draws "$tmp/page.net" x0 x1
else
    skipped "draw: as dot does it" "no graphviz"
fi

ok "check: an exact map and sound routes" says 0 'map *exact' \
    mapperd --check="$c64"
ok "check: no deadlock" says 0 'deadlock *none possible' \
    mapperd --check=torus:4x4
ok "check: perfect balance on a Clos" says 0 'balance *1.00' \
    mapperd --check=C512
ok "check: packets lost" says 0 'map *exact' mapperd --check=C64 --loss=0.03
ok "check: crossbars with ids" says 0 'map *exact' \
    mapperd --check=C64+ids --ids
ok "check: crossbars with ids that nobody asks for" says 0 'map *exact' \
    mapperd --check="$top/etc/swfab.net.example"
ok "check: a net deeper than the limit, and which way is too long" says 1 \
    'too long *80 of them: the way from h[0-9]* to h[0-9]* takes 15 hops, the limit is 11' \
    mapperd --check=line:15
ok "check: the limit can be lifted" says 0 'deadlock *none' \
    mapperd --check=line:15 --max-hops=20
ok "check: no such net" says 2 nonesuch mapperd --check=nonesuch
ok "check: no such host" says 2 'h99' mapperd --check=C64 --host=h99
ok "check: another engine is told which there are" says 2 \
    'no engine is called fast; there are auto, dmodk, pairs, updown, gm2$' \
    mapperd --check="$c64" --engine=fast
ok "routes: so it is here" says 3 \
    'no engine is called fast; there are auto, dmodk, pairs, updown, gm2$' \
    sfabric routes --engine=fast h0 "$c64"
grep -vw 'h5\|h63' "$c64" >"$tmp/loose.net"
grep '^host h\(5\|63\) ' "$c64" >>"$tmp/loose.net"
ok "check: hosts that no cable leads to are named" says 0 \
    'out of reach 2 hosts: h5 h63$' mapperd --check="$tmp/loose.net"
"$same" --write C64+cut=40:7 "$tmp/loose.net"
ok "check: of many the first ones" says 0 \
    'out of reach [0-9]* hosts:\( h[0-9]*\)\{16\} \.\.\.$' \
    mapperd --check="$tmp/loose.net"
ok "a command that is not quite right" says 3 \
    'no command "hots"; did you mean hosts?$' sfabric hots
ok "a command that is like none" says 3 'no command "quux"; see --help$' \
    sfabric quux
ok "mapperd: help" says 0 "--check" mapperd --help
ok "mapperd: unknown option" says 2 usage mapperd --nonsense

# ---- what switchmgrd knows, of two rails ----

# answers PATH JSON: to each question, when the whole line has come
answers() {
    exec python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
print("ready", flush=True)
while True:
    c, _ = s.accept()
    c.makefile().readline()
    c.sendall(sys.argv[2].encode() + b"\n")
    c.close()' "$@"
}
stop_answers() { # (bash forgets COPROC_PID as soon as it has ended)
    local pid=$COPROC_PID
    kill "$pid"
    wait "$pid" 2>/dev/null
}
map='"known": true, "version": 7, "configured": true, "verify_us": 1, "at": 5'
maps="{$map, \"leader\": \"n0\", \"rail\": 0}, {$map, \"leader\": \"n9\", \"rail\": 1}"
coproc answers "$tmp/mgr" "{\"ok\": true, \"now\": 6, \"map\": {$map}, \"maps\": [$maps], \"nodes\": []}"
read -r _ <&"${COPROC[0]}"
ok "a line for the map of each rail" \
    says 3 '^map 7 of rail 1 by n9' sfabric -s "$tmp/mgr"
ok "... also the first one's" grep -q '^map 7 of rail 0 by n0' "$tmp/out"
stop_answers

# ---- why a node is unknown: who is asked for is who may not run ----

# why_says PATTERN EVIDENCE: of n1 at 100 s
why_says() {
    local rc
    rm -f "$tmp/mgr"
    coproc answers "$tmp/mgr" "{\"ok\": true, \"now\": 100000, \"node\": \
{\"name\": \"n1\", \"state\": \"unknown\", \"in_slurm\": true, \"rails\": [{\"rail\": 0, \
\"state\": \"unknown\", \"since\": 5000, \"why\": \"x\", \"evidence\": [$2]}]}}"
    read -r _ <&"${COPROC[0]}"
    says 3 "$1" sfabric -s "$tmp/mgr" why n1
    rc=$?
    stop_answers
    return $rc
}
said_by() { echo "{\"from\": \"$1\", \"seen\": \"up\", \"why\": \"\", \"at\": $2}"; }
ok "why: who is silent is named" why_says \
    'unknown: hsnd there is silent for 60 s; does it run, and reach switchmgrd?$' \
    "$(said_by mapperd 99500), $(said_by hsnd 40000)"
ok "why: nobody who is heard is asked for" why_says \
    'unknown: who reports it is heard, and does not know more$' \
    "$(said_by mapperd 99500), $(said_by hsnd 99000)"
ok "why: where nobody was ever heard" why_says \
    'unknown: nobody has reported it; does hsnd, mapperd or nicd run there?$' ""

finish
