# SPDX-License-Identifier: BSD-3-Clause
"""Strict IMPI 0.0 clients against the IMPI server of impi-server.

This plays srun and one agent as well, so it is a second reading of
doc/rendezvous.md and of the channel opening.
"""
import hashlib
import hmac
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading

here = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(here))
import impi_peer as ip  # noqa: E402

BUILD = os.environ.get("SF_TOP_BUILDDIR", ".")
SECRET = bytes(range(32))


def read_exactly(sock, n):
    data = b""
    while len(data) < n:
        piece = sock.recv(n - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


class Server:
    """impi-server, its srun, and agent 0 of 1."""

    def __init__(self, munge="", **env):
        ours, theirs = socket.socketpair()
        ours.settimeout(ip.PATIENCE)
        fd = theirs.fileno()
        self.process = subprocess.Popen(
            ["sh", "-c", 'exec "$0" 3<&%d %d<&-' % (fd, fd),
             BUILD + "/src/impid/impi-server"],
            pass_fds=[fd], env=dict(env, PATH=os.environ["PATH"]))
        theirs.close()
        self.srun = ours.makefile("rw", newline="\n")
        self.srun_socket = ours
        self.srun.write("start secret=%s job=1 step=0 agents=1 tasks=1 "
                        "bind=127.0.0.1 ports=0-0 munge=%s\n"
                        % (SECRET.hex(), munge))
        self.srun.flush()
        word, address = self.srun.readline().split()
        assert word == "ready", address
        host, port = address.rsplit(":", 1)
        self.host = host
        self.agent = socket.create_connection((host, int(port)), ip.PATIENCE)
        self.open_channel()
        self.say(1, ip.u32(0, 1, 0) + struct.pack(">H", 2) + b"n0")

    def open_channel(self):
        def proof(label, nonce):
            return hmac.new(SECRET, label + hello + nonce,
                            hashlib.sha256).digest()
        hello = b"SFCO" + struct.pack(">HHIII", 1, 1, 0, 0, 0) + os.urandom(32)
        self.agent.sendall(hello)
        reply = read_exactly(self.agent, 64)
        assert reply[32:] == proof(b"acceptor", reply[:32])
        self.agent.sendall(proof(b"initiate", reply[:32]))
        assert read_exactly(self.agent, 4) == bytes(4)

    def say(self, kind, payload=b""):
        self.agent.sendall(ip.u32(kind, len(payload)) + payload)

    def world(self, generation, nclients):
        """Address of the IMPI server of a generation."""
        self.say(4, ip.u32(generation, nclients))
        kind, length = struct.unpack(">II", read_exactly(self.agent, 8))
        assert kind == 5, kind
        back, port = struct.unpack(">IH", read_exactly(self.agent, length))
        assert back == generation
        return self.host, port

    def line(self):
        return self.srun.readline().rstrip("\n")

    def stop(self):
        self.srun.close()
        self.srun_socket.close()
        self.agent.close()
        assert self.process.wait(ip.PATIENCE) == 0


def all_at_once(peers, what):
    """what(peer) in a thread each; the exceptions, in order of the peers."""
    errors = [None] * len(peers)

    def run(i):
        try:
            what(peers[i])
        except Exception as e:  # noqa: BLE001: handed to the caller
            errors[i] = e
    threads = [threading.Thread(target=run, args=(i,))
               for i in range(len(peers))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return errors


SHAPE = ((3, 2), (2, 3), (2, 4))  # the specification's three clients


def strict_peers_start_and_leave():
    s = Server(IMPI_AUTH_NONE="")
    at = s.world(0, 3)
    peers = [ip.Peer(at, c, *SHAPE[c]) for c in range(3)]
    assert all_at_once(peers, ip.Peer.start) == [None] * 3
    for p in peers:
        assert p.nclients == 3
        assert p.got == peers[0].got
        assert p.got[ip.NHOSTS] == ip.u32(3, 2, 2)
        assert p.got[ip.NPROCS] == ip.u32(6, 6, 8)
        assert p.got[ip.H_PORT] == ip.u32(5001, 5002, 5003, 6001, 6002,
                                          7001, 7002)
        assert len(p.got[ip.P_PID]) == 20 * 8
    assert all_at_once(peers, ip.Peer.finish) == [None] * 3
    assert s.line().startswith("note SF-E200: warning: 127.0.0.1:")
    s.stop()


def none_is_not_offered_unless_asked_for():
    s = Server()
    peer = ip.Peer(s.world(0, 1), 0)
    errors = all_at_once([peer], ip.Peer.start)
    assert isinstance(errors[0], (EOFError, ConnectionError)), errors
    s.stop()


def key_right_and_wrong():
    s = Server(IMPI_AUTH_KEY="5678")
    at = s.world(0, 2)
    wrong = ip.Peer(at, 0, key=1234)
    errors = all_at_once([wrong], ip.Peer.start)
    assert isinstance(errors[0], (EOFError, ConnectionError)), errors
    line = s.line()
    assert line.startswith("note SF-E203: connection from 127.0.0.1:"), line
    peers = [ip.Peer(at, c, key=5678) for c in range(2)]
    assert all_at_once(peers, ip.Peer.start) == [None] * 2
    assert all_at_once(peers, ip.Peer.finish) == [None] * 2
    s.stop()


def silent_munged_stops_nobody():
    with tempfile.TemporaryDirectory() as place:
        munged = socket.socket(socket.AF_UNIX)
        munged.settimeout(ip.PATIENCE)
        munged.bind(place + "/munged")
        munged.listen(8)
        server = Server(munge=place + "/munged", IMPI_AUTH_NONE="")
        at = server.world(0, 2)
        slow = socket.create_connection(at, ip.PATIENCE)
        slow.sendall(b"AUTH" + ip.u32(4, 1 << 30))
        assert read_exactly(slow, 8) == ip.u32(30, 32)
        read_exactly(slow, 32)
        slow.sendall(ip.u32(4) + b"junk" + b"IMPI" + ip.u32(4, 0))
        asked, _ = munged.accept()  # and gets no answer
        quick = socket.create_connection(at, ip.PATIENCE)
        quick.sendall(b"AUTH" + ip.u32(4, 1))
        assert read_exactly(quick, 8) == ip.u32(0, 0)
        munged.close()
        asked.close()
        assert slow.recv(1) == b""
        slow.close()
        quick.close()
        server.stop()


def a_peer_that_dies_ends_the_job():
    s = Server(IMPI_AUTH_KEY="1")
    at = s.world(0, 2)
    peers = [ip.Peer(at, c, key=1) for c in range(2)]
    assert all_at_once(peers, ip.Peer.start) == [None] * 2
    peers[1].sock.close()
    line = s.line()
    assert line.startswith("abort code=1 rank=-1 node=- client=1 text=SF-E205")
    s.stop()


def main():
    cases = (strict_peers_start_and_leave,
             none_is_not_offered_unless_asked_for,
             key_right_and_wrong,
             silent_munged_stops_nobody,
             a_peer_that_dies_ends_the_job)
    print("1..%d" % len(cases))
    for n, case in enumerate(cases, 1):
        try:
            case()
            print("ok %d - %s" % (n, case.__name__), flush=True)
        except Exception as e:  # noqa: BLE001: becomes a failed case
            print("not ok %d - %s" % (n, case.__name__))
            print("# %s: %s" % (type(e).__name__, e), flush=True)


main()
