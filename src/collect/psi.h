/* One PSI file as read in one tick (Documentation/accounting/psi.rst). Shared by the collectors that show stall shares. */
#ifndef UP_PSI_H
#define UP_PSI_H

#include "useprobe/collector.h"

struct psi {
	struct up_u64 some_us; /* counter, total= of the some line; at least one task stalled */
	struct up_u64 full_us; /* counter, total= of the full line; all non-idle tasks stalled */
	int error; /* 0, or why there are no numbers */
};

/* Parses
 *     some avg10=0.00 avg60=0.00 avg300=0.00 total=157656722
 *     full avg10=0.00 avg60=0.00 avg300=0.00 total=0
 * The cpu file had no full line before 5.13, the irq file (6.1) has no some line. 0, or -EBADMSG when a line is cut or malformed. */
UP_MUST_CHECK int psi_scan(const char *text, struct psi *ret);

/* Reads FILE (path NULL: -ENOENT). The result is in ret->error too, so that the rest of a row can stand without it:
 *   -EOPNOTSUPP  PSI is switched off for the machine (psi=0: open works, read fails)
 *   -ENODATA     PSI is switched off for this cgroup (cgroup.pressure is 0, since 6.1)
 *   -ENOENT      no such file: kernel without CONFIG_PSI, or without this kind
 *   -EACCES, -EPERM, -EBADMSG, ... */
int psi_read(struct up_env *env, struct up_file *file, struct up_arena *arena, struct psi *ret);

/* Why ERROR of psi_read left nothing to show; static text. */
const char *psi_reason(int error);

/* Share of DT_NS in which some task (or all) stalled; the total= counter is used, not avg10, which looks back over another window. PREV
 * may be NULL or have failed. A line that this kernel does not write is absent with LINE_REASON. */
struct up_value psi_some_share(const struct psi *prev, const struct psi *cur, uint64_t dt_ns, const char *line_reason);
struct up_value psi_full_share(const struct psi *prev, const struct psi *cur, uint64_t dt_ns, const char *line_reason);

#endif
