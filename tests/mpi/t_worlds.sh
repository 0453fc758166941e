#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Worlds of several IMPI clients on this machine, without Slurm: every program
# of this folder in several worlds of both libraries.
. "$(dirname "$0")/lib.sh"
export BARE_FRONT=$front

world()
{
    "${limited[@]}" 120 "$dir/bare_world" "$@" >"$TMPDIR/out" 2>&1
}

# case_run NAME CLIENTS...: program NAME says PASS in that world.
case_run()
{
    local name=$1 where
    shift
    where="$*"
    world "$@" -- "$dir/$name" && grep -q "^PASS $name" "$TMPDIR/out"
    report $? "$title: $name in $where"
}

# open_mpi_calls NAME FUNCTION: the program was compiled with it.
open_mpi_calls()
{
    grep -q "$2" "$dir/$1.openmpi"
}

# Answers of a process that does not call MPI.
case_answered_while_away()
{
    local title=answered_while_away
    rm -f "$TMPDIR/fifo"
    mkfifo "$TMPDIR/fifo"
    world "$@" -- "$dir/away" "$TMPDIR/fifo" "${SLURM_IMPI_THREAD-}" &&
        grep -q "^PASS away" "$TMPDIR/out"
    report $? "$title: away in $* ${SLURM_IMPI_THREAD-}"
}

# A library of that name, and memory that nobody can read, for want of an
# accelerator.
case_device_pointers_are_refused()
{
    local title=device_pointers_are_refused lib=$TMPDIR/libcuda.so.1
    gcc -shared -o "$lib" -x c /dev/null &&
        world "$@" -- "$dir/device" "$lib" &&
        grep -q "^PASS device" "$TMPDIR/out"
    report $? "$title: device in $*"
}

# shown RANK TEXT: what that process printed of its peer, behind "TEXT".
shown()
{
    sed -nE "s/^slurm-fabric: rank $1: +$2//p" "$TMPDIR/shown"
}

# Both ends of two processes tell the same packets, and count the same.
case_what_passes_is_shown()
{
    local title=what_passes_is_shown out in
    IMPI_TRACE=1 IMPI_STATS=1 world "$@" -- "$dir/ring"
    cp "$TMPDIR/out" "$TMPDIR/shown"
    out=$(shown 0 'to 1: ') in=$(shown 0 'from 1: ')
    grep -q '^DATA .* len [1-9]' <<<"$out" && [ "$(tail -n1 <<<"$out")" = FINI ] &&
        [ "$out" = "$(shown 1 'from 0: ')" ] && [ "$in" = "$(shown 1 'to 0: ')" ]
    report $? "$title: packets in $*"
    cp "$TMPDIR/shown" "$TMPDIR/out"
    read -ra out < <(shown 0 '1 +1 ')
    read -ra in < <(shown 1 '0 +0 ')
    [ "${#out[@]}" = 6 ] && [ "${out[1]}" -gt 0 ] && [ "${in[1]}" -gt 0 ] &&
        [ "${out[*]:0:4}" = "${in[*]:2:2} ${in[*]:0:2}" ]
    report $? "$title: table in $*"
}

case_sessions_beside_init()
{
    local title=sessions_beside_init
    world "$@" -- "$dir/mpi4_session" both && grep -q "^PASS mpi4_session" "$TMPDIR/out"
    report $? "$title: $*"
}

# 2 GB, in memory that is the same megabyte again and again.
case_more_than_an_int_counts()
{
    local title=more_than_an_int_counts
    "${limited[@]}" 900 "$dir/bare_world" "$@" -- "$dir/mpi4_large" 1 \
        >"$TMPDIR/out" 2>&1 && grep -q "^PASS mpi4_large" "$TMPDIR/out"
    report $? "$title: $*"
}

# Exit code and message.
case_end()
{
    local title=$1 code=$2 text=$3 rc
    shift 3
    world "$@"
    rc=$?
    [ "$rc" = "$code" ] && grep -q "$text" "$TMPDIR/out"
    report $? "$title"
}

# Channels are Internet-domain sockets, and no socket lingers for no time: a
# FINI that waits to be sent would be thrown away.
case_sockets_of_channels()
{
    local title=sockets_of_channels log=$TMPDIR/calls
    if ! strace -o "$log" true 2>/dev/null; then
        skipped "$title" "no strace"
        return
    fi
    "${limited[@]}" 120 strace -f -o "$log" -e trace=connect,setsockopt,shutdown \
        "$dir/bare_world" mpich:1 openmpi:1 -- "$dir/ring" \
        >"$TMPDIR/out" 2>&1 && grep -q "^PASS ring" "$TMPDIR/out" &&
        grep -q 'connect(.*AF_INET.*EINPROGRESS' "$log" &&
        grep -q 'TCP_NODELAY, \[1\]' "$log" && ! grep -q SO_LINGER "$log"
    report $? "$title"
}

# A namespace that has nothing but its loopback has no way to another network.
case_unreachable_process_is_named()
{
    local title=unreachable_process_is_named
    if ! unshare -n true 2>/dev/null; then
        skipped "$title" "no network namespaces"
        return
    fi
    # shellcheck disable=SC2016
    "${limited[@]}" 120 unshare -n bash -c 'ip link set lo up && exec "$@"' - \
        "$dir/bare_world" -u "$@" -- "$dir/ring" >"$TMPDIR/out" 2>&1
    [ $? = 1 ] && grep -qE "SF-E407: 127.0.0.1 cannot reach rank 1 \
\(client 1\) at 203.0.113.1:[0-9]+: Network is unreachable" "$TMPDIR/out"
    report $? "$title: $*"
}

# Another user opens more connections than a process keeps, before it can read
# who its peer is.
case_processes_meet_in_a_flood()
{
    local title=processes_meet_in_a_flood
    if [ "$(id -u)" != 0 ]; then
        skipped "$title: $*" "only root has another user's sockets"
        return
    fi
    world -f "$@" -- "$dir/ring" && grep -q "^PASS ring" "$TMPDIR/out"
    report $? "$title: $*"
}

# Rank 0 let rank 1 in, began a connection of its own before it could say so,
# and each kept the one that the other gave up.
case_both_call_and_the_answer_is_late()
{
    local title=both_call_and_the_answer_is_late
    if ! [ -e "$dir/shaky.so" ]; then
        skipped "$title: $*" "no shaky.so"
        return
    fi
    BARE_FRONT=$front:$dir/shaky.so SHAKY_LATE=300 IMPI_SHM=0 \
        world "$@" -- "$dir/meet" && grep -q "^PASS meet" "$TMPDIR/out"
    report $? "$title: $*"
}

# BBR looks for the rate of a path by pauses: within a machine there is none.
# paced N: that many connections of each process do without.
case_no_pauses_within_a_machine() # SHM N WORLD..
{
    local title=no_pauses_within_a_machine shm=$1 n=$2
    shift 2
    # shellcheck disable=SC2016
    local in_bbr='ip link set lo up &&
        echo bbr >/proc/sys/net/ipv4/tcp_congestion_control && exec "$@"'
    if ! unshare -n bash -c "$in_bbr" - true 2>/dev/null; then
        skipped "$title" "no network namespace with BBR"
        return
    fi
    IMPI_SHM=$shm "${limited[@]}" 120 unshare -n bash -c "$in_bbr" - \
        "$dir/bare_world" "$@" -- "$dir/paced" "$n" >"$TMPDIR/out" 2>&1 &&
        grep -q "^PASS paced" "$TMPDIR/out"
    report $? "$title: $* IMPI_SHM=$shm"
}

# Two who wait for each other over a way that drops packets.  (Without an end of
# our own they hang for a quarter of an hour.)  It takes 12 s, so it begins here
# and is looked at in the end.
begin_lost() # TITLE COMMAND..
{
    local i=${#lost_titles[@]}
    lost_titles+=("$1")
    IMPI_SHM=0 IMPI_SILENCE=12 "${limited[@]}" 120 "${@:2}" \
        >"$TMPDIR/lost.$i" 2>&1 &
    lost_pids+=($!)
}

# In a namespace whose address goes away.
begin_lost_address() # TITLE ["data" | "unsent"]
{
    local fifo=$TMPDIR/drop.${#lost_titles[@]}
    if ! unshare -n true 2>/dev/null; then
        skipped "$1" "no network namespaces"
        return
    fi
    mkfifo "$fifo"
    # shellcheck disable=SC2016
    begin_lost "$1" unshare -n bash -c '
        ip link set lo up || exit 99
        "${@:2}" &
        read -r _ <"$1"
        ip address del 127.0.0.1/8 dev lo || exit 99
        wait $!' - "$fifo" "$dir/bare_world" mpich:1 openmpi:1 -- \
        "$dir/lost" fifo "$fifo" "${@:2}"
}

begin_lost_filter() # TITLE
{
    begin_lost "$1" "$dir/bare_world" mpich:1 openmpi:1 -- "$dir/lost" filter
}

# Which of the two tells first nobody knows; the other has ended then.
case_lost_ends()
{
    local i rc
    for i in "${!lost_titles[@]}"; do
        wait "${lost_pids[i]}"
        rc=$?
        mv "$TMPDIR/lost.$i" "$TMPDIR/out"
        [ $rc = 1 ] && grep -qE "SF-E402: lost rank [01] \(client [01], 127.0.0.1:" \
            "$TMPDIR/out"
        report $? "${lost_titles[i]}"
    done
}

# IMPI_SHM=0 is about clients: inside one, flat collective calls share memory as
# the library does.
rings_of() # CLIENT...: how many were made
{
    IMPI_SHM=0 SLURM_IMPI_FLAT=yes "${limited[@]}" 120 \
        strace -f -o "$log" -e trace=memfd_create \
        "$dir/bare_world" "$@" -- "$dir/coll" >"$TMPDIR/out" 2>&1 &&
        grep -q "^PASS coll" "$TMPDIR/out" || return 1
    grep -c 'memfd_create("slurm-fabric-ring"' "$log"
    return 0
}
case_memory_is_shared_inside_a_client_by_flat_calls()
{
    local title=memory_is_shared_inside_a_client_by_flat_calls
    local log=$TMPDIR/calls inside between
    if ! strace -o "$log" true 2>/dev/null; then
        skipped "$title" "no strace"
        return
    fi
    inside=$(rings_of mpich:2 openmpi:1) &&
        between=$(rings_of mpich:1 openmpi:1) &&
        [ "$inside" -gt 0 ] && [ "$between" = 0 ]
    report $? "$title"
}

need_both ring

lost_titles=() lost_pids=()
begin_lost_address way_that_drops_packets_is_told
begin_lost_address what_cannot_be_sent_is_told data
begin_lost_address what_was_never_sent_is_told unsent
begin_lost_filter what_is_sent_in_vain_is_told

title=unmodified_programs_in_one_world
for prog in ring order sizes probe mixes bottom coll collv comms groups persist topo types errors attrs \
    ends mpi4_pt2pt mpi4_persist mpi4_large; do
    case_run $prog mpich:1 openmpi:1
    case_run $prog mpich:2 openmpi:2
    case_run $prog -i mpich:2 openmpi:1 mpich:2
done
title=long_messages_of_derived_types
for world in "mpich:1 openmpi:1" "openmpi:2 mpich:1"; do
    # shellcheck disable=SC2086
    case_run pieces $world
    # shellcheck disable=SC2086
    IMPI_SHM=0 case_run pieces -i $world
done
title=each_process_a_host
export ATTRS_OWN_HOSTS=1
case_run attrs -h mpich:2 openmpi:2
case_run attrs -h -i mpich:2 openmpi:1 mpich:2
unset ATTRS_OWN_HOSTS
case_run ring -h mpich:2 openmpi:2
title=threads_may_all_call_at_once
case_run threads mpich:1 openmpi:1
case_run threads mpich:2 openmpi:1
title=collective_calls_by_clients_in_spite_of_a_crowd
export SLURM_IMPI_FLAT=no
for prog in bottom coll collv comms folds mixes topo; do
    case_run $prog mpich:2 openmpi:2
    case_run $prog -i mpich:2 openmpi:1 mpich:2
done
for prog in coll folds; do
    case_run $prog openmpi:3 mpich:1 openmpi:1 mpich:2 openmpi:1
    case_run $prog mpich:1 openmpi:2 mpich:1 openmpi:1
done
# More than SF_IMPI_STRAIGHT_MAX, dealt out.
case_run collv -i mpich:7 openmpi:6 mpich:5
title=collective_calls_as_an_older_release_has_them
for prog in coll collv folds; do
    case_run $prog -r mpich:2 openmpi:2
    case_run $prog -r -i mpich:2 openmpi:1 mpich:2
    case_run $prog -b -i mpich:2 openmpi:1 mpich:2
done
title=flat_collective_calls_wherever_two_share_a_machine
export SLURM_IMPI_FLAT=yes
for prog in bottom coll collv comms folds mixes topo; do
    case_run $prog mpich:1 openmpi:1
    case_run $prog -i openmpi:3 mpich:2 openmpi:2
done
case_run threads mpich:2 openmpi:1
unset SLURM_IMPI_FLAT
case_memory_is_shared_inside_a_client_by_flat_calls
case_processes_meet_in_a_flood mpich:1 openmpi:1
case_processes_meet_in_a_flood openmpi:1 mpich:1
title=what_no_other_program_calls
case_run seldom mpich:1 openmpi:1
case_run seldom mpich:2 openmpi:2
case_run seldom -i openmpi:3 mpich:2 openmpi:2
title=two_clients_of_one_library
for prog in ring coll mpi4_pt2pt mpi4_persist; do
    case_run $prog mpich:1 mpich:1
    case_run $prog openmpi:1 openmpi:2
done
title=partitioned_messages_match_as_they_were_made
case_run mpi4_parts mpich:1 mpich:1
case_run mpi4_parts -i mpich:2 mpich:1 mpich:2
if open_mpi_calls mpi4_parts MPI_Psend_init; then
    # Open MPI 5.0.7 alone stands still in this program: no two neighbours.
    case_run mpi4_parts mpich:1 openmpi:1
    case_run mpi4_parts openmpi:1 openmpi:1
    case_run mpi4_parts -i openmpi:1 mpich:2 openmpi:1
else
    skipped "$title: both libraries" "Open MPI has none before 5"
fi
title=programs_of_sessions_alone
case_run mpi4_session mpich:2
case_run mpi4_session mpich:1 mpich:1
case_run mpi4_session -i mpich:2 mpich:1 mpich:2
if "${limited[@]}" 60 mpiexec.mpich -n 2 "$dir/mpi4_session.mpich" both \
    >/dev/null 2>&1; then
    case_sessions_beside_init mpich:2
else # MPICH 4.2.1, in MPI_Finalize
    skipped "sessions_beside_init: mpich:2" "MPICH alone does not pass either"
fi
case_sessions_beside_init mpich:2 mpich:1
if open_mpi_calls mpi4_session MPI_Session_init; then
    case_run mpi4_session openmpi:2
    case_run mpi4_session mpich:1 openmpi:1
    case_run mpi4_session -i openmpi:2 mpich:1 openmpi:2
    case_sessions_beside_init openmpi:2
    case_sessions_beside_init mpich:2 openmpi:2
else
    skipped "$title: both libraries" "Open MPI has none before 5"
fi
case_more_than_an_int_counts mpich:1 mpich:1
title=six_clients_of_one_process
for prog in ring coll; do
    case_run $prog mpich:1 openmpi:1 mpich:1 openmpi:1 mpich:1 openmpi:1
done
title=packets_of_seven_bytes
for prog in ring coll; do
    case_run $prog -i -m 7 openmpi:2 mpich:2
done
title=by_tcp_as_between_machines
export IMPI_SHM=0
for prog in ring order sizes probe coll threads; do
    case_run $prog mpich:2 openmpi:1
done
unset IMPI_SHM
title=all_types_as_external32
export SLURM_IMPI_DATA=external32
for prog in types bottom coll collv sizes errors; do
    case_run $prog mpich:1 openmpi:1
    case_run $prog mpich:2 openmpi:2
done
case_run derived mpich:1 openmpi:1
unset SLURM_IMPI_DATA
title=fortran_by_mpif_h_mpi_and_mpi_f08
for prog in fold fring f08 fattr; do
    if [ -x "$dir/$prog.mpich" ] && [ -x "$dir/$prog.openmpi" ]; then
        case_run $prog mpich:2 openmpi:2
    else
        skipped "$title: $prog" "no Fortran compiler for both"
    fi
done
title=processes_meet_by_ipv6
if have_ipv6; then
    case_run ring -6 mpich:1 openmpi:1
else
    skipped "$title" "no IPv6 here"
fi
title=one_sided_across_clients
for world in "mpich:1 openmpi:1" "-i openmpi:2 mpich:2" "mpich:1 openmpi:1 mpich:1"; do
    # shellcheck disable=SC2086
    case_run win $world
done
title=one_sided_without_shared_memory
IMPI_SHM=0 case_run win mpich:2 openmpi:1
title=one_sided_without_a_thread
SLURM_IMPI_THREAD=no case_run win mpich:1 openmpi:2
title=windows_are_refused_where_a_client_has_none
NO_WINDOWS=1 case_run attrs -w mpich:1 openmpi:1
title=one_client_is_native
for prog in ring attrs; do
    case_run $prog mpich:3
    case_run $prog openmpi:3
done
case_what_passes_is_shown mpich:1 openmpi:1
IMPI_SHM=0 case_what_passes_is_shown openmpi:1 mpich:1
case_device_pointers_are_refused mpich:1 openmpi:1
case_answered_while_away mpich:1 openmpi:2
case_answered_while_away openmpi:1 mpich:2
export SLURM_IMPI_THREAD=multiple
case_answered_while_away mpich:1 openmpi:2
case_answered_while_away openmpi:1 mpich:2
unset SLURM_IMPI_THREAD
case_end finalize_waits_for_the_last 0 "PASS late" \
    mpich:2 openmpi:2 -- "$dir/late" "$TMPDIR/late"
case_sockets_of_channels
case_end abort_ends_all_with_its_code 42 "rank 3 called MPI_Abort(42)" \
    mpich:2 openmpi:2 -- "$dir/abort" 42
case_end abort_ends_all_with_its_code_mpich 7 "rank 3 called MPI_Abort(7)" \
    openmpi:2 mpich:2 -- "$dir/abort" 7
for clients in "openmpi:2 mpich:2" "mpich:2 openmpi:2"; do
    case_end abort_is_heard_before_its_launcher_ends_others 9 \
        "rank 3 called MPI_Abort(9)" $clients -- "$dir/abort" 9 unheard
done
case_unreachable_process_is_named mpich:1 openmpi:1
case_unreachable_process_is_named openmpi:1 mpich:1
case_both_call_and_the_answer_is_late mpich:1 openmpi:1
case_both_call_and_the_answer_is_late openmpi:1 mpich:1
case_no_pauses_within_a_machine 0 1 mpich:1 openmpi:1
case_no_pauses_within_a_machine 1 0 mpich:1 openmpi:1
case_lost_ends
export IMPI_SILENCE=soon
case_end silence_is_a_number_of_seconds 1 "IMPI_SILENCE is not a number" \
    mpich:1 openmpi:1 -- "$dir/ring"
unset IMPI_SILENCE
case_end killed_rank_ends_all 1 "rank 1 vanished" \
    mpich:1 openmpi:1 -- "$dir/abort" 1 die
finish
