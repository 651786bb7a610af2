/* Samples of the SQL bridge and addresses of it on arbitrary bytes: no crash, no over-read; what was parsed makes rows without a negative or
 * undefined number; an accepted address holds no password. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/collect/sql_row.h"
#include "useprobe/sql_address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_value(struct up_value value)
{
	if (up_value_ok(value) && !(value.number >= 0))
		abort();
}

static void rows_of(const struct up_sql_sample *p, const struct up_sql_sample *c)
{
	static struct up_rows rows;

	if (!rows.items && up_rows_init(&rows) < 0)
		abort();
	up_rows_clear(&rows);
	sql_add_rows(c->instance, p, c, &rows);
	for (size_t i = 0; i < rows.count; i++) {
		check_value(rows.items[i].utilization);
		check_value(rows.items[i].saturation);
		check_value(rows.items[i].errors);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t half = size / 2;
	struct up_sql_sample whole, first, second;
	struct up_sql_address address;
	char error[256], text[512];

	if (up_sql_sample_parse((const char *)data, size, &whole, error, sizeof(error)) == 0) {
		rows_of(NULL, &whole);
		up_sql_sample_free(&whole);
	}
	if (up_sql_sample_parse((const char *)data, half, &first, error, sizeof(error)) == 0) {
		if (up_sql_sample_parse((const char *)data + half, size - half, &second, error, sizeof(error)) == 0) {
			rows_of(&first, &second);
			up_sql_sample_free(&second);
		}
		up_sql_sample_free(&first);
	}
	memcpy(text, data, size < sizeof(text) - 1 ? size : sizeof(text) - 1);
	text[size < sizeof(text) - 1 ? size : sizeof(text) - 1] = '\0';
	if (up_sql_address_parse(text, &address, error, sizeof(error)) == 0) {
		const char *host = strstr(address.url, "://") + 3;

		if (memchr(host, '@', strcspn(host, "/?#")))
			abort();
	}
	return 0;
}
