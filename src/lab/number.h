#ifndef LAB_NUMBER_H
#define LAB_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#define LAB_NS_PER_US 1000ull
#define LAB_NS_PER_MS 1000000ull
#define LAB_NS_PER_S 1000000000ull

/* A length of time that is drawn anew for each use: always mean_ns, or exponential with that mean. */
struct lab_dist {
	double mean_ns;
	bool exponential;
};

/* Text between BEGIN and END, all of it, as a non-negative decimal number ("12", "0.5"); no sign, no exponent, any locale.
 * 0 and *ret_value, or -EINVAL. */
int lab_number_scan(const char *begin, const char *end, double *ret_value);

/* Whole TEXT as a decimal number >= 0. 0, or -EINVAL. */
int lab_number_read(const char *text, double *ret_value);

/* Whole TEXT as a whole number from MIN to MAX. 0, -EINVAL when it is none, -ERANGE outside the bounds. */
int lab_count_read(const char *text, uint64_t min, uint64_t max, uint64_t *ret_count);

/* Text between BEGIN and END as a time: a number with us, ms, s, m or h; a bare number is seconds. At most 30 days.
 * 0 and *ret_ns, or -EINVAL. */
int lab_time_scan(const char *begin, const char *end, uint64_t *ret_ns);

/* Whole TEXT as a time, see lab_time_scan. */
int lab_time_read(const char *text, uint64_t *ret_ns);

/* Whole TEXT as milliseconds with a distribution: "4", "const:4" or "exp:4". At most one hour. 0, or -EINVAL. */
int lab_dist_read(const char *text, struct lab_dist *ret_dist);

/* Splits TEXT at SEPARATOR into at most MAX fields; FIELDS[i] .. FIELDS[i + 1] - 1 is field i without its separator, so FIELDS
 * needs MAX + 1 places. Result: number of fields (>= 1), or -E2BIG when there are more. */
int lab_fields_split(const char *text, char separator, int max, const char **fields);

#endif
