"""The pairs of sched_pipe.sh. usage: sched_pipe.py DIR MOUNT TOP PAIRS - DIR holds the loader and the programs, TOP/g0 is the group to run in."""
import os
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import time

OPERATIONS = 10000
SHORT_RUNS = 3
SWITCHES = 2  # an operation

BPFTRACE = """tracepoint:sched:sched_wakeup, tracepoint:sched:sched_wakeup_new { @begun[args->pid] = nsecs; }
tracepoint:sched:sched_switch {
  if (args->prev_state == 0) { @begun[args->prev_pid] = nsecs; }
  $since = @begun[args->next_pid];
  if ($since) { @us = hist((nsecs - $since) / 1000); }
  delete(@begun[args->next_pid]);
}"""


def run(mount, top):
    def enter():
        with open(f"{mount}/{top}/g0/cgroup.procs", "w") as procs:
            procs.write("0")

    best = None
    for _ in range(SHORT_RUNS):
        out = subprocess.run(["taskset", "-c", "0", "perf", "bench", "sched", "pipe", "-l", str(OPERATIONS)], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=enter, check=True).stdout
        us = float(re.search(r"([\d.]+) usecs/op", out).group(1))
        best = us if best is None else min(best, us)
    return best * 1000 / SWITCHES


class Attached:
    """A variant's program for the time of a with block."""

    def __init__(self, command, ready):
        self.command, self.ready = command, ready

    def __enter__(self):
        if not self.command:
            return
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        seen, end = b"", time.monotonic() + 20
        while self.ready not in seen:
            left = max(0, end - time.monotonic())
            more = os.read(self.process.stdout.fileno(), 4096) if select.select([self.process.stdout], [], [], left)[0] else b""
            if not more:
                self.__exit__()
                raise RuntimeError(seen.decode(errors="replace").strip() or "nothing within 20 s")
            seen += more
        time.sleep(0.3 if self.ready == b"ready" else 1)

    def __exit__(self, *_):
        if self.command:
            self.process.send_signal(signal.SIGINT)
            self.process.communicate(timeout=20)


def variants(directory, top):
    attach, rivals = f"{directory}/attach", f"{directory}/rivals.bpf.o"
    group = [f"/{top}/g{i}" for i in range(17)]
    yield "nothing", None, b""
    yield "empty program", [attach, rivals, "empty_"], b"ready"
    yield "useprobe, 1 target, hit", [attach, "delay", group[0]], b"ready"
    yield "useprobe, 1 target, miss", [attach, "delay", group[1]], b"ready"
    yield "useprobe, 16 targets, hit", [attach, "delay"] + group[1:16] + group[:1], b"ready"
    yield "useprobe, 16 targets, miss", [attach, "delay"] + group[1:], b"ready"
    yield "hash by thread", [attach, rivals, "hash_"], b"ready"
    if shutil.which("bpftrace"):
        # tracefs in a mount namespace of its own: the host may have none.
        with open(f"{directory}/runq.bt", "w") as script:
            script.write(BPFTRACE)
        yield "bpftrace", ["unshare", "-m", "sh", "-c", "ulimit -l unlimited; mount -t tracefs t /sys/kernel/tracing; mount -t debugfs d "
                           f"/sys/kernel/debug; exec bpftrace {directory}/runq.bt"], b"Attaching"


def main():
    directory, mount, top, pairs = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    added, base, refused = {}, [], {}
    todo = list(variants(directory, top))
    for turn in range(pairs):
        for name, command, ready in todo[turn % len(todo):] + todo[:turn % len(todo)]:
            if name in refused:
                continue
            try:
                without = None if turn % 2 else run(mount, top)
                with Attached(command, ready):
                    attached = run(mount, top)
                if without is None:
                    without = run(mount, top)
            except RuntimeError as error:
                refused[name] = str(error).splitlines()[-1]
                continue
            base.append(without)
            added.setdefault(name, []).append(attached - without)
    floor = statistics.median(added["empty program"]) if "empty program" in added else None
    print(f"context switch without any: {statistics.median(base):.0f} ns (lowest {min(base):.0f}, highest {max(base):.0f}); "
          f"{pairs} pairs a variant; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    print(f"{'attached':28} {'ns a switch more':>17} {'quartiles':>15} {'x empty':>8}")
    for name, _, _ in todo:
        if name in refused:
            print(f"{name:28} not run: {refused[name]}")
            continue
        differences = added[name]
        low, median, high = statistics.quantiles(differences, n=4)
        times = f"{median / floor:.2f}" if floor and floor > 0 and name != "nothing" else ""
        print(f"{name:28} {median:17.0f} {f'{low:.0f} .. {high:.0f}':>15} {times:>8}")


main()
