# hold_sockets.py COUNT PROCESSES: COUNT established loopback sockets (both ends count) in this network namespace, held until stdin ends.
# Several processes, since one may hold only so many descriptors. Prints "ready N" with what the kernel counts.
import os, resource, socket, sys

count, processes = int(sys.argv[1]), int(sys.argv[2])
pairs = count // 2 // processes
for path, text in (("ip_local_port_range", "10000 60999"), ("tcp_max_syn_backlog", "4096")):
    with open("/proc/sys/net/ipv4/" + path, "w") as f:
        f.write(text)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
hold, release = os.pipe()
done, told = os.pipe()
for p in range(processes):
    if os.fork() == 0:
        os.close(release)
        server = socket.socket()
        server.bind(("127.0.0.%d" % (p + 1), 5000 + p))
        server.listen(64)
        held = []
        for _ in range(pairs):
            client = socket.create_connection(server.getsockname())
            held += [client, server.accept()[0]]
        os.write(told, b"x")
        os.read(hold, 1)
        os._exit(0)
os.close(hold)
left = processes
while left:
    left -= len(os.read(done, left))
tcp = next(l for l in open("/proc/self/net/sockstat") if l.startswith("TCP:")).split()
print("ready", tcp[tcp.index("inuse") + 1], flush=True)
sys.stdin.read()
