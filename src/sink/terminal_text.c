/* Foreign bytes on a terminal: nothing that moves the cursor, changes colours, hides or reorders text gets through. */
#include <stdio.h>
#include <string.h>

#include "useprobe/sink.h"

struct range {
	uint32_t first, last;
};

/* Two columns wide: East Asian Wide and Fullwidth, emoji (Unicode 15, EastAsianWidth.txt, coarse blocks). */
static const struct range wide[] = { { 0x1100, 0x115f }, { 0x231a, 0x231b }, { 0x23e9, 0x23ec }, { 0x25fd, 0x25fe },
	{ 0x2614, 0x2615 }, { 0x2648, 0x2653 }, { 0x2705, 0x2705 }, { 0x2728, 0x2728 }, { 0x274c, 0x274c }, { 0x2795, 0x2797 },
	{ 0x2e80, 0x303e }, { 0x3041, 0x33ff }, { 0x3400, 0x4dbf }, { 0x4e00, 0x9fff }, { 0xa000, 0xa4cf }, { 0xa960, 0xa97c },
	{ 0xac00, 0xd7a3 }, { 0xf900, 0xfaff }, { 0xfe30, 0xfe6f }, { 0xff00, 0xff60 }, { 0xffe0, 0xffe6 }, { 0x1f300, 0x1f64f },
	{ 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff }, { 0x1fa70, 0x1faff }, { 0x20000, 0x3fffd } };

/* No column of their own: combining marks. */
static const struct range combining[] = { { 0x300, 0x36f }, { 0x483, 0x489 }, { 0x591, 0x5bd }, { 0x610, 0x61a },
	{ 0x64b, 0x65f }, { 0x6d6, 0x6dc }, { 0x900, 0x902 }, { 0x93c, 0x93c }, { 0x941, 0x948 }, { 0x94d, 0x94d },
	{ 0xe31, 0xe31 }, { 0xe34, 0xe3a }, { 0xe47, 0xe4e }, { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff }, { 0x20d0, 0x20ff },
	{ 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f } };

/* Never shown: C1 controls, soft hyphen, zero-width and direction controls, line separators, byte-order mark, private use, tags. */
static const struct range unsafe[] = { { 0x80, 0x9f }, { 0xad, 0xad }, { 0x61c, 0x61c }, { 0x180b, 0x180f }, { 0x200b, 0x200f },
	{ 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xd800, 0xf8ff }, { 0xfeff, 0xfeff }, { 0xfff0, 0xfffb },
	{ 0xe0000, 0x10ffff } };

static bool inside(const struct range *ranges, size_t count, uint32_t point)
{
	for (size_t i = 0; i < count; i++)
		if (point >= ranges[i].first && point <= ranges[i].last)
			return true;
	return false;
}

size_t up_terminal_char(const char *text, uint32_t *ret_point, unsigned *ret_width)
{
	static const uint32_t lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)text;
	const size_t len = *p < 0x80                 ? 1
			   : *p >= 0xc2 && *p < 0xe0 ? 2
			   : *p >= 0xe0 && *p < 0xf0 ? 3
			   : *p >= 0xf0 && *p < 0xf5 ? 4
						     : 0;
	uint32_t point;

	if (!len || !*p)
		return 0;
	point = len == 1 ? *p : *p & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (p[i] & 0x3f);
	}
	if (point < lowest[len] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
		return 0;
	*ret_point = point;
	*ret_width = inside(combining, UP_COUNT(combining), point) ? 0 : inside(wide, UP_COUNT(wide), point) ? 2 : 1;
	return len;
}

/* Nearly all names are plain ASCII: no need to look at their characters one by one. */
static size_t plain_length(const char *text)
{
	size_t len = 0;

	while (text[len] >= 0x20 && text[len] < 0x7f)
		len++;
	return len;
}

char *up_terminal_text(const char *text, bool utf8, char *ret, size_t size)
{
	size_t out = plain_length(text);

	if (out >= size)
		out = size - 1;
	memcpy(ret, text, out);
	text += out;
	while (*text) {
		uint32_t point;
		unsigned width;
		size_t len = up_terminal_char(text, &point, &width);
		const bool shown =
			len == 1 ? point >= 0x20 && point != 0x7f : len && utf8 && !inside(unsafe, UP_COUNT(unsafe), point);

		if (!len)
			len = 1;
		if (out + (shown ? len : len * 4) >= size)
			break;
		for (size_t i = 0; i < len; i++) {
			if (shown)
				ret[out++] = text[i];
			else
				out += (size_t)snprintf(ret + out, 5, "\\x%02x", (unsigned)(unsigned char)text[i]);
		}
		text += len;
	}
	ret[out] = '\0';
	return ret;
}

size_t up_terminal_width(const char *text)
{
	size_t columns = plain_length(text), len;
	uint32_t point;
	unsigned width;

	for (text += columns; (len = up_terminal_char(text, &point, &width)); text += len)
		columns += width;
	return columns;
}

char *up_terminal_fit(const char *text, size_t columns, enum up_cut cut, bool utf8, char *ret, size_t size)
{
	const char *dots = utf8 ? "\xe2\x80\xa6" : columns > 3 ? "..." : "";
	const size_t dots_columns = utf8 ? 1 : strlen(dots);
	size_t over = up_terminal_width(text), room, len = 0, step;
	uint32_t point;
	unsigned width;

	if (over <= columns) {
		snprintf(ret, size, "%s", text);
		return ret;
	}
	if (columns < dots_columns) {
		*ret = '\0';
		return ret;
	}
	room = columns - dots_columns;
	if (cut == UP_CUT_BEGINNING) {
		for (; over > room && (step = up_terminal_char(text, &point, &width)); text += step)
			over -= width;
		/* Marks that belonged to a character which is gone would change the next one. */
		while ((step = up_terminal_char(text, &point, &width)) && !width)
			text += step;
		snprintf(ret, size, "%s%s", dots, text);
		return ret;
	}
	while ((step = up_terminal_char(text + len, &point, &width)) && width <= room) {
		room -= width;
		len += step;
	}
	snprintf(ret, size, "%.*s%s", (int)len, text, dots);
	return ret;
}
