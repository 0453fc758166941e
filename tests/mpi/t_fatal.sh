#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What a program is told whose call on a communicator that spans fails, with
# the error handlers as they are after MPI_Init: the function, its arguments,
# the communicator and the rank, and the exit code that the library gives.
. "$(dirname "$0")/lib.sh"
export BARE_FRONT=$front
export FATAL_CLASS=$TMPDIR/class # what the program expects the code to be

# case_told KIND CLIENTS CALL REASON [NAME]: CALL and REASON are patterns, of
# the call with its arguments and of what each library calls the error.
case_told()
{
    local kind=$1 clients=$2 call=$3 reason=$4 name=${5-} rc class where
    where="rank 1 of 2 in ${name:-MPI_COMM_WORLD}"
    [ "$kind" != file ] || where="no file is open"
    [[ $kind != put_* ]] || where="rank 1 of $w, window shelf"
    rm -f "$FATAL_CLASS"
    # shellcheck disable=SC2086
    "${limited[@]}" 60 "$dir/bare_world" $clients -- "$dir/fatal" "$kind" \
        ${name:+"$name"} >"$TMPDIR/out" 2>&1
    rc=$?
    class=$(cat "$FATAL_CLASS")
    # When the job is ended a launcher may die with a line of the rank that it
    # was to pass on; most come through.
    ntold=$((ntold + 1))
    ! grep -qE "^slurm-fabric: rank 1: SF-E512: $call failed \($where\): \
.*($reason)" "$TMPDIR/out" || nshown=$((nshown + 1))
    [ "$rc" = "$class" ] &&
        grep -qE "rank 1( ended it)?: SF-E512: $call failed \($where\): \
.*($reason)" "$TMPDIR/out" &&
        grep -qE "rank 1 ended it: SF-E512: $call" "$TMPDIR/out" &&
        ! grep -q "called MPI_Abort" "$TMPDIR/out"
    report $? "error_is_told_as_the_library_would: $kind in $clients"
}

# The library itself, alone.
case_exit_code() # KIND FAMILY
{
    local class rc
    rm -f "$FATAL_CLASS"
    "${limited[@]}" 60 "$dir/fatal.$2" "$1" >"$TMPDIR/out" 2>&1
    rc=$?
    class=$(cat "$FATAL_CLASS")
    [ "$rc" = "$class" ]
    report $? "exit_code_is_the_class_of_the_error: $1, $2 alone"
}

need_both fatal
ntold=0 nshown=0
buf='=0x[0-9a-f]+'
unset_type='(MPI_)?DATATYPE_NULL'
w=MPI_COMM_WORLD
told() # KIND CALL REASON [NAME]
{
    case_told "$1" "$clients" "${@:2}"
}
for clients in "mpich:1 openmpi:1" "openmpi:1 mpich:1"; do
    told send_rank \
        "MPI_Send\(buf$buf, count=1, MPI_INT, dest=5, tag=7, $w\)" \
        "[Ii]nvalid rank"
    told send_rank \
        "MPI_Send\(buf$buf, count=1, MPI_INT, dest=5, tag=7, ocean\)" \
        "[Ii]nvalid rank" ocean
    told send_tag \
        "MPI_Send\(buf$buf, count=1, MPI_INT, dest=0, tag=-5, $w\)" \
        "[Ii]nvalid tag"
    told ssend_count \
        "MPI_Ssend\(buf$buf, count=-1, MPI_INT, dest=0, tag=7, $w\)" \
        "[Ii]nvalid count"
    told isend_type \
        "MPI_Isend\(buf$buf, count=1, $unset_type, dest=0, tag=7, $w, \
newrequest$buf\)" "[Ii]nvalid datatype"
    told irecv_tag "MPI_Irecv\(buf$buf, count=1, MPI_DOUBLE, source=0, \
tag=-7, $w, newrequest$buf\)" "[Ii]nvalid tag"
    told recv_rank "MPI_Recv\(buf$buf, count=2, MPI_INT, source=2, tag=7, $w, \
status=0x[0-9a-f]+\)" "[Ii]nvalid rank"
    told sendrecv_rank "MPI_Sendrecv\(sendbuf$buf, sendcount=1, MPI_INT, \
dest=3, sendtag=7, recvbuf$buf, recvcount=1, MPI_INT, source=0, recvtag=7, $w, \
status=0x[0-9a-f]+\)" "[Ii]nvalid rank"
    told probe_rank "MPI_Probe\(source=-9, tag=7, $w, status=0x[0-9a-f]+\)" \
        "[Ii]nvalid rank"
    told recv_truncate "MPI_Recv\(buf$buf, count=1, MPI_INT, source=0, tag=1, \
$w, status=0x[0-9a-f]+\)" "[Tt]runcated"
    told wait_truncate "MPI_Wait\(request$buf, status=0x[0-9a-f]+\)" \
        "[Tt]runcated"
    told waitall_truncate \
        "MPI_Waitall\(count=2, requests$buf, statuses=0x[0-9a-f]+\)" \
        "[Tt]runcated"
    told bcast_root "MPI_Bcast\(buffer$buf, count=3, MPI_INT, root=3, $w\)" \
        "[Ii]nvalid root"
    told allreduce_buffer "MPI_Allreduce\(sendbuf=0x0, recvbuf$buf, count=1, \
MPI_INT, MPI_MAX, $w\)" "[Ii]nvalid buffer"
    told igather_root "MPI_Igather\(sendbuf$buf, sendcount=1, MPI_INT, \
recvbuf$buf, recvcount=1, MPI_INT, root=-4, $w, newrequest$buf\)" \
        "[Ii]nvalid root"
    told cart_dims "MPI_Cart_create\($w, ndims=2, dims$buf, periods$buf, \
reorder=0, newcomm$buf\)" "[Ii]nvalid argument"
    told cart_coords \
        "MPI_Cart_coords\($w, rank=0, maxdims=2, coords$buf\)" "topology"
    told create_group "MPI_Comm_create\($w, MPI_GROUP_NULL, \
newcomm$buf\)" "[Ii]nvalid group"
    told remote_size "MPI_Comm_remote_size\($w, size$buf\)" \
        "[Ii]nvalid communicator"
    told leader "MPI_Intercomm_create\(MPI_COMM_SELF, local_leader=0, $w, \
remote_leader=4, tag=7, newintercomm$buf\)" "[Ii]nvalid rank"
    told put_range "MPI_Put\(origin$buf, origin_count=1, MPI_INT, target=0, \
disp=6, target_count=1, MPI_INT, shelf\)" "RMA address range|Target memory is not"
    told put_allocated "MPI_Put\(origin$buf, origin_count=1, MPI_INT, target=0, \
disp=6, target_count=1, MPI_INT, shelf\)" "RMA address range|Target memory is not"
    told put_nowhere "MPI_Win_unlock\(rank=0, shelf\)" \
        "RMA address range|Target memory is not"
    told no_memory "MPI_Win_allocate\(size=8, disp_unit=1, MPI_INFO_NULL, $w, \
baseptr$buf, newwin$buf\)" "rank 0 has no memory for 70368744177664 bytes of a \
window of 2 processes"
    told apart "MPI_Win_allocate_shared\(size=8, disp_unit=1, MPI_INFO_NULL, $w, \
baseptr$buf, newwin$buf\)" "rank 0 shares no memory in a window of 2 processes"
    told spawn "MPI_Comm_spawn\(command=true, argv=0x0, maxprocs=2, \
MPI_INFO_NULL, root=4, $w, newintercomm$buf, errcodes=0x0\)" \
        "[Ii]nvalid root"
done
# Where a client knows nothing of files and windows that span.
for clients in "-s mpich:1 openmpi:1" "-s openmpi:1 mpich:1"; do
    told file "MPI_File_open\($w, filename=data.bin, amode=[0-9]+, MPI_INFO_NULL, \
newfile$buf\)" "SF-E510: MPI_File_open is not supported"
    told window "MPI_Win_allocate_shared\(size=16, disp_unit=1, \
MPI_INFO_NULL, $w, baseptr$buf, newwin$buf\)" \
        "SF-E510: MPI_Win_allocate_shared is not supported"
done
[ "$nshown" -ge $((ntold / 2)) ] ||
    echo "# of $ntold errors $nshown were seen on stderr"
[ "$nshown" -ge $((ntold / 2)) ]
report $? "errors_are_on_the_stderr_of_the_rank"
for family in mpich openmpi; do
    for kind in send_rank bcast_root create_group cart_coords; do
        case_exit_code $kind $family
    done
done
finish
