#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two versions of one family of MPI libraries in one world: each is a client,
# as components of a heterogeneous job and as tasks of one component.  The
# second one is a copy of this machine's whose version text says another
# number.  SF_MPIS names prefixes of others (tools/mpi-versions), each of which is
# run beside this machine's library of its family, and beside that of the other.
. "$(dirname "$0")/lib.sh"
need_stage slurm/mpi_impi.so slurm/switch_elan.so
need_hello
cluster_up --nodes 2
cp "$SF_TOP_BUILDDIR"/examples/hello_{mpich,openmpi} "$WORK"
cd "$WORK" || exit 1

# COMMAND..: the version that a program of one process says it has.  An MPICH
# that is linked to Slurm's libpmi2 does not run without srun.
version_of() {
    run_as_user srun --mpi=impi -n1 "$@"
    sed -nE 's/^rank 0 of 1 .*(MPICH Version:|Open MPI v) *([0-9.]+[a-z0-9]*).*/\2/p' \
        <<<"$out"
}

# FAMILY: $first and $second are the program with this machine's library, and
# with a copy in which the last digit of the version is another, so that it is
# known as another build; $mine and $other are the two versions.
second_build() {
    local program=$WORK/hello_$1 lib=$WORK/$1.other path next
    path=$(ldd "$program" |
        awk '$1 ~ /^libmpi/ && $3 ~ /^\// { print $3 }' | head -n 1)
    mine=$(version_of "$program")
    next=${mine%?}$(((${mine: -1} + 1) % 10))
    mkdir -p "$lib"
    # Open MPI makes its text from numbers.
    LC_ALL=C sed "s/${mine//./[.]}/$next/g; s/ v%d[.]%d[.]%d/ v%d.%d.09/" \
        "$path" >"$lib/${path##*/}"
    first=$program second="env LD_LIBRARY_PATH=$lib $program"
    # shellcheck disable=SC2086
    other=$(version_of $second)
    [ -n "$other" ] && [ "$other" != "$mine" ] ||
        fail "a second $mine says that it is $other"
}

# RANKS FAMILY VERSION: these say that they are of this version.
ranks_are() {
    local family=MPICH r
    [ "$2" = mpich ] || family='Open MPI'
    for r in $1; do assert_output "^rank $r of 4 .*$family.*[ v]$3$" 1; done
}

# Ranks of this machine's version and of the other one, each known by its rank.
assert_versions() { # FAMILY RANKS_OF_MINE RANKS_OF_THE_OTHER
    assert_code 0
    assert_output '^all results are right$' 1
    ranks_are "$2" "$1" "$mine"
    ranks_are "$3" "$1" "$other"
}

two_components() { # FAMILY
    # shellcheck disable=SC2086
    run_as_user srun --mpi=impi -n2 $first : -n2 $second
    assert_versions "$1" '0 1' '2 3'
}

wrapper() { # FAMILY
    run_as_user srun --mpi=impi -N2 -n4 sh -c "case \$SLURM_PROCID in
        0 | 2) exec $first ;; esac; exec $second"
    assert_versions "$1" '0 2' '1 3'
}

multi_prog() { # FAMILY
    printf '%s\n' "0,3 $first" "1-2 $second" >"$WORK/$1.conf"
    run_as_user srun --mpi=impi -N2 -n4 --multi-prog "$WORK/$1.conf"
    assert_versions "$1" '0 3' '1 2'
}

case_mpich_as_two_components() { second_build mpich; two_components mpich; }
case_mpich_by_a_wrapper() { second_build mpich; wrapper mpich; }
case_mpich_by_multi_prog() { second_build mpich; multi_prog mpich; }
case_openmpi_as_two_components() { second_build openmpi; two_components openmpi; }
case_openmpi_by_a_wrapper() { second_build openmpi; wrapper openmpi; }
case_openmpi_by_multi_prog() { second_build openmpi; multi_prog openmpi; }

beside_the_other_family() { # FAMILY
    local family=openmpi
    [ "$1" = mpich ] || family=mpich
    # shellcheck disable=SC2086
    run_as_user srun --mpi=impi -n2 "$WORK/hello_$family" : -n2 $second
    assert_code 0
    assert_output '^all results are right$' 1
    ranks_are '0 1' "$family" "$(version_of "$WORK/hello_$family")"
    ranks_are '2 3' "$1" "$other"
}

# An MPICH that is linked to libpmix is started by PMIx: here a copy of this
# machine's, which has libpmix by way of what it takes for hwloc, and still has
# PMI-1 alone.  So the world has one of its processes, to which that is the same.
case_an_mpich_that_has_pmix() {
    local lib=$WORK/pmix pmix
    pmix=$(compgen -G "/usr/lib/*/libpmix.so.2" | head -n 1)
    [ -n "$pmix" ] || skip "libpmix is not installed"
    mkdir "$lib"
    LC_ALL=C sed 's/libhwloc[.]so[.]15/libhwpmx.so.15/g' \
        "$(ldd hello_mpich | awk '$1 ~ /^libmpi/ { print $3 }')" \
        >"$lib/libmpich.so.12"
    cc -shared -o "$lib/libhwpmx.so.15" -Wl,-soname,libhwpmx.so.15 -x c \
        /dev/null -x none -Wl,--no-as-needed -l:libhwloc.so.15 "$pmix" ||
        fail "cannot link"
    cat >which.c <<'WHICH'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    int rank, size;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("rank %d of %d by %s\n", rank, size,
           getenv("PMI_FD") ? "PMI-1" : getenv("PMIX_NAMESPACE") ? "PMIx" : "none");
    return MPI_Finalize();
}
WHICH
    mpicc.mpich -o which which.c || fail "cannot compile"
    run_as_user srun --mpi=impi -n1 ./which : \
        -n1 env "LD_LIBRARY_PATH=$lib" ./which
    assert_code 0
    assert_output '^rank 0 of 2 by PMI-1$' 1
    assert_output '^rank 1 of 2 by PMIx$' 1
}

# A version that is installed in a prefix.
case_versions_of_prefixes() {
    local prefix text family
    [ -n "${SF_MPIS-}" ] || skip "SF_MPIS names no prefix of a second version"
    for prefix in $SF_MPIS; do
        text=$(printf '%s\n' '#include <mpi.h>' 'MPI_WHICH OPEN_MPI' |
            "$prefix/bin/mpicc" -E -x c - | tail -n 1)
        family=mpich
        [[ $text == *OPEN_MPI ]] || family=openmpi
        second_build "$family"
        "$prefix/bin/mpicc" "-I$SF_TOP_SRCDIR/src" -o "$WORK/other" \
            "$SF_TOP_SRCDIR/examples/hello.c" -ldl ||
            fail "$prefix: does not compile"
        second="env LD_LIBRARY_PATH=$prefix/lib $WORK/other"
        # shellcheck disable=SC2086
        other=$(version_of $second)
        echo "# $family $mine and $other"
        two_components "$family"
        wrapper "$family"
        multi_prog "$family"
        beside_the_other_family "$family"
    done
}

case_nothing_left() {
    assert_no_step_left
}

run_cases
