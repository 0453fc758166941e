#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A strict IMPI 0.0 client, written from the specification alone.

It does what the oldest peers do: lock-step, header, label and data in writes
of their own, exactly the 14 labels, and it gives up on anything it did not
just ask for.  As a program it plays one client of one process:

    impi_peer.py HOST:PORT CLIENT [--key N [--burst | --extra]]

--burst: it sends all labels before it reads an answer, which IMPI allows.
--extra: it has a label of its own, which others may not know.

The tests use class Peer.
"""
import socket
import struct
import sys

AUTH, IMPI, COLL, DONE, FINI = (
    int.from_bytes(w, "big") for w in (b"AUTH", b"IMPI", b"COLL", b"DONE", b"FINI"))

VERSION = 0x1000
NHOSTS, NPROCS, DATALEN, TAGUB, XSIZE, MAXLINEAR = (
    0x1100, 0x1200, 0x1300, 0x1400, 0x1500, 0x1600)
H_IPV6, H_PORT, H_NPROCS, H_ACKMARK, H_HIWATER = (
    0x2000, 0x2100, 0x2200, 0x2300, 0x2400)
P_IPV6, P_PID = 0x3000, 0x3100
EXTRA = 0x2480
PATIENCE = 60  # seconds; only a broken server makes us wait


class Strict(Exception):
    """The server did what this peer does not understand."""


def u32(*values):
    return b"".join(struct.pack(">I", v & 0xffffffff) for v in values)


def take(sock, n, gone):
    """n bytes of it; gone is said when the other end hangs up."""
    data = b""
    while len(data) < n:
        piece = sock.recv(n - len(data))
        if not piece:
            raise EOFError(gone)
        data += piece
    return data


class Wire:
    """One end of a connection to or from a server, self.sock."""

    gone = "Server disconnected"

    def read(self, n):
        return take(self.sock, n, self.gone)

    def ints(self, n):
        return struct.unpack(">%di" % n, self.read(4 * n))


class Peer(Wire):
    def __init__(self, address, client, hosts=1, per_host=1, key=None):
        self.client, self.hosts, self.per_host = client, hosts, per_host
        self.key = key
        self.got = {}
        self.sock = socket.create_connection(address, PATIENCE)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def authenticate(self):
        self.sock.sendall(u32(AUTH, 4))
        self.sock.sendall(u32(1 if self.key is None else 2))
        which, length = self.ints(2)
        if which != (0 if self.key is None else 1) or length != 0:
            raise Strict("method %d, %d bytes" % (which, length))
        if self.key is not None:
            self.sock.sendall(struct.pack(">Q", self.key))

    def join(self):
        self.sock.sendall(u32(IMPI, 4))
        self.sock.sendall(u32(self.client))
        cmd, length, self.nclients = self.ints(3)
        if (cmd, length) != (IMPI, 4):
            raise Strict("command 0x%x of %d bytes" % (cmd, length))

    def collect(self, label, data):
        self.sock.sendall(u32(COLL, 4 + len(data)))
        self.sock.sendall(u32(label))
        self.sock.sendall(data)
        cmd, length, back, mask = self.ints(4)
        if cmd != COLL or back != label:
            raise Strict("label 0x%x, expected 0x%x" % (back, label))
        if mask != (1 << self.client if label == EXTRA
                    else (1 << self.nclients) - 1):
            raise Strict("label 0x%x: mask 0x%x" % (label, mask))
        self.got[label] = self.read(length - 8)

    def addresses(self):
        for host in range(self.hosts):
            yield bytes(12) + bytes((127, 0, self.client + 1, host + 1))

    def labels(self):
        n = self.hosts * self.per_host
        yield VERSION, u32(0, 0)
        yield NHOSTS, u32(self.hosts)
        yield NPROCS, u32(n)
        yield DATALEN, u32(65536)
        yield TAGUB, u32(0x7fffffff)
        yield XSIZE, u32(-1)
        yield MAXLINEAR, u32(-1)
        yield H_IPV6, b"".join(self.addresses())
        yield H_PORT, u32(*(5001 + 1000 * self.client + h
                            for h in range(self.hosts)))
        yield H_NPROCS, u32(*[self.per_host] * self.hosts)
        yield H_ACKMARK, u32(*[10] * self.hosts)
        yield H_HIWATER, u32(*[20] * self.hosts)
        yield P_IPV6, b"".join(a * self.per_host for a in self.addresses())
        yield P_PID, b"".join(struct.pack(">Q", 100 + p) for p in range(n))

    def start(self):
        self.authenticate()
        self.join()
        for label, data in self.labels():
            self.collect(label, data)
        self.sock.sendall(u32(DONE, 0))
        if self.ints(2) != (DONE, 0):
            raise Strict("no DONE")

    def burst(self):
        self.authenticate()
        self.join()
        self.sock.sendall(b"".join(
            u32(COLL, 4 + len(data), label) + data
            for label, data in self.labels()) + u32(DONE, 0))
        for label, _ in self.labels():
            cmd, length, back, _ = self.ints(4)
            if (cmd, back) != (COLL, label):
                raise Strict("command 0x%x, label 0x%x" % (cmd, back))
            self.got[label] = self.read(length - 8)
        if self.ints(2) != (DONE, 0):
            raise Strict("no DONE")

    def finish(self):
        self.sock.sendall(u32(FINI, 0))
        if self.sock.recv(1):
            raise Strict("an answer to FINI")
        self.sock.close()


class Extra(Peer):
    """Says a label of its own between those of the hosts and the processes."""

    def labels(self):
        for label, data in super().labels():
            if label == P_IPV6:
                yield EXTRA, b"of our own"
            yield label, data


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    key = int(sys.argv[4]) if sys.argv[3:4] == ["--key"] else None
    peer = (Extra if "--extra" in sys.argv else Peer)(
        (host, int(port)), int(sys.argv[2]), key=key)
    if "--burst" in sys.argv:
        peer.burst()
    else:
        peer.start()
    for label, data in sorted(peer.got.items()):
        print("0x%04x %s" % (label, data.hex()))
    peer.finish()


if __name__ == "__main__":
    main()
