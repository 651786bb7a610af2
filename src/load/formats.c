/* The formats, in the order in which they are asked whether a file is theirs: the unmistakable ones first. */
#include "reader.h"

extern const struct up_load_format up_load_generic_csv, up_load_k6_csv, up_load_k6_json, up_load_lab_csv, up_load_hey_csv,
	up_load_oha_csv, up_load_h2load, up_load_jmeter_csv, up_load_jmeter_xml, up_load_vegeta_csv, up_load_vegeta_json,
	up_load_gatling_text, up_load_gatling_binary, up_load_hdr_log, up_load_hgrm, up_load_locust_csv, up_load_summary_json,
	up_load_summary_text, up_load_values, up_load_prometheus, up_load_printed_text;

const struct up_load_format *const up_load_formats[] = {
	&up_load_generic_csv, /* only when --columns is given */
	&up_load_k6_csv,
	&up_load_k6_json,
	&up_load_lab_csv,
	&up_load_hey_csv,
	&up_load_oha_csv,
	&up_load_h2load,
	&up_load_jmeter_csv,
	&up_load_jmeter_xml,
	&up_load_vegeta_csv,
	&up_load_vegeta_json,
	&up_load_gatling_text,
	&up_load_gatling_binary,
	&up_load_hdr_log,
	&up_load_hgrm,
	&up_load_locust_csv,
	&up_load_prometheus,
	&up_load_printed_text,
	&up_load_summary_text,
	&up_load_summary_json, /* any JSON that none of the others took */
	&up_load_values,
	NULL,
};
