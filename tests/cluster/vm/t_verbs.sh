#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Channels of clients through libfabric's provider verbs, on a soft-RoCE device
# of the guest's kernel: programs of tests/mpi, and the main job under srun.
# In a guest only:
#     vm -- t_verbs.sh     (see vm/check)
# An emulated device says nothing of time; packets, frames and copies count.
. "$(dirname "$0")/../lib.sh"
[ -d /run/vm ] || skip_all "not in a guest"
for library in libfabric.so.1 librdmacm.so.1 libibverbs.so.1; do
    ldconfig -p | grep -qF $library || skip_all "no $library"
done
for f in mpich openmpi; do
    [ -x "$SF_TOP_BUILDDIR/examples/hello_$f" ] &&
        [ -x "$SF_TOP_BUILDDIR/tests/mpi/remap.$f" ] ||
        skip_all "programs of both MPI libraries are not built"
done

. "$SF_TOP_SRCDIR/tests/cluster/vm/soft_roce.sh"
make_device >"$case_tmp/device" 2>&1 ||
    skip_all "no soft-RoCE: $(tail -n 1 "$case_tmp/device")"

# The device's queue of completions is shorter than what libfabric asks for 256
# peers.
export FI_UNIVERSE_SIZE=16
# A guest that is emulated takes seconds to connect.
export IMPI_SHM=0 IMPI_STATS=1 IMPI_SILENCE=7200
# Each library's own messages keep off the device, which would be slow for both:
# UCX gives a peer up after seconds.
export UCX_TLS=tcp,self,sysv,posix OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp,vader
MPI=$SF_TOP_BUILDDIR/tests/mpi
LIMIT=300
cluster_up --nodes 2

counter() { cat "/sys/class/infiniband/rxe0/ports/1/hw_counters/$1"; }

# sum FIELD: of the lines on frames, all ranks.
sum() {
    local words='([0-9]+) frames out with ([0-9]+) bytes \(([0-9]+) pieces lent\), ([0-9]+) in with ([0-9]+) \(([0-9]+) reads, [0-9]+ to be copied\), ([0-9]+) of strangers; of windows ([0-9]+) puts, ([0-9]+) gets'
    sed -nE "s/^.*: verbs;ofi_rxm: $words\$/\\$1/p" <<<"$err" |
        awk '{ n += $1 } END { print n + 0 }'
}
FRAMES=1 BYTES=2 LENT=3 READS=6 STRANGERS=7 PUTS=8 GETS=9

# assert_by_verbs RANKS: each rank's table says so of all that it sent to
# another client, and the device has seen the packets of it: one at least for
# each frame and each 1024 bytes, which is what an MTU of 1500 leaves.
assert_by_verbs() {
    assert_equal "$1" "$(grep -cE ': verbs;ofi_rxm: [1-9][0-9]* frames out with [1-9]' <<<"$err")" \
        "ranks that sent frames"
    assert_error '^slurm-fabric: rank .* verbs;ofi_rxm$'
    ! grep -E '^slurm-fabric: rank .* TCP$' <<<"$err" || fail "by TCP: $err"
    assert_equal 0 "$(sum $STRANGERS)" "frames of strangers"
    local packets=$((sent_after - sent_before))
    [ $packets -ge "$(sum $FRAMES)" ] &&
        [ $packets -ge $(($(sum $BYTES) / 1024)) ] ||
        fail "$packets packets for $(sum $FRAMES) frames, $(sum $BYTES) bytes"
    [ $((rcvd_after - rcvd_before)) -ge "$(sum $FRAMES)" ] ||
        fail "$((rcvd_after - rcvd_before)) packets came"
}

# world PROGRAM CLIENT..: one world without Slurm, providers as without a word.
world() {
    sent_before=$(counter sent_pkts) rcvd_before=$(counter rcvd_pkts)
    capture env BARE_FRONT="$SF_TOP_BUILDDIR/src/libimpi/.libs/libimpi.so" \
        "$MPI/bare_world" -a $IP "${@:2}" -- "$MPI/$1"
    sent_after=$(counter sent_pkts) rcvd_after=$(counter rcvd_pkts)
    assert_code 0
    assert_output "^PASS $1" 1
}

case_short_messages() {
    world ring mpich:1 openmpi:1
    assert_by_verbs 2
}

case_all_sizes() {
    world sizes openmpi:1 mpich:1
    assert_by_verbs 2
    assert_equal "$(sum $LENT)" "$(sum $READS)" "pieces that were read"
    [ "$(sum $LENT)" -gt 0 ] || fail "nothing was lent: $err"
}

# 40 messages of 600 KB: two pieces of each are read from where they lie,
# whatever was mapped there before; by frames of 16 KB alone it were over 1500.
case_memory_that_is_mapped_anew() {
    world remap mpich:1 openmpi:1
    assert_by_verbs 2
    assert_equal 80 "$(sum $LENT)" "pieces that were lent"
    assert_equal 80 "$(sum $READS)" "pieces that were read"
    [ "$(sum $FRAMES)" -lt 500 ] || fail "$(sum $FRAMES) frames"
}

case_windows() {
    world rma_ops mpich:1 openmpi:1
    assert_by_verbs 2
}

# Long puts and gets are the network's own: the provider grants
# FI_DELIVERY_COMPLETE, without which no put is, and the device sees at least the
# 16 packets of each beside those of the frames.
case_long_puts_and_gets_of_windows() {
    local packets
    world rma_long mpich:1 openmpi:1
    assert_by_verbs 2
    packets=$((sent_after - sent_before))
    echo "# $(sum $PUTS) puts, $(sum $GETS) gets, $(sum $FRAMES) frames, $packets packets"
    [ "$(sum $PUTS)" -ge 20 ] || fail "$(sum $PUTS) puts by the network: $err"
    [ "$(sum $GETS)" -ge 20 ] || fail "$(sum $GETS) gets by the network: $err"
    [ $packets -ge $(($(sum $FRAMES) + 16 * ($(sum $PUTS) + $(sum $GETS)))) ] ||
        fail "$packets packets for $err"
}

# As a site has it: the network of the device in impi.conf, nothing said of
# providers.
case_main_job_under_srun() {
    cp "$SF_TOP_BUILDDIR"/examples/hello_{mpich,openmpi} "$WORK"
    cd "$WORK" || exit 1
    echo "Network=$IP/24" >"$CLUSTER/etc.fabric/impi.conf"
    export LD_LIBRARY_PATH=$STAGE/lib
    sent_before=$(counter sent_pkts) rcvd_before=$(counter rcvd_pkts)
    run_as_user srun --mpi=impi -N1 -n2 ./hello_mpich : -N1 -n2 ./hello_openmpi
    sent_after=$(counter sent_pkts) rcvd_after=$(counter rcvd_pkts)
    assert_code 0
    assert_output '^rank [0-9]+ of 4 ' 4
    assert_output '^all results are right$' 1
    assert_by_verbs 4
}

run_cases
