# SPDX-License-Identifier: BSD-3-Clause
# TAP of scripts that look at files and say what offends, or at the exit
# status of what they ran.  Sourced; `finish` is their last command.
n=0 failed=0

report() { # CODE TEXT
    n=$((n + 1))
    [ "$1" = 0 ] || failed=1
    [ "$1" = 0 ] || printf 'not '
    echo "ok $n - $2"
}

check() { # TEXT OFFENDERS: one a line; none is right
    [ -z "$2" ]
    report $? "$1"
    [ -z "$2" ] || sed 's/^/# /' <<<"$2"
}

finish() {
    echo "1..$n"
    exit $failed
}
