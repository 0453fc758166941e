# SPDX-License-Identifier: BSD-3-Clause
# Control groups of an embedded cluster.  Every place of a cluster (a node,
# the controller's host, the munged group) has one directory in each cgroup
# hierarchy of the machine:
#     <hierarchy>/minislurm-ID/PLACE
# All that the cluster starts lives there, so one look finds every process of
# it, double-forked ones too, and killing is by membership, never by name; by
# pidkill, which makes sure that a pid has not become a stranger's.

# Mount points of cgroup hierarchies, one "TYPE DIR" per line.
cg_mounts() {
    awk '{ for (i = 7; i <= NF; i++) if ($i == "-") break
           t = $(i + 1)
           if (t == "cgroup" && $NF ~ /name=/) next
           if (t == "cgroup" || t == "cgroup2") print t, $5 }' \
        /proc/self/mountinfo | sort -u
}

# hybrid (v1 with or without a v2 tree beside it), unified or none.
cg_form() {
    if [ "$(stat -fc %T /sys/fs/cgroup 2>/dev/null)" = cgroup2fs ]; then
        echo unified
    elif cg_mounts | grep -q '^cgroup '; then
        echo hybrid
    else
        echo none
    fi
}

# Can directories be made in every hierarchy?
cg_writable() {
    local type dir probe good=0 n=0
    while read -r type dir; do
        n=$((n + 1)) probe=$dir/minislurm-probe$$
        mkdir "$probe" 2>/dev/null || continue
        good=$((good + 1))
        rmdir "$probe"
    done < <(cg_mounts)
    [ $n -gt 0 ] && [ $good = $n ]
}

# cg_dirs ID: the cluster's directory in every hierarchy that has one.
cg_dirs() {
    local type dir
    cg_mounts | while read -r type dir; do
        [ -d "$dir/minislurm-$1" ] && echo "$type $dir/minislurm-$1"
    done
    return 0
}

cg_copy_cpuset() {
    local key
    for key in cpuset.cpus cpuset.mems; do
        [ -f "$1/$key" ] && [ -f "${1%/*}/$key" ] &&
            [ -z "$(cat "$1/$key")" ] &&
            cat "${1%/*}/$key" >"$1/$key"
    done
    return 0
}

# cg_make ID PLACE: make the directories of a place.
cg_make() {
    local type dir
    while read -r type dir; do
        mkdir -p "$dir/minislurm-$1"
        cg_copy_cpuset "$dir/minislurm-$1"
        [ "$type" = cgroup2 ] && cg_delegate "$dir" "$dir/minislurm-$1"
        mkdir -p "$dir/minislurm-$1/$2"
        cg_copy_cpuset "$dir/minislurm-$1/$2"
        if [ "$type" = cgroup2 ]; then
            # a leaf for processes: inner v2 groups must hold none
            mkdir -p "$dir/minislurm-$1/$2/system.slice/slurmd.service"
        fi
    done < <(cg_mounts)
}

# Hand every controller of the v2 tree down to the cluster's directory.
cg_delegate() {
    local c d
    for d in "$@"; do
        for c in $(cat "$d/cgroup.controllers"); do
            echo "+$c" 2>/dev/null >"$d/cgroup.subtree_control"
        done
    done
    return 0
}

# cg_enter ID PLACE [leaf]: move the calling shell there.  With "leaf" it
# goes into the v2 leaf for daemons; a holder first needs the place itself,
# as the root of its cgroup namespace.
cg_enter() {
    local type dir sub
    while read -r type dir; do
        sub=
        [ "$type" = cgroup2 ] && [ "${3-}" = leaf ] &&
            sub=/system.slice/slurmd.service
        dir=$dir/minislurm-$1/$2$sub
        [ -d "$dir" ] && echo $BASHPID >"$dir/cgroup.procs"
    done < <(cg_mounts)
    return 0
}

# cg_pids ID: every process of the cluster.
cg_pids() {
    local type dir
    cg_dirs "$1" | while read -r type dir; do
        find "$dir" -name cgroup.procs -exec cat {} + 2>/dev/null
    done | grep -vx 0 | sort -un
}

# Frozen v1 groups do not die of SIGKILL until they are thawed.
cg_thaw() {
    local type dir f
    cg_dirs "$1" | while read -r type dir; do
        find "$dir" -depth -name freezer.state 2>/dev/null |
            while read -r f; do echo THAWED 2>/dev/null >"$f"; done
    done
    return 0
}

# cg_kill ID: kill all members and wait until none is left (at most 20 s, patience.sh).
cg_kill() {
    local type dir pids try
    for try in $(seq "$(patience 200)"); do
        cg_thaw "$1"
        cg_dirs "$1" | while read -r type dir; do
            [ -f "$dir/cgroup.kill" ] && echo 1 >"$dir/cgroup.kill"
        done
        pids=$(cg_pids "$1")
        [ -z "$pids" ] && return 0
        # shellcheck disable=SC2086
        "$mini/pidkill" KILL "cgroup=/minislurm-$1/" $pids
        sleep 0.1
    done
    echo "minislurm: processes that do not die: $pids" >&2
    return 1
}

# cg_remove ID: remove the cluster's empty directories.
cg_remove() {
    local type dir
    cg_dirs "$1" | while read -r type dir; do
        find "$dir" -depth -type d -exec rmdir {} \; 2>/dev/null
    done
    [ -z "$(cg_dirs "$1")" ]
}

cg_erase() {
    cg_kill "$1"
    cg_remove "$1"
}
