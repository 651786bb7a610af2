/* protocol - what arrives on a connection: HTTP/1.1 (RFC 9112) for `uselab serve`, lines for `uselab db`:
 *     GET /books?page=2 HTTP/1.1\r\nHost: api\r\n\r\n        answer: HTTP/1.1 200 OK ...
 *     Q 17\n                                                 answer: R 200\n */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "number.h"
#include "protocol.h"

#define MAX_BODY_BYTES 16777216

/* End of the line that starts at TEXT (its '\n'), or NULL. */
static const char *line_end(const char *text, const char *end)
{
	return memchr(text, '\n', (size_t)(end - text));
}

/* Length of the line without its line end. */
static size_t line_length(const char *line, const char *newline)
{
	size_t length = (size_t)(newline - line);

	return length && line[length - 1] == '\r' ? length - 1 : length;
}

/* Does the list in VALUE ("keep-alive, Upgrade") hold WORD? */
static bool has_word(const char *value, size_t length, const char *word)
{
	const size_t n = strlen(word);

	for (size_t i = 0; i + n <= length; i++)
		if (strncasecmp(value + i, word, n) == 0)
			return true;
	return false;
}

/* "GET /path HTTP/1.1". 0, -EBADMSG. */
static int request_line(const char *line, size_t length, struct lab_frame *frame)
{
	const char *end = line + length, *path = memchr(line, ' ', length), *version;

	if (!path || path == line)
		return -EBADMSG;
	path++;
	version = memchr(path, ' ', (size_t)(end - path));
	if (!version || version == path || end - version != 9 || memcmp(version, " HTTP/1.", 8) != 0)
		return -EBADMSG;
	frame->keep_alive = version[8] != '0';
	frame->head = path - line == 5 && memcmp(line, "HEAD", 4) == 0;
	if (version - path >= 7 && memcmp(path, "/_stats", 7) == 0 && (path + 7 == version || path[7] == '?'))
		frame->request = LAB_REQUEST_STATS;
	return 0;
}

/* One header line. 0, -EBADMSG, or -ENOTSUP for a body whose length is not said beforehand. */
static int header_line(const char *line, size_t length, struct lab_frame *frame)
{
	const char *colon = memchr(line, ':', length), *value, *end = line + length;
	char digits[16];
	uint64_t body_bytes;

	if (!colon || colon == line)
		return -EBADMSG;
	for (value = colon + 1; value < end && (*value == ' ' || *value == '\t'); value++)
		;
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	const size_t name_length = (size_t)(colon - line), value_length = (size_t)(end - value);

	if (name_length == 17 && strncasecmp(line, "Transfer-Encoding", 17) == 0)
		return -ENOTSUP;
	if (name_length == 14 && strncasecmp(line, "Content-Length", 14) == 0) {
		if (value_length >= sizeof(digits))
			return -EBADMSG;
		memcpy(digits, value, value_length);
		digits[value_length] = '\0';
		if (lab_count_read(digits, 0, MAX_BODY_BYTES, &body_bytes) < 0)
			return -EBADMSG;
		frame->skip = body_bytes;
	}
	if (name_length == 10 && strncasecmp(line, "Connection", 10) == 0) {
		if (has_word(value, value_length, "close"))
			frame->keep_alive = false;
		else if (has_word(value, value_length, "keep-alive"))
			frame->keep_alive = true;
	}
	return 0;
}

int lab_http_frame(const char *text, size_t length, struct lab_frame *ret_frame)
{
	struct lab_frame frame = { .request = LAB_REQUEST_WORK };
	const char *end = text + length, *line = text, *newline;
	bool first = true;
	int r;

	while ((newline = line_end(line, end))) {
		const size_t n = line_length(line, newline);

		if (first)
			r = request_line(line, n, &frame);
		else if (n)
			r = header_line(line, n, &frame);
		else
			break; /* the empty line */
		if (r < 0)
			return r;
		first = false;
		line = newline + 1;
	}
	if (!newline)
		return 0;
	*ret_frame = frame;
	return (int)(newline + 1 - text);
}

int lab_line_frame(const char *text, size_t length, struct lab_frame *ret_frame)
{
	const char *newline = line_end(text, text + length);
	struct lab_frame frame = { .request = LAB_REQUEST_WORK, .keep_alive = true };

	if (!newline)
		return length > 1024 ? -EBADMSG : 0;
	const size_t n = line_length(text, newline);

	if (n == 5 && memcmp(text, "STATS", 5) == 0)
		frame.request = LAB_REQUEST_STATS;
	else if (n < 1 || text[0] != 'Q' || (n > 1 && text[1] != ' '))
		return -EBADMSG;
	*ret_frame = frame;
	return (int)(newline + 1 - text);
}

static const char *reason(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 431:
		return "Request Header Fields Too Large";
	case 501:
		return "Not Implemented";
	case 502:
		return "Bad Gateway";
	case 503:
		return "Service Unavailable";
	default:
		return "Internal Server Error";
	}
}

size_t lab_http_head(char *head, int status, size_t body_bytes, bool json, bool keep_alive)
{
	return (size_t)snprintf(head, LAB_HEAD_BYTES, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n",
		status, reason(status), json ? "application/json" : "text/plain", body_bytes,
		keep_alive ? "" : "Connection: close\r\n");
}

size_t lab_line_head(char *head, int status, size_t body_bytes, bool json, bool keep_alive)
{
	(void)body_bytes;
	(void)keep_alive;
	return json ? 0 : (size_t)snprintf(head, LAB_HEAD_BYTES, "R %d\n", status);
}
