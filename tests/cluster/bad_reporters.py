#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reporters as switchmgrd must bear them: bad_reporters.py SOCKET MUNGE_SOCKET.

Says what became of each; the one that stalls in mid-message begins first and
is waited for at the end.
"""
import socket
import struct
import subprocess
import sys

reports, munged = sys.argv[1:]
HEAD = b'{"v":1,"from":"hsnd","node":"n1","instance":1,"seq":1'
RECORD = b'{"kind":"host","seen":"down","name":"n2"}'


def connect(sent):
    s = socket.socket(socket.AF_UNIX)
    s.connect(reports)
    s.sendall(sent)
    return s


def credential(text):
    made = subprocess.run(["munge", "--socket", munged], input=text,
                          stdout=subprocess.PIPE, check=True).stdout.strip()
    return struct.pack(">I", len(made)) + made


def fate(s):
    try:
        return {b"A": "accepted", b"R": "refused", b"": "cut off"}[s.recv(1)]
    except ConnectionError:
        return "cut off"


def tell(what, sent):
    print(f"{what}: {fate(connect(sent))}", flush=True)


stalled = connect(credential(HEAD + b"}")[:100])
print("one stalls", flush=True)
tell("nested deeply", credential(HEAD + b',"x":' + b"[" * 200000))
tell("huge", credential(HEAD + b',"records":[' + b",".join([RECORD] * 9000)
                        + b"]}"))
tell("not JSON", credential(b"\xff" * 5000))
tell("announces 4 GB", struct.pack(">I", 0xffffffff))
tell("under no key", struct.pack(">I", 0x80000028) + b"x" * 40)
key = credential(b'{"key":"' + b"00" * 16 + b'",' + HEAD[1:] + b"}")
s = connect(key)
assert s.recv(1) == b"K"
s.sendall(struct.pack(">I", 0x80000028) + b"x" * 40)
print(f"under another key: {fate(s)}", flush=True)
print(f"stalled: {fate(stalled)}", flush=True)
