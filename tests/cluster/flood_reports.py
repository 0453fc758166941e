#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bad reports without end: flood_reports.py SOCKET-PATH UID, or
flood_reports.py ADDRESS:PORT SOURCE-ADDRESS.

Goes on until a connection is closed without any answer; says how many reports
were answered, and the most on one connection.
"""
import os
import socket
import struct
import sys

BAD = b"MUNGE:AwQDAAC=:"
FRAMES = (struct.pack(">I", len(BAD)) + BAD) * 1000


def connect(where):
    if where.startswith("/"):
        s = socket.socket(socket.AF_UNIX)
        s.connect(where)
        return s
    host, port = where.split(":")
    return socket.create_connection((host, int(port)),
                                    source_address=(sys.argv[2], 0))


def answers(s):
    got = 0
    try:
        s.sendall(FRAMES)
        while answer := s.recv(4096):
            if answer.strip(b"R"):
                sys.exit(f"answered with {answer}")
            got += len(answer)
    except ConnectionError:
        pass
    return got


if sys.argv[2].isdigit():
    os.setgroups([])
    os.setuid(int(sys.argv[2]))
total = most = 0
while total < 100000:
    n = answers(connect(sys.argv[1]))
    if n == 0:
        print(f"turned away after {total}, at most {most} on a connection")
        break
    total += n
    most = max(most, n)
