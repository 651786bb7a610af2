/* Answers of the kernel: netlink datagrams with sockets in them, tables of /proc/net. The first byte chooses. */
#include <stdlib.h>
#include <string.h>

#include "useprobe/census.h"
#include "useprobe/netfiles.h"
#include "useprobe/netns.h"
#include "useprobe/qdisc.h"
#include "useprobe/sock_diag.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static int each(void *ctx, uint16_t type, const void *payload, size_t payload_bytes)
{
	char text[UP_ENDPOINT_TEXT];
	struct up_sock sock;
	struct up_endpoint back;

	struct up_qdisc qdisc;

	(void)type;
	if (up_qdisc_parse(payload, payload_bytes, &qdisc) == 0 && !memchr(qdisc.kind, '\0', sizeof(qdisc.kind)))
		abort();
	if (up_sock_parse(payload, payload_bytes, &sock) < 0)
		return 0;
	up_census_add(ctx, &sock);
	/* What is written can be read back. */
	if (up_endpoint_parse(up_endpoint_format(&sock.local, text), &back) < 0 || !up_endpoint_equal(&back, &sock.local))
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct up_u64 values[3] = { 0 };
	const struct up_net_field fields[] = {
		{ "TcpExt", "ListenDrops", &values[0] },
		{ "Tcp", "RetransSegs", &values[1] },
		{ "", "x", &values[2] },
	};
	struct up_endpoint endpoint;
	struct up_sock sock;
	uint64_t inode;
	char *text;

	if (size == 0)
		return 0;
	if (data[0] & 1) {
		static const char *const texts[UP_NETLIMIT_COUNT] = { "32768\t60999\n" };
		static struct up_netlimits limits;
		static struct up_census census;
		struct up_destination top[UP_CENSUS_TOP];

		up_netlimits_parse(texts, &limits);
		up_census_begin(&census, &limits, 4);
		if (up_netlink_walk(data + 1, size - 1, 7, each, &census) > 1)
			abort();
		if (up_census_top(&census, top) > UP_CENSUS_TOP || census.destination_count > census.sockets)
			abort();
		return 0;
	}
	text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	(void)!up_net_fields(text, fields, 3);
	(void)!up_net_sockstat(text, fields, 3);
	(void)!up_netns_parse(text, &inode);
	(void)!up_endpoint_parse(text, &endpoint);
	(void)!up_sock_parse_proc(text, size & 1, &sock);
	free(text);
	return 0;
}
