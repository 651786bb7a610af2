/* The formats, in the order in which they are asked whether a file is theirs: the unmistakable ones first. */
#include "reader.h"

extern const struct up_load_format up_load_k6_csv, up_load_lab_csv;

const struct up_load_format *const up_load_formats[] = {
	&up_load_k6_csv,
	&up_load_lab_csv,
	NULL,
};
