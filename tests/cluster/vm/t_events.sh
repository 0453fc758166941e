#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nicd hears what the kernel says of an RDMA device, on a soft-RoCE device of the
# guest's kernel: it looks once an hour, and its network is another, so that
# netlink tells it nothing.  In a guest only:
#     vm -- t_events.sh     (see vm/check)
set -u
. "${SF_TOP_SRCDIR:?}/tests/tap.sh"
[ -d /run/vm ] || skip_all "not in a guest"
. "$top/tests/cluster/mini/patience.sh"
. "$top/tests/cluster/vm/soft_roce.sh"
ldconfig -p | grep -qF libibverbs.so.1 && [ -e /etc/libibverbs.d/rxe.driver ] ||
    skip_all "no libibverbs.so.1 with a provider for soft-RoCE"
tmp=$(mktemp -d) && chmod 755 "$tmp"
pid=
end() {
    [ -z "$pid" ] || { kill "$pid" && wait "$pid"; } 2>/dev/null
    pid=
}
trap end EXIT
make_device >"$tmp/device" 2>&1 ||
    skip_all "no soft-RoCE: $(tail -n 1 "$tmp/device")"
uverbs=/dev/infiniband/uverbs0

# Where nicd looks for what opens devices; a guest's files are a memory disk.
program=$(grep -ao '/[[:graph:]]*/nicd-verbs' "$build/src/nicd/nicd" | head -n 1)
mkdir -p "${program%/*}" && cp "$build/src/nicd/nicd-verbs" "$program" || exit 99

begin() { # LINE..: of nicd.conf
    end
    printf '%s\n' "Health=$tmp/reports" "MungeSocket=$tmp/munge" NodeName=n0 \
        LookInterval=3600 LinkWait=0 VanishAfter=0 "$@" >"$tmp/nicd.conf"
    : >"$tmp/log"
    unshare --net setpriv --reuid=nobody --clear-groups --no-new-privs \
        --inh-caps=-all --bounding-set=-all \
        "$build/src/nicd/nicd" -v -f "$tmp/nicd.conf" 2>"$tmp/log" &
    pid=$!
}
says() { # TEXT
    wait_until 60 grep -qF -- "$1" "$tmp/log"
    report $? "nicd says: $1" "$tmp/log"
}
private_kb() {
    awk '/^Private_/ { n += $2 } END { print n }' "/proc/$pid/smaps_rollup"
}

is_over() { ! pgrep -x nicd-verbs >/dev/null; }
is_up_again() { [ "$(grep -c 'rxe0/1: up$' "$tmp/log")" -ge 2 ]; }

chmod 666 $uverbs # as udev's rules have it
begin VerbsEvents=none
says 'looks at the NICs of node n0'
says 'rxe0/1: up'
without=$(private_kb)
begin VerbsEvents=virtual
says 'events of rxe0 are heard'
wait_until 60 is_over
report $? "what opened the device is gone"
ip link set veth1 down
says 'rxe0: port 1: error'
says 'rxe0/1: down: rxe0/1 no link'
ip link set veth1 up
says 'rxe0: port 1: active'
wait_until 60 is_up_again
report $? "and it looks at once" "$tmp/log"
with=$(private_kb)
echo "# nicd has $with KB of its own, $without KB without events"
[ "$with" -le 4096 ] && [ $((with - without)) -le 256 ]
report $? "the library's memory is not nicd's"
kill -0 $pid
report $? "nicd runs on"
chmod 600 $uverbs
begin VerbsEvents=virtual
says 'events of rxe0 are not heard, it is looked at as often as ever: rxe0: '
says 'rxe0/1: up'
finish
