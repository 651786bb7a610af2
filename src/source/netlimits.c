#include "useprobe/netlimits.h"

#include <errno.h>
#include <string.h>

static const char *const paths[UP_NETLIMIT_COUNT] = {
	[UP_NETLIMIT_PORT_RANGE] = "proc/sys/net/ipv4/ip_local_port_range",
	[UP_NETLIMIT_PORTS_RESERVED] = "proc/sys/net/ipv4/ip_local_reserved_ports",
	[UP_NETLIMIT_TIME_WAIT_MAX] = "proc/sys/net/ipv4/tcp_max_tw_buckets",
	[UP_NETLIMIT_TIME_WAIT_REUSE] = "proc/sys/net/ipv4/tcp_tw_reuse",
	[UP_NETLIMIT_CONNTRACK_COUNT] = "proc/sys/net/netfilter/nf_conntrack_count",
	[UP_NETLIMIT_CONNTRACK_MAX] = "proc/sys/net/netfilter/nf_conntrack_max",
};

const char *up_netlimit_path(enum up_netlimit limit)
{
	return paths[limit];
}

static int scan_port(const char **cursor, uint64_t *ret)
{
	const int r = up_scan_u64(cursor, ret);

	return r < 0 ? r : *ret <= UINT16_MAX ? 0 : -ERANGE;
}

/* "32768\t60999\n" */
static int scan_range(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
	const char *cursor = text;
	uint64_t first, last;

	if (scan_port(&cursor, &first) < 0 || (*cursor != '\t' && *cursor != ' '))
		return -EBADMSG;
	up_scan_blanks(&cursor);
	if (scan_port(&cursor, &last) < 0 || *cursor != '\n' || last < first)
		return -EBADMSG;
	*ret_first = first;
	*ret_last = last;
	return 0;
}

static void set_bits(uint64_t bits[UP_PORT_WORDS], uint64_t first, uint64_t last, bool on)
{
	for (uint64_t port = first; port <= last; port++) {
		if (on)
			bits[port / 64] |= UINT64_C(1) << (port % 64);
		else
			bits[port / 64] &= ~(UINT64_C(1) << (port % 64));
	}
}

/* "8080,9000-9010\n", empty for none (kernel/sysctl.c, proc_do_large_bitmap). */
static int take_reserved(const char *text, uint64_t bits[UP_PORT_WORDS])
{
	const char *cursor = text;

	while (*cursor != '\n') {
		uint64_t first, last;

		if (scan_port(&cursor, &first) < 0)
			return -EBADMSG;
		last = first;
		if (*cursor == '-' && (cursor++, scan_port(&cursor, &last) < 0))
			return -EBADMSG;
		if (last < first || (*cursor != ',' && *cursor != '\n'))
			return -EBADMSG;
		if (*cursor == ',')
			cursor++;
		set_bits(bits, first, last, false);
	}
	return 0;
}

static void take_ports(const char *range, const char *reserved, struct up_netlimits *ret)
{
	uint64_t first, last, count = 0;

	if (!range || scan_range(range, &first, &last) < 0)
		return;
	set_bits(ret->is_ephemeral, first, last, true);
	if (reserved && take_reserved(reserved, ret->is_ephemeral) < 0) {
		memset(ret->is_ephemeral, 0, sizeof(ret->is_ephemeral));
		return;
	}
	for (size_t i = 0; i < UP_PORT_WORDS; i++)
		count += (uint64_t)__builtin_popcountll(ret->is_ephemeral[i]);
	ret->port_first = (struct up_u64){ first, true };
	ret->port_last = (struct up_u64){ last, true };
	ret->ports = (struct up_u64){ count, true };
}

static void take_number(const char *text, struct up_u64 *ret)
{
	bool unlimited;

	*ret = (struct up_u64){ 0 };
	if (text && up_scan_single(text, ret, &unlimited) < 0)
		*ret = (struct up_u64){ 0 };
}

void up_netlimits_parse(const char *const texts[UP_NETLIMIT_COUNT], struct up_netlimits *ret)
{
	memset(ret, 0, sizeof(*ret));
	take_ports(texts[UP_NETLIMIT_PORT_RANGE], texts[UP_NETLIMIT_PORTS_RESERVED], ret);
	take_number(texts[UP_NETLIMIT_TIME_WAIT_MAX], &ret->time_wait_max);
	take_number(texts[UP_NETLIMIT_TIME_WAIT_REUSE], &ret->time_wait_reuse);
	take_number(texts[UP_NETLIMIT_CONNTRACK_COUNT], &ret->conntrack_count);
	take_number(texts[UP_NETLIMIT_CONNTRACK_MAX], &ret->conntrack_max);
}
