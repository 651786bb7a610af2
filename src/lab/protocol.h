#ifndef LAB_PROTOCOL_H
#define LAB_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>

enum lab_request {
	LAB_REQUEST_WORK, /* counts as a request and is worked on */
	LAB_REQUEST_STATS, /* answered with the counters, itself counted nowhere */
};

/* One request as it stands at the beginning of a connection's buffer. */
struct lab_frame {
	enum lab_request request;
	size_t skip; /* bytes of a body that follow what was consumed; they are thrown away */
	bool keep_alive;
	bool head; /* HTTP HEAD: the answer has no body */
};

/* Room for the head of any answer. */
#define LAB_HEAD_BYTES 256

/* Finds the request at the start of TEXT (LENGTH bytes, not terminated). Result: bytes of its head (> 0) and *ret_frame; 0 when it
 * is not complete yet; -EBADMSG when it will never be a request; -ENOTSUP when it asks for what this server does not do. */
int lab_http_frame(const char *text, size_t length, struct lab_frame *ret_frame);

/* The same for the line protocol of `uselab db`: "Q text\n" is a query, "STATS\n" asks for the counters. */
int lab_line_frame(const char *text, size_t length, struct lab_frame *ret_frame);

/* Writes the head of an answer with STATUS (an HTTP status, also for the line protocol) and BODY_BYTES to follow. Result: its length. */
size_t lab_http_head(char *head, int status, size_t body_bytes, bool json, bool keep_alive);

/* The answer line of the line protocol: "R STATUS\n"; before a JSON body, nothing. Result: its length. */
size_t lab_line_head(char *head, int status, size_t body_bytes, bool json, bool keep_alive);

#endif
