/* random - SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014): small, seedable, good
 * enough for service times and arrivals; nothing here is secret. */
#include <math.h>

#include "random.h"

#define GOLDEN 0x9e3779b97f4a7c15ull

uint64_t lab_random_next(struct lab_random *random)
{
	uint64_t z = random->state += GOLDEN;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

void lab_random_init(struct lab_random *random, uint64_t seed, uint64_t stream)
{
	/* Two rounds of mixing, so that neighbouring seeds and streams do not give shifted copies of one sequence. */
	random->state = seed;
	random->state = lab_random_next(random) ^ (stream * GOLDEN);
	random->state = lab_random_next(random);
}

double lab_random_unit(struct lab_random *random)
{
	return (double)((lab_random_next(random) >> 11) + 1) * 0x1p-53;
}

double lab_random_exp(struct lab_random *random)
{
	return -log(lab_random_unit(random));
}

uint64_t lab_dist_draw_ns(const struct lab_dist *dist, struct lab_random *random)
{
	return (uint64_t)(dist->exponential ? dist->mean_ns * lab_random_exp(random) : dist->mean_ns);
}
