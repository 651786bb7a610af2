/* Arena: a bump allocator for what one tick reads. Two of them swap, so that the previous and the current sample both stay valid. */
#ifndef UP_ARENA_H
#define UP_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "useprobe/compiler.h"

/* Address space is reserved once and touched as needed; the maximum is stated so that a hostile /proc cannot eat the machine. */
#define UP_ARENA_MAX_BYTES ((size_t)64 << 20)

struct up_arena {
	uint8_t *base; /* owned, mmap of UP_ARENA_MAX_BYTES */
	size_t used_bytes;
	size_t high_bytes; /* highest used_bytes since the last trim */
};

/* Reserves the address space. 0 or -ENOMEM. Ends with up_arena_done, which accepts a zeroed struct. */
UP_MUST_CHECK int up_arena_init(struct up_arena *arena);
void up_arena_done(struct up_arena *arena);

/* Forgets everything allocated; gives pages beyond the first MiB back to the kernel. */
void up_arena_reset(struct up_arena *arena);

/* BYTES zeroed bytes aligned to 16, borrowed until the next reset; NULL when the maximum would be passed. */
void *up_arena_alloc(struct up_arena *arena, size_t bytes);

/* Copy of the first LEN bytes of TEXT with a NUL behind them; NULL as above. */
char *up_arena_strndup(struct up_arena *arena, const char *text, size_t len);
char *up_arena_strdup(struct up_arena *arena, const char *text);
UP_PRINTF(2, 3) char *up_arena_printf(struct up_arena *arena, const char *format, ...);

#endif
