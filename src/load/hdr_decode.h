/* Private to src/load: the wire forms of HdrHistogram (Gil Tene), as they stand in its interval logs. */
#ifndef UP_HDR_DECODE_H
#define UP_HDR_DECODE_H

#include "reader.h"

enum { UP_HDR_BYTES_MAX = 16 << 20 }; /* of one decoded histogram */

/* Decodes the base64 text of one compressed histogram (encodings V0, V1, V2) and calls EMIT for each value that occurs: VALUE is the one that
 * HdrHistogram's log processor reports. Nothing is emitted from a histogram that is not whole. 0; -EBADMSG: not base64, not such a histogram or cut;
 * -ENOMEM; or the first result of EMIT that is not 0. */
int up_hdr_decode(struct up_text base64, int (*emit)(void *ctx, uint64_t value, uint64_t count), void *ctx);

#endif
