#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Components in containers, as an unprivileged user.  By default the image is
# this machine's own /usr, and no path of the stage or of the step is in it.
# With SF_IMAGES=DIR, images of Debian 13 are made there by debootstrap (600 MB,
# some minutes), and stay for the next time.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/containers.sh"
need_stage slurm/mpi_impi.so slurm/switch_elan.so
need_hello
need_user_namespaces
cluster_up --nodes 2
cp "$SF_TOP_BUILDDIR"/examples/hello_{mpich,openmpi} "$WORK"
cd "$WORK" || exit 1
export LD_LIBRARY_PATH=$STAGE/lib USER=$JOB_USER

own=$WORK/image
own_image "$own"
in_own="ch-run -b /usr:/usr -b $WORK:/mnt -c /mnt $own --"

case_the_image_has_no_path_of_ours() {
    # shellcheck disable=SC2086
    run_as_user srun -n1 $in_own sh -c \
        "ls -d $STAGE /run/slurm-fabric 2>&1; exit 0"
    assert_code 0
    assert_output 'No such file' 2
}

case_charliecloud_openmpi() {
    # shellcheck disable=SC2086
    run_as_user srun --mpi=impi -n2 ./hello_mpich : -n2 $in_own ./hello_openmpi
    assert_world 4
    assert_library MPICH 2
    assert_library 'Open MPI' 2
}

case_charliecloud_mpich() {
    # shellcheck disable=SC2086
    run_as_user srun --mpi=impi -n2 ./hello_openmpi : -n2 $in_own ./hello_mpich
    assert_world 4
    assert_library MPICH 2
    assert_library 'Open MPI' 2
}

case_both_in_containers() {
    # shellcheck disable=SC2086
    run_as_user srun --mpi=impi -n1 $in_own ./hello_openmpi : \
        -n1 $in_own ./hello_mpich
    assert_world 2
}

case_a_container_in_a_wrapper() {
    run_as_user srun --mpi=impi -n2 sh -c \
        "case \$SLURM_PROCID in 0) exec ./hello_mpich ;; esac
         $in_own ./hello_openmpi"
    assert_world 2
}

case_other_programs_of_the_image() {
    # shellcheck disable=SC2086
    run_as_user srun --mpi=impi -n2 $in_own sh -c 'ls / >/dev/null && echo fine'
    assert_code 0
    assert_output '^fine$' 2
    assert_empty "$(grep -v '^srun: job' <<<"$err")" stderr
}

case_other_tasks_get_nothing() {
    run_as_user srun --mpi=impi -n1 sh -c \
        'env | grep -E "AGENT_DIR|/proc/self/fd"; ls /proc/$$/fd; exit 0'
    assert_code 0
    assert_output '^(SLURM|LD_)' 0
    assert_output '^3[0-9]{2}$' 0
}

case_guide_charliecloud_debian_13() {
    need_image trixie usr/lib/x86_64-linux-gnu/libmpich.so.12
    run_as_user bash -c "$(guide 'ch-run .*hello_openmpi')"
    assert_world 4
    assert_library MPICH 2
    assert_library 'Open MPI v5' 2
    run_as_user bash -c "$(guide 'ch-run .*hello_mpich')"
    assert_world 4
    assert_library 'Open MPI v4' 2
    assert_library 'MPICH Version: +4.2' 2
}

# This machine's own /usr as Podman's image.  The user has no subordinate ids.
need_own_image() {
    need_podman
    [ -e "$WORK/pod" ] || own_image "$WORK/pod"
    chown -R "$JOB_USER" "$WORK/pod"
    export IMAGE="-v /usr:/usr:ro --rootfs $WORK/pod"
}

podman_line() {
    podman_here "$(guide "^srun .*podman run .*$1")"
}

case_guide_podman_mpich() {
    need_own_image
    run_as_user bash -c "$(podman_line hello_mpich)"
    assert_world 4
    assert_library 'Open MPI' 2
    assert_library MPICH 2
}

# By the container's user 0, whom PMIx must not take for another.
case_guide_podman_openmpi() {
    need_own_image
    run_as_user bash -c "$(podman_line hello_openmpi)"
    assert_world 4
    assert_library 'Open MPI' 2
    assert_library MPICH 2
}

case_podman_whose_configuration_is_the_users() {
    need_podman
    : >"$WORK/own.conf"
    chown "$JOB_USER" "$WORK/own.conf"
    grep -q CONTAINERS_CONF_OVERRIDE "$(command -v podman)" &&
        skip "this Podman reads ours after the user's"
    run_as_user srun --mpi=impi -n1 \
        env "CONTAINERS_CONF=$WORK/own.conf" podman --version
    assert_code 0
    assert_output '^podman version' 1
    assert_error "SF-E507.*CONTAINERS_CONF is set, to $WORK/own.conf"
}

# This machine's own /usr as Apptainer's image.
need_apptainer_image() {
    need_apptainer
    export IMAGE="-B /usr:/usr $own"
}

apptainer_line() {
    guide "^srun .*apptainer exec .*$1"
}

case_guide_apptainer_openmpi() {
    need_apptainer_image
    run_as_user bash -c "$(apptainer_line hello_openmpi)"
    assert_world 4
    assert_library 'Open MPI' 2
    assert_library MPICH 2
}

case_guide_apptainer_mpich() {
    need_apptainer_image
    run_as_user bash -c "$(apptainer_line hello_mpich)"
    assert_world 4
    assert_library 'Open MPI' 2
    assert_library MPICH 2
}

# With nothing of the host's but what is bound.
case_apptainer_with_a_clean_environment() {
    local line
    need_apptainer_image
    line=$(apptainer_line hello_openmpi)
    run_as_user bash -c \
        "${line/ exec / exec --cleanenv --containall }"
    assert_world 4
    line=$(apptainer_line hello_mpich)
    run_as_user bash -c \
        "${line/ exec / exec --cleanenv --containall }"
    assert_world 4
}

# In an image with nothing but what the lines for Enroot mount there.
case_guide_mounts_of_enroot() {
    local image=$WORK/enroot other
    rm -rf "$image"
    own_image "$image"
    chown -R "$JOB_USER" "$image"
    guide '^/(usr|run)/.* none x-create' 2 |
        sed "s,/usr/lib/slurm-fabric,$STAGE/lib/slurm-fabric,g" >mounts
    printf '%s\n' "$WORK /mnt" '/usr /usr' '/dev /dev' '/proc /proc' >>mounts
    cat >enter <<'ENTER'
while read -r from to _; do
    mkdir -p "$1$to" && mount --rbind "$from" "$1$to" || exit 1
done <mounts
exec chroot "$1" sh -c 'cd /mnt && exec "$@"' - "$2"
ENTER
    for other in mpich openmpi; do
        run_as_user srun --mpi=impi -n2 ./hello_mpich : \
            -n2 unshare -Urm sh enter "$image" "./hello_$other"
        assert_world 4
    done
}

# Each in a container: one client, which uses the /dev/shm that all see.
case_sixteen_containers_of_a_library() {
    # shellcheck disable=SC2086
    run_as_user srun --mpi=impi -O -N1 -n16 $in_own ./hello_mpich
    assert_world 16
    # shellcheck disable=SC2086
    run_as_user srun --mpi=impi -O -N1 -n16 $in_own ./hello_openmpi
    assert_world 16
    assert_empty "$(grep single_copy <<<"$err")" "what Open MPI says"
}

# Over two nodes.  UCX takes them for one, where it would find no /dev/shm of
# the other's: all nodes of the test have one kernel and so one boot_id.
case_sixteen_containers_on_two_nodes() {
    # shellcheck disable=SC2086
    run_as_user env UCX_TLS=^sm srun --mpi=impi -O -N2 -n16 $in_own ./hello_mpich
    assert_world 16
}

# Of rings between clients, of windows, and of MPI_COMM_TYPE_SHARED, where the
# kernel lets no process open another's memory: impid does.
shared_by_all() {
    assert_code 0
    assert_output '^PASS rma_win' 1
    assert_equal memory "$(awk '/^slurm-fabric: rank [0-9]+: +[0-9]/ &&
        $5 > 0 { print $NF }' <<<"$err" | sort -u)" "how messages went"
}

need_windows() {
    local l
    for l in mpich openmpi; do
        [ -x "$SF_TOP_BUILDDIR/tests/mpi/rma_win.$l" ] ||
            skip "no rma_win for both libraries"
        install -m 755 "$SF_TOP_BUILDDIR/tests/mpi/rma_win.$l" "$WORK"
    done
}

case_memory_is_shared_between_containers() {
    need_windows
    # shellcheck disable=SC2086
    run_as_user env IMPI_STATS=1 srun --mpi=impi -O -N1 -n1 \
        $in_own ./rma_win.openmpi our_shared : -O -N1 -n1 \
        $in_own ./rma_win.mpich our_shared
    shared_by_all
    # Of one component, which has one agent; and one in none.
    run_as_user env IMPI_STATS=1 srun --mpi=impi -O -N1 -n3 sh -c \
        "case \$SLURM_PROCID in
         0) exec ./rma_win.mpich our_shared ;;
         1) exec $in_own ./rma_win.openmpi our_shared ;;
         *) exec $in_own ./rma_win.mpich our_shared ;;
         esac"
    shared_by_all
}

# Their own numbers of processes, too: those that they know are others' here.
case_memory_is_shared_between_pid_namespaces() {
    local apart="unshare -Urpf --kill-child --mount-proc"
    need_windows
    # shellcheck disable=SC2086
    run_as_user env IMPI_STATS=1 srun --mpi=impi -O -N1 -n1 \
        $apart ./rma_win.openmpi our_shared : -O -N1 -n1 \
        $apart ./rma_win.mpich our_shared
    shared_by_all
}

# And a /dev/shm of its own.  To MPICH they are as many nodes.
case_containers_without_shared_memory() {
    local apart="unshare -Urm sh -c 'mount -t tmpfs shm /dev/shm &&
        exec \"\$@\"' apart"
    run_as_user bash -c "srun --mpi=impi -O -N1 -n16 $apart ./hello_openmpi"
    assert_world 16
    run_as_user bash -c "srun --mpi=impi -O -N1 -n16 $apart ./hello_mpich"
    assert_world 16
}

# A private network.  A world of one library on one node may be in it; what has
# to reach others says at once that it cannot.
case_a_network_of_its_own() {
    run_as_user srun --mpi=impi -N1 -n2 unshare -Urn ./hello_mpich
    assert_world 2
    run_as_user srun --mpi=impi -n2 ./hello_openmpi : \
        -n2 unshare -Urn ./hello_mpich
    assert_code_not 0
    assert_error 'SF-E407: .* cannot reach rank 0 .*: Network is unreachable'
    run_as_user srun --mpi=impi -n2 ./hello_mpich : \
        -n2 unshare -Urn ./hello_openmpi
    assert_code_not 0
    assert_error 'SF-E311: rank [23] on node n1 \(Open MPI\) exited with code 1'
}

# Ids that are the job user's by /etc/subuid are given here by root, as
# newuidmap would.  What such a container runs by one of them is not the job's.
# Its words go to a file: once a task has been killed, srun drops what is on its
# way from the others.
case_a_subordinate_uid_is_refused() {
    local pid
    rm -f who go
    mkfifo who go
    : >words
    chown "$JOB_USER" who go words
    # shellcheck disable=SC2016
    start_as_user srun --mpi=impi -n1 ./hello_mpich : -n1 \
        unshare -U --keep-caps sh -c 'echo $$ >who; read -r _ <go
            exec setpriv --reuid 1 ./hello_openmpi 2>words'
    read -r pid <./who
    echo "1 100000 1" >"/proc/$pid/uid_map"
    echo >go
    wait $!
    code=$? out=$(cat "$case_tmp/bg.out") err=$(cat "$case_tmp/bg.err")
    assert_code_not 0
    assert_error 'SF-E312: rank 1 on node n1 ended without calling MPI_Init'
    err=$(cat words)
    assert_error "SF-E400: cannot reach impid at .*user 1 is not the job's"
    assert_output '^rank' 0
}

# Root can go where the user's directory is closed to others.
case_root_is_not_the_jobs_user() {
    local agent
    rm -f who go
    mkfifo who go
    chown "$JOB_USER" who go
    # shellcheck disable=SC2016
    start_as_user srun --mpi=impi -n2 -N1 sh -c '
        [ $SLURM_PROCID = 1 ] || { echo $SLURM_IMPI_AGENT >who; read -r _ <go; }
        exec ./hello_mpich'
    read -r agent <./who
    run_as_root n0 env "SLURM_IMPI_AGENT=$agent" SLURM_PROCID=0 \
        "LD_PRELOAD=$STAGE/lib/slurm-fabric/libimpi.so" ./hello_mpich
    assert_code_not 0
    assert_error "SF-E400: (impid closed|lost) the connection"
    echo >go
    wait $!
    code=$? out=$(cat "$case_tmp/bg.out") err=$(cat "$case_tmp/bg.err")
    assert_world 2
}

# For users with subordinate ids: the container's root is the job's user, or,
# by keep-id, its own name; another user of the image is none that we know.
case_podman_with_subordinate_ids() {
    local line
    need_own_image
    getsubids "$JOB_USER" >/dev/null 2>&1 ||
        skip "$JOB_USER has no subordinate ids"
    line=$(podman_line hello_openmpi)
    run_as_user bash -c "$line"
    assert_world 4
    run_as_user bash -c "${line/run --rm/run --rm --userns=keep-id}"
    assert_world 4
    run_as_user bash -c "${line/run --rm/run --rm --user 1000}"
    assert_code_not 0
    assert_error "SF-E400: cannot reach impid at .*user 1000 is not the job's"
}

# As many as a node of a large site has: one client, alone, and beside a native
# one of the other library.
sixty_four() { # LIBRARY OTHER
    # shellcheck disable=SC2086
    run_as_user srun --mpi=impi -O -N1 -n64 $in_own "./hello_$1"
    assert_world 64
    # shellcheck disable=SC2086
    run_as_user srun --mpi=impi -N1 -n2 "./hello_$2" : \
        -O -N1 -n64 $in_own "./hello_$1"
    assert_world 66
}

case_sixty_four_containers_of_mpich() {
    sixty_four mpich openmpi
    assert_library MPICH 64
    assert_library 'Open MPI' 2
}

case_sixty_four_containers_of_openmpi() {
    sixty_four openmpi mpich
    assert_library 'Open MPI' 64
    assert_library MPICH 2
}

# The same by the line of another runtime, and one native rank.
sixty_four_by() { # LINE of four, two of them in containers
    local line=${1/-n2 .\/hello_mpich/-N1 -n1 .\/hello_mpich}
    run_as_user bash -c "${line/: -n2/: -O -N1 -n64}"
    assert_world 65
    assert_library 'Open MPI' 64
    assert_library MPICH 1
}

case_sixty_four_containers_of_podman() {
    need_own_image
    sixty_four_by "$(podman_line hello_openmpi)"
}

case_sixty_four_containers_of_apptainer() {
    need_apptainer_image
    sixty_four_by "$(apptainer_line hello_openmpi)"
}

case_nothing_left() {
    assert_no_step_left
}

run_cases
