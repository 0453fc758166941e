# SPDX-License-Identifier: BSD-3-Clause
# What a machine has to have is looked for in the first seconds, before
# anything is installed or built: each that is missing is a line which says
# what to do.
# Uses: top (the source directory), work and build (where it builds), packages.sh.

# MB: what was measured on Debian 12, and some more.
MB_PACKAGES=1000 # groups run and build, with what apt keeps of them
MB_PACKAGES_TEST=400
MB_BUILD=300
MB_BUILD_TEST=600
MB_TMP=100
MB_MEMORY=500

mb_free() { # DIR
    df -Pm "$1" 2>/dev/null | awk 'END { print $4 }'
}

mb_size() { # DIR: of its file system
    df -Pm "$1" 2>/dev/null | awk 'END { print $2 }'
}

# Of the machine, or of the control group that this runs in.
mb_memory() {
    local mb limit dir
    mb=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
    for dir in /sys/fs/cgroup/memory.max \
        /sys/fs/cgroup/memory/memory.limit_in_bytes; do
        limit=$(cat "$dir" 2>/dev/null)
        [[ $limit =~ ^[0-9]{1,15}$ ]] && [ $((limit >> 20)) -lt "$mb" ] &&
            mb=$((limit >> 20))
    done
    echo "$mb"
}

# lacks_space NEED_WORK NEED_USR: directories on one file system share it.
lacks_space() {
    {
        echo "$1 $work"
        echo "$2 /usr"
        echo "$MB_TMP /tmp"
    } | while read -r need dir; do
        [ "$need" -eq 0 ] ||
            echo "$(stat -c %d "$dir") $need $(mb_free "$dir") $dir"
    done | awk '
        { need[$1] += $2; free[$1] = $3; at[$1] = at[$1] " " $4 }
        END { for (d in need) if (free[d] < need[d])
            printf "%d MB are free for%s, %d are needed: make room, or say" \
                " QUICKSTART_DIR=DIR to build elsewhere\n",
                free[d], at[d], need[d] }'
}

# The cluster's ports are free ones of 20000 to 32000; its nodes are 127.0.0.10
# and so on.
lacks_network() {
    # shellcheck disable=SC2016 # it is perl
    local code='
        use IO::Socket::INET;
        my $n = 0;
        for my $at (qw(127.0.0.1 127.0.0.10)) {
            my $l = IO::Socket::INET->new(LocalAddr => $at, Listen => 1);
            $l and IO::Socket::INET->new(PeerAddr => $at, Timeout => 5,
                PeerPort => $l->sockport)
                or do { print "nobody can connect to $at ($!): bring",
                    " the loopback interface up (ip link set lo up)\n"; exit };
        }
        for my $port (map { 20000 + int rand 12000 } 1 .. 300) {
            IO::Socket::INET->new(LocalAddr => "0.0.0.0", Listen => 1,
                LocalPort => $port) and $n++;
        }
        print "of 300 ports from 20000 to 32000 $n are free: stop what",
            " holds them\n" if $n < 150;'
    perl -e "$code" 2>&1
}

lacks_distribution() {
    [ -n "$1" ] || return 0
    if ! command -v apt-get >/dev/null; then
        echo "there is no apt-get, and not installed are: $1. quickstart is" \
            "for $packages_supported; doc/guide.md has the way by hand"
    elif [ -z "$(packages_release)" ]; then
        echo "this system is $(of_os_release PRETTY_NAME), and not installed" \
            "are: $1. quickstart is for $packages_supported; doc/guide.md has" \
            "the way by hand"
    fi
}

# Where packages are missing, their server has to answer.
lacks_packages() {
    local mirror said
    mirror=$(packages_mirror)
    [ -n "$mirror" ] || return 0
    said=$(packages_reachable "$mirror") ||
        echo "$said: is there a network, or a proxy to name in http_proxy?"
}

lacks_directories() {
    local dir probe
    for dir in /proc/self/stat /sys/kernel /dev/null /dev/shm; do
        [ -e "$dir" ] || echo "there is no $dir: mount ${dir%/*} (a chroot" \
            "wants /proc, /sys and /dev)"
    done
    for dir in /tmp /dev/shm; do
        probe=$(mktemp "$dir/.quickstart.XXXXXX" 2>/dev/null) ||
            { echo "$dir cannot be written to: mount it anew"; continue; }
        printf '#!/bin/sh\n' >"$probe"
        chmod 755 "$probe"
        [ $dir != /tmp ] || "$probe" 2>/dev/null ||
            echo "/tmp lets no program run: mount it without noexec"
        rm -f "$probe"
    done
    getent passwd nobody >/dev/null ||
        echo "there is no user nobody, who runs the jobs: useradd -r nobody"
}

# machine_lacks GROUP..: to install, build and run these; nothing if all is
# there.
machine_lacks() {
    local missing usr=0 space=$MB_BUILD mb
    # shellcheck disable=SC2046
    missing=$(packages_missing $(packages_of "$@") | sort -u | xargs)
    [ -z "$missing" ] || usr=$MB_PACKAGES
    case " $* " in
    *' test '*)
        [ $usr = 0 ] || usr=$((usr + MB_PACKAGES_TEST))
        space=$MB_BUILD_TEST
        ;;
    esac
    [ ! -e "$build/config.status" ] || space=$MB_TMP
    lacks_distribution "$missing"
    lacks_directories
    lacks_space "$space" $usr
    mb=$(mb_memory)
    [ "$mb" -ge $MB_MEMORY ] ||
        echo "$mb MB of memory are available, $MB_MEMORY are needed: end" \
            "something, or give the container more"
    lacks_network
    [ -z "$missing" ] || lacks_packages
}
