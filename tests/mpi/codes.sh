# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Programs that others wrote, NAME.mpich and NAME.openmpi, each as one world of
# both libraries under srun on a Slurm of our own, and with one library alone.
# Sourced; a script begins with codes_up and ends with codes_sum.
. "$(dirname "${BASH_SOURCE[0]}")/../cluster/lib.sh"
. "$SF_TOP_SRCDIR/tests/cluster/impi.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
codes_passed=0 codes_failed=0 codes_uncounted=0

# need_packages FILE PACKAGE..: of the distribution, installed by the user.
need_packages() {
    [ -e "$1" ] || skip_all "$1 is not there: apt-get install ${*:2}"
}

# codes_up [NODES [CPUS]]
codes_up() {
    cluster_up --nodes "${1:-2}" --cpus "${2:-4}"
    RUN=$WORK/run
}

# need_netcdf: what make_netcdf wants.
need_netcdf() {
    local l
    [ -f "${NETCDF_SOURCE-}/nc_test4/tst_parallel.c" ] || skip_all \
        "NETCDF_SOURCE=DIR says no source of netCDF: apt-get source netcdf"
    for l in mpich openmpi; do
        need_packages "/usr/include/hdf5/$l/hdf5.h" libhdf5-mpich-dev \
            libhdf5-openmpi-dev
    done
}

# make_netcdf LIBRARY: parallel netCDF-4 of $NETCDF_SOURCE, once, with the
# distribution's parallel HDF5, in netcdf/LIBRARY of this build: Debian has it for
# Open MPI only.
make_netcdf() {
    (
        mkdir -p "$SF_TOP_BUILDDIR/netcdf/$1" &&
            cd "$SF_TOP_BUILDDIR/netcdf/$1" || exit
        [ ! -e made ] || exit 0
        "$NETCDF_SOURCE/configure" CC="mpicc.$1" \
            CPPFLAGS="$(pkg-config --cflags "hdf5-$1")" \
            LDFLAGS="$(pkg-config --libs-only-L "hdf5-$1")" CFLAGS="-O1 -g -w" \
            --disable-shared --enable-static --enable-parallel-tests \
            --disable-dap --disable-byterange --disable-nczarr \
            --disable-plugins --disable-libxml2 --disable-utilities \
            --disable-filter-testing && make -j2 && touch made
    )
}

# fresh: an empty directory $RUN for the next program.
fresh() {
    rm -rf "$RUN"
    mkdir "$RUN"
    chown "$JOB_USER" "$RUN"
}

# spans SECONDS MPICH OPENMPI PROGRAM [ARG..]: so many processes of each, each
# library on a node of its own, in $RUN.  See capture.
spans() {
    local m=$2 o=$3 p=$4
    LIMIT=$1
    shift 4
    run_as_user srun --mpi=impi -O -D "$RUN" -N1 -n"$m" "$p.mpich" "$@" : \
        -N1 -n"$o" "$p.openmpi" "$@"
}

# alone SECONDS mpich|openmpi N PROGRAM [ARG..]: by that library's own mpiexec.
alone() {
    local launch=(mpiexec.hydra) l=$2 n=$3 p=$4
    [ "$l" = mpich ] || launch=(mpirun.openmpi --oversubscribe)
    LIMIT=$1
    shift 4
    capture env -C "$RUN" TMPDIR="$case_tmp" "${launch[@]}" -n "$n" "$p.$l" "$@"
}

# A run of both libraries has failed: it is not counted if one of them alone
# fails, too.  counts TITLE FUNCTION ARG..: FUNCTION mpich|openmpi ARG.. is that
# run with one library.
counts() {
    local title=$1 l said=$out$'\n'$err
    for l in mpich openmpi; do
        if ! "$2" "$l" "${@:3}"; then
            codes_uncounted=$((codes_uncounted + 1))
            skipped "$title" "$l alone does not pass either (code $code)"
            return 1
        fi
    done
    codes_failed=$((codes_failed + 1))
    report 1 "$title" - <<<"$said"
}

# files: of $RUN, with a sum of each.
files() {
    (cd "$RUN" && find . -type f | sort | xargs -r sha256sum)
}

# one_world FUNCTION PROGRAM[+PROGRAM..] ARG..: these one after the other in an
# empty directory, as FUNCTION PROGRAM ARG.. runs each.
one_world() {
    local p
    fresh
    for p in ${2//+/ }; do
        $1 "$p" "${@:3}"
        [ "$code" = 0 ] && ! grep -qi 'fail' <<<"$out$err" || return 1
    done
}

# leave_the_same SECONDS MPICH OPENMPI PROGRAM[+PROGRAM..] [ARG..]: all end well
# as one world, and leave the files that one library alone leaves, byte for byte.
# Some leave bytes of no meaning in gaps: where the files of the two libraries
# alone differ too, that they end well is all.  $codes has NAME.mpich and
# NAME.openmpi.
leave_the_same() {
    local seconds=$1 m=$2 o=$3 title="${*:4} of $2 and $3" one
    shift 3
    by_both() { spans "$seconds" "$m" "$o" "$codes/$1" "${@:2}"; }
    by_one() { alone "$seconds" "$l" $((m + o)) "$codes/$1" "${@:2}"; }
    by_library() { # LIBRARY ..
        local l=$1
        one_world by_one "${@:2}"
    }
    if ! one_world by_both "$@"; then
        counts "$title" by_library "$@"
        return
    fi
    files >"$case_tmp/both"
    for one in openmpi mpich; do
        by_library $one "$@"
        files >"$case_tmp/$one"
        if cmp -s "$case_tmp/$one" "$case_tmp/both"; then
            passes "$title: $(wc -l <"$case_tmp/both") files as of $one alone"
            return
        fi
    done
    if ! cmp -s "$case_tmp/openmpi" "$case_tmp/mpich"; then
        passes "$title: those of the two libraries alone differ, too"
        return
    fi
    codes_failed=$((codes_failed + 1))
    report 1 "$title: files differ" "$case_tmp"/{openmpi,both}
}

# fields: of the files that a run has left, those of netCDF, with a sum of each.
fields() {
    (cd "$RUN" && sha256sum ./*.nc)
}

# compare_fields TITLE: what srun has just left with $case_tmp/alone, of MPICH
# alone.
compare_fields() {
    fields >"$case_tmp/both"
    if [ "$code" = 0 ] && cmp -s "$case_tmp/both" "$case_tmp/alone"; then
        passes "$1: $(wc -l <"$case_tmp/both") files as of mpich alone"
        return
    fi
    codes_failed=$((codes_failed + 1))
    report 1 "$1" - <<<"code $code"$'\n'"$out"$'\n'"$err"$'\n'"$(
        diff "$case_tmp/alone" "$case_tmp/both")"
}

passes() { # TITLE
    codes_passed=$((codes_passed + 1))
    report 0 "$1"
}

codes_sum() {
    echo "# passed $codes_passed, failed $codes_failed," \
        "not counted $codes_uncounted"
    finish
}
