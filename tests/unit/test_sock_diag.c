/* Netlink and sock_diag answers: recorded datagrams, every prefix of them, and addresses. */
#include <errno.h>
#include <stdlib.h>

#include "fake_tree.h"
#include "useprobe/sock_diag.h"

#define SEQUENCE 7

struct seen {
	struct up_sock socks[16];
	size_t count;
};

static int keep(void *ctx, uint16_t type, const void *payload, size_t payload_bytes)
{
	struct seen *seen = ctx;

	assert_int_equal(type, 18);
	assert_true(seen->count < 16);
	return up_sock_parse(payload, payload_bytes, &seen->socks[seen->count++]);
}

/* A file holds several datagrams one behind the other; a walk over them all is the same walk. */
static int walk(const char *data, size_t len, struct seen *seen)
{
	*seen = (struct seen){ 0 };
	return up_netlink_walk(data, len, SEQUENCE, keep, seen);
}

static void check_endpoint(const struct up_endpoint *endpoint, const char *text)
{
	char buffer[UP_ENDPOINT_TEXT];

	assert_string_equal(up_endpoint_format(endpoint, buffer), text);
}

static void listeners_have_queue_backlog_and_drops(void **state)
{
	size_t len;
	char *data = fake_tree_read(FIXTURES "sock_diag", "listen.bin", &len);
	struct seen seen;

	(void)state;
	assert_int_equal(walk(data, len, &seen), 1);
	assert_int_equal(seen.count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct up_sock *sock = &seen.socks[i];
		const bool first = sock->local.port == 8080;

		check_endpoint(&sock->local, first ? "127.0.0.1:8080" : "[::]:8081");
		assert_int_equal(sock->state, UP_TCP_LISTEN);
		assert_int_equal(sock->receive_queue, first ? 3 : 1);
		assert_int_equal(sock->send_queue, first ? 5 : 9);
		assert_true(sock->drops.has && sock->drops.n == 0);
		assert_true(sock->cgroup_id.has && sock->inode != 0 && sock->cookie != 0);
		assert_int_equal(sock->dual, !first);
		assert_false(sock->has_info);
	}
	free(data);
}

static void established_sockets_have_ages_and_bytes(void **state)
{
	size_t len, unread = 0, accepted = 0;
	char *data = fake_tree_read(FIXTURES "sock_diag", "established.bin", &len);
	struct seen seen;

	(void)state;
	assert_int_equal(walk(data, len, &seen), 1);
	assert_int_equal(seen.count, 8);
	for (size_t i = 0; i < seen.count; i++) {
		const struct up_sock *sock = &seen.socks[i];

		assert_int_equal(sock->state, UP_TCP_ESTABLISHED);
		assert_true(sock->has_info);
		/* The dual-stack listener's connection is an IPv6 socket with an IPv4 peer. */
		assert_int_equal(sock->local.is_v6, 0);
		accepted += sock->inode != 0;
		if (sock->receive_queue) {
			unread++;
			assert_int_equal(sock->receive_queue, 5);
			assert_int_equal(sock->bytes_received, 5);
			assert_int_equal(sock->local.port, 8081);
			assert_int_equal(sock->inode, 0); /* nobody accepted it */
		}
	}
	assert_int_equal(unread, 1);
	assert_int_equal(accepted, 4); /* the clients' ends */
	free(data);
}

/* Any prefix ends in an error or asks for more; what was handed out until then is what the whole gives. */
static void every_prefix_is_an_error_or_right(void **state)
{
	static const char *const files[] = { "listen.bin", "established.bin" };

	(void)state;
	for (size_t f = 0; f < 2; f++) {
		size_t len;
		char *data = fake_tree_read(FIXTURES "sock_diag", files[f], &len);
		struct seen whole, part;

		assert_int_equal(walk(data, len, &whole), 1);
		for (size_t cut = 0; cut < len; cut++) {
			char *copy = malloc(cut + 1); /* its own size, so that a read behind the end is caught */
			int r;

			memcpy(copy, data, cut);
			r = walk(copy, cut, &part);
			/* The end mark is the last message: only a prefix that holds its header has ended. */
			assert_true(r == 0 || r == -EBADMSG || cut >= len - 20);
			assert_true(part.count <= whole.count);
			for (size_t i = 0; r != -EBADMSG && i < part.count; i++)
				assert_memory_equal(&part.socks[i], &whole.socks[i], sizeof(part.socks[i]));
			free(copy);
		}
		free(data);
	}
}

static int count_only(void *ctx, uint16_t type, const void *payload, size_t payload_bytes)
{
	(void)type, (void)payload, (void)payload_bytes;
	++*(int *)ctx;
	return 0;
}

static void errors_and_strangers(void **state)
{
	const struct {
		struct nlmsghdr header;
		int32_t error;
	} denied = { { .nlmsg_len = 20, .nlmsg_type = NLMSG_ERROR, .nlmsg_seq = SEQUENCE }, -ENOENT },
	  other = { { .nlmsg_len = 20, .nlmsg_type = 18, .nlmsg_seq = SEQUENCE - 1 }, 0 },
	  mixed = { { .nlmsg_len = 20, .nlmsg_type = 18, .nlmsg_seq = SEQUENCE, .nlmsg_flags = NLM_F_DUMP_INTR }, 0 },
	  lies = { { .nlmsg_len = 400, .nlmsg_type = 18, .nlmsg_seq = SEQUENCE }, 0 };
	int count = 0;

	(void)state;
	assert_int_equal(up_netlink_walk(&denied, sizeof(denied), SEQUENCE, count_only, &count), -ENOENT);
	assert_int_equal(up_netlink_walk(&other, sizeof(other), SEQUENCE, count_only, &count), 0);
	assert_int_equal(up_netlink_walk(&mixed, sizeof(mixed), SEQUENCE, count_only, &count), -EINTR);
	assert_int_equal(up_netlink_walk(&lies, sizeof(lies), SEQUENCE, count_only, &count), -EBADMSG);
	assert_int_equal(count, 0);
}

static void attributes_stay_inside(void **state)
{
	const uint8_t bytes[] = { 8, 0, 21, 0, 1, 2, 3, 4, /* whole */ 6, 0, 1, 0, 9, 9, 0, 0, /* padded */ 12, 0, 2, 0,
		1 /* cut */ };
	const uint8_t *cursor = bytes;
	size_t len = sizeof(bytes);
	struct up_attr attr;

	(void)state;
	assert_true(up_attr_next(&cursor, &len, &attr));
	assert_int_equal(attr.type, 21);
	assert_int_equal(up_attr_u32(&attr), 0x04030201);
	assert_int_equal(up_attr_u64(&attr), 0); /* too short for it */
	assert_true(up_attr_next(&cursor, &len, &attr));
	assert_int_equal(attr.len, 2);
	assert_false(up_attr_next(&cursor, &len, &attr));
	assert_true(up_attr_find(bytes, sizeof(bytes), 1, 2, &attr));
	assert_false(up_attr_find(bytes, sizeof(bytes), 1, 3, &attr));
}

static void addresses_are_read_as_written(void **state)
{
	static const char *const right[] = { "127.0.0.1:80", "[::1]:65535", "[2001:db8::1]:0", "0.0.0.0:5432" };
	static const char *const wrong[] = { "", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "::1:80",
		"[::1]80", "[::1:80", "db:5432", "1.2.3:80", "127.0.0.1:80 " };
	struct up_endpoint endpoint;

	(void)state;
	for (size_t i = 0; i < UP_COUNT(right); i++) {
		assert_int_equal(up_endpoint_parse(right[i], &endpoint), 0);
		check_endpoint(&endpoint, right[i]);
	}
	for (size_t i = 0; i < UP_COUNT(wrong); i++)
		assert_int_equal(up_endpoint_parse(wrong[i], &endpoint), -EINVAL);
	assert_int_equal(up_endpoint_parse("[::]:1", &endpoint), 0);
	assert_true(up_endpoint_is_any(&endpoint));
}

static const char tcp4[] =
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                              \n"
	"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 12345 1 0000000012345678 100 0 0 10 0\n"
	"   1: 0100007F:1F90 0100007F:C350 01 00000007:00000005 01:00000014 00000000  1000        0 12346 2 0000000012345678 20 4 30 10 -1\n"
	"  12: 0100007F:C351 0100007F:1F90 06 00000000:00000000 03:000016F5 00000000     0        0 0 3 0000000012345678\n";
static const char tcp6[] =
	"  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  "
	"timeout inode\n"
	"   0: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0   "
	"     0 777 1 0000000012345678 100 0 0 10 0\n"
	"   1: 0000000000000000FFFF00000100007F:0050 0000000000000000FFFF00000200007F:C350 01 00000000:00000000 00:00000000 00000000     0   "
	"     0 778 1 0000000012345678 20 4 30 10 -1\n";

static int keep_sock(void *ctx, const struct up_sock *sock)
{
	struct seen *seen = ctx;

	assert_true(seen->count < 16);
	seen->socks[seen->count++] = *sock;
	return 0;
}

static int read_proc(const char *text, size_t len, bool v6, uint32_t states, struct seen *seen)
{
	FILE *file = tmpfile();
	int r;

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	fflush(file);
	*seen = (struct seen){ 0 };
	r = up_sock_read_proc(fileno(file), v6, states, keep_sock, seen);
	fclose(file);
	return r;
}

static void proc_net_tcp_has_states_and_queues(void **state)
{
	struct seen seen;

	(void)state;
	assert_int_equal(read_proc(tcp4, strlen(tcp4), false, ~0u, &seen), 0);
	assert_int_equal(seen.count, 3);
	check_endpoint(&seen.socks[0].local, "127.0.0.1:8080");
	assert_int_equal(seen.socks[0].receive_queue, 3);
	assert_int_equal(seen.socks[0].inode, 12345);
	check_endpoint(&seen.socks[1].remote, "127.0.0.1:50000");
	assert_int_equal(seen.socks[1].receive_queue, 5);
	assert_int_equal(seen.socks[1].send_queue, 7);
	assert_int_equal(seen.socks[2].state, UP_TCP_TIME_WAIT);
	assert_int_equal(read_proc(tcp4, strlen(tcp4), false, 1u << UP_TCP_LISTEN, &seen), 0);
	assert_int_equal(seen.count, 1);
	assert_int_equal(read_proc(tcp6, strlen(tcp6), true, ~0u, &seen), 0);
	assert_int_equal(seen.count, 2);
	check_endpoint(&seen.socks[0].local, "[::]:80");
	check_endpoint(&seen.socks[1].local, "127.0.0.1:80");
	check_endpoint(&seen.socks[1].remote, "127.0.0.2:50000");
}

static void every_prefix_of_proc_net_tcp_is_an_error_or_right(void **state)
{
	struct seen whole, part;

	(void)state;
	assert_int_equal(read_proc(tcp4, strlen(tcp4), false, ~0u, &whole), 0);
	for (size_t cut = 0; cut < strlen(tcp4); cut++) {
		const int r = read_proc(tcp4, cut, false, ~0u, &part);

		assert_true(r == -EBADMSG || cut == 0 || tcp4[cut - 1] == '\n');
		assert_true(part.count <= whole.count);
		for (size_t i = 0; i < part.count; i++)
			assert_memory_equal(&part.socks[i], &whole.socks[i], sizeof(part.socks[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listeners_have_queue_backlog_and_drops),
		cmocka_unit_test(established_sockets_have_ages_and_bytes),
		cmocka_unit_test(every_prefix_is_an_error_or_right),
		cmocka_unit_test(errors_and_strangers),
		cmocka_unit_test(attributes_stay_inside),
		cmocka_unit_test(addresses_are_read_as_written),
		cmocka_unit_test(proc_net_tcp_has_states_and_queues),
		cmocka_unit_test(every_prefix_of_proc_net_tcp_is_an_error_or_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
