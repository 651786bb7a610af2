/* /proc/net/tcp and tcp6 (net/ipv4/tcp_ipv4.c, tcp4_seq_show): what is left where sock_diag is not to be had. Listening sockets first:
 *     sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
 *      0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 12345 1 ...
 * Addresses are 32-bit words in the machine's byte order, printed in hexadecimal. rx_queue of a listener is its accept queue; the backlog
 * and the drops are not in it. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "useprobe/sock_diag.h"

#define CHUNK_BYTES ((size_t)16 << 10)

/* COUNT hexadecimal digits at *CURSOR. */
static bool scan_digits(const char **cursor, unsigned count, uint32_t *ret)
{
	uint32_t number = 0;

	for (unsigned i = 0; i < count; i++) {
		const char c = (*cursor)[i];
		const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;

		if (digit < 0)
			return false;
		number = number << 4 | (uint32_t)digit;
	}
	*cursor += count;
	*ret = number;
	return true;
}

static bool scan_endpoint(const char **cursor, bool v6, struct up_endpoint *ret)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct up_endpoint endpoint = { .is_v6 = v6 };
	uint32_t word, port;

	for (unsigned i = 0; i < (v6 ? 4u : 1u); i++) {
		if (!scan_digits(cursor, 8, &word))
			return false;
		memcpy(endpoint.addr + (size_t)4 * i, &word, sizeof(word));
	}
	if (!up_scan_literal(cursor, ":") || !scan_digits(cursor, 4, &port))
		return false;
	if (v6 && memcmp(endpoint.addr, mapped, sizeof(mapped)) == 0) {
		memmove(endpoint.addr, endpoint.addr + 12, 4);
		memset(endpoint.addr + 4, 0, 12);
		endpoint.is_v6 = 0;
	}
	endpoint.port = (uint16_t)port;
	*ret = endpoint;
	return true;
}

int up_sock_parse_proc(const char *line, bool v6, struct up_sock *ret)
{
	struct up_sock sock = { 0 };
	uint32_t state, ignored;
	uint64_t number, inode;
	const char *p = line;

	up_scan_blanks(&p);
	if (up_scan_u64(&p, &number) < 0 || !up_scan_literal(&p, ": ") || !scan_endpoint(&p, v6, &sock.local) ||
		!up_scan_literal(&p, " ") || !scan_endpoint(&p, v6, &sock.remote) || !up_scan_literal(&p, " ") ||
		!scan_digits(&p, 2, &state) || !up_scan_literal(&p, " ") || !scan_digits(&p, 8, &sock.send_queue) ||
		!up_scan_literal(&p, ":") || !scan_digits(&p, 8, &sock.receive_queue) || !up_scan_literal(&p, " ") ||
		!scan_digits(&p, 2, &ignored) || !up_scan_literal(&p, ":") || !scan_digits(&p, 8, &ignored) ||
		!up_scan_literal(&p, " ") || !scan_digits(&p, 8, &ignored))
		return -EBADMSG;
	for (int i = 0; i < 2; i++) { /* uid, timeout */
		up_scan_blanks(&p);
		if (up_scan_u64(&p, &number) < 0)
			return -EBADMSG;
	}
	up_scan_blanks(&p);
	if (up_scan_u64(&p, &inode) < 0 || inode > UINT32_MAX || (*p != ' ' && *p != '\n'))
		return -EBADMSG;
	sock.state = (uint8_t)state;
	sock.inode = (uint32_t)inode;
	sock.cookie = inode; /* the best name there is: a listener keeps its inode */
	if (sock.state == UP_TCP_LISTEN)
		sock.send_queue = 0;
	*ret = sock;
	return 0;
}

struct walk {
	bool v6;
	uint32_t states;
	up_sock_each *each;
	void *ctx;
	bool heading; /* still to come */
};

/* Lines of [*CURSOR, END), which ends with a zero byte. 1 when no more is wanted, 0, -errno. */
static int walk_lines(struct walk *walk, const char **cursor)
{
	const char *line;
	size_t len;
	int r = 0;

	while (r == 0 && up_scan_line(cursor, &line, &len, NULL)) {
		struct up_sock sock;

		if (walk->heading) {
			walk->heading = false;
			continue;
		}
		r = up_sock_parse_proc(line, walk->v6, &sock);
		if (r == 0 && walk->states >> sock.state & 1)
			r = walk->each(walk->ctx, &sock);
		else if (r == 0 && walk->states == 1u << UP_TCP_LISTEN)
			return 1;
	}
	return r;
}

int up_sock_read_proc(int fd, bool v6, uint32_t states, up_sock_each *each, void *ctx)
{
	struct walk walk = { .v6 = v6, .states = states, .each = each, .ctx = ctx, .heading = true };
	char text[CHUNK_BYTES + 1];
	size_t kept = 0;
	off_t offset = 0;
	int r = 0;

	while (r == 0) {
		const ssize_t len = pread(fd, text + kept, CHUNK_BYTES - kept, offset);
		const char *cursor = text;

		if (len < 0)
			return -errno;
		if (len == 0)
			return kept ? -EBADMSG : 0; /* the kernel ends every line it writes */
		offset += len;
		kept += (size_t)len;
		text[kept] = '\0';
		if (memchr(text, '\0', kept))
			return -EBADMSG;
		r = walk_lines(&walk, &cursor);
		kept -= (size_t)(cursor - text);
		memmove(text, cursor, kept);
		if (kept == CHUNK_BYTES)
			return -EBADMSG;
	}
	return r < 0 ? r : 0;
}
