/* Load files made in a test: text -> file without a name -> reader. */
#ifndef UP_TESTS_LOAD_HELPER_H
#define UP_TESTS_LOAD_HELPER_H

#include "check.h"
#include "useprobe/load.h"

/* Reads N bytes of TEXT as a file into a fresh LOAD. The result of up_load_read; LOAD must be freed in any case. */
int load_bytes(struct up_load *load, const char *text, size_t n, const struct up_load_options *options);
int load_text(struct up_load *load, const char *text, const struct up_load_options *options);
/* Reads PATH and fails the test when that fails. */
void load_file(struct up_load *load, const char *path);
/* The k-th request as read: start in us and latency in ms. */
void assert_point(const struct up_load *load, size_t k, int64_t start_us, double latency_ms, bool failed, const char *why);
/* Summary of everything in LOAD. */
struct up_summary load_summary(struct up_load *load);
/* Every prefix of TEXT gives an error or the first requests of the whole, never another one. */
void sweep_truncation(const char *text, size_t n, const struct up_load_options *options);
/* The same of a file. */
void sweep_file(const char *path, size_t max_bytes, const struct up_load_options *options);
/* A repeatable pseudo-random number in [0, 1). */
double random_unit(uint64_t *state);

#endif
