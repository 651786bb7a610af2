/* What every test program includes: cmocka with its prerequisites, and where fixtures are. */
#ifndef UP_TESTS_CHECK_H
#define UP_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Tests run from the top of the tree. */
#define FIXTURES "tests/fixtures/"

/* Fails with WHY unless A is within TOLERANCE of B. */
#define assert_near(a, b, tolerance, why)                                                                                        \
	do {                                                                                                                     \
		const double a_ = (a), b_ = (b);                                                                                 \
		if (!(fabs(a_ - b_) <= (tolerance)))                                                                             \
			fail_msg("%s: %.9g is not within %g of %.9g", why, a_, (double)(tolerance), b_);                         \
	} while (0)

#endif
