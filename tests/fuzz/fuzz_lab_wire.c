/* Whatever arrives on a connection of the laboratory: requests of both protocols, and answers fed in two parts. */
#include <stdlib.h>
#include <string.h>

#include "../../src/lab/protocol.h"
#include "../../src/lab/response.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

/* A request found in a text is found in it with more behind, and is never longer than the text. */
static void frame(int (*find)(const char *text, size_t length, struct lab_frame *ret_frame), const char *text, size_t length)
{
	struct lab_frame whole = { 0 }, part = { 0 };
	const int n = find(text, length, &whole);

	check(n <= (int)length);
	if (n > 0) {
		check(find(text, (size_t)n, &part) == n);
		check(part.skip == whole.skip && part.keep_alive == whole.keep_alive && part.request == whole.request);
	}
}

/* An answer means the same in one part and in two. */
static void answer(const char *text, size_t length, size_t cut)
{
	struct lab_response one, two;
	int n, m;

	lab_response_start(&one);
	lab_response_start(&two);
	n = lab_response_feed(&one, text, length);
	m = lab_response_feed(&two, text, cut);
	check(n <= (int)length && m <= (int)cut);
	if (m == (int)cut) {
		const int rest = lab_response_feed(&two, text + cut, length - cut);

		check(rest < 0 ? n == rest : n == m + rest);
		check(n < 0 ||
			(one.phase == two.phase && one.status == two.status && one.remaining_bytes == two.remaining_bytes));
	} else {
		check(m == n);
	}
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	char *text;

	if (size < 1)
		return 0;
	text = malloc(size); /* its own block: a read past the end is seen */
	memcpy(text, data + 1, size - 1);
	frame(lab_http_frame, text, size - 1);
	frame(lab_line_frame, text, size - 1);
	answer(text, size - 1, (size_t)data[0] * (size - 1) / 255);
	free(text);
	return 0;
}
