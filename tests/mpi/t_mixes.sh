#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Random mixes of calls (random_mix; of one-sided ones, rma_mix) in worlds whose
# connections work as badly as they may (shaky.so), by seed.  MIXES_FIRST and
# MIXES_RUNS say which seeds, MIXES_ROUNDS how long each is; `make soak-mpi` has
# many.  MIXES_DEATHS (3) are mixes of one-sided calls in which one process is
# killed at some moment; `make soak-deaths` has a thousand.
. "$(dirname "$0")/lib.sh"
first=${MIXES_FIRST:-1} runs=${MIXES_RUNS:-3} rounds=${MIXES_ROUNDS:-25}
deaths=${MIXES_DEATHS:-3}
export BARE_FRONT=$front:$dir/shaky.so
worlds=("mpich:2 openmpi:2" "-i mpich:2 openmpi:1 mpich:1" "mpich:1 openmpi:1"
    "-i -m 1000 openmpi:2 mpich:2" "openmpi:2 mpich:1 openmpi:1")

need_both random_mix
[ -e "$dir/shaky.so" ] || skip_all "no shaky.so"

# The world, and what else is different, come from the seed as well: every
# fourth through shared memory, every fifth as external32 (which has no windows).
# Windows are by turns without shared memory, in it, and in that of some.
case_by_seed() # PROGRAM SEED
{
    local prog=$1 seed=$2 world shm data=native some=()
    read -ra world <<<"${worlds[seed % ${#worlds[@]}]}"
    shm=$((seed % 4 == 0))
    [ "$prog" = random_mix ] && [ $((seed / 5 % 5)) = 4 ] && data=external32
    if [ "$prog" = rma_mix ]; then
        shm=$((seed % 3 > 0))
        [ $((seed % 3)) = 1 ] || some=(SOME_BY_MESSAGES=1)
    fi
    SHAKY_SEED=$seed IMPI_SHM=$shm SLURM_IMPI_DATA=$data "${limited[@]}" 300 \
        env "${some[@]}" "$dir/bare_world" "${world[@]}" -- "$dir/$prog" "$seed" "$rounds" \
        >"$TMPDIR/out" 2>&1 && grep -q "^PASS $prog" "$TMPDIR/out"
    local code=$?
    [ $code = 0 ] || echo "again: SF_TOP_BUILDDIR=$SF_TOP_BUILDDIR" \
        "MIXES_FIRST=$seed MIXES_RUNS=1 MIXES_ROUNDS=$rounds $0" \
        >"$TMPDIR/out.again"
    report $code "$prog, seed $seed in ${world[*]}"
}

# Windows are by turns shared memory, messages, and both.  The seed gives the
# microsecond, of 0.3 s; where the process is by then differs from run to run.
case_death_at_any_moment() # SEED
{
    local seed=$1 world some=() after
    read -ra world <<<"${worlds[seed % ${#worlds[@]}]}"
    after=$((1 + seed * 7919 % 300000))
    [ $((seed % 3)) = 1 ] || some=(SOME_BY_MESSAGES=1)
    DIES_AFTER=$after SHAKY_SEED=$seed IMPI_SHM=$((seed % 3 > 0)) \
        death_ends env "${some[@]}" "$dir/bare_world" "${world[@]}" -- \
        "$dir/rma_mix" "$seed" 1000000
    report $? "death_at_any_moment: seed $seed in ${world[*]}, $after us"
}

for ((seed = first; seed < first + runs; seed++)); do
    case_by_seed random_mix "$seed"
    case_by_seed rma_mix "$seed"
done
for ((seed = first; seed < first + deaths; seed++)); do
    if can_see_what_is_left; then
        case_death_at_any_moment "$seed"
    else
        skipped "death_at_any_moment: seed $seed" "no namespaces"
    fi
done
finish
