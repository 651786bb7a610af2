/* HdrHistogram's encodings. The text is base64 of: cookie, length, zlib stream; the stream holds a header and the counts. Big endian throughout.
 *     V2 header, 40 bytes: cookie 0x1c849303, payload length, normalizing offset, digits, lowest, highest (8 each), ratio (a double); counts as ZigZag LEB128, a
 *     negative one is a run of zeros. V1: cookie 0x1c849301, the same header, counts in words whose size stands in the cookie (0xf0). V0: cookie 0x1c849308,
 *     digits, lowest, highest, total (8 each), 32 bytes, counts as V1. Read from AbstractHistogram.java and checked against files of all three.
 * The JavaScript writer puts an integer 1 for the ratio and a 1 for the offset, which it does not use: taken as 0. */
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "hdr_decode.h"

enum {
	V0_BASE = 0x1c849308,
	V0_PACKED = 0x1c849309,
	V1_BASE = 0x1c849301,
	V1_PACKED = 0x1c849302,
	V2_BASE = 0x1c849303,
	V2_PACKED = 0x1c849304
};

struct layout {
	unsigned unit_bits, half_bits; /* powers of two of the unit and of half a bucket */
};

static int sextet(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes in whole groups of four; padding may be missing. The number of bytes, or -EBADMSG. */
static ssize_t base64(struct up_text text, unsigned char *out)
{
	uint32_t bits = 0;
	unsigned n_bits = 0;
	size_t n = 0;

	while (text.n > 0 && text.at[text.n - 1] == '=')
		text.n--;
	if (text.n % 4 == 1)
		return -EBADMSG;
	for (size_t i = 0; i < text.n; i++) {
		int value = sextet(text.at[i]);

		if (value < 0)
			return -EBADMSG;
		bits = bits << 6 | (uint32_t)value;
		n_bits += 6;
		if (n_bits >= 8) {
			n_bits -= 8;
			out[n++] = (unsigned char)(bits >> n_bits);
		}
	}
	return (ssize_t)n;
}

static uint64_t big_endian(const unsigned char *at, unsigned n)
{
	uint64_t value = 0;

	while (n-- > 0)
		value = value << 8 | *at++;
	return value;
}

/* Inflates the whole of IN. *ret_out is owned by the caller. */
static int inflate_all(const unsigned char *in, size_t n_in, unsigned char **ret_out, size_t *ret_n)
{
	size_t room = 4096, n = 0;
	unsigned char *out = malloc(room);
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)in, .avail_in = (uInt)n_in };
	int r = out ? inflateInit(&z) : Z_MEM_ERROR;

	if (r != Z_OK) {
		free(out);
		return -ENOMEM;
	}
	while (r == Z_OK && n < UP_HDR_BYTES_MAX) {
		if (n == room) {
			unsigned char *larger = realloc(out, 2 * room);

			if (!larger)
				break;
			out = larger;
			room *= 2;
		}
		z.next_out = out + n;
		z.avail_out = (uInt)(room - n);
		r = inflate(&z, Z_NO_FLUSH);
		n = room - z.avail_out;
	}
	inflateEnd(&z);
	if (r != Z_STREAM_END) {
		free(out);
		return -EBADMSG;
	}
	*ret_out = out;
	*ret_n = n;
	return 0;
}

static int layout_of(uint64_t digits, uint64_t lowest, struct layout *ret_layout)
{
	uint64_t resolution = 2;
	unsigned bits = 0;

	if (digits > 5 || lowest < 1 || lowest > INT32_MAX)
		return -EBADMSG;
	for (uint64_t i = 0; i < digits; i++)
		resolution *= 10;
	while ((UINT64_C(1) << bits) < resolution)
		bits++;
	ret_layout->half_bits = bits > 1 ? bits - 1 : 0;
	ret_layout->unit_bits = (unsigned)(63 - __builtin_clzll(lowest));
	return 0;
}

/* The value of INDEX as HdrHistogram's log processor reports it: the lowest of the bucket, put into a histogram with three digits and unit 1, and the highest
 * that is equivalent there. -EBADMSG above 62 bits. */
static int value_at(const struct layout *layout, uint64_t index, uint64_t *ret_value)
{
	uint64_t half = UINT64_C(1) << layout->half_bits, bucket = index >> layout->half_bits, sub = (index & (half - 1)) + half,
		 value;
	unsigned shift = layout->unit_bits, top;

	if (bucket == 0)
		sub -= half;
	else if (bucket - 1 + layout->unit_bits + layout->half_bits + 1 > 61)
		return -EBADMSG;
	else
		shift += (unsigned)(bucket - 1);
	value = sub << shift;
	top = value ? (unsigned)(63 - __builtin_clzll(value)) : 0;
	*ret_value = top > 10 ? value | ((UINT64_C(1) << (top - 10)) - 1) : value;
	return 0;
}

/* A ZigZag LEB128 number of at most nine bytes; the ninth carries eight bits. */
static int leb128(const unsigned char **at, const unsigned char *end, int64_t *ret_value)
{
	uint64_t bits = 0;
	unsigned shift = 0;

	for (unsigned i = 0; i < 9; i++, shift += 7) {
		unsigned char byte;

		if (*at == end)
			return -EBADMSG;
		byte = *(*at)++;
		if (i == 8) {
			bits |= (uint64_t)byte << shift;
			break;
		}
		bits |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	*ret_value = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
	return 0;
}

struct counts {
	const unsigned char *at, *end;
	unsigned word; /* bytes of a count; 0: LEB128 */
	struct layout layout;
};

/* Walks over the counts. Without EMIT it only checks that they are whole. */
static int walk(struct counts c, int (*emit)(void *ctx, uint64_t value, uint64_t count), void *ctx)
{
	uint64_t index = 0, value;
	int r = 0;

	while (c.at < c.end && r == 0) {
		int64_t count;

		if (c.word == 0) {
			r = leb128(&c.at, c.end, &count);
		} else if (c.end - c.at < (ptrdiff_t)c.word) {
			r = -EBADMSG;
		} else {
			count = (int64_t)big_endian(c.at, c.word);
			c.at += c.word;
		}
		if (r < 0)
			return r;
		if (count < 0) {
			if (c.word || count < -(INT64_C(1) << 31))
				return -EBADMSG;
			index += (uint64_t)-count;
			continue;
		}
		if (count > 0)
			r = value_at(&c.layout, index, &value);
		if (r == 0 && count > 0 && emit)
			r = emit(ctx, value, (uint64_t)count);
		index++;
	}
	return r;
}

static int read_header(const unsigned char *at, size_t n, struct counts *ret_counts)
{
	uint32_t cookie = n >= 4 ? (uint32_t)big_endian(at, 4) : 0, base = cookie & ~UINT32_C(0xf0);
	unsigned word = base == V2_BASE ? 0 : (cookie & 0xf0) >> 4 & 0xe;
	size_t header = base == V0_BASE ? 32 : 40, payload;
	int r;

	if ((base != V0_BASE && base != V1_BASE && base != V2_BASE) || n < header ||
		(base != V2_BASE && word != 2 && word != 4 && word != 8))
		return -EBADMSG;
	payload = base == V0_BASE ? n - header : (size_t)big_endian(at + 4, 4);
	if (payload > n - header || (base != V0_BASE && big_endian(at + 8, 4) != 0 && big_endian(at + 32, 8) != 1))
		return -EBADMSG;
	*ret_counts = (struct counts){ .at = at + header, .end = at + header + payload, .word = word };
	r = base == V0_BASE ? layout_of(big_endian(at + 4, 4), big_endian(at + 8, 8), &ret_counts->layout)
			    : layout_of(big_endian(at + 12, 4), big_endian(at + 16, 8), &ret_counts->layout);
	return r;
}

int up_hdr_decode(struct up_text text, int (*emit)(void *ctx, uint64_t value, uint64_t count), void *ctx)
{
	unsigned char *packed = malloc(text.n + 4), *plain = NULL;
	struct counts counts;
	size_t n_plain = 0;
	ssize_t n;
	int r = packed ? 0 : -ENOMEM;

	if (r == 0) {
		uint32_t base;

		n = base64(text, packed);
		base = n >= 8 ? (uint32_t)big_endian(packed, 4) & ~UINT32_C(0xf0) : 0;
		if ((base != V0_PACKED && base != V1_PACKED && base != V2_PACKED) || big_endian(packed + 4, 4) > (uint64_t)n - 8)
			r = -EBADMSG;
		else
			r = inflate_all(packed + 8, (size_t)big_endian(packed + 4, 4), &plain, &n_plain);
	}
	if (r == 0)
		r = read_header(plain, n_plain, &counts);
	if (r == 0)
		r = walk(counts, NULL, NULL);
	if (r == 0)
		r = walk(counts, emit, ctx);
	free(packed);
	free(plain);
	return r;
}
