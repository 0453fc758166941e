#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""As another user, hold as many connections as it can to whoever listens at
ports FIRST to LAST of this machine: flood_ports.py FIRST LAST UID [NAME..].
With names only at the ports of programs that are called so.

Every second connection says what the opening of our channels begins with, and
nothing more, the others are silent.  What is closed is opened again at once.
SIGTERM ends it; then it says how many connections it had.  It ends with its
parent, too.
"""
import errno
import os
import selectors
import signal
import socket
import struct
import sys

MOST = 900
HELLO = b"SFCO" + struct.pack(">HHIII", 1, 1, 0, 0, 0) + bytes(32)
LISTEN = "0A"

first, last, uid = map(int, sys.argv[1:4])
names = sys.argv[4:]
program = {}  # by inode of a listening socket
look = selectors.DefaultSelector()
mine = {}  # port: connections
made = 0
going = True
parent = os.getppid()


def stop(*_):
    global going
    going = False


def sockets_of(pid):
    for fd in os.listdir(f"/proc/{pid}/fd"):
        to = os.readlink(f"/proc/{pid}/fd/{fd}")
        if to.startswith("socket:["):
            yield to[8:-1]


def find_program(inode):
    """Only root may look, and sockets are to be the other user's."""
    os.seteuid(0)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if inode in sockets_of(pid):
                with open(f"/proc/{pid}/comm") as f:
                    program[inode] = f.read().strip()
        except OSError:
            pass  # it has ended
    os.seteuid(uid)


def is_meant(inode):
    if names and inode not in program:
        find_program(inode)
    return not names or program.get(inode) in names


def listeners():
    found = []
    with open("/proc/net/tcp") as f:
        for line in f:
            words = line.split()
            if words[3] != LISTEN:
                continue
            address, port = words[1].split(":")
            if first <= int(port, 16) <= last and is_meant(words[9]):
                ip = socket.inet_ntoa(bytes.fromhex(address)[::-1])
                ip = "127.0.0.1" if ip == "0.0.0.0" else ip
                found.append((ip, int(port, 16)))
    return found


def close(s):
    where = look.get_key(s).data
    look.unregister(s)
    s.close()
    mine[where] -= 1


def opened(where):
    global made
    s = socket.socket()
    s.setblocking(False)
    try:
        s.connect(where)
    except BlockingIOError:
        pass
    except OSError as e:
        s.close()
        if e.errno in (errno.ECONNREFUSED, errno.EADDRNOTAVAIL,
                       errno.EMFILE):
            return False
        raise
    made += 1
    if made % 2:
        try:
            s.send(HELLO)
        except OSError:
            pass
    look.register(s, selectors.EVENT_READ, where)
    mine[where] = mine.get(where, 0) + 1
    return True


def fill(ports):
    for where in ports:
        while mine.get(where, 0) < MOST // len(ports) and opened(where):
            pass


def drain():
    for key, _ in look.select(0.001):
        try:
            if key.fileobj.recv(4096):
                continue
        except OSError:
            pass
        close(key.fileobj)


os.setgroups([])
os.seteuid(uid)
signal.signal(signal.SIGTERM, stop)
print("ready", flush=True)
while going and os.getppid() == parent:
    at = listeners()
    fill(at)
    for _ in range(10):
        drain()
        fill(at)
print(f"made {made} connections")
