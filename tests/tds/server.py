"""A server that speaks TDS and holds the views the bridge reads. Its waits are those of a real queue: threads that wait for a worker.
It checks names: a column that the documented view does not have is error 207, another view 208."""
import datetime
import random
import re
import socket
import struct
import threading
import time

import wire

# Columns that the queries may name, MicrosoftDocs sys-dm-os-*.
VIEWS = {
    "dm_os_sys_info": "cpu_count max_workers_count ms_ticks sqlserver_start_time",
    "dm_os_wait_stats": "wait_type waiting_tasks_count wait_time_ms max_wait_time_ms signal_wait_time_ms",
    "dm_db_wait_stats": "wait_type waiting_tasks_count wait_time_ms max_wait_time_ms signal_wait_time_ms",
    "dm_os_waiting_tasks": "wait_type wait_duration_ms blocking_session_id session_id",
    "dm_os_schedulers": "status is_idle runnable_tasks_count work_queue_count pending_disk_io_count current_workers_count "
    "active_workers_count failed_to_create_worker",
    "dm_exec_query_resource_semaphores": "waiter_count granted_memory_kb target_memory_kb timeout_error_count forced_grant_count",
    "dm_os_performance_counters": "object_name counter_name instance_name cntr_value",
}
WORDS = set("select as from where or and is not null count sum max cast case when then else end like group by bigint int sys "
            "current_timestamp visible online".split())


class Queue:
    """WORKERS serve jobs; a job's thread waits until one is free. Waits are booked one by one, as SQL Server books them: the count when
    the wait begins, the time when it ends. `area` is the integral of the queue's length, kept by another rule, at every change."""

    def __init__(self, workers, seed=7):
        self.lock = threading.Condition()
        self.free, self.workers = workers, workers
        self.count, self.wait_s, self.max_s = 0, 0.0, 0.0
        self.length, self.area, self.changed = 0, 0.0, time.monotonic()
        self.begun = {}
        self.random = random.Random(seed)
        self.stopped = False

    def change(self, by):
        now = time.monotonic()
        self.area += self.length * (now - self.changed)
        self.length, self.changed = self.length + by, now

    def job(self, seconds):
        with self.lock:
            if self.free == 0:
                begun, me = time.monotonic(), threading.get_ident()
                self.count += 1
                self.begun[me] = begun
                self.change(1)
                while self.free == 0:
                    self.lock.wait()
                self.change(-1)
                del self.begun[me]
                waited = time.monotonic() - begun
                self.wait_s += waited
                self.max_s = max(self.max_s, waited)
            self.free -= 1
        time.sleep(seconds)
        with self.lock:
            self.free += 1
            self.lock.notify()

    def client(self):
        while not self.stopped:
            self.job(self.random.expovariate(1 / 0.04))
            time.sleep(self.random.expovariate(1 / 0.02))

    def run(self, clients):
        for _ in range(clients):
            threading.Thread(target=self.client, daemon=True).start()

    def read(self):
        with self.lock:
            self.change(0)
            now = time.monotonic()
            return self.count, self.wait_s, self.max_s, [now - t for t in self.begun.values()], self.area, now


class Server:
    def __init__(self, queue):
        self.queue = queue
        self.password = "right"
        self.edition, self.granted = 3, True
        self.mode = "answer"  # hang, slow, garbage, flood
        self.other = {"LAZYWRITER_SLEEP": [10, 5000], "WRITELOG": [7, 21]}
        self.zero = (0, 0.0)
        self.truth = {}  # ms_ticks -> area of the queue, s
        self.seen = {"logins": 0, "attentions": 0, "versions": set(), "batches": []}
        self.connections = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.restart()
        threading.Thread(target=self.accept, daemon=True).start()

    def restart(self):
        self.start = datetime.datetime.now().replace(microsecond=0) + datetime.timedelta(seconds=len(self.seen["batches"]))
        self.clear()

    def clear(self):
        count, wait_s, _, _, _, _ = self.queue.read()
        self.zero = (count, wait_s)

    def drop(self):
        for sock in list(self.connections):
            sock.shutdown(socket.SHUT_RDWR)

    def accept(self):
        while True:
            sock, _ = self.listener.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        self.connections.add(sock)
        try:
            self.talk(sock)
        except (EOFError, OSError):
            pass
        finally:
            self.connections.discard(sock)
            sock.close()

    def talk(self, sock):
        session = wire.Session()
        while True:
            kind, body = wire.read_message(sock)
            if kind == wire.PRELOGIN:
                wire.send_message(sock, wire.prelogin_reply())
            elif kind == wire.LOGIN7:
                user, password = session.login(body)
                self.seen["logins"] += 1
                self.seen["versions"].add(session.version)
                if password != self.password:
                    wire.send_message(sock, session.error(18456, f"Login failed for user '{user}'.") + session.done(wire.DONE_ERROR))
                    return
                wire.send_message(sock, session.login_ack())
            elif kind == wire.ATTENTION:
                self.seen["attentions"] += 1
                wire.send_message(sock, session.done(wire.DONE_ATTENTION))
            elif kind == wire.BATCH:
                if session.new:
                    body = body[struct.unpack_from("<I", body)[0] :]
                self.batch(sock, session, body.decode("utf-16le"))

    def batch(self, sock, session, sql):
        self.seen["batches"].append(sql)
        mode = self.mode
        if mode == "hang":
            return  # and listen on: an ATTENTION ends it
        if mode == "slow":
            time.sleep(0.3)
        if mode == "garbage":
            sock.sendall(bytes([4, 1, 0, 72, 0, 51, 1, 0]) + random.Random(1).randbytes(64))
            return
        if mode == "flood":
            self.flood(sock, session)
            return
        answer = b""
        statements = [s for s in (part.strip() for part in sql.split(";")) if s]
        for number, statement in enumerate(statements, 1):
            body, rows, failed = self.statement(session, statement)
            more = wire.DONE_MORE if number < len(statements) else 0
            answer += body + session.done(more | (wire.DONE_ERROR if failed else wire.DONE_COUNT if rows is not None else 0), rows or 0)
        wire.send_message(sock, answer)

    def flood(self, sock, session):
        row = b"\xd1" + session.cell("text", "X" * 60) + session.cell("int", 1)
        columns = session.columns([("type", "text"), ("wait_ms", "int")])
        sent, head = 0, columns
        while sent < 100_000_000:
            part = (head + row * 40)[:32000]
            head = (head + row * 40)[32000:]
            sock.sendall(struct.pack(">BBHHBB", 4, 0, len(part) + 8, 51, 1, 0) + part)
            sent += len(part)

    def statement(self, session, statement):
        """Tokens, number of rows (None = no result set), whether it failed."""
        if statement.upper().startswith("SET "):
            return b"", None, False
        if "SERVERPROPERTY('EngineEdition')" in statement:
            return session.result([("edition", "int"), ("name", "text")], [{"edition": self.edition, "name": "TESTHOST"}]), 1, False
        found = re.search(r"\bFROM sys\.(\w+)", statement)
        view = found.group(1) if found else None
        if view not in VIEWS:
            return session.error(208, f"Invalid object name '{view}'.", 16), None, True
        names = set(re.findall(r"[a-z_]+", re.sub(r"'[^']*'|\bAS \w+|sys\.\w+", " ", statement).lower()))
        unknown = names - WORDS - set(VIEWS[view].split())
        if unknown:
            return session.error(207, f"Invalid column name '{min(unknown)}'.", 16), None, True
        if not self.granted or (self.edition == 5 and view == "dm_os_wait_stats"):
            return session.error(300, "VIEW SERVER PERFORMANCE STATE permission was denied on object 'server', database 'master'."), None, True
        rows = getattr(self, view)()
        head = statement[: found.start()]
        columns = []
        for alias in re.findall(r"\bAS (\w+)(?=,|\s|$)", head):
            if alias not in ("bigint", "int"):
                columns.append((alias, {"type": "text", "server_start": "time", "server_time": "time"}.get(alias, "int")))
        return session.result(columns, rows), len(rows), False

    def dm_os_sys_info(self):
        *_, area, now = self.queue.read()
        ticks = int(now * 1000)
        self.truth[ticks] = area
        return [{"cpus": 2, "workers_max": 512, "clock_ms": ticks, "server_start": self.start, "server_time": datetime.datetime.now()}]

    def dm_os_wait_stats(self):
        count, wait_s, max_s, _, _, _ = self.queue.read()
        rows = [{"type": "THREADPOOL", "waits": count - self.zero[0], "wait_ms": int((wait_s - self.zero[1]) * 1000), "signal_ms": 0,
                 "max_ms": int(max_s * 1000)}]
        return rows + [{"type": t, "waits": n, "wait_ms": ms, "signal_ms": 1, "max_ms": ms} for t, (n, ms) in self.other.items()]

    dm_db_wait_stats = dm_os_wait_stats

    def dm_os_waiting_tasks(self):
        _, _, _, now_waiting, _, _ = self.queue.read()
        if not now_waiting:
            return []
        return [{"type": "THREADPOOL", "tasks": len(now_waiting), "wait_ms": int(sum(now_waiting) * 1000),
                 "longest_ms": int(max(now_waiting) * 1000), "blocked": 0}]

    def dm_os_schedulers(self):
        queue = self.queue
        return [{"schedulers": 2, "schedulers_busy": 1, "runnable_tasks": 0, "work_queue": queue.length, "pending_disk_io": 0,
                 "workers": queue.workers, "workers_active": queue.workers - queue.free, "worker_failures": 0}]

    def dm_exec_query_resource_semaphores(self):
        return [{"grant_waiters": 0, "granted_kb": 1024, "grant_target_kb": 160000, "grant_timeouts": 0, "forced_grants": None}]

    def dm_os_performance_counters(self):
        return [{"errors": 3, "deadlocks": 0, "lock_timeouts": 0}]
