#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Worlds of several IMPI clients on this machine whose channels go by libfabric,
# provider tcp, some by shm, without Slurm: the programs of this folder, random mixes, a peer
# that dies, a provider that one side has not.
. "$(dirname "$0")/lib.sh"
export BARE_FRONT=$front IMPI_SHM=0 IMPI_FABRIC=tcp IMPI_STATS=1
first=${MIXES_FIRST:-1} runs=${MIXES_RUNS:-2} rounds=${MIXES_ROUNDS:-25}

world()
{
    local rc
    "${limited[@]}" 120 "$dir/bare_world" "$@" >"$TMPDIR/out" 2>&1
    rc=$?
    grep -E ': (libfabric is|no fabric:) ' "$TMPDIR/out" >"$TMPDIR/library"
    return $rc
}

# What the tables say of how messages went, once each.
ways()
{
    sed -nE 's/^slurm-fabric: rank [0-9]+: +[0-9]+ +[0-9]+ .* ([^ ]+)$/\1/p' \
        "$TMPDIR/out" | sort -u | tr '\n' ' '
}

# Frames were sent, none came from strangers, and nothing between two clients
# used TCP.  (Flat collective calls inside one share memory.)
all_by_fabric()
{
    [[ "$(ways)" =~ ^(memory )?${IMPI_FABRIC}[^\ ]*\ $ ]] &&
        grep -qE ': [1-9][0-9]* frames out with [1-9]' "$TMPDIR/out" &&
        ! grep -E 'frames out' "$TMPDIR/out" | grep -qv ' 0 of strangers'
}

# case_run NAME CLIENTS.. [-- ARGUMENTS]: PASS, and all of it by libfabric.
case_run()
{
    local name=$1 world=()
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        world+=("$1")
        shift
    done
    world "${world[@]}" -- "$dir/$name" "${@:2}" &&
        grep -q "^PASS $name" "$TMPDIR/out" && all_by_fabric &&
        grep 'frames out' "$TMPDIR/out" >"$TMPDIR/lent"
    report $? "$title: $name in ${world[*]}${2:+, ${*:2}}"
}

# case_by IMPI_FABRIC WAY TEXT CLIENTS..: goes this way, and says why.
case_by()
{
    IMPI_FABRIC=$1 world "${@:4}" -- "$dir/ring" &&
        grep -q "^PASS ring" "$TMPDIR/out" && [[ "$(ways)" =~ ^$2\ $ ]] &&
        { [ -z "$3" ] || grep -qE "no fabric: $3" "$TMPDIR/out"; }
    report $? "$title: IMPI_FABRIC=$1 goes by $2"
}

# Pieces of memory were lent, and read.
lent()
{
    grep -q '([1-9][0-9]* pieces lent)' "$TMPDIR/lent" &&
        grep -q '([1-9][0-9]* reads, ' "$TMPDIR/lent"
}

# Windows' puts, gets: so many (a pattern) of some process went by the network.
moved() # PUTS GETS
{
    grep -qE "; of windows $1 puts, $2 gets$" "$TMPDIR/lent"
}

# All of them did not.
none_moved()
{
    ! grep -v '; of windows 0 puts, 0 gets$' "$TMPDIR/lent"
}

# The target is out of MPI, and later computes, until others are through.
case_target_is_away() # FLAVOR CLIENTS..
{
    rm -f "$TMPDIR/fifo"
    mkfifo "$TMPDIR/fifo"
    case_run rma_passive "${@:2}" -- "$TMPDIR/fifo" "$1"
    moved '[0-9]+' '[1-9][0-9]*'
    report $? "$title: $1, some by the network"
}

# Of remap's messages each has a frame that lends, one that returns; its
# barriers have two for each message.  A frame more would be its head's.
lent_with_heads()
{
    awk '{ frames = lent = 0
           for (i = 1; i < NF; i++) {
               if ($(i + 1) == "frames") frames = $i
               if ($(i + 1) == "pieces") lent = substr($i, 2) }
           if (frames >= 4 * lent) bad = 1 }
         END { exit bad || NR == 0 }' "$TMPDIR/lent"
}

# What rank 0 said of libfabric is this (a pattern).
said_of_library()
{
    grep -qE "^slurm-fabric: rank 0: $1\$" "$TMPDIR/library"
}

# case_library TEXT SAID WAY: all goes this way, and this is said (a pattern).
case_library()
{
    world mpich:1 openmpi:1 -- "$dir/ring" &&
        grep -q "^PASS ring" "$TMPDIR/out" && [[ "$(ways)" =~ ^$3\ $ ]] &&
        said_of_library "$2"
    report $? "$title: $1"
}

# One client's processes are kept from it by a front of their own environment.
case_one_side_only()
{
    local title=one_side_without_a_provider_goes_by_tcp
    cat >"$TMPDIR/half" <<EOF
#!/bin/sh
case \$0 in *.$1) export IMPI_FABRIC=none ;; esac
exec "$dir/ring.\${0##*.}"
EOF
    cp "$TMPDIR/half" "$TMPDIR/half.mpich"
    cp "$TMPDIR/half" "$TMPDIR/half.openmpi"
    chmod +x "$TMPDIR"/half.*
    world mpich:1 openmpi:1 -- "$TMPDIR/half" &&
        grep -q "^PASS ring" "$TMPDIR/out" && [ "$(ways)" = "TCP " ] &&
        [ "$(grep -cE 'to rank [01] \(client [01]\) by TCP, not by libfabric' \
            "$TMPDIR/out")" = 1 ]
    report $? "$title: $1 has none, which is said once"
    rm -f "$TMPDIR"/half*
}

# Two who wait for each other over a network that drops all: each sees it by the
# connection that stays beside the fabric.
case_silent_peer()
{
    local title=a_silent_peer_is_told_with_its_rank rc
    IMPI_SILENCE=12 world mpich:1 openmpi:1 -- "$dir/lost" filter
    rc=$?
    [ $rc = 1 ] && grep -qE "SF-E402: lost rank [01] \(client [01], 127.0.0.1:" \
        "$TMPDIR/out"
    report $? "$title"
}

case_death_ends_all() # WHO
{
    local title=a_dead_peer_ends_all rc
    world mpich:2 openmpi:2 -- "$dir/rma_death" "$1"
    rc=$?
    [ $rc = 1 ] && grep -qE "rank [0-9]+ vanished" "$TMPDIR/out"
    report $? "$title: $1"
}

# A library in front of the real one, with one fault; MPICH as Debian builds it
# has no libfabric of its own, so nobody else meets it.
make_faulty()
{
    faulty=$TMPDIR/faulty
    mkdir "$faulty"
    gcc -shared -fPIC -o "$faulty/libfabric.so.1" -Wl,-soname,libfabric.so.1 \
        "$tests/mpi/faulty_fabric.c" -ldl 2>"$TMPDIR/out"
}

faulty_world() # FAULT COMMAND..
{
    FAULTY_REAL=$real FAULTY_FABRIC=$1 LD_LIBRARY_PATH=$faulty \
        world mpich:1 mpich:1 -- "${@:2}"
}

# What goes wrong before anything was sent: TCP in its place, and why.
case_fault_before_use() # FAULT WHY
{
    local title=without_a_working_provider_by_tcp
    faulty_world "$1" "$dir/ring" && grep -q "^PASS ring" "$TMPDIR/out" &&
        [ "$(ways)" = "TCP " ] &&
        { [ -z "$2" ] || grep -qE "no fabric: tcp: $2" "$TMPDIR/out"; }
    report $? "$title: $1"
}

# A fault that is lived with: all goes by libfabric, and so many pieces of memory
# (a pattern) were lent.
case_fault_lived_with() # FAULT LENT
{
    local title=a_fault_that_is_lived_with
    faulty_world "$1" "$dir/sizes" && grep -q "^PASS sizes" "$TMPDIR/out" &&
        all_by_fabric && grep -q "($2 pieces lent)" "$TMPDIR/out"
    report $? "$title: $1"
}

# The same of windows.
case_fault_of_windows_lived_with() # FAULT PUTS GETS
{
    local title=a_fault_of_windows_that_is_lived_with
    faulty_world "$1" "$dir/rma_long" &&
        grep -q "^PASS rma_long" "$TMPDIR/out" && all_by_fabric &&
        grep 'frames out' "$TMPDIR/out" >"$TMPDIR/lent" && moved "$2" "$3" &&
        { [ "$2$3" != 00 ] || none_moved; }
    report $? "$title: $1"
}

# Whose reader is killed amid a read, is told.
case_reader_dies()
{
    local title=a_reader_that_dies_is_told rc
    faulty_world 'die 5' "$dir/sizes"
    rc=$?
    [ $rc != 0 ] && grep -qE 'SF-E402: lost rank [01]|rank [01] vanished' \
        "$TMPDIR/out"
    report $? "$title"
}

# And after it: the rank and the cause are told.
case_fault_in_use() # FAULT WHY [PROGRAM]
{
    local title=a_provider_that_fails_is_told rc
    faulty_world "$1" "$dir/${3-sizes}"
    rc=$?
    [ $rc = 1 ] && grep -qE \
        "SF-E402: lost rank [01] \(client [01], [^)]*\): rank [01]: tcp[^ ]*: $2" \
        "$TMPDIR/out"
    report $? "$title: $1"
}

need_both ring
title=without_libfabric
world mpich:1 openmpi:1 -- "$dir/ring"
grep -qE 'no fabric: (built|libfabric.so)' "$TMPDIR/out" &&
    skip_all "$(grep -m1 'no fabric' "$TMPDIR/out")"

title=all_bytes_by_libfabric
for prog in ring order sizes probe coll collv types comms persist threads topo \
    errors turns; do
    case_run $prog mpich:2 openmpi:1
    case_run $prog -i openmpi:2 mpich:1 openmpi:1
done
title=small_packets_by_libfabric
case_run sizes -m 1000 mpich:1 openmpi:1
# The provider says of a short frame that it has come before it says so of a long
# one that went before it, by another protocol of its own.
title=frames_that_overtake_by_libfabric
for limit in 1024 4096; do
    FI_OFI_RXM_BUFFER_SIZE=$limit case_run sizes mpich:1 openmpi:1
    FI_OFI_RXM_BUFFER_SIZE=$limit case_run random_mix openmpi:1 mpich:2 -- 3 20
done
# Long messages are read from the sender's memory; none of it may be read, or
# to be written, after the message is done.
title=long_messages_are_read
case_run remap mpich:1 openmpi:1
lent
report $? "$title: some were lent"
lent_with_heads
report $? "$title: each was lent in the frame of its head"
# One that lies there when MPI_Recv is called is read straight to its place.  The
# first may come while the connection opens; nine of ten were copied when
# MPI_Recv read at once what it found.
SLURM_IMPI_THREAD=no case_run unread mpich:1 openmpi:1 -- "$TMPDIR/unread"
lent && ! grep -v ', [0-5] to be copied' "$TMPDIR/lent"
report $? "$title: without a copy"
for size in 32767 32768 32769 262144 300000; do
    case_run sizes -m $size openmpi:1 mpich:1
done
title=windows_by_libfabric
for prog in rma_sync rma_ops rma_types rma_win; do
    case_run $prog mpich:1 openmpi:2
done
# Long puts and gets are the network's: all but those before the first answer.
title=windows_without_messages
for world in "mpich:1 openmpi:1" "openmpi:2 mpich:1" "-i mpich:2 openmpi:2"; do
    # shellcheck disable=SC2086
    case_run rma_long $world
    moved '[1-9][0-9]+' '[1-9][0-9]+'
    report $? "$title: many of them in $world"
done
for flavor in create allocate; do
    case_target_is_away $flavor mpich:1 openmpi:2
done
SLURM_IMPI_WINDOWS=messages case_run rma_long mpich:1 openmpi:1
none_moved
report $? "$title: none where only messages are wanted"
case_run rma_long -s mpich:1 openmpi:1
none_moved
report $? "$title: none in a world of older clients"
title=mixes_by_libfabric
for ((seed = first; seed < first + runs; seed++)); do
    case_run random_mix -i mpich:2 openmpi:2 -- "$seed" "$rounds"
    case_run rma_mix openmpi:1 mpich:2 -- "$seed" "$rounds"
done
# Open MPI's own messages go by the same libfabric then, with its settings.
# (Alone it stands still so in random_mix.)
title=beside_the_librarys_own_libfabric
export OMPI_MCA_pml=cm OMPI_MCA_mtl=ofi
export OMPI_MCA_mtl_ofi_provider_include='tcp;ofi_rxm'
if "${limited[@]}" 60 mpirun.openmpi --allow-run-as-root --oversubscribe \
    -n 2 "$dir/ring.openmpi" >"$TMPDIR/out" 2>&1; then
    for prog in ring sizes coll collv rma_sync; do
        case_run $prog -i openmpi:2 mpich:1
        said_of_library "libfabric is /.*, which the process had already"
        report $? "$title: the same one, $prog"
    done
    for ((seed = first; seed < first + runs; seed++)); do
        case_run rma_mix -i openmpi:2 mpich:1 -- "$seed" "$rounds"
    done
else
    skipped $title "Open MPI has no messages by libfabric's tcp"
fi
unset OMPI_MCA_pml OMPI_MCA_mtl OMPI_MCA_mtl_ofi_provider_include
# One that needs no connections, binds to no address, and has no descriptor to
# wait for.
title=all_bytes_by_provider_shm
IMPI_FABRIC=shm world mpich:1 openmpi:1 -- "$dir/ring"
if grep -q 'no fabric: shm' "$TMPDIR/out"; then
    skipped $title "$(grep -m1 'no fabric' "$TMPDIR/out")"
else
    for prog in ring order sizes coll types threads remap rma_ops; do
        IMPI_FABRIC=shm case_run $prog mpich:2 openmpi:1
    done
    IMPI_FABRIC=shm case_run rma_long mpich:2 openmpi:1
    moved '[1-9][0-9]+' '[1-9][0-9]+'
    report $? "$title: windows without messages"
    IMPI_FABRIC=shm case_run random_mix -i mpich:2 openmpi:2 -- "$first" 25
fi
title=whose_libfabric
real=$(ldconfig -p | sed -n 's/.*libfabric\.so\.1 .*=> //p' | head -n 1)
case_library "the process has none" \
    "libfabric is /.*, loaded for IMPI alone" 'tcp(;ofi_rxm)?'
mkdir "$TMPDIR/own"
cp "$real" "$TMPDIR/own/libfabric.so.1"
BARE_FRONT=$front:$TMPDIR/own/libfabric.so.1 case_library \
    "the process has one" \
    "libfabric is $TMPDIR/own/libfabric.so.1, which the process had already" \
    'tcp(;ofi_rxm)?'
if gcc -shared -fPIC -o "$TMPDIR/no_fabric.so" "$tests/mpi/no_fabric.c" -ldl \
    2>"$TMPDIR/out"; then
    BARE_FRONT=$front:$TMPDIR/no_fabric.so case_library "there is none" \
        "no fabric: libfabric.so.1[^:]*: cannot open .*" TCP
else
    skipped "$title: there is none" "no compiler"
fi
title=which_provider
# (tcp has datagrams of its own, without ofi_rxm, from libfabric 2 on)
case_by tcp 'tcp(;ofi_rxm)?' '' mpich:1 openmpi:1
case_by none,tcp 'tcp(;ofi_rxm)?' '' mpich:1 openmpi:1
case_by none TCP '' mpich:1 openmpi:1
case_by nothing_such TCP 'nothing_such: ' mpich:1 openmpi:1
case_by tcp TCP 'not every client of this world' -t mpich:1 openmpi:1
case_one_side_only mpich
case_one_side_only openmpi
if make_faulty; then
    faulty_world none "$dir/ring" && [[ "$(ways)" =~ ^tcp ]]
    report $? "a_faulty_library_without_a_fault"
    case_fault_before_use endpoint 'Cannot allocate memory'
    case_fault_before_use register ''
    case_fault_before_use mute ''
    case_fault_before_use 'send 1' ''
    case_fault_in_use 'send 40' 'sending: Input/output error'
    case_fault_in_use 'done 90' '(sending|receiving|reading): Input/output error'
    case_fault_in_use 'queue 90' 'Input/output error'
    case_fault_in_use 'read 3' 'reading: Input/output error'
    case_fault_in_use wrongkey 'reading: '
    case_fault_in_use 'write 20' 'putting: Input/output error' rma_long
    case_fault_in_use 'written 20' 'putting: Input/output error' rma_long
    case_fault_in_use 'read 90' '(getting|reading): Input/output error' rma_long
    case_fault_of_windows_lived_with none '[1-9][0-9]+' '[1-9][0-9]+'
    case_fault_of_windows_lived_with expose 0 0
    case_fault_of_windows_lived_with noread 0 0
    case_fault_of_windows_lived_with unsure 0 '[1-9][0-9]+'
    case_fault_of_windows_lived_with place '[1-9][0-9]+' 0
    case_fault_of_windows_lived_with 'busy 2' '[1-9][0-9]+' '[1-9][0-9]+'
    case_fault_lived_with lend 0
    case_fault_lived_with place '[1-9][0-9]*'
    case_fault_lived_with noread 0
    case_fault_lived_with 'busy 2' '[1-9][0-9]*'
    case_reader_dies
else
    skipped a_provider_that_fails_is_told "no headers of libfabric"
fi
case_death_ends_all target
case_death_ends_all fence
case_silent_peer
finish
