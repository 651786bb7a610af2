/* What the sources of requests (BPF programs, the tally) have in common. Private to src/source. */
#ifndef UP_REQUESTS_COMMON_H
#define UP_REQUESTS_COMMON_H

#include "requests.h"
#include "useprobe/sock_diag.h"

/* ENDPOINT of namespace NETNS as a key; 0.0.0.0 and :: are the same one. */
void requests_key_of(uint64_t netns, const struct up_endpoint *endpoint, struct up_req_key *ret);
/* Inverse, but for "any", which is 0.0.0.0. */
void requests_endpoint_of(const struct up_req_key *key, struct up_endpoint *ret);
/* Time to the next PASS of a sampler with a mean of PERIOD_NS: +-20 %, evenly spread, so that it is never in step with load that comes at
 * fixed times. */
uint64_t requests_period_ns(uint64_t period_ns, uint64_t pass);

#endif
