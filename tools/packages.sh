# SPDX-License-Identifier: BSD-3-Clause
# Installing the packages of packages.txt without starting any service, and
# without touching a Slurm or MUNGE that is at work on this machine.
# Uses: top (the source directory), say().

# packages_of GROUP..: names from packages.txt.
packages_of() {
    local g
    for g; do
        awk -v g="$g" '$1 == g { print $2 }' "$top/packages.txt"
    done
}

packages_missing() {
    local p
    for p; do
        case $(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null) in
        ii*) ;;
        *) echo "$p" ;;
        esac
    done
}

# Daemons of this machine's own Slurm or MUNGE, "NAME (PID)"; those of
# embedded clusters and of other root directories are not meant.
live_daemons() {
    local p name
    for p in /proc/[0-9]*; do
        name=$(cat "$p/comm" 2>/dev/null) || continue
        case $name in
        slurmctld | slurmd | slurmdbd | munged) ;;
        *) continue ;;
        esac
        grep -q /minislurm- "$p/cgroup" 2>/dev/null && continue
        [ "$p/root" -ef / ] || continue
        echo "$name (${p#/proc/})"
    done
}

# Starting services is forbidden for the time of the installation, unless the
# machine has a policy of its own.
policy_begin() {
    policy=/usr/sbin/policy-rc.d
    [ -e $policy ] && return 0
    printf '#!/bin/sh\n# by slurm-fabric quickstart %s\nexit 101\n' $$ \
        >$policy
    chmod 755 $policy
    trap policy_end EXIT
}

policy_end() {
    grep -qs "slurm-fabric quickstart $$\$" /usr/sbin/policy-rc.d &&
        rm -f /usr/sbin/policy-rc.d
    return 0
}

# A live Slurm or MUNGE must come out of this as it went in.
packages_spare_live() {
    local touched
    touched=$(apt-get -s install --no-install-recommends --no-upgrade "$@" |
        awk '$1 ~ /^(Inst|Remv)$/ && $2 ~ /slurm|munge/ { print $2 }')
    [ -z "$touched" ] && return 0
    say "This machine runs: $(live_daemons | paste -sd ' ')."
    say "It is left alone: to install" $touched
    say "could disturb it.  Install them yourself, or use another machine."
    return 1
}

# packages_install LOG PACKAGE..
packages_install() {
    local log=$1 missing status
    shift
    # shellcheck disable=SC2046
    missing=$(packages_missing "$@" | xargs)
    [ -n "$missing" ] || return 0
    command -v apt-get >/dev/null || {
        say "This is not a Debian: install these yourself: $missing"
        return 1
    }
    say "Installing $(wc -w <<<"$missing") packages (log: $log)"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update >>"$log" 2>&1
    # shellcheck disable=SC2086
    [ -z "$(live_daemons)" ] || packages_spare_live $missing || return 1
    (
        policy_begin
        # shellcheck disable=SC2086
        apt-get install -y --no-install-recommends --no-upgrade $missing \
            >>"$log" 2>&1
    )
    status=$?
    [ $status = 0 ] || { tail -n 20 "$log" >&2; say "apt-get failed"; }
    return $status
}
