"""A DNS server for program.sh: dns.py ADDRESS MODE LOG, on port 53, UDP and TCP.

It knows one name, which only the third search domain of a pod's resolv.conf makes.
MODE says what is wrong with the others, or with UDP. Each question is a line of LOG."""
import socketserver
import struct
import sys
import threading

ADDRESS, MODE, LOG = sys.argv[1:4]
KNOWN = "kubernetes.default.svc.cluster.local"
SERVFAIL, NXDOMAIN = 2, 3
TRUNCATED = 0x0200
A = 1


def question(packet):
    """The name and the type of a question, and where it ends."""
    labels, at = [], 12
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode())
        at += 1 + packet[at]
    return ".".join(labels), struct.unpack(">H", packet[at + 1:at + 3])[0], at + 5


def answer(packet, is_tcp):
    name, kind, end = question(packet)
    with open(LOG, "a", encoding="ascii") as log:
        log.write(f"{'tcp' if is_tcp else 'udp'} {name}\n")
    flags, records = 0x8180, b""
    if name.lower() != KNOWN:
        flags |= {"servfail": SERVFAIL, "empty": 0}.get(MODE, NXDOMAIN)
    elif MODE == "truncated" and not is_tcp:
        flags |= TRUNCATED
    elif kind == A:
        records = b"\xc0\x0c" + struct.pack(">HHIH", A, 1, 5, 4) + bytes([127, 0, 0, 1])
    head = packet[:2] + struct.pack(">HHHHH", flags, 1, 1 if records else 0, 0, 0)
    return head + packet[12:end] + records


class OverUdp(socketserver.BaseRequestHandler):
    def handle(self):
        packet, sock = self.request
        sock.sendto(answer(packet, False), self.client_address)


class OverTcp(socketserver.StreamRequestHandler):
    def handle(self):
        while size := self.rfile.read(2):
            reply = answer(self.rfile.read(struct.unpack(">H", size)[0]), True)
            self.wfile.write(struct.pack(">H", len(reply)) + reply)


socketserver.TCPServer.allow_reuse_address = True
tcp = socketserver.ThreadingTCPServer((ADDRESS, 53), OverTcp)
udp = socketserver.ThreadingUDPServer((ADDRESS, 53), OverUdp)
threading.Thread(target=tcp.serve_forever, daemon=True).start()
print("ready", flush=True)
udp.serve_forever()
