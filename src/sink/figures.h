/* Private to src/sink: numbers for people, as the reports print them. Unknown is an en dash, never 0. */
#ifndef UP_FIGURES_H
#define UP_FIGURES_H

struct up_amount {
	char text[40];
};
/* Three to four significant digits, thousands apart: "0", "0.004", "1.37", "42.5", "608", "12 400". Below 0.001: "<0.001". */
struct up_amount up_amount(double value);
/* A whole number of things. */
struct up_amount up_count(double value);
/* Time in ms with its unit: "0.142 ms", "10.7 ms", "2.40 s". */
struct up_amount up_ms(double ms);
/* RATIO as "14 %"; "0.4 %" below one, "<0.1 %". */
struct up_amount up_percent(double ratio);
/* Labels of ticks: as short as they can be; times with their unit. */
struct up_amount up_tick(double value);
struct up_amount up_ms_tick(double ms);
/* Seconds as "12 s", "2 min 05 s". */
struct up_amount up_span_text(double seconds);
/* Bytes as "24.1 GB". */
struct up_amount up_bytes_text(double bytes);

#endif
