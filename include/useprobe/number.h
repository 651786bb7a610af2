/* Numbers as text, the same in every locale. */
#ifndef UP_NUMBER_H
#define UP_NUMBER_H

#include <stddef.h>

#define UP_NUMBER_TEXT 48

/* NUMBER as plain decimal: '.' as the point, no exponent, at least 6 significant digits, no trailing zeros; integers below 2^53 exact.
 * "" for NaN and infinities. Returns RET. */
char *up_number_text(double number, char ret[UP_NUMBER_TEXT]);
/* MAGNITUDE with exactly DECIMALS digits behind the point; it must stay below 2^64 when scaled. */
void up_number_fixed(double magnitude, int decimals, char *ret, size_t size);

#endif
