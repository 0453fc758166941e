# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What several benchmarks use; sourced by bench/run in a subshell.
stage=$build/stage
minislurm=$top/tests/cluster/minislurm
front=$build/src/libimpi/.libs/libimpi.so
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

need() {
    local f
    for f; do
        [ -e "$f" ] || { note "$f is not there"; return 1; }
    done
}
need_program() {
    command -v "$1" >/dev/null || { note "$1 is not installed"; return 1; }
}

# cluster_up OPTION...: a cluster that lives as long as this benchmark.
cluster_up() {
    local why
    make -s -C "$build" stage >"$tmp/stage" 2>&1 || {
        note "no stage: $(tail -3 "$tmp/stage")"
        return 1
    }
    why=$("$minislurm" why-not)
    [ -z "$why" ] || { note "no cluster here: $why"; return 1; }
    cluster=$(mktemp -d /tmp/minislurm.XXXXXX)
    SF_TOP_BUILDDIR=$build "$minislurm" up --dir "$cluster" --owner $BASHPID \
        --stage "$stage" "$@" >"$tmp/up" 2>&1 || {
        note "$(cat "$tmp/up")"
        return 1
    }
    trap 'cluster_down' EXIT
    [ ${#rt[@]} = 0 ] || cluster_first
    # The job user must reach the programs.
    cp "$bench_dir"/*.mpich "$bench_dir"/*.openmpi "$bench_dir"/raw_tcp \
        "$cluster/work/" 2>/dev/null
    chmod 755 "$cluster"/work/*
    bin=$cluster/work
}
# Processes with a real-time priority cannot enter a cpu group: the cluster's
# groups get most of the processors instead.
cluster_first() {
    local id f
    id=$(. "$cluster/state.sh" && echo "$id")
    for f in /sys/fs/cgroup/cpu*/"minislurm-$id"/cpu.shares; do
        [ ! -e "$f" ] || echo 262144 >"$f"
    done
    for f in /sys/fs/cgroup/{,unified/}"minislurm-$id"/cpu.weight; do
        [ ! -e "$f" ] || echo 10000 >"$f"
    done
}
cluster_down() {
    [ -z "${cluster-}" ] || "$minislurm" down --dir "$cluster" >&2
    cluster=
}
in_cluster() { "$minislurm" exec --dir "$cluster" -- "$@"; }

# From lines of "KEY VALUE": the value of the first with that key.
value_of() { awk -v k="$1" '$1 == k { print $2; exit }'; }
