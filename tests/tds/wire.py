"""TDS as SQL Server speaks it (MS-TDS 2.2), the server's side: packets, login, result sets. 7.0 to 7.4, without encryption."""
import datetime
import struct

PRELOGIN, LOGIN7, BATCH, ATTENTION = 0x12, 0x10, 0x01, 0x06
COLLATION = bytes([0x09, 0x04, 0xD0, 0x00, 0x34])
DONE_MORE, DONE_ERROR, DONE_COUNT, DONE_ATTENTION = 1, 2, 0x10, 0x20


def b_text(text):
    return bytes([len(text)]) + text.encode("utf-16le")


def us_text(text):
    return struct.pack("<H", len(text)) + text.encode("utf-16le")


def read_exactly(sock, n):
    data = b""
    while len(data) < n:
        more = sock.recv(n - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def read_message(sock):
    """One message of any number of packets: its type and body."""
    body = b""
    while True:
        kind, status, length = struct.unpack(">BBH", read_exactly(sock, 8)[:4])
        body += read_exactly(sock, length - 8)
        if status & 1:
            return kind, body


def send_message(sock, body, packet=4096):
    size = packet - 8
    for number, at in enumerate(range(0, max(len(body), 1), size), 1):
        part = body[at : at + size]
        last = at + size >= len(body)
        sock.sendall(struct.pack(">BBHHBB", 4, int(last), len(part) + 8, 51, number & 255, 0) + part)


def prelogin_reply():
    # version, encryption not supported, instance, thread id, MARS off
    options = [(0, bytes([16, 0, 0x03, 0xE8, 0, 0])), (1, b"\x02"), (2, b"\0"), (3, b""), (4, b"\0")]
    head, data, offset = b"", b"", 5 * len(options) + 1
    for key, value in options:
        head += struct.pack(">BHH", key, offset + len(data), len(value))
        data += value
    return head + b"\xff" + data


class Session:
    """What depends on the version the client asked for."""

    def __init__(self):
        self.version = 0x74000004

    @property
    def new(self):  # since 7.2
        return self.version >= 0x72000000

    def login(self, body):
        """Takes a LOGIN7 message: user and password (MS-TDS 2.2.6.4: nibbles swapped, then 0xa5)."""
        (self.version,) = struct.unpack_from("<I", body, 4)

        def field(index):
            offset, length = struct.unpack_from("<HH", body, 36 + 4 * index)
            return body[offset : offset + 2 * length]

        secret = bytes((((b ^ 0xA5) << 4) | ((b ^ 0xA5) >> 4)) & 0xFF for b in field(2))
        return field(1).decode("utf-16le"), secret.decode("utf-16le", "replace")

    def message(self, token, number, severity, text):
        body = struct.pack("<iBB", number, 1, severity) + us_text(text) + b_text("TEST") + b_text("")
        body += struct.pack("<I" if self.new else "<H", 1)
        return bytes([token]) + struct.pack("<H", len(body)) + body

    def error(self, number, text, severity=14):
        return self.message(0xAA, number, severity, text)

    def done(self, status=0, rows=0):
        return struct.pack("<BHH", 0xFD, status, 0xC1) + struct.pack("<Q" if self.new else "<I", rows)

    def login_ack(self):
        def change(kind, new, old):
            body = bytes([kind]) + new + old
            return b"\xe3" + struct.pack("<H", len(body)) + body

        ack = b"\x01" + struct.pack(">I", min(self.version, 0x74000004)) + b_text("Microsoft SQL Server") + bytes([16, 0, 0x03, 0xE8])
        answer = change(1, b_text("master"), b_text("master")) + self.message(0xAB, 5701, 0, "Changed database context to 'master'.")
        if self.version >= 0x71000000:
            answer += change(7, bytes([len(COLLATION)]) + COLLATION, b"\0")
        answer += change(2, b_text("us_english"), b_text(""))
        answer += b"\xad" + struct.pack("<H", len(ack)) + ack + change(4, b_text("4096"), b_text("4096"))
        return answer + self.done()

    def columns(self, columns):
        out = b"\x81" + struct.pack("<H", len(columns))
        for name, kind in columns:
            out += struct.pack("<I" if self.new else "<H", 0) + struct.pack("<H", 1)
            if kind == "text":
                out += b"\xe7" + struct.pack("<H", 512) + (COLLATION if self.version >= 0x71000000 else b"")
            else:
                out += {"int": b"\x26\x08", "time": b"\x6f\x08"}[kind]
            out += b_text(name)
        return out

    @staticmethod
    def cell(kind, value):
        if kind == "text":
            if value is None:
                return b"\xff\xff"
            data = value.encode("utf-16le")
            return struct.pack("<H", len(data)) + data
        if value is None:
            return b"\0"
        if kind == "int":
            return b"\x08" + struct.pack("<q", value)
        since = value - datetime.datetime(1900, 1, 1)
        return b"\x08" + struct.pack("<iI", since.days, since.seconds * 300 + since.microseconds * 3 // 10000)

    def result(self, columns, rows):
        body = self.columns(columns)
        for row in rows:
            body += b"\xd1" + b"".join(self.cell(kind, row[name]) for name, kind in columns)
        return body
