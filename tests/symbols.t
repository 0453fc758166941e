#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The plugins and the Slurm that they are built for fit each other: each hook
# that its loader wants is there, and each function that they call is in Slurm.
# (At run time the loader says the first; the plugins are linked with BIND_NOW,
# tests/harden.t, so that the second is said when they are loaded.)
# With PLUGINS PREFIX as arguments that directory and that Slurm are compared.
set -u
. "$(dirname "$0")/tap.sh"
command -v nm >/dev/null && command -v strings >/dev/null ||
    skip_all "no nm or strings: install binutils"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

prefix=${2-$(sed -n 's/^S\["SLURM_PREFIX"\]="\(.*\)"$/\1/p' \
    "$build/config.status")}
full=$(find "$prefix/lib" "$prefix/lib64" -name libslurmfull.so 2>/dev/null |
    head -n 1)
[ -n "$full" ] || skip_all "no libslurmfull.so below $prefix: install slurmctld"

exports() { nm -D --defined-only "$1" | awk '{ sub(/@.*/, "", $3); print $3 }'; }
# undefined CLASS FILE: U (must be there) or w (may be); without those of libc.
undefined() {
    nm -D --undefined-only "$2" | awk -v class="$1" \
        '$1 == class && $2 !~ /@/ && $2 !~ /^_/ { print $2 }'
}

fits() { # KIND, as in KIND_p_hook; FILE
    strings "$full" | grep -xE "$1_p_[a-z_]+" | sort -u >"$tmp/wanted"
    exports "$2" | sort -u >"$tmp/hooks"
    [ -s "$tmp/wanted" ]
    report $? "$full names its hooks of $1" "$tmp/wanted"
    comm -23 "$tmp/wanted" "$tmp/hooks" >"$tmp/missing"
    [ ! -s "$tmp/missing" ]
    report $? "$1: $(wc -l <"$tmp/wanted") hooks that Slurm's loader wants" \
        "$tmp/missing"
    exports "$full" >"$tmp/there"
    ldd "$2" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | while read -r library; do
        exports "$library"
    done >>"$tmp/there"
    sort -u -o "$tmp/there" "$tmp/there"
    undefined U "$2" | sort -u >"$tmp/called"
    comm -23 "$tmp/called" "$tmp/there" >"$tmp/missing"
    [ -s "$tmp/called" ] && [ ! -s "$tmp/missing" ]
    report $? "$1: $(wc -l <"$tmp/called") symbols that the plugin uses" \
        "$tmp/missing"
}

# What is looked for before it is used, each process has or has not: somebody
# must have it.
somebody_has() { # FILE
    local file
    for file in "$full" "$prefix"/sbin/slurm*d; do
        [ ! -e "$file" ] || exports "$file"
    done | sort -u >"$tmp/there"
    undefined w "$1" | sort -u >"$tmp/asked"
    comm -23 "$tmp/asked" "$tmp/there" >"$tmp/missing"
    [ ! -s "$tmp/missing" ]
    report $? "$(wc -l <"$tmp/asked") symbols of one process or another" \
        "$tmp/missing"
}

# Those that one daemon has, and that are looked for before they are used.
daemon_has() { # DAEMON SYMBOL..
    local daemon=$prefix/sbin/$1
    shift
    [ -e "$daemon" ] || return 0
    exports "$daemon" >"$tmp/there"
    for symbol; do grep -qx "$symbol" "$tmp/there" || echo "$symbol"; done \
        >"$tmp/missing"
    [ ! -s "$tmp/missing" ]
    report $? "$(basename "$daemon"): $*" "$tmp/missing"
}

plugins=${1-}
switch=${plugins:-$build/src/plugins/switch_elan/.libs}/switch_elan.so
fits switch "$switch"
somebody_has "$switch"
fits mpi "${plugins:-$build/src/plugins/mpi_impi/.libs}/mpi_impi.so"
daemon_has slurmctld srun_user_message find_job_record
daemon_has slurmstepd conf proctrack_g_add
finish
