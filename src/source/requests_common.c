#include "requests_common.h"

#include <string.h>

void requests_key_of(uint64_t netns, const struct up_endpoint *endpoint, struct up_req_key *ret)
{
	*ret = (struct up_req_key){ .netns = netns, .port = endpoint->port };
	if (!up_endpoint_is_any(endpoint))
		memcpy(ret->addr, endpoint->addr, sizeof(ret->addr));
}

void requests_endpoint_of(const struct up_req_key *key, struct up_endpoint *ret)
{
	static const uint8_t zeros[12];

	*ret = (struct up_endpoint){ .port = key->port, .is_v6 = memcmp(key->addr + 4, zeros, sizeof(zeros)) != 0 };
	memcpy(ret->addr, key->addr, sizeof(key->addr));
}

uint64_t requests_period_ns(uint64_t period_ns, uint64_t pass)
{
	/* Multiples of the golden ratio, modulo 1. */
	const uint64_t spread = (pass * UINT64_C(0x9e3779b97f4a7c15)) >> 32;

	return period_ns * 8 / 10 + ((period_ns * 4 / 10) >> 10) * (spread >> 22);
}
