#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# One world of three distributions, as an unprivileged user: programs of this
# machine (a Debian 12 or 13), of an image of Debian 11 by Charliecloud and of one
# of Debian 13 by Podman, each with the MPI libraries of its own.  SF_IMAGES=DIR is
# where the images are, or are made by debootstrap (3 GB, some minutes).
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/containers.sh"
need_stage slurm/mpi_impi.so slurm/switch_elan.so
need_hello
[ -n "${SF_IMAGES-}" ] || skip_all "SF_IMAGES names no directory for images"
command -v podman >/dev/null || skip_all "podman is not installed"
need_user_namespaces
cluster_up --nodes 4
cp "$SF_TOP_BUILDDIR"/examples/hello_{mpich,openmpi} \
    "$SF_TOP_SRCDIR/examples/hello.c" "$WORK"
mkdir "$WORK/elan"
cp "$SF_TOP_SRCDIR/src/elan/elanvp.h" "$WORK/elan"
cd "$WORK" || exit 1
export LD_LIBRARY_PATH=$STAGE/lib USER=$JOB_USER
need_podman
HERE=$(sed -n 's/^VERSION_ID="\{0,1\}\([0-9]*\).*/\1/p' /etc/os-release)

# SUITE VARIABLE: the job user's copy of that image, made by the guide's line.
need_copy() {
    local own=$SF_IMAGES/$1.$JOB_USER
    if [ ! -e "$own" ]; then
        rm -rf "$own.new"
        install -d -o "$JOB_USER" "$own.new"
        env "$2=$own.new" bash -c "$(guide "tar .* -C .*$2" |
            sed "s/^sudo //; s/| /| setpriv --reuid $JOB_USER --clear-groups /")" ||
            fail "the image cannot be copied"
        mv "$own.new" "$own"
    fi
    export "$2=$own"
}

# $DEBIAN11, $DEBIAN13 (the job user's copy) and the programs for them.
need_images() {
    need_image bullseye usr/include/x86_64-linux-gnu/mpich/mpi.h
    export DEBIAN11=$IMAGE
    need_image trixie usr/lib/x86_64-linux-gnu/libmpich.so.12
    need_copy trixie DEBIAN13
}

# Program that DEBIAN11 runs, by the guide's line: NAME, of FAMILY.
compile_11() {
    local line
    line=$(guide '^ch-run .*mpicc')
    line=${line/mpicc.mpich/mpicc.$2}
    run_as_user bash -c "${line/hello_11/$1}"
    assert_code 0
}

# Here, there and in Debian 13, two ranks of each.
three_places() { # PROGRAM PROGRAM PROGRAM
    local line
    line=$(guide '^srun .*ch-run .*podman')
    line=${line/hello_mpich/$1} line=${line/hello_11/$2}
    run_as_user bash -c "$(podman_here "${line/hello_13/$3}")"
}

# As they say it.
library() { # FAMILY DEBIAN
    case $1$2 in
    mpich11) echo 'MPICH Version: +3[.]4' ;;
    mpich12) echo 'MPICH Version: +4[.]0' ;;
    mpich13) echo 'MPICH Version: +4[.]2' ;;
    openmpi11) echo 'Open MPI v4[.]1[.]0' ;;
    openmpi12) echo 'Open MPI v4[.]1[.][1-9]' ;;
    openmpi13) echo 'Open MPI v5' ;;
    esac
}

# LIBRARY..: each has two ranks, and two more if it is named again.
assert_libraries() {
    local l
    for l; do
        assert_library "$l" $((2 * $(printf '%s\n' "$@" | grep -cxF -- "$l")))
    done
}

case_guide_three_distributions() {
    need_images
    compile_11 hello_11 mpich
    run_as_user bash -c "$(guide '^mpicc.openmpi')"
    assert_code 0
    three_places hello_mpich hello_11 hello_13
    assert_world 6
    assert_libraries "$(library mpich "$HERE")" "$(library mpich 11)" \
        "$(library openmpi 13)"
}

# The host's, and one of the image.
older_image() { # RUNTIME
    local here there line
    need_images
    line=$(guide "^srun .*hello_openmpi : .*$1 .*hello_11\$")
    for there in mpich openmpi; do
        here=mpich
        [ $there = openmpi ] || here=openmpi
        compile_11 hello_11 $there
        run_as_user bash -c "$(podman_here "${line/hello_openmpi/hello_$here}")"
        assert_world 4
        assert_libraries "$(library $here "$HERE")" "$(library $there 11)"
    done
}

case_guide_older_image_charliecloud() {
    older_image ch-run
}

case_guide_older_image_podman() {
    need_images
    need_copy bullseye OWN11
    older_image 'podman run'
}

case_guide_older_image_apptainer() {
    need_apptainer
    older_image 'apptainer exec'
}

# Of programs for the standard ABI, which take the library that they find.
need_sid() {
    need_image sid usr/lib/x86_64-linux-gnu/mpi_abi_mpich/include/mpi.h
    export SID=$IMAGE
    [ ! -e "$WORK/abi_mpich" ] || return 0
    run_as_user bash -c "$(guide '^mkdir abi_mpich')"
    assert_code 0
    run_as_user bash -c "$(guide '^mkdir abi_openmpi')"
    assert_code 0
}

case_guide_standard_abi() {
    need_sid
    run_as_user bash -c "$(guide '^ch-run .*mpi_abi')"
    assert_code 0
    run_as_user bash -c "$(guide '^srun .*abi_openmpi')"
    assert_world 6
    assert_library "$(library mpich "$HERE")" 2
    assert_library 'MPICH Version: +5.0' 2
    assert_library 'Open MPI v6' 2
}

# Programs that check what they compute: each library behind the ABI with the
# other, and with the one of its family that has an ABI of its own.
case_programs_of_the_standard_abi() {
    local p here there line
    need_sid
    mkdir -p "$WORK/tree"
    ( cd "$SF_TOP_SRCDIR" && find src tests/mpi -name '*.h' -exec cp --parents \
        -t "$WORK/tree" {} + &&
        cp --parents -t "$WORK/tree" tests/mpi/{ring,coll,types,probe,seldom,rma_ops}.c )
    line=$(guide '^ch-run .*mpi_abi')
    line=${line/-I. /-std=gnu11 -w -I tree/src }
    for p in ring coll types probe seldom rma_ops; do
        run_as_user bash -c "$(sed "s,hello_abi hello.c,abi_$p tree/tests/mpi/$p.c,; s,\$, -lm," <<<"$line")"
        assert_code 0
        for here in mpich openmpi; do
            for there in mpich openmpi; do
                run_as_user srun --mpi=impi -n2 \
                    ch-run -b "$WORK:/mnt" -c /mnt \
                    "--set-env=LD_LIBRARY_PATH=/mnt/abi_$here" \
                    "$SID" -- "./abi_$p" : -n2 ch-run -b "$WORK:/mnt" -c /mnt \
                    "--set-env=LD_LIBRARY_PATH=/mnt/abi_$there" \
                    "$SID" -- "./abi_$p"
                assert_code 0
                assert_output "^PASS $p\$" 1
            done
        done
    done
}

# The standard ABI has no Fortran: neither library's has a symbol of it.  A
# program in Fortran has the library's own ABI, beside others.
case_fortran_beside_the_standard_abi() {
    local f fc abi=usr/lib/x86_64-linux-gnu/libmpi_abi_
    need_sid
    for f in mpich openmpi; do
        assert_empty "$(nm -D --defined-only "$SID/$abi$f.so.1.0.0" |
            grep -i ' mpi_init_*$' | grep -v ' MPI_Init$')" "Fortran in $f's"
    done
    fc=$(compgen -G "$SID/usr/bin/gfortran*" | head -n 1)
    [ -n "$fc" ] || skip "the image has no Fortran compiler"
    cp "$SF_TOP_SRCDIR/tests/front/hello.f90" "$WORK"
    cp "$SF_TOP_SRCDIR/tests/front/hello.c" "$WORK/sum.c"
    run_as_user bash -c "$(guide '^ch-run .*mpi_abi' |
        sed 's,-o hello_abi hello.c,-o sum_abi sum.c,')"
    assert_code 0
    for f in mpich openmpi; do
        run_as_user ch-run -b "$WORK:/mnt" -c /mnt "$SID" -- \
            env "MPICH_FC=${fc##*/}" "OMPI_FC=${fc##*/}" \
            "mpif90.$f" -o "hello_f_$f" hello.f90
        assert_code 0
    done
    run_as_user srun --mpi=impi \
        -n1 ch-run -b "$WORK:/mnt" -c /mnt "$SID" -- ./hello_f_mpich : \
        -n1 ch-run -b "$WORK:/mnt" -c /mnt "$SID" -- ./hello_f_openmpi : \
        -n1 ch-run -b "$WORK:/mnt" -c /mnt \
        --set-env=LD_LIBRARY_PATH=/mnt/abi_mpich "$SID" -- ./sum_abi : \
        -n1 ch-run -b "$WORK:/mnt" -c /mnt \
        --set-env=LD_LIBRARY_PATH=/mnt/abi_openmpi "$SID" -- ./sum_abi
    assert_code 0
    assert_output '^fortran rank [0-9] of 4 sum 89$' 2
    assert_output '^rank [0-9] of 4: .* sum 89 ' 2
}

case_each_library_of_each_distribution() {
    local here there later
    need_images
    for there in mpich openmpi; do
        compile_11 "hello_11_$there" "$there"
        for here in mpich openmpi; do
            for later in mpich openmpi; do
                three_places "hello_$here" "hello_11_$there" "hello_$later"
                assert_world 6
                assert_libraries "$(library $here "$HERE")" \
                    "$(library $there 11)" "$(library $later 13)"
            done
        done
    done
}

# Three versions of one library, as tasks of one step.  Open MPI 5 asks the
# kernel for a route to the other node, which has the same address here.
case_versions_of_a_library_in_one_step() {
    local f run="ch-run -b $WORK:/mnt -c /mnt"
    need_images
    for f in mpich openmpi; do
        compile_11 "hello_11_$f" "$f"
        run_as_user env OMPI_MCA_reachable=weighted \
            srun --mpi=impi -O -N2 -n6 sh -c \
            "case \$((SLURM_PROCID % 3)) in
             0) exec ./hello_$f ;;
             1) exec $run $DEBIAN11 -- ./hello_11_$f ;;
             esac
             exec $run $SF_IMAGES/trixie -- ./hello_$f"
        assert_world 6
        assert_libraries "$(library $f "$HERE")" "$(library $f 11)" \
            "$(library $f 13)"
    done
}

# What a back end takes for granted of each (tests/front/opaque.c): constants of
# Debian 11's headers, handles and places in the libraries of both images.
case_values_that_no_header_promises() {
    local f image build=tree.build n
    need_images
    mkdir -p "$WORK/tree"
    ( cd "$SF_TOP_SRCDIR" &&
        find src tests/front '(' -name '*.[ch]' -o -name 'opaque*' ')' \
            -exec cp --parents -t "$WORK/tree" {} + )
    ( cd "$SF_TOP_BUILDDIR" && mkdir "$WORK/$build" &&
        find src -name '*.h' -exec cp --parents -t "$WORK/$build" {} + )
    for f in mpich openmpi; do
        run_as_user ch-run -b "$WORK:/mnt" -c /mnt "$DEBIAN11" -- \
            tree/tests/front/opaque_build.sh $build "opaque_$f" "mpicc.$f"
        assert_code 0
        run_as_user ch-run -b "$WORK:/mnt" -c /mnt "$DEBIAN11" -- \
            "./opaque_$f" values
        assert_code 0
        n=$(grep -cxF -f "$SF_TOP_SRCDIR/tests/front/$f.values" <<<"$out")
        [ "$n" -ge 150 ] || fail "only $n constants of $f are there"
        assert_empty "$(grep -vxF -f "$SF_TOP_SRCDIR/tests/front/$f.values" \
            <<<"$out")" "constants of $f that are others"
        for image in "$DEBIAN11" "$SF_IMAGES/trixie"; do
            run_as_user ch-run -b "$WORK:/mnt" -c /mnt "$image" -- \
                "./opaque_$f" tags
            assert_code 0
            assert_output '^ok' 6
            assert_output '^not ok' 0
        done
    done
}

# Programs that check what they compute, compiled in the oldest place for all:
# each family has one ABI.
case_programs_of_each_distribution() {
    local p f
    need_images
    mkdir -p "$WORK/tree"
    ( cd "$SF_TOP_SRCDIR" && find src tests/mpi -name '*.h' -exec cp --parents \
        -t "$WORK/tree" {} + &&
        cp --parents -t "$WORK/tree" tests/mpi/{ring,coll,probe,types}.c )
    for p in ring coll probe types; do
        for f in mpich openmpi; do
            run_as_user ch-run -b "$WORK:/mnt" -c /mnt "$DEBIAN11" -- \
                "mpicc.$f" -std=gnu11 -w -O1 -I tree/src -o "${p}_$f" \
                "tree/tests/mpi/$p.c" -lm
            assert_code 0
        done
        three_places "${p}_openmpi" "${p}_mpich" "${p}_openmpi"
        assert_code 0
        assert_output "^PASS $p\$" 1
        three_places "${p}_mpich" "${p}_openmpi" "${p}_mpich"
        assert_code 0
        assert_output "^PASS $p\$" 1
    done
}

# The ranks of a client in one container, where the runtime can do that.
case_one_container_per_client() {
    local f
    need_images
    for f in mpich openmpi; do
        compile_11 "hello_11_$f" "$f"
        run_as_user bash -c "$(podman_here "srun --mpi=impi -n2 ./hello_mpich : \
            -n4 -N1 -O ch-run --join --join-ct=4 --join-tag=a \
            -b '$WORK:/mnt' -c /mnt $DEBIAN11 -- ./hello_11_$f : \
            -n1 podman run --rm -v '$WORK:/mnt' -w /mnt \
            --rootfs $DEBIAN13 ./hello_openmpi")"
        assert_world 7
        assert_library "$(library $f 11)" 4
        assert_library "$(library openmpi 13)" 1
    done
}

case_nothing_left() {
    assert_no_step_left
}

run_cases
