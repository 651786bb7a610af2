/* Introsort in place: quicksort with the median of three, heap sort when it goes too deep, insertion sort for the last few. glibc's
 * qsort takes a second array as large as the first, which would double our memory. */
#include "useprobe/points.h"

enum { SMALL = 24 };

/* One sort for each kind of element, written once. LESS compares two elements by value. */
#define UP_DEFINE_SORT(name, type, LESS)                                                                                         \
	static void name##_insertion(type *a, size_t n)                                                                          \
	{                                                                                                                        \
		for (size_t i = 1; i < n; i++) {                                                                                 \
			type x = a[i];                                                                                           \
			size_t k = i;                                                                                            \
			for (; k > 0 && LESS(x, a[k - 1]); k--)                                                                  \
				a[k] = a[k - 1];                                                                                 \
			a[k] = x;                                                                                                \
		}                                                                                                                \
	}                                                                                                                        \
	static void name##_sift(type *a, size_t at, size_t n)                                                                    \
	{                                                                                                                        \
		type x = a[at];                                                                                                  \
		for (size_t child; (child = 2 * at + 1) < n; at = child) {                                                       \
			if (child + 1 < n && LESS(a[child], a[child + 1]))                                                       \
				child++;                                                                                         \
			if (!LESS(x, a[child]))                                                                                  \
				break;                                                                                           \
			a[at] = a[child];                                                                                        \
		}                                                                                                                \
		a[at] = x;                                                                                                       \
	}                                                                                                                        \
	static void name##_heap(type *a, size_t n)                                                                               \
	{                                                                                                                        \
		for (size_t i = n / 2; i-- > 0;)                                                                                 \
			name##_sift(a, i, n);                                                                                    \
		while (n > 1) {                                                                                                  \
			type x = a[--n];                                                                                         \
			a[n] = a[0];                                                                                             \
			a[0] = x;                                                                                                \
			name##_sift(a, 0, n);                                                                                    \
		}                                                                                                                \
	}                                                                                                                        \
	static type name##_median(type a, type b, type c)                                                                        \
	{                                                                                                                        \
		if (LESS(a, b))                                                                                                  \
			return LESS(b, c) ? b : LESS(a, c) ? c : a;                                                              \
		return LESS(a, c) ? a : LESS(b, c) ? c : b;                                                                      \
	}                                                                                                                        \
	/* Hoare's partition: returns the length of the left part, 1 .. n - 1. */                                                \
	static size_t name##_split(type *a, size_t n)                                                                            \
	{                                                                                                                        \
		type pivot = name##_median(a[0], a[(n - 1) / 2], a[n - 2]);                                                      \
		size_t i = 0, k = n - 1;                                                                                         \
		for (;; i++, k--) {                                                                                              \
			while (LESS(a[i], pivot))                                                                                \
				i++;                                                                                             \
			while (LESS(pivot, a[k]))                                                                                \
				k--;                                                                                             \
			if (i >= k)                                                                                              \
				return k + 1;                                                                                    \
			type x = a[i];                                                                                           \
			a[i] = a[k];                                                                                             \
			a[k] = x;                                                                                                \
		}                                                                                                                \
	}                                                                                                                        \
	static void name##_sort(type *a, size_t n, unsigned depth)                                                               \
	{                                                                                                                        \
		while (n > SMALL) {                                                                                              \
			size_t left;                                                                                             \
			if (depth-- == 0) {                                                                                      \
				name##_heap(a, n);                                                                               \
				return;                                                                                          \
			}                                                                                                        \
			left = name##_split(a, n);                                                                               \
			if (left < n - left) {                                                                                   \
				name##_sort(a, left, depth);                                                                     \
				a += left;                                                                                       \
				n -= left;                                                                                       \
			} else {                                                                                                 \
				name##_sort(a + left, n - left, depth);                                                          \
				n = left;                                                                                        \
			}                                                                                                        \
		}                                                                                                                \
		name##_insertion(a, n);                                                                                          \
	}

static inline uint64_t name_key(uint64_t packed)
{
	return (uint64_t)up_packed_name(packed) << 48 | up_packed_latency_ns(packed);
}

#define LESS_START(x, y) ((x).start_us < (y).start_us)
#define LESS_PACKED(x, y) ((x).packed < (y).packed)
#define LESS_NAME(x, y) (name_key((x).packed) < name_key((y).packed))
#define LESS_U64(x, y) ((x) < (y))
UP_DEFINE_SORT(start, struct up_point, LESS_START)
UP_DEFINE_SORT(packed, struct up_point, LESS_PACKED)
UP_DEFINE_SORT(name, struct up_point, LESS_NAME)
UP_DEFINE_SORT(u64, uint64_t, LESS_U64)

static unsigned depth_for(size_t n)
{
	return n ? 2 * (unsigned)(64 - __builtin_clzll((unsigned long long)n)) : 0;
}

void up_sort_by_start(struct up_point *points, size_t n)
{
	start_sort(points, n, depth_for(n));
}

void up_sort_by_packed(struct up_point *points, size_t n)
{
	packed_sort(points, n, depth_for(n));
}

void up_sort_by_name(struct up_point *points, size_t n)
{
	name_sort(points, n, depth_for(n));
}

void up_sort_u64(uint64_t *values, size_t n)
{
	u64_sort(values, n, depth_for(n));
}
