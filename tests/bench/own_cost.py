#!/usr/bin/env python3
"""Own cost of useprobe at 1 Hz beside its peers, all at once over the same seconds on the same load.

usage: own_cost.py BUILD [SECONDS] [ROUNDS]
A target process of 200 threads, 10 of which wake every 100 ms, is the workload. Every tool runs at the same time; its CPU clock
(clock_getcpuclockid(3), all its threads, ns) is read after 3 s of settling and SECONDS (20) later, so start-up is not in the figure.
Peak RSS is VmHWM at the end. The median of ROUNDS (3) is printed.
"""
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time


def workload():
    """Child with 200 threads; returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def ticker():
        while True:
            time.sleep(0.1)

    def sleeper():
        time.sleep(3600)

    threading.stack_size(65536)
    for i in range(199):
        threading.Thread(target=ticker if i < 10 else sleeper, daemon=True).start()
    time.sleep(3600)
    os._exit(0)


def cpu_seconds(pid):
    """CPU time of a whole process; the clock id is what clock_getcpuclockid(3) makes of a pid (CPUCLOCK_SCHED)."""
    return time.clock_gettime((~pid << 3) | 2)


def peak_kib(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def run_all(tools, seconds):
    """Runs TOOLS together; {name: (CPU seconds in the window, peak KiB)}, a tool that ended early is left out."""
    running = {}
    for name, command in tools.items():
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        running[name] = process
    time.sleep(3)
    begin = {name: cpu_seconds(p.pid) for name, p in running.items() if p.poll() is None}
    time.sleep(seconds)
    result = {}
    for name, process in running.items():
        if process.poll() is None and name in begin:
            result[name] = (cpu_seconds(process.pid) - begin[name], peak_kib(process.pid))
            process.send_signal(signal.SIGINT)
        process.wait()
    return result


def main():
    build = sys.argv[1]
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    target = workload()
    time.sleep(0.5)
    probe = f"{build}/useprobe"
    tools = {
        "useprobe, all rows": [probe, "-p", str(target), "-b", "--no-csv", "-i", "1"],
        "useprobe, cpu and memory only": [probe, "-p", str(target), "-b", "--no-csv", "-i", "1", "--only", "cpu,memory"],
    }
    peers = {
        "top -b": ["top", "-b", "-d", "1"],
        "pidstat -u -r -d": ["pidstat", "-u", "-r", "-d", "1"],
        "pidstat -t (threads)": ["pidstat", "-u", "-r", "-d", "-t", "1"],
        "atop -w": ["atop", "-w", "/dev/null", "1"],
        "sadc -S XALL": ["/usr/lib/sysstat/sadc", "-S", "XALL", "1", "/dev/null"],
    }
    for name, command in peers.items():
        if shutil.which(command[0]):
            tools[name] = command
        else:
            print(f"not installed here: {name}")
    try:
        results = [run_all(tools, seconds) for _ in range(rounds)]
    finally:
        os.kill(target, signal.SIGTERM)
        os.waitpid(target, 0)
    print(f"{'tool':32} {'ms per tick':>12} {'% of a core':>12} {'peak RSS MiB':>13}   median of {rounds} runs of {seconds} s")
    for name in tools:
        if not all(name in r for r in results):
            print(f"{name:32} ended early")
            continue
        cpu = statistics.median(r[name][0] for r in results)
        rss = statistics.median(r[name][1] for r in results)
        print(f"{name:32} {cpu / seconds * 1e3:12.3f} {cpu / seconds * 100:12.3f} {rss / 1024:13.1f}")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
