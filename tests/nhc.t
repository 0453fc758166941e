#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# contrib/nhc_fabric.nhc as LBNL Node Health Check runs it: by nhc itself where
# that is installed (NHC=/path/to/nhc), and always by a few lines that do the
# same: a plain PATH, no pathname expansion, the script sourced, the check of
# nhc.conf evaluated, die() ends with its code, dbg() prints when DEBUG=1.
set -u
. "$(dirname "$0")/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# ---- nhc -------------------------------------------------------------------
mkdir -p "$tmp/conf/scripts" "$tmp/helpers"
cp "$top/contrib/nhc_fabric.nhc" "$tmp/conf/scripts/"
cat >"$tmp/like_nhc" <<'NHC'
PATH=/sbin:/usr/sbin:/bin:/usr/bin
set -f
die() { local ret=$1; shift; echo "ERROR:  nhc:  Health check failed:  $*"; exit "$ret"; }
dbg() { [ "${DEBUG-}" != 1 ] || echo "DEBUG:  $*"; }
for script in "$1"/scripts/nhc_fabric.nhc; do . "$script"; done
while read -r line; do
    check=${line#*|| }
    eval "$check" || die 1 "check \"$check\" failed"
done <"$1/nhc.conf"
exit 0
NHC

# nhc_with LINES..: nhc.conf with these, then the check; $said and $code.
nhc_with() {
    printf '* || %s\n' "$@" check_fabric >"$tmp/conf/nhc.conf"
    said=$($run 2>&1)
    code=$?
}

# ---- what it asks ----------------------------------------------------------
# sfabric_says CODE TEXT: a sfabric that does, and keeps its arguments.
sfabric_says() {
    printf '#!/bin/sh\necho "$@" >%s\necho "%s"\nexit %s\n' \
        "$tmp/asked" "$2" "$1" >"$tmp/sfabric"
    chmod 755 "$tmp/sfabric"
}

is() { # TEXT CODE PATTERN
    [ $code = "$2" ] && grep -qE -- "$3" <<<"$said"
    report $? "$kind: $1" - <<<"exit code $code, expected $2 and /$3/:
$said"
}

check_all() {
    local ours="export SFABRIC=$tmp/sfabric"
    sfabric_says 0 'n1: link up'
    nhc_with "$ours"
    is 'a node that is well passes' 0 ''
    said=$(cat "$tmp/asked")
    is 'it asks one question with a limit of time' 0 '^--timeout=1 check$'
    sfabric_says 1 'n1: link up, network not configured'
    nhc_with "$ours" 'export DEBUG=1'
    is 'a degraded one passes and says so' 0 \
        'DEBUG:.* check_fabric: degraded: n1: link up, network not'
    sfabric_says 2 'n1: link down
more'
    nhc_with "$ours"
    is 'one without a link fails, with one line' 1 \
        'Health check failed:  check_fabric: .*not well: n1: link down$'
    nhc_with "export SFABRIC=$tmp/none"
    is 'without sfabric it fails and says what to do' 1 \
        "cannot run $tmp/none: set SFABRIC"
    # The program itself, on a node without hsnd.
    nhc_with "export SFABRIC=$(readlink -f "$build/src/sfabric/sfabric")"
    is 'a node without hsnd fails' 1 'not well: .*hsnd'
}

nhc=${NHC:-$(command -v nhc)}
kind=alike run="bash $tmp/like_nhc $tmp/conf"
check_all
if [ -n "$nhc" ]; then
    # Its own functions, common.nhc at least, lie beside ours.
    for dir in "${nhc%/*}/scripts" /etc/nhc/scripts; do
        cp "$dir"/*.nhc "$tmp/conf/scripts" 2>/dev/null && break
    done
    kind=nhc run="$nhc -D $tmp/conf -l - -t 20 MARK_OFFLINE=0"
    check_all
else
    skipped nhc "nhc is not installed"
fi
finish
