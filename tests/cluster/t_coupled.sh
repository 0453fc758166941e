#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The guide's coupled pair: two models, one of each library, that are started
# apart and meet by a port compute what they compute in one world.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/impi.sh"
need_stage slurm/switch_elan.so
for m in ocean atmosphere; do
    for l in mpich openmpi; do
        [ -x "$SF_TOP_BUILDDIR/examples/${m}_$l" ] ||
            skip_all "examples/${m}_$l is not built"
    done
done
cluster_up --nodes 4
cp "$SF_TOP_BUILDDIR"/examples/{ocean,atmosphere}_{mpich,openmpi} "$WORK"
mkdir -p "$WORK/examples"
cp "$SF_TOP_SRCDIR"/examples/{coupled.h,ocean.c,atmosphere.c} "$WORK/examples"
cd "$WORK" || exit 1

# guide PATTERN: the guide's commands between the two lines with these words.
guide() {
    sed -n '/^    /s/^    //p' "$SF_TOP_SRCDIR/doc/guide.md" |
        sed -n "/$1/,/$2/p"
}

# same A B: both models' files are there and equal.
same() {
    local m
    for m in ocean atmosphere; do
        [ -s "$m.$1" ] || fail "$m.$1 is empty"
        cmp -s "$m.$1" "$m.$2" || fail "$m.$1 and $m.$2 differ"
    done
}

case_the_guide_s_pair_computes_the_same_by_a_port() {
    run_as_user bash -c "$(guide 'mpicc.*ocean.c' 'cmp ocean')"
    assert_code 0
    same port world
    assert_equal 2880 "$(grep -c '^ocean' ocean.port)" "lines of the ocean"
    assert_equal 960 "$(grep -c '^atmosphere' atmosphere.port)" "of the air"
    assert_empty "$(ls -A "$CLUSTER/home/.slurm-fabric/names")" "names that are left"
    assert_nothing_left
}

# apart OCEAN-LIBRARY N ATMOSPHERE-LIBRARY N
apart() {
    rm -f ./*.port
    start_as_user srun --mpi=impi -N1 -n"$4" ./atmosphere_"$3" port wide \
        atmosphere.port
    run_as_user srun --mpi=impi -N1 -n"$2" ./ocean_"$1" port wide ocean.port
    assert_code 0
    wait $!
    assert_equal 0 $? "the atmosphere's code"
}

case_it_does_not_depend_on_libraries_or_sizes() {
    run_as_user srun --mpi=impi -N1 -n4 bash -c \
        'm=ocean; [ $SLURM_PROCID -lt 3 ] || m=atmosphere
         exec ./${m}_mpich world $m.mpich'
    assert_code 0
    apart openmpi 1 mpich 3
    same port mpich
    apart openmpi 2 openmpi 1
    same port mpich
    apart mpich 2 mpich 3
    same port mpich
    assert_nothing_left
}

run_cases
