#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A strict IMPI 0.0 client with one host and one process that talks.

    impi_host.py HOST:PORT CLIENT [--key N] [--strangers | --twice |
        --flood UID | --breach | --turns]
    impi_host.py HOST:PORT CLIENT [--key N] --habits [HABIT...]

With an IPv6 address, [::1]:PORT, its host is at ::1.  It joins like
impi_peer.py, dances with the other host (section 2.3.8), and
plays the other rank of tests/mpi/strict.c over packets (chapter 3), written
from the specification alone.  What it sees that the standard does not allow
ends it with a message and code 1.  --strangers: it also plays those who
connect to a host and say a rank that is not theirs.  --twice: client 1 comes
once more when it is there.  --flood: before client 1
says its rank, user UID opens more connections than a host keeps (as root).
--breach: it sends a
packet that says it is longer than its message, and waits for the end.

--turns: see Turns; client 1.

--habits: it plays the other rank of tests/mpi/habits.c, strictly but for the
habits that real peers have (doc/impi-peers.md) and that are named: garbage,
long8, native-order, reduce-p2p; changed (declares another ackmark than the
first generation); swapped (its headers are in native order).
"""
import os
import select
import socket
import struct
import sys

import impi_peer as ip

DATA, DATASYNC, PROTOACK, SYNCACK, FINI = 0, 1, 2, 3, 7
HEADER = struct.Struct(">II24s24sQQQiiQQqQQ")
BARRIER, BCAST, REDUCE, WORLD_COLLECTIVE = 110, 120, 190, 1
CROWD = 200
GARBAGE = 128  # what such a peer writes into both lengths


class Host(ip.Peer):
    """One host, one process; the other client has the same."""

    def __init__(self, address, client, key=None):
        super().__init__(address, client, key=key)
        self.ipv6 = ":" in address[0]
        self.own = "::1" if self.ipv6 else "127.0.%d.1" % (client + 1)
        self.listener = socket.create_server(
            (self.own, 0),
            family=socket.AF_INET6 if self.ipv6 else socket.AF_INET)
        self.listener.settimeout(ip.PATIENCE)
        self.received = 0
        self.sequence = 0
        self.waiting = []
        self.again = False

    def addresses(self):
        if not self.ipv6:
            return super().addresses()
        return [socket.inet_pton(socket.AF_INET6, self.own)]

    def labels(self):
        for label, data in super().labels():
            if label == ip.H_PORT:
                data = ip.u32(self.listener.getsockname()[1])
            yield label, data

    def other_address(self):
        other = 1 - self.client
        raw = self.got[ip.H_IPV6][16 * other:16 * other + 16]
        port = struct.unpack_from(">I", self.got[ip.H_PORT], 4 * other)[0]
        if self.ipv6:
            return socket.inet_ntop(socket.AF_INET6, raw), port
        return socket.inet_ntoa(raw[12:]), port

    def process(self, rank):
        return (self.got[ip.P_IPV6][16 * rank:16 * rank + 16]
                + self.got[ip.P_PID][8 * rank:8 * rank + 8])

    # ---- the dance ----

    def strangers(self):
        """Nobody of these may be taken for us, or disturb."""
        for said in (ip.u32(99), ip.u32(0), b"\0\0"):
            sock = socket.create_connection(self.other_address(), ip.PATIENCE)
            sock.sendall(said)
            if len(said) == 4 and sock.recv(1):
                raise ip.Strict("an answer to a stranger")
            sock.close()

    def twice(self):
        """We are there: another one that says so is turned away."""
        sock = socket.create_connection(
            self.other_address(), ip.PATIENCE, (self.own, 0))
        sock.sendall(ip.u32(self.client))
        if sock.recv(1):
            raise ip.Strict("an answer to one that comes twice")
        sock.close()

    def flood(self, uid):
        """Some must be sent away before we say who we are."""
        os.seteuid(uid)
        crowd = [socket.create_connection(self.other_address(), ip.PATIENCE)
                 for _ in range(CROWD)]
        os.seteuid(0)
        gone = 0
        while gone < CROWD // 2:
            for sock in select.select(crowd, [], [], ip.PATIENCE)[0]:
                crowd.remove(sock)
                gone += 1
        self.crowd = crowd

    def dance(self, flood=None):
        if self.client == 1:
            self.link = socket.create_connection(
                self.other_address(), ip.PATIENCE, (self.own, 0))
            if flood is not None:
                self.flood(flood)
            self.link.sendall(ip.u32(1))
            return
        self.link, source = self.listener.accept()
        self.link.settimeout(ip.PATIENCE)
        if source[0] != self.other_address()[0]:
            raise ip.Strict("host 1 comes from %s, declared is %s"
                            % (source[0], self.other_address()[0]))
        if self.take(4) != ip.u32(1):
            raise ip.Strict("host 1 says another rank")

    # ---- packets ----

    def take(self, n):
        return ip.take(self.link, n, "the other host closed")

    def send(self, kind, payload=b"", tag=-1, cid=0, srqid=0, drqid=0,
             msglen=None):
        if kind not in (PROTOACK, FINI):
            self.sequence += 1
        size = len(payload)
        self.link.sendall(self.header(
            kind, size, srqid, drqid, size if msglen is None else msglen,
            tag, cid) + payload)

    def header(self, kind, size, srqid, drqid, msglen, tag, cid):
        return HEADER.pack(
            kind, size, self.process(self.client),
            self.process(1 - self.client), srqid, drqid, msglen, self.client,
            tag, cid, self.sequence, 0, 0, 0)

    def packet(self):
        """The next packet that is not an acknowledgement."""
        while True:
            (kind, size, src, dest, srqid, drqid, msglen, lsrank, tag, cid,
             _seq, _count, _dtype, _reserved) = HEADER.unpack(self.take(128))
            payload = self.take(size) if kind in (DATA, DATASYNC) else b""
            if kind not in (PROTOACK, FINI):
                if src != self.process(1 - self.client):
                    raise ip.Strict("a packet from nobody")
                if dest != self.process(self.client):
                    raise ip.Strict("a packet for nobody")
                if size > 65536 and kind in (DATA, DATASYNC):
                    raise ip.Strict("a packet of %d bytes" % size)
                self.received += 1
                if self.received % 10 == 0:
                    self.send(PROTOACK)
            if kind != PROTOACK:
                return kind, srqid, drqid, msglen, lsrank, tag, cid, payload

    def message(self, want_tag, want_cid=0, want_kind=None):
        """A whole message; long ones are asked for."""
        kind, srqid, _, msglen, lsrank, tag, cid, data = self.packet()
        if want_kind not in (None, kind):
            raise ip.Strict("type %d with tag %d, expected %d"
                            % (kind, tag, want_kind))
        if (tag, cid, lsrank) != (want_tag, want_cid, 1 - self.client):
            raise ip.Strict("tag %d, context %d from rank %d, expected %d, %d"
                            % (tag, cid, lsrank, want_tag, want_cid))
        if kind == DATASYNC and srqid == 0:
            raise ip.Strict("DATASYNC without a request id")
        if kind == DATASYNC:
            self.send(SYNCACK, srqid=srqid, drqid=4711)
        while len(data) < msglen:
            kind, _, drqid, _, _, _, _, more = self.packet()
            if kind != DATA or drqid != 4711:
                raise ip.Strict("type %d for request %d" % (kind, drqid))
            data += more
        return data

    # ---- the program ----

    def talk(self):
        value = struct.unpack(">i", self.message(5, want_kind=DATA))[0]
        if self.again:
            self.twice()
        self.send(DATA, struct.pack(">i", value + 1), 6)
        data = self.message(7, want_kind=DATASYNC)
        if len(data) != 100000:
            raise ip.Strict("a long message of %d bytes" % len(data))
        self.send(DATA, struct.pack(">i", sum(data)), 8)
        self.communicators()

    def agree(self, theirs):
        """Allreduce of the highest context ids: Reduce to 0, Bcast from 0.
        Ours is always lower; theirs has to be this."""
        if self.client == 0:
            said, = struct.unpack(">Q", self.message(REDUCE, WORLD_COLLECTIVE))
            self.send(DATA, struct.pack(">Q", said), BCAST, WORLD_COLLECTIVE)
        else:
            self.send(DATA, struct.pack(">Q", 0), REDUCE, WORLD_COLLECTIVE)
            said, = struct.unpack(">Q", self.message(BCAST, WORLD_COLLECTIVE))
        if said != theirs:
            raise ip.Strict("highest context id %d, expected %d"
                            % (said, theirs))

    def communicators(self):
        """One that only we are in, of contexts 2 and 3, and then one of both:
        who is not in the first knows of it, too."""
        self.agree(1)
        self.agree(3)
        if struct.unpack(">i", self.message(9, 4)) != (4,):
            raise ip.Strict("not the message in context 4")
        self.barrier(5)

    def breach(self):
        """The host in between does not look at what only a process knows."""
        self.send(DATA, b"breach", msglen=3)
        try:
            while self.link.recv(4096):
                pass
        except OSError:
            pass

    def barrier(self, cid=WORLD_COLLECTIVE):
        """Two masters, linear: the first gathers, then it releases."""
        if self.client == 1:
            self.send(DATA, b"", BARRIER, cid)
        self.message(BARRIER, cid)
        if self.client == 0:
            self.send(DATA, b"", BARRIER, cid)

    def leave(self):
        self.send(FINI)
        if self.packet()[0] != FINI:
            raise ip.Strict("no FINI")
        self.link.close()


class Habits(Host):
    """One that differs from the standard as real peers do."""

    def __init__(self, address, client, key, habits):
        super().__init__(address, client, key=key)
        self.garbage = "garbage" in habits
        self.order = "<" if "native-order" in habits else ">"
        self.long = "q" if habits & {"long8", "native-order"} else "i"
        self.reduce_cid = 0 if "reduce-p2p" in habits else WORLD_COLLECTIVE
        self.changed = "changed" in habits
        self.swapped = "swapped" in habits
        if habits - {"garbage", "long8", "native-order", "reduce-p2p",
                     "changed", "swapped"}:
            raise ip.Strict("unknown habit")

    def labels(self):
        for label, data in super().labels():
            if label == ip.H_ACKMARK and self.changed:
                data = ip.u32(9)
            yield label, data

    def header(self, kind, size, srqid, drqid, msglen, tag, cid):
        if self.swapped:
            return struct.pack(
                HEADER.format.replace(">", "<"), kind, size,
                self.process(self.client), self.process(1 - self.client),
                srqid, drqid, msglen, self.client, tag, cid, self.sequence,
                0, 0, 0)
        if not self.garbage or kind in (DATA, DATASYNC):
            return super().header(kind, size, srqid, drqid, msglen, tag, cid)
        src, dest = (bytes(16) + b"\xff" * 8,) * 2
        if kind != FINI:
            src = self.process(self.client)
            dest = self.process(1 - self.client)
        return HEADER.pack(
            kind, GARBAGE, src, dest, srqid, drqid, GARBAGE, -1, -1,
            0xdeadbeef01020304, self.sequence, -1, 0, 0)

    def pack(self, kind, *values):
        return struct.pack(self.order + kind * len(values), *values)

    def unpack(self, kind, data):
        size = struct.calcsize(self.order + kind)
        if not data or len(data) % size:
            raise ip.Strict("%d bytes for elements of %d" % (len(data), size))
        return struct.unpack(self.order + kind * (len(data) // size), data)

    def reduce(self, root, *own):
        if self.client != root:
            self.send(DATA, self.pack("i", *own), REDUCE, self.reduce_cid)
            return None
        return [a + b for a, b in zip(own, self.unpack(
            "i", self.message(REDUCE, self.reduce_cid)))]

    def talk(self):
        value, = self.unpack(self.long, self.message(5, want_kind=DATA))
        self.send(DATA, self.pack(self.long, value + 1), 6)
        for root in (0, 1):
            if self.reduce(root, self.client + 1, 10) not in (None, [3, 20]):
                raise ip.Strict("a wrong sum")
        total = self.reduce(0, self.client + 1)
        if self.client == 0:
            self.send(DATA, self.pack("i", *total), BCAST, WORLD_COLLECTIVE)
        elif self.unpack("i", self.message(BCAST, WORLD_COLLECTIVE)) != (3,):
            raise ip.Strict("a wrong sum for all")
        if self.unpack("i", self.message(7, want_kind=DATASYNC)) != (7,):
            raise ip.Strict("a wrong synchronous message")


class Turns(Host):
    """Takes Bcasts by arrival, from a client of two processes, of which only
    the master may send; the other rank of tests/mpi/turns.c."""

    ROUNDS = 20

    def process(self, client):
        return super().process(2 if client == self.client else 0)

    def talk(self):
        for i in range(self.ROUNDS):
            for want in (3 * i, 3 * i + 1):
                value, = struct.unpack(">i", self.message(BCAST, 1))
                if value != want:
                    raise ip.Strict("Bcast %d is %d" % (want, value))
            self.send(DATA, struct.pack(">i", 3 * i + 2), BCAST, 1)


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    args = sys.argv[3:]
    key = int(args[args.index("--key") + 1]) if "--key" in args else None
    address, client = (host.strip("[]"), int(port)), int(sys.argv[2])
    if "--habits" in args:
        habits = set(args[args.index("--habits") + 1:])
        peer = Habits(address, client, key, habits)
    elif "--turns" in args:
        peer = Turns(address, client, key=key)
    else:
        peer = Host(address, client, key=key)
    peer.start()
    if "--strangers" in args:
        peer.strangers()
    peer.dance(int(args[args.index("--flood") + 1]) if "--flood" in args
               else None)
    if "--breach" in args:
        peer.breach()
        return
    peer.again = "--twice" in args
    peer.talk()
    peer.barrier()
    peer.leave()
    peer.finish()
    print("PASS strict host %d" % peer.client)


if __name__ == "__main__":
    try:
        main()
    except (ip.Strict, EOFError) as e:
        sys.exit("impi_host.py: %s" % e)
