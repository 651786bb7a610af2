/* response - reads HTTP/1.1 answers byte by byte where lines are, in one go where the body is:
 *     HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n... */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "number.h"
#include "response.h"

void lab_response_start(struct lab_response *response)
{
	response->phase = LAB_PHASE_STATUS;
	response->status = 0;
	response->keep_alive = true;
	response->chunked = response->has_length = false;
	response->remaining_bytes = 0;
	response->line_length = 0;
}

static int status_line(struct lab_response *r)
{
	const char *line = r->line;

	if (strncmp(line, "HTTP/1.", 7) != 0 || (line[7] != '0' && line[7] != '1') || line[8] != ' ')
		return -EBADMSG;
	for (int i = 9; i < 12; i++)
		if (line[i] < '0' || line[i] > '9')
			return -EBADMSG;
	if (line[12] != ' ' && line[12] != '\0')
		return -EBADMSG;
	r->status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
	r->keep_alive = line[7] == '1';
	r->phase = LAB_PHASE_HEADER;
	return 0;
}

/* After the empty line: what body follows. */
static void end_of_head(struct lab_response *r)
{
	if (r->status < 200) {
		lab_response_start(r); /* 100 Continue and its like: the answer is still to come */
	} else if (r->status == 204 || r->status == 304 || (r->has_length && !r->remaining_bytes)) {
		r->phase = LAB_PHASE_DONE;
	} else if (r->chunked) {
		r->phase = LAB_PHASE_CHUNK_SIZE;
	} else if (r->has_length) {
		r->phase = LAB_PHASE_BODY;
	} else {
		r->keep_alive = false;
		r->phase = LAB_PHASE_UNTIL_CLOSE;
	}
}

static int header_line(struct lab_response *r)
{
	char *value = strchr(r->line, ':');

	if (!*r->line) {
		end_of_head(r);
		return 0;
	}
	if (!value)
		return -EBADMSG;
	*value++ = '\0';
	value += strspn(value, " \t");
	for (size_t n = strlen(value); n && (value[n - 1] == ' ' || value[n - 1] == '\t'); n--)
		value[n - 1] = '\0';
	if (strcasecmp(r->line, "Content-Length") == 0) {
		if (lab_count_read(value, 0, INT64_MAX, &r->remaining_bytes) < 0)
			return -EBADMSG;
		r->has_length = true;
	} else if (strcasecmp(r->line, "Transfer-Encoding") == 0) {
		r->chunked = strcasecmp(value, "chunked") == 0;
	} else if (strcasecmp(r->line, "Connection") == 0) {
		if (strcasecmp(value, "close") == 0)
			r->keep_alive = false;
		else if (strcasecmp(value, "keep-alive") == 0)
			r->keep_alive = true;
	}
	return 0;
}

/* "1a;extension" */
static int chunk_size_line(struct lab_response *r)
{
	uint64_t size = 0;
	const char *p = r->line;

	for (; *p && *p != ';' && *p != ' '; p++) {
		const char c = (char)(*p | 0x20);
		const int digit = *p >= '0' && *p <= '9' ? *p - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

		if (digit < 0 || size > UINT32_MAX)
			return -EBADMSG;
		size = size * 16 + (uint64_t)digit;
	}
	if (p == r->line)
		return -EBADMSG;
	r->remaining_bytes = size;
	r->phase = size ? LAB_PHASE_CHUNK : LAB_PHASE_TRAILER;
	return 0;
}

static int end_of_line(struct lab_response *r)
{
	if (r->line_length && r->line[r->line_length - 1] == '\r')
		r->line_length--;
	r->line[r->line_length] = '\0';
	r->line_length = 0;
	switch (r->phase) {
	case LAB_PHASE_STATUS:
		return status_line(r);
	case LAB_PHASE_HEADER:
		return header_line(r);
	case LAB_PHASE_CHUNK_SIZE:
		return chunk_size_line(r);
	case LAB_PHASE_CHUNK_END:
		r->phase = LAB_PHASE_CHUNK_SIZE;
		return *r->line ? -EBADMSG : 0;
	default: /* trailer */
		if (!*r->line)
			r->phase = LAB_PHASE_DONE;
		return 0;
	}
}

int lab_response_feed(struct lab_response *r, const char *data, size_t length)
{
	size_t i = 0;
	int error;

	while (i < length && r->phase != LAB_PHASE_DONE) {
		if (r->phase == LAB_PHASE_UNTIL_CLOSE)
			return (int)length;
		if (r->phase == LAB_PHASE_BODY || r->phase == LAB_PHASE_CHUNK) {
			const size_t n = r->remaining_bytes < length - i ? (size_t)r->remaining_bytes : length - i;

			i += n;
			r->remaining_bytes -= n;
			if (!r->remaining_bytes)
				r->phase = r->phase == LAB_PHASE_BODY ? LAB_PHASE_DONE : LAB_PHASE_CHUNK_END;
			continue;
		}
		if (data[i] == '\n') {
			error = end_of_line(r);
			if (error < 0)
				return error;
		} else if (r->line_length < sizeof(r->line) - 1) {
			r->line[r->line_length++] = data[i];
		}
		i++;
	}
	return (int)i;
}

bool lab_response_closed(struct lab_response *r)
{
	if (r->phase != LAB_PHASE_UNTIL_CLOSE)
		return false;
	r->phase = LAB_PHASE_DONE;
	return true;
}
