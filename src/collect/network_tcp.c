/* network, row tcp: what TCP of a whole namespace did. Reads /proc/PID/net/snmp and netstat: a line of names above a line of numbers,
 * matched by name. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "network_parts.h"
#include "useprobe/netfiles.h"

int network_tcp_read(struct up_env *env, struct up_arena *arena, const char *dir, struct network_tcp *ret)
{
	const struct up_net_field snmp[] = {
		{ "Tcp", "RetransSegs", &ret->retransmits },
		{ "Tcp", "OutSegs", &ret->sent },
		{ "Tcp", "AttemptFails", &ret->connect_failures },
		{ "Tcp", "EstabResets", &ret->resets },
		{ "Tcp", "OutRsts", &ret->out_resets },
	};
	const struct up_net_field netstat[] = {
		{ "TcpExt", "TCPTimeouts", &ret->timeouts },
		{ "TcpExt", "ListenDrops", &ret->listen_drops },
		{ "TcpExt", "TCPBacklogDrop", &ret->backlog_drops },
		{ "TcpExt", "TCPAbortOnMemory", &ret->memory_aborts },
		{ "TcpExt", "TCPSynRetrans", &ret->syn_retransmits },
		{ "TcpExt", "PruneCalled", &ret->pruned },
		{ "TcpExt", "TCPRcvQDrop", &ret->receive_dropped },
		{ "TcpExt", "TCPToZeroWindowAdv", &ret->zero_windows },
	};
	char path[64], *text;
	int r;

	snprintf(path, sizeof(path), "%s/snmp", dir);
	r = up_source_read(env->source, arena, path, &text, NULL);
	if (r == 0 && up_net_fields(text, snmp, UP_COUNT(snmp)) < 0)
		return up_fail(env, -EBADMSG, "/%s: lines of names and values do not match", path);
	snprintf(path, sizeof(path), "%s/netstat", dir);
	r = up_source_read(env->source, arena, path, &text, NULL);
	if (r == 0 && up_net_fields(text, netstat, UP_COUNT(netstat)) < 0)
		return up_fail(env, -EBADMSG, "/%s: lines of names and values do not match", path);
	return 0;
}

/* A counter that this kernel does not have takes nothing away from the others. */
static struct up_value and_if_counted(struct up_value sum, struct up_value more)
{
	return more.state == UP_ABSENT ? sum : up_plus(sum, more);
}

void network_tcp_add(const struct network_tcp_sample *p, const struct network_tcp_sample *c, const struct network_space *space,
	const char *label, uint64_t dt_ns, struct up_rows *out)
{
	const struct network_tcp *t = c->tcp, *b = p ? p->tcp : NULL;
	const struct up_value retransmits = network_grown(b ? &b->retransmits : NULL, t->retransmits);
	const struct up_value sent = network_grown(b ? &b->sent : NULL, t->sent);
	const struct up_value dropped = network_grown(b ? &b->listen_drops : NULL, t->listen_drops);
	const struct up_value resets = network_grown(b ? &b->resets : NULL, t->resets);
	struct up_value unsent, unsent_max;
	struct up_detail detail = { 0 };

	up_detail_value(&detail, "retransmits", retransmits);
	up_detail_value(&detail, "segments_per_s", network_per_second(sent, dt_ns));
	up_detail_value(&detail, "timeouts", network_grown(b ? &b->timeouts : NULL, t->timeouts));
	up_detail_value(&detail, "connect_failures", network_grown(b ? &b->connect_failures : NULL, t->connect_failures));
	up_detail_value(&detail, "resets", network_grown(b ? &b->resets : NULL, t->resets));
	up_detail_value(&detail, "resets_sent", network_grown(b ? &b->out_resets : NULL, t->out_resets));
	up_detail_value(&detail, "listen_drops", network_grown(b ? &b->listen_drops : NULL, t->listen_drops));
	up_detail_value(&detail, "backlog_drops", network_grown(b ? &b->backlog_drops : NULL, t->backlog_drops));
	up_detail_value(&detail, "memory_aborts", network_grown(b ? &b->memory_aborts : NULL, t->memory_aborts));
	up_detail_value(&detail, "syn_retransmits", network_grown(b ? &b->syn_retransmits : NULL, t->syn_retransmits));
	up_detail_value(&detail, "pruned", network_grown(b ? &b->pruned : NULL, t->pruned));
	up_detail_value(&detail, "receive_dropped", network_grown(b ? &b->receive_dropped : NULL, t->receive_dropped));
	up_detail_value(&detail, "zero_windows", network_grown(b ? &b->zero_windows : NULL, t->zero_windows));
	network_unsent_fill(p ? p->unsent : NULL, c->unsent, space, &detail, &unsent, &unsent_max);
	up_detail_text(&detail, "of", label);
	up_rows_add(out, &(struct up_row){
				 .scope = UP_SCOPE_NETNS,
				 .resource = "network",
				 .name = "tcp",
				 .utilization = up_none("TCP as a whole has no capacity"),
				 .saturation = up_ratio(retransmits, sent, "no segment was sent"),
				 .saturation_unit = "ratio",
				 .waiting = unsent,
				 .waiting_max = unsent_max,
				 .errors = and_if_counted(and_if_counted(retransmits, dropped), resets),
				 .method = space->state == UP_OK ? "net/snmp, net/netstat measured, sock_diag census lower bound"
								 : "net/snmp, net/netstat measured",
				 .detail = detail.text,
				 .state = b ? UP_OK : UP_FIRST,
			 });
}
