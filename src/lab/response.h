#ifndef LAB_RESPONSE_H
#define LAB_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lab_phase {
	LAB_PHASE_STATUS,
	LAB_PHASE_HEADER,
	LAB_PHASE_BODY, /* so many bytes */
	LAB_PHASE_UNTIL_CLOSE, /* whatever comes */
	LAB_PHASE_CHUNK_SIZE,
	LAB_PHASE_CHUNK,
	LAB_PHASE_CHUNK_END,
	LAB_PHASE_TRAILER,
	LAB_PHASE_DONE,
};

/* An HTTP/1.1 answer on its way in (RFC 9112); the body is counted, not kept. */
struct lab_response {
	enum lab_phase phase;
	int status;
	bool keep_alive, chunked, has_length;
	uint64_t remaining_bytes;
	unsigned line_length;
	char line[256]; /* the line being read; what is longer is cut, no header we need is */
};

/* Ready for the next answer. */
void lab_response_start(struct lab_response *response);

/* Takes LENGTH more bytes. Result: how many of them belonged to this answer, -EBADMSG when it is none. Complete when phase is
 * LAB_PHASE_DONE. */
int lab_response_feed(struct lab_response *response, const char *data, size_t length);

/* The connection was closed: true when that is where this answer ends. */
bool lab_response_closed(struct lab_response *response);

#endif
