#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Somebody between hsnd and swfabd who keeps what opened their link.

    udp_recorder.py FABRIC-PORT CONTROL

Prints the port that hsnd is to call; passes all datagrams on.  A connection
to the unix socket CONTROL is one word, and gets one line:

    hello   sends the HELLO that was kept to swfabd again, from a socket of
            its own: type and text of the answer
    hold    from now on nothing is passed on: a HELLO is answered with the
            WELCOME that was kept, under the new session's number
    held    how many were
    pass    pass on again
"""
import select
import socket
import sys

HELLO, WELCOME, REFUSED = 1, 2, 3
ID = 12  # magic, version, type; session


def kind(datagram):
    return datagram[3] if len(datagram) >= ID else 0


class Recorder:
    def __init__(self, fabric, control):
        self.fabric = ("127.0.0.1", fabric)
        self.up = self.socket()
        self.down = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.down.bind(("127.0.0.1", 0))
        self.control = socket.socket(socket.AF_UNIX)
        self.control.bind(control)
        self.control.listen()
        self.kept = {}
        self.host = None
        self.holding = False
        self.held = 0

    def socket(self):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.connect(self.fabric)
        s.settimeout(20)
        return s

    def from_host(self):
        datagram, self.host = self.down.recvfrom(65536)
        if kind(datagram) == HELLO and self.holding:
            old = self.kept[WELCOME]
            self.down.sendto(old[:4] + datagram[4:ID] + old[ID:], self.host)
            self.held += 1
        elif not self.holding:
            self.kept.setdefault(kind(datagram), datagram)
            self.up.send(datagram)

    def from_fabric(self):
        datagram = self.up.recv(65536)
        if not self.holding and self.host:
            self.kept.setdefault(kind(datagram), datagram)
            self.down.sendto(datagram, self.host)

    def hello(self):
        s = self.socket()
        s.send(self.kept[HELLO])
        answer = s.recv(65536)
        text = answer[ID:] if kind(answer) == REFUSED else b""
        return "%d %s" % (kind(answer), text.decode())

    def obey(self):
        conn, _ = self.control.accept()
        word = conn.makefile().readline().strip()
        if word in ("hold", "pass"):
            self.holding = word == "hold"
        answer = self.hello() if word == "hello" else str(self.held)
        conn.sendall(answer.encode() + b"\n")
        conn.close()

    def run(self):
        print(self.down.getsockname()[1], flush=True)
        turns = {self.up: self.from_fabric, self.down: self.from_host,
                 self.control: self.obey}
        while True:
            for s in select.select(list(turns), [], [])[0]:
                try:
                    turns[s]()
                except ConnectionRefusedError:
                    pass  # swfabd is not there now


if __name__ == "__main__":
    Recorder(int(sys.argv[1]), sys.argv[2]).run()
