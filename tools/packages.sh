# SPDX-License-Identifier: BSD-3-Clause
# Installing the packages of packages.txt without starting any service, and
# without touching a Slurm or MUNGE that is at work on this machine.
# Uses: top (the source directory), say(), progress() of progress.sh.

# The releases of Debian that packages.txt is for: each package has one name in
# all of them.
packages_releases="bookworm trixie"
packages_supported="Debian 12 (bookworm) and Debian 13 (trixie)"
os_release=/etc/os-release

# of_os_release KEY
of_os_release() {
    # shellcheck disable=SC1090
    ( . "$os_release" && echo "${!1-}" ) 2>/dev/null
}

# Which of them this machine is; nothing on any other.
packages_release() {
    local name
    name=$(of_os_release VERSION_CODENAME)
    [ "$(of_os_release ID)" = debian ] || return 0
    case " $packages_releases " in *" ${name:-?} "*) echo "$name" ;; esac
}

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
policy=/usr/sbin/policy-rc.d
policy_begin() {
    [ -e $policy ] && ! policy_is_orphan && return 0
    printf '#!/bin/sh\n# by slurm-fabric quickstart %s\nexit 101\n' $$ \
        >$policy
    chmod 755 $policy
    trap policy_end EXIT
}

# It was left by a quickstart that was killed.
policy_is_orphan() {
    local pid
    pid=$(sed -n 's/^# by slurm-fabric quickstart \([0-9]*\)$/\1/p' $policy)
    [ -n "$pid" ] && ! grep -qs quickstart "/proc/$pid/cmdline"
}

policy_end() {
    grep -qs "slurm-fabric quickstart $$\$" $policy && rm -f $policy
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

# apt takes away what conflicts, which a Slurm of SchedMD's packages does, be it
# at work or not.
packages_take_nothing_away() {
    local gone
    gone=$(apt-get -s install --no-install-recommends --no-upgrade "$@" |
        awk '$1 == "Remv" { print $2 }' | paste -sd ' ')
    [ -z "$gone" ] && return 0
    say "nothing was installed: for the packages that this needs, apt would" \
        "take away $gone"
    say "Use another machine, or go doc/guide.md's way by hand"
    return 1
}

# Another distribution has packages of other names and another Slurm.
packages_system_fits() {
    [ -z "$(packages_release)" ] || return 0
    say "this system is $(of_os_release PRETTY_NAME); quickstart is for" \
        "$packages_supported, and installs their packages. Nothing was" \
        "installed.  doc/guide.md has the way by hand."
    return 1
}

# A plugin is for one version of Slurm, to the last number; one that is not
# known is told before anything is installed.
packages_slurm_fits() { # LOG PACKAGE..
    local version log=$1
    shift
    case " $* " in *" libslurm-dev "*) ;; *) return 0 ;; esac
    version=$(LC_ALL=C apt-cache policy libslurm-dev 2>/dev/null |
        awk '$1 == "Candidate:" { print $2 }')
    case $version in
    '' | '(none)')
        say "apt knows no package libslurm-dev: no network, or no package lists"
        tail -n 5 "$log" >&2
        return 1
        ;;
    esac
    awk -v version="$(sed 's/[^0-9.].*//; s/\./ /g' <<<"$version")" \
        -f "$top/tools/slurm-measured.awk" "$top/src/slurmabi/layouts.inc" ||
        {
            say "the Slurm of this system is $version, which is not known to" \
                "this release (doc/slurm-versions.md).  Nothing was installed."
            return 1
        }
}

# Where apt gets this system's packages from, as far as it says.
packages_mirror() {
    apt-get indextargets --format '$(REPO_URI) $(RELEASE)' \
        'Created-By: Packages' 2>/dev/null |
        awk '$2 !~ /-/ && $1 ~ /debian\/?$/ { sub("/$", "", $1); print $1; exit }'
}

# packages_reachable MIRROR [RELEASE]: does it answer, within seconds?  Says
# what else.
packages_reachable() {
    local said dir release=${2:-$(packages_release)}
    dir=$(mktemp -d)
    said=$(timeout 45 /usr/lib/apt/apt-helper -o Acquire::Retries=1 \
        -o Acquire::http::Timeout=10 -o Acquire::https::Timeout=10 \
        -o APT::Sandbox::User=root \
        download-file "$1/dists/${release:-bookworm}/InRelease" "$dir/InRelease" 2>&1)
    [ -s "$dir/InRelease" ]
    set -- "$1" $?
    rm -rf "$dir"
    [ "$2" = 0 ] || echo "$1 does not answer: $(sed -n 's/^E: *//p' \
        <<<"$said" | head -n 1)"
    return "$2"
}

# Seconds for a server that does not answer: enough for a slow one.
apt_patient=(-o DPkg::Lock::Timeout=300 -o Acquire::Retries=2
    -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30)

# apt_shown LOG WHAT FILTER TOTAL WORD..: apt-get with its progress
apt_shown() {
    local log=$1 what=$2 filter=$3 total=$4
    shift 4
    apt-get "$@" -o APT::Status-Fd=9 9>&1 >>"$log" 2>&1 |
        "$filter" | progress "$what" "$total"
    return "${PIPESTATUS[0]}"
}

# All is fetched before anything is installed.
packages_fetch_and_install() { # LOG PACKAGE..
    local log=$1 total
    shift
    set -- "$log" --no-install-recommends --no-upgrade "${apt_patient[@]}" "$@"
    total=$(apt-get -s install "${@:2}" 2>/dev/null | grep -c '^Inst')
    apt_shown "$1" "fetching package" fetched "$total" \
        install -y --download-only "${@:2}" || {
        tail -n 5 "$log" >&2
        say "packages cannot be fetched, and none was installed: is there a" \
            "network, or a proxy to name in http_proxy?  See $log"
        return 1
    }
    (
        policy_begin
        apt_shown "$1" "installing package" installed "$total" \
            install -y "${@:2}"
    ) && return 0
    tail -n 20 "$log" >&2
    say "apt-get failed, see $log"
    return 1
}

# packages_install LOG PACKAGE..
packages_install() {
    local log=$1 missing
    shift
    # shellcheck disable=SC2046
    missing=$(packages_missing "$@" | sort -u | xargs)
    [ -n "$missing" ] || return 0
    command -v apt-get >/dev/null || {
        say "there is no apt-get: quickstart is for $packages_supported, and" \
            "installs their packages.  doc/guide.md has the way by hand."
        return 1
    }
    packages_system_fits || return 1
    say "Installing $(wc -w <<<"$missing") packages (log: $log)"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update "${apt_patient[@]}" >>"$log" 2>&1
    # shellcheck disable=SC2086
    packages_slurm_fits "$log" $missing || return 1
    # shellcheck disable=SC2086
    [ -z "$(live_daemons)" ] || packages_spare_live $missing || return 1
    # shellcheck disable=SC2086
    packages_take_nothing_away $missing || return 1
    # shellcheck disable=SC2086
    packages_fetch_and_install "$log" $missing
}
