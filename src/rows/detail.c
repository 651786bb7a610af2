/* The detail column: "key=value;key=value", percent-encoded where a byte would be mistaken for the syntax. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "useprobe/number.h"
#include "useprobe/row.h"

static bool must_encode(unsigned char c)
{
	return c < 0x20 || c == 0x7f || c == '%' || c == ';' || c == '=';
}

static size_t encode(const char *text, char *out, size_t size)
{
	size_t len = 0;

	for (; *text; text++) {
		const unsigned char c = (unsigned char)*text;

		if (must_encode(c)) {
			if (len + 3 < size)
				snprintf(out + len, 4, "%%%02X", (unsigned)c);
			len += 3;
		} else {
			if (len + 1 < size)
				out[len] = (char)c;
			len++;
		}
	}
	if (len < size)
		out[len] = '\0';
	return len;
}

void up_detail_text(struct up_detail *detail, const char *key, const char *text)
{
	char pair[sizeof(detail->text)];
	size_t len = strlen(key);

	if (len + 2 >= sizeof(pair)) {
		detail->cut = true;
		return;
	}
	memcpy(pair, key, len);
	pair[len++] = '=';
	len += encode(text, pair + len, sizeof(pair) - len);
	if (detail->len + len + 2 > sizeof(detail->text)) {
		detail->cut = true;
		return;
	}
	if (detail->len)
		detail->text[detail->len++] = ';';
	memcpy(detail->text + detail->len, pair, len);
	detail->len += len;
	detail->text[detail->len] = '\0';
}

void up_detail_number(struct up_detail *detail, const char *key, double number)
{
	char text[UP_NUMBER_TEXT];

	if (isfinite(number))
		up_detail_text(detail, key, up_number_text(number, text));
}

void up_detail_count(struct up_detail *detail, const char *key, uint64_t count)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)count);
	up_detail_text(detail, key, text);
}

void up_detail_value(struct up_detail *detail, const char *key, struct up_value value)
{
	char state_key[96], text[256];

	if (value.state == UP_OK) {
		up_detail_number(detail, key, value.number);
		return;
	}
	snprintf(state_key, sizeof(state_key), "%s_state", key);
	snprintf(text, sizeof(text), "%s%s%s", up_state_name(value.state), value.reason ? ":" : "",
		value.reason ? value.reason : "");
	up_detail_text(detail, state_key, text);
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool up_detail_get(const char *detail, const char *key, char *ret, size_t size)
{
	const size_t key_len = strlen(key);

	for (const char *p = detail; p && *p;) {
		const char *end = p + strcspn(p, ";");

		if (strncmp(p, key, key_len) == 0 && p[key_len] == '=') {
			size_t len = 0;

			for (p += key_len + 1; p < end; p++) {
				char c = *p;

				if (c == '%' && end - p > 2 && hex(p[1]) >= 0 && hex(p[2]) >= 0) {
					c = (char)(hex(p[1]) * 16 + hex(p[2]));
					p += 2;
				}
				if (len + 1 >= size)
					return false;
				ret[len++] = c;
			}
			ret[len] = '\0';
			return true;
		}
		p = *end ? end + 1 : end;
	}
	return false;
}

bool up_detail_get_number(const char *detail, const char *key, double *ret)
{
	char text[64];
	const char *cursor = text;
	double number;
	int used;

	if (!up_detail_get(detail, key, text, sizeof(text)))
		return false;
	/* Exponents appear beyond six digits ("%.6g"); sscanf is bounded by the buffer and the C locale's point is put in by us. */
	if (up_scan_whole_decimal(cursor, &number) == 0) {
		*ret = number;
		return true;
	}
	/* NOLINTNEXTLINE(cert-err34-c) the whole text is taken or nothing, and what overflows is not finite */
	if (sscanf(text, "%lf%n", &number, &used) != 1 || text[used] || !isfinite(number))
		return false;
	*ret = number;
	return true;
}
