# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# TAP of scripts: their cases are numbered here, what failed is shown, and
# `finish` is their last command.  Sourced; sets $top, the sources, and $build,
# where they are built.
top=${SF_TOP_SRCDIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
build=${SF_TOP_BUILDDIR:-$PWD}
tap_count=0 tap_failed=0

result() { # CODE TEXT: the line of a case; CODE is what it returns
    tap_count=$((tap_count + 1))
    if [ "$1" = 0 ]; then
        echo "ok $tap_count - $2"
    else
        tap_failed=1
        echo "not ok $tap_count - $2"
    fi
    return "$1"
}

report() { # CODE TEXT [FILE..]: of a failure the last lines of these are shown
    result "$1" "$2" || [ $# = 2 ] ||
        cat "${@:3}" 2>/dev/null | tail -n 40 | sed 's/^/# /'
}

check() { # TEXT OFFENDERS: one a line; none is right
    [ -z "$2" ]
    report $? "$1" - <<<"$2"
}

same() { # TEXT EXPECTED GOT
    [ "$2" = "$3" ]
    report $? "$1" - <<<"expected: $2"$'\n'"got: $3"
}

ok() { # TEXT COMMAND..: what it says is left in $tmp/said
    "${@:2}" >"$tmp/said" 2>&1
    report $? "$1" "$tmp/said"
}

skipped() { # TEXT WHY
    result 0 "$1 # SKIP $2"
}

skip_all() { # WHY
    echo "1..0 # SKIP $*"
    exit 0
}

finish() {
    echo "1..$tap_count"
    exit $tap_failed
}
