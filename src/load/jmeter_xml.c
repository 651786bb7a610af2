/* JMeter result file as XML: each request is an element httpSample (or sample), its figures are attributes; the rest is passed over:
 *     <httpSample t="4" it="0" lt="4" ct="1" ts="1796077690207" s="true" lb="GET /list" rc="200" rm="OK" tn="Users 1-4" ng="5" na="5">
 * A transaction controller is a <sample> whose message is "Number of samples in transaction : ...", beside or around its requests. */
#include <math.h>

#include "reader.h"

enum { TAG_MAX = 1 << 20 }; /* a longer tag is not one of ours */

struct xml {
	uint64_t n_plain, n_transactions, n_inside;
	bool skipping; /* behind an opening bracket that never closed */
};

static const char transaction_mark[] = "Number of samples in transaction : ";

static bool recognise(struct up_text head, const struct up_load_options *options)
{
	(void)options;
	return head.n > 5 && head.at[0] == '<' && memmem(head.at, head.n, "<testResults", 12);
}

/* Value of attribute NAME of TAG, still with its entities. */
static struct up_text attribute(struct up_text tag, const char *name)
{
	size_t n = strlen(name);
	const char *at = tag.at, *end = tag.at + tag.n;

	while (at < end) {
		const char *word, *value;
		char quote;

		while (at < end && *at != ' ' && *at != '\n' && *at != '\t' && *at != '\r')
			at++;
		while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
			at++;
		word = at;
		while (at < end && *at != '=')
			at++;
		if (end - at < 3 || (at[1] != '"' && at[1] != '\''))
			break;
		quote = at[1];
		value = at + 2;
		if ((size_t)(at - word) == n && memcmp(word, name, n) == 0) {
			at = memchr(value, quote, (size_t)(end - value));
			return at ? (struct up_text){ value, (size_t)(at - value) } : (struct up_text){ "", 0 };
		}
		at = memchr(value, quote, (size_t)(end - value));
		if (!at)
			break;
		at++;
	}
	return (struct up_text){ "", 0 };
}

/* The five entities and decimal or hexadecimal characters below 128; anything else stays as it is. */
static size_t decode(struct up_text text, char *buffer, size_t room)
{
	static const struct {
		const char *entity;
		char c;
	} entities[] = { { "&quot;", '"' }, { "&apos;", '\'' }, { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' },
		{ "&#xd;", '\r' }, { "&#xa;", '\n' } };
	size_t n = 0;

	for (size_t i = 0; i < text.n && n < room; i++) {
		size_t k = 0;

		for (; text.at[i] == '&' && k < sizeof(entities) / sizeof(*entities); k++) {
			if (up_text_starts((struct up_text){ text.at + i, text.n - i }, entities[k].entity))
				break;
		}
		if (text.at[i] == '&' && k < sizeof(entities) / sizeof(*entities)) {
			buffer[n++] = entities[k].c;
			i += strlen(entities[k].entity) - 1;
		} else {
			buffer[n++] = text.at[i];
		}
	}
	return n;
}

static int sample(struct up_reader *reader, struct up_text tag)
{
	struct xml *xml = reader->state;
	struct up_text time = attribute(tag, "ts"), elapsed = attribute(tag, "t"), success = attribute(tag, "s"),
		       message = attribute(tag, "rm"), threads = attribute(tag, "na");
	struct up_request request = { 0 };
	char label[256];
	int64_t users, inside;
	bool whole_s;

	if (up_text_time(time, &request.start_us, &whole_s) < 0 || up_text_decimal(elapsed, 6, &request.latency_ns) < 0 ||
		(!up_text_is(success, "true") && !up_text_is(success, "false"))) {
		up_reader_bad(reader, "a sample without ts, t and s: %s", up_text_show(tag).text);
		return 0;
	}
	request.name = (struct up_text){ label, decode(attribute(tag, "lb"), label, sizeof(label)) };
	request.flags = up_text_is(success, "false") ? UP_POINT_FAILED : 0;
	if (up_text_starts(message, transaction_mark)) {
		struct up_text count = { message.at + sizeof(transaction_mark) - 1, 0 };

		while (count.at + count.n < message.at + message.n && count.at[count.n] >= '0' && count.at[count.n] <= '9')
			count.n++;
		xml->n_transactions++;
		if (up_text_decimal(count, 0, &inside) == 0)
			xml->n_inside += (uint64_t)inside;
		request.flags |= UP_POINT_TRANSACTION;
	} else {
		xml->n_plain++;
	}
	if (threads.n && up_text_decimal(threads, 0, &users) == 0)
		up_reader_users(reader, request.start_us, (double)users, NAN);
	return up_reader_request(reader, &request);
}

static void count_lines(struct up_reader *reader, const char *from, const char *to)
{
	while (from < to && (from = memchr(from, '\n', (size_t)(to - from)))) {
		reader->line++;
		from++;
	}
}

/* End of the tag that begins at AT ("<..."): its '>' outside quotes. NULL when the data ends first. */
static const char *tag_end(const char *at, const char *end)
{
	char quote = '\0';

	for (; at < end; at++) {
		if (quote)
			quote = *at == quote ? '\0' : quote;
		else if (*at == '"' || *at == '\'')
			quote = *at;
		else if (*at == '>')
			return at;
	}
	return NULL;
}

static bool may_be_sample(struct up_text text)
{
	return up_text_starts(text, "<httpSample ") || up_text_starts(text, "<sample ") ||
	       up_text_starts(text, "<httpSample\n") || up_text_starts(text, "<sample\n");
}

static int feed(struct up_reader *reader, struct up_text data, bool eof, size_t *ret_used)
{
	const char *at = data.at, *end = data.at + data.n, *open, *close;
	int r = 0;

	if (reader->line == 0 && data.n > 0)
		reader->line = 1;
	for (; r == 0 && (open = memchr(at, '<', (size_t)(end - at))); at = close + 1) {
		struct up_text rest = { open, (size_t)(end - open) };

		count_lines(reader, at, open);
		at = open;
		if (rest.n < 12 && !eof)
			break;
		close = open;
		if (!may_be_sample(rest))
			continue;
		close = tag_end(open, end);
		if (!close && !eof && rest.n < TAG_MAX)
			break;
		if (!close) {
			reader->file->cut = reader->file->cut || eof;
			up_reader_bad(reader, "a tag that never ends: %s", up_text_show(rest).text);
			close = open;
			continue;
		}
		r = sample(reader, (struct up_text){ open, (size_t)(close - open) });
		count_lines(reader, open, close);
	}
	if (r == 0 && !open)
		at = end;
	*ret_used = (size_t)(at - data.at);
	return r;
}

static int end(struct up_reader *reader)
{
	const struct xml *xml = reader->state;
	bool repeated = xml->n_plain > 0 && xml->n_plain >= xml->n_inside;

	return xml->n_transactions ? up_reader_resolve_transactions(
					     reader, !repeated || (reader->options && reader->options->keep_transactions))
				   : 0;
}

const struct up_load_format up_load_jmeter_xml = {
	.id = "jmeter-xml",
	.traits = {
		.name = "JMeter XML",
		.includes = "connecting (when the connection is new) to the last byte; not timers",
		.stamp = UP_STAMP_START,
		.resolution_us = 1000,
		.dated = true,
	},
	.state_bytes = sizeof(struct xml),
	.recognise = recognise,
	.feed = feed,
	.end = end,
};
