/* Netfiles: the two-line tables of /proc/net/netstat and /proc/net/snmp, a line of names and a line of values for each prefix:
 *     TcpExt: SyncookiesSent SyncookiesRecv ...
 *     TcpExt: 0 0 ...
 * Kernels add and remove columns, so values are found by name, never by column number (net/ipv4/proc.c). */
#ifndef UP_NETFILES_H
#define UP_NETFILES_H

#include "useprobe/compiler.h"
#include "useprobe/scan.h"

/* One value wanted. */
struct up_net_field {
	const char *prefix, *name; /* "TcpExt", "ListenOverflows" */
	struct up_u64 *ret;
};

/* Fills every field of FIELDS that TEXT has; the others stay as they are. Negative values (Tcp: MaxConn -1) count as not there.
 * 0; -EBADMSG when a line is cut, when names and values differ in number, or when a wanted value is no number: nothing is filled then. */
UP_MUST_CHECK int up_net_fields(const char *text, const struct up_net_field *fields, size_t count);

/* The same for /proc/net/sockstat, a line "PREFIX: name value name value ..." each ("TCP: inuse 35 orphan 0 tw 4 alloc 59 mem 22"). */
UP_MUST_CHECK int up_net_sockstat(const char *text, const struct up_net_field *fields, size_t count);

#endif
