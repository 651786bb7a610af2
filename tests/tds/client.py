"""The bridge as its clients see it: starts it, asks it, keeps everything it ever said, for the search for secrets."""
import atexit
import http.client
import json
import os
import re
import subprocess
import tempfile
import time


class Bridge:
    def __init__(self, program, connection, *options, env=None):
        self.said = b""
        self.folder = tempfile.TemporaryDirectory()
        arguments = []
        if connection is not None:
            arguments = ["@" + self.file("connection", connection)]
        self.process = subprocess.Popen([program, "--listen", "127.0.0.1:0", *options, *arguments], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})
        atexit.register(self.process.kill)  # a failed check must not leave it running; does nothing to one that ended
        line = self.process.stdout.readline()
        self.said += line
        found = re.match(rb"listening on 127\.0\.0\.1:(\d+)\n", line)
        assert found, line + self.process.stdout.read()
        self.port = int(found.group(1))

    def file(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as out:
            out.write(text)
        return path

    def get(self, path="/sample", method="GET", **headers):
        """Status and body; seconds it took in `took`."""
        begun = time.monotonic()
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        link.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        reply = link.getresponse()
        body = reply.read()
        self.took = time.monotonic() - begun
        self.said += body + str(reply.headers).encode()
        link.close()
        return reply.status, body

    def sample(self):
        return json.loads(self.get()[1])

    def until(self, wanted, seconds=6.0):
        """The first sample for which WANTED holds."""
        end = time.monotonic() + seconds
        while True:
            sample = self.sample()
            if wanted(sample):
                return sample
            assert time.monotonic() < end, f"not within {seconds} s; the last: {json.dumps(sample)[:600]}"
            time.sleep(0.03)

    def memory_kb(self):
        return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{self.process.pid}/status").read()).group(1))

    def public(self):
        """What every user of the machine, and whoever may read our environment, can see."""
        return b"".join(open(f"/proc/{self.process.pid}/{name}", "rb").read() for name in ("cmdline", "environ"))

    def end(self):
        self.process.terminate()
        self.said += self.process.communicate(timeout=5)[0]
        self.folder.cleanup()
        return self.process.returncode


def total(sample, kind):
    """Milliseconds waited for KIND, unfinished waits included."""
    ms = sum(w["wait_ms"] for w in sample["waits"] if w["type"] == kind)
    return ms + sum(w["wait_ms"] or 0 for w in sample["unfinished"] if w["type"] == kind)
