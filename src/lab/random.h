#ifndef LAB_RANDOM_H
#define LAB_RANDOM_H

#include <stdint.h>

#include "number.h"

/* A seeded sequence of random numbers; one per thread, never shared. */
struct lab_random {
	uint64_t state;
};

/* Starts the sequence STREAM of SEED. Equal arguments give equal sequences; different streams are independent for our purposes. */
void lab_random_init(struct lab_random *random, uint64_t seed, uint64_t stream);

/* The next 64 random bits. */
uint64_t lab_random_next(struct lab_random *random);

/* Uniform in (0, 1]. */
double lab_random_unit(struct lab_random *random);

/* Exponential with mean 1. */
double lab_random_exp(struct lab_random *random);

/* One draw from DIST in nanoseconds. */
uint64_t lab_dist_draw_ns(const struct lab_dist *dist, struct lab_random *random);

#endif
