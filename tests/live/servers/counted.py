"""Python's own http.server, a thread per connection, with exact counters: counted.py PORT DELAY_MS. GET /_stats answers them."""
import json, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Level:
    def __init__(self):
        self.lock = threading.Lock()
        self.n = self.area = self.arrivals = self.departures = 0
        self.last = time.monotonic_ns()
    def move(self, by):
        with self.lock:
            now = time.monotonic_ns()
            self.area += self.n * (now - self.last)
            self.last, self.n = now, self.n + by
            self.arrivals += by > 0
            self.departures += by < 0
    def read(self):
        self.move(0)
        return {"mono_ns": self.last, "arrivals": self.arrivals, "departures": self.departures, "in_flight_area_ns": self.area}

level = Level()

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def log_message(self, *args):
        pass
    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        if self.path == "/_stats":
            return self.answer(json.dumps(level.read()).encode())
        level.move(1)
        time.sleep(float(sys.argv[2]) / 1e3)
        self.answer(b"ok\n")
        level.move(-1)

class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
