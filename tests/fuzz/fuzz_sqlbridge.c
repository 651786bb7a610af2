/* The bridge's pure pieces on arbitrary bytes: request headers, connection strings, a database's rows. No crash, no over-read; a foreign
 * Host never passes, a secret never survives, and whatever the database says the JSON can be read back. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/sqlbridge/bridge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct bridge_sample sample;

static void headers(char *text)
{
	struct up_http_guard options = { .address = "127.0.0.1", .loopback = true, .token = "secret" };

	if (up_http_host_allowed(&options, text) && !strstr(text, "127.") && !strcasestr(text, "localhost") && !strchr(text, '['))
		abort();
	(void)up_http_origin_allowed(&options, text, "localhost:1");
	if (up_http_token_matches(&options, text) && strcasecmp(text, "Bearer secret") != 0)
		abort();
	(void)up_http_listen_parse(text, &options);
}

static void connection(char *text)
{
	char value[64], whole[256] = "DSN=x";

	if (bridge_connection_value(text, "PWD", value, sizeof(value)) && strlen(value) >= sizeof(value))
		abort();
	/* What is added is what is found again. */
	if (strlen(text) < sizeof(value) && !strpbrk(text, "\r\n") &&
		bridge_connection_add(whole, sizeof(whole), "PWD", text) == 0 &&
		(!bridge_connection_value(whole, "pwd", value, sizeof(value)) || strcmp(value, text) != 0))
		abort();
	bridge_redact(text, "ab");
	if (strstr(text, "ab"))
		abort();
}

/* Lines of "part|column|value|column|value". */
static void rows(char *text)
{
	struct bridge_view view = { .state = BRIDGE_OK, .database = BRIDGE_SQLSERVER, .sample = &sample, .stale_after_ns = 10 };
	json_error_t error;
	json_t *json;
	char *line, *rest = text, *said;

	memset(&sample, 0, sizeof(sample));
	while ((line = strsep(&rest, "\n"))) {
		const char *names[8], *values[8], *part = strsep(&line, "|");
		size_t n = 0;

		while (line && n < 8) {
			names[n] = strsep(&line, "|");
			values[n] = line ? strsep(&line, "|") : NULL;
			n++;
		}
		(void)!bridge_sample_row(&sample, part, &(struct bridge_row){ .n = n, .names = names, .values = values });
	}
	if (!bridge_sample_continues(&sample, &sample))
		abort();
	said = bridge_sample_json(&view, 5);
	json = said ? json_loads(said, 0, &error) : NULL;
	if (!json)
		abort();
	json_decref(json);
	free(said);
	said = bridge_metrics_text(&view, 5);
	if (!said || strlen(said) < 6 || strcmp(said + strlen(said) - 6, "# EOF\n") != 0)
		abort();
	free(said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const parts[])(char *) = { headers, connection, rows };
	char *text;

	if (size == 0 || !(text = malloc(size)))
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	parts[data[0] % 3](text);
	free(text);
	return 0;
}
