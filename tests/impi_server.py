#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A strict IMPI 0.0 server of one client, to see when that says FINI.

    impi_server.py KEY QUESTIONS

Its address stands on the first line of its output.  Of each line that comes
from QUESTIONS, a fifo, it says whether FINI has come by now ("early") or not
("not yet"); when FINI comes, "FINI".  It ends when the client hangs up.
"""
import os
import select
import socket
import struct
import sys

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


def main():
    server = Server(int(sys.argv[1]))
    print("%s:%d" % server.listener.getsockname(), flush=True)
    # For writing, too: then there is no end of file.
    questions = os.open(sys.argv[2], os.O_RDWR)
    server.start()
    server.end(questions)


if __name__ == "__main__":
    main()
