/* Plain text on its way into HTML and Markdown. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "doc.h"
#include "useprobe/sink.h"

enum { PLAIN_HEAD_BYTES = 280 };

struct up_plain up_plain(const char *text)
{
	const size_t n = strlen(text);
	struct up_plain plain = { .text = "" };
	char *end;

	up_terminal_text(text, true, plain.text, sizeof(plain.text));
	if (n * 4 < sizeof(plain.text) || strlen(plain.text) + 4 < sizeof(plain.text))
		return plain;
	/* Names differ at their end: keep both ends. */
	up_terminal_text(text, true, plain.text, PLAIN_HEAD_BYTES);
	end = plain.text + strlen(plain.text);
	end = mempcpy(end, " ... ", 5);
	text += n - 70;
	while (((unsigned char)*text & 0xc0) == 0x80)
		text++;
	up_terminal_text(text, true, end, sizeof(plain.text) - (size_t)(end - plain.text));
	return plain;
}

static const char *mark_name(char c)
{
	return c == UP_M[0] ? "measured" : c == UP_C[0] ? "computed" : c == UP_A[0] ? "assumed" : NULL;
}

/* One character of TEXT. Control bytes and broken UTF-8, which no caller sends, are shown as what they are. Returns how many bytes it took. */
static size_t html_char(struct up_buffer *out, const char *text)
{
	uint32_t point;
	unsigned width;
	const size_t n = up_terminal_char(text, &point, &width);

	switch (*text) {
	case '&':
		up_buffer_add(out, "&amp;");
		return 1;
	case '<':
		up_buffer_add(out, "&lt;");
		return 1;
	case '>':
		up_buffer_add(out, "&gt;");
		return 1;
	case '"':
		up_buffer_add(out, "&quot;");
		return 1;
	case '\'':
		up_buffer_add(out, "&#39;");
		return 1;
	default:
		if (n == 0 || point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0xfffe || point == 0xffff) {
			up_buffer_print(out, "\\x%02x", (unsigned)(unsigned char)*text);
			return 1;
		}
		up_buffer_add_n(out, text, n);
		return n;
	}
}

void up_html_text(struct up_buffer *out, const char *text)
{
	while (*text) {
		const char *mark = mark_name(*text);

		if (mark)
			up_buffer_print(out, "<sup title=\"%s\">%c</sup>", mark, mark[0]);
		text += mark ? 1 : html_char(out, text);
	}
}

void up_html_bare(struct up_buffer *out, const char *text)
{
	while (*text)
		text += mark_name(*text) ? 1 : html_char(out, text);
}

void up_markdown_text(struct up_buffer *out, const char *text)
{
	static const char special[] = "\\`*_[]<>|~$&";
	bool line_begins = true;

	while (*text) {
		const char *mark = mark_name(*text);
		uint32_t point;
		unsigned width;
		const size_t n = up_terminal_char(text, &point, &width);

		if (mark) {
			up_buffer_print(out, "<sup>%c</sup>", mark[0]);
			text++;
		} else if (n == 0 || point < 0x20 || (point >= 0x7f && point < 0xa0)) {
			up_buffer_print(out, "\\\\x%02x", (unsigned)(unsigned char)*text++);
		} else {
			/* Some only mean something where a line begins. */
			if (strchr(special, *text) || (line_begins && strchr("#+-=", *text)))
				up_buffer_add(out, "\\");
			up_buffer_add_n(out, text, n);
			text += n;
		}
		line_begins = false;
	}
}
