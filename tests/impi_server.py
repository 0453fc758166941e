#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A strict IMPI 0.0 server of one client, to see when that says FINI.

    impi_server.py KEY QUESTIONS
    impi_server.py KEY --waits CLIENTS [BUSY]

Its address stands on the first line of its output.  Of each line that comes
from QUESTIONS, a fifo, it says whether FINI has come by now ("early") or not
("not yet"); when FINI comes, "FINI".  It ends when the client hangs up.

--waits: as the first published server, of any number of clients: one after the
other it reads what there is of each, takes one command of it, and waits for
those of the others before it looks again; what it has read beyond is lost.  Here
that ends it with code 1 and a line that says how much of which client.  The
second line of its output is another address of it, behind a line with latency.
BUSY: so many connections it closes at first without a word, as a server that
has too many does.
"""
import os
import select
import socket
import struct
import sys
import threading
import time

import impi_peer as ip

# After whatever let the question be asked; an early FINI was on its way then.
GRACE = 0.5


class Server(ip.Wire):
    gone = "the client hung up"

    def __init__(self, key):
        self.key = key
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(ip.PATIENCE)

    def expect(self, *want):
        got = self.ints(len(want))
        if got != want:
            raise ip.Strict("%s, expected %s" % (got, want))

    def authenticate(self):
        self.expect(ip.AUTH, 4)
        methods, = self.ints(1)
        if not methods & 2:
            raise ip.Strict("no method KEY: 0x%x" % methods)
        self.sock.sendall(ip.u32(1, 0))
        key, = struct.unpack(">Q", self.read(8))
        if key != self.key:
            raise ip.Strict("key %d" % key)

    def start(self):
        self.sock, _ = self.listener.accept()
        self.sock.settimeout(ip.PATIENCE)
        self.authenticate()
        self.expect(ip.IMPI, 4, 0)
        self.sock.sendall(ip.u32(ip.IMPI, 4, 1))
        while True:
            cmd, length = self.ints(2)
            if cmd == ip.DONE:
                break
            if cmd != ip.COLL or length < 4:
                raise ip.Strict("command 0x%x of %d bytes" % (cmd, length))
            label, = self.ints(1)
            data = self.read(length - 4)
            self.sock.sendall(ip.u32(ip.COLL, 8 + len(data), label, 1) + data)
        self.sock.sendall(ip.u32(ip.DONE, 0))

    def end(self, questions):
        """Answers questions until FINI comes."""
        while True:
            ready, _, _ = select.select([self.sock, questions], [], [],
                                        ip.PATIENCE)
            if self.sock in ready or not ready:
                break
            if os.read(questions, 4096):
                early, _, _ = select.select([self.sock], [], [], GRACE)
                print("early" if early else "not yet", flush=True)
        self.expect(ip.FINI, 0)
        print("FINI", flush=True)
        if self.sock.recv(1):
            raise ip.Strict("something after FINI")


LATENCY = 0.05  # seconds, each way
READ_AHEAD = 65536


class Client(Server):
    """The server's end of one of several clients."""

    def __init__(self, key, sock, nclients):
        self.key, self.sock = key, sock
        self.sock.settimeout(ip.PATIENCE)
        self.authenticate()
        self.expect(ip.IMPI, 4)
        self.rank, = self.ints(1)
        self.sock.sendall(ip.u32(ip.IMPI, 4, nclients))

    def lost(self, n):
        raise ip.Strict("lost %d bytes of client %d" % (n, self.rank))

    def command(self):
        """The next one and its data; what came with it is not kept."""
        data, want = b"", 8
        while len(data) < want:
            piece = self.sock.recv(READ_AHEAD)
            if not piece:
                raise EOFError(self.gone)
            data += piece
            if want == 8 and len(data) >= 8:
                want += struct.unpack_from(">I", data, 4)[0]
        if len(data) > want:
            self.lost(len(data) - want)
        return struct.unpack_from(">I", data)[0], data[8:]

    def is_ahead(self):
        """Does it send before it has the answer?"""
        self.sock.setblocking(False)
        try:
            self.lost(len(self.sock.recv(READ_AHEAD)))
        except BlockingIOError:
            self.sock.settimeout(ip.PATIENCE)


def pump(source, sink):
    try:
        while True:
            data = source.recv(READ_AHEAD)
            time.sleep(LATENCY)
            if not data:
                break
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def delay(listener, to):
    while True:
        near, _ = listener.accept()
        far = socket.create_connection(to)
        for ends in ((near, far), (far, near)):
            threading.Thread(target=pump, args=ends, daemon=True).start()


def wait_for_all(key, n, busy):
    listener, slow = (socket.create_server(("127.0.0.1", 0)) for _ in "12")
    listener.settimeout(ip.PATIENCE)
    for s in (listener, slow):
        print("%s:%d" % s.getsockname(), flush=True)
    threading.Thread(target=delay, args=(slow, listener.getsockname()),
                     daemon=True).start()
    for _ in range(busy):
        listener.accept()[0].close()
    clients = [Client(key, listener.accept()[0], n) for _ in range(n)]
    clients.sort(key=lambda c: c.rank)
    said = None
    while said != ip.DONE:
        commands = [c.command() for c in clients]
        for c in clients:
            c.is_ahead()
        said = commands[0][0]
        label = commands[0][1][:4]
        if any((cmd, data[:4]) != (said, label) for cmd, data in commands):
            raise ip.Strict("the clients say different things")
        answer = ip.u32(ip.DONE, 0)
        if said == ip.COLL:
            data = b"".join(data[4:] for _, data in commands)
            answer = (ip.u32(ip.COLL, 8 + len(data)) + label
                      + ip.u32((1 << n) - 1) + data)
        for c in clients:
            c.sock.sendall(answer)
    for c in clients:
        c.expect(ip.FINI, 0)


def main():
    if sys.argv[2] == "--waits":
        wait_for_all(int(sys.argv[1]), int(sys.argv[3]),
                     int(sys.argv[4]) if len(sys.argv) > 4 else 0)
        return
    server = Server(int(sys.argv[1]))
    print("%s:%d" % server.listener.getsockname(), flush=True)
    # For writing, too: then there is no end of file.
    questions = os.open(sys.argv[2], os.O_RDWR)
    server.start()
    server.end(questions)


if __name__ == "__main__":
    try:
        main()
    except (ip.Strict, EOFError) as e:
        sys.exit("impi_server.py: %s" % e)
