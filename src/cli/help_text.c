#include "help_text.h"

const char help_report[] =
	"useprobe report - up to which load it followed, and which resource limited\n"
	"\n"
	"  useprobe report [SAMPLES.csv] [--load FILE]... [options]\n"
	"\n"
	"  SAMPLES.csv            what `useprobe` recorded: the resource that hit the knee is named, with evidence\n"
	"      --load FILE        what the load generator wrote (repeatable): the curve, the knee, Little's check\n"
	"\n"
	"Steps of load (found by themselves; these say otherwise)\n"
	"      --steps START:STEP:COUNT:HOLD[:RAMP]  rates in requests/s, times such as 30s; auto = find them\n"
	"      --start TIME       when the first of --steps begins: a time of day, or from the first request on\n"
	"      --settle TIME      left out at the beginning of each step (30 % of it)\n"
	"      --offered R[,R]... the rates that were offered, where the file does not tell them\n"
	"      --requests N       how many were sent, when requests without an answer have no line\n"
	"\n"
	"The goal\n"
	"      --slo EXPR         an objective, such as 'p95<200ms,failed<1%'\n"
	"      --peak RATE        the rate that is planned for: headroom\n"
	"\n"
	"What to write\n"
	"  -o, --output FILE      .html: one file to attach, opens offline, prints; .md for a ticket; .json for programs; .csv: a line\n"
	"                         a step. Without it the answer is printed; - or -.html: standard output\n"
	"      --output-format F  html, md, json or csv, instead of the ending of FILE\n"
	"      --wide, --long     with .csv: a line a tick and a column a figure; the rows of SAMPLES.csv\n"
	"      --formula-safe     no cell of the .csv is a formula to a spreadsheet\n";

const char help_latency[] =
	"useprobe latency - how slow it was, and for how many\n"
	"\n"
	"  useprobe latency FILE... [options]\n"
	"\n"
	"  FILE                   what a load generator wrote, or scrapes of a Prometheus endpoint one after the other; several files are\n"
	"                         one run\n"
	"      --from, --to TIME  only requests that start between: a time of day, or from the first request on\n"
	"      --window TIME      the same figures for each window of this length\n"
	"      --threshold TIME   the share of requests that took longer (repeatable)\n"
	"      --expected-interval TIME  how often one user of a closed run would have asked: corrects coordinated omission\n"
	"      --json             for programs\n";

const char help_compare[] =
	"useprobe compare - can a difference between two sets of runs be claimed?\n"
	"\n"
	"  useprobe compare [--before] BASE... --to NEW... [options]\n"
	"\n"
	"  BASE, NEW              a run each: what a load generator wrote. FILE+FILE: generators that ran together; FILE+SAMPLES.csv adds\n"
	"                         what useprobe recorded: environment and CPU outside the targets are compared first\n"
	"      --to, --after      from here on NEW; at least three runs a side make a claim\n"
	"      --from, --until TIME  only this part, from each run's first request on\n"
	"      --json             for programs\n";

const char help_readers[] =
	"\n"
	"Files of load generators (.gz too; - is standard input; the format is recognised)\n"
	"      --format NAME      take it for this format; a wrong NAME lists them\n"
	"      --columns MAP      any CSV: start=COLUMN[:UNIT],latency=COLUMN[:UNIT],ok=COLUMN,... (docs/KNEE.md)\n"
	"      --transactions     JMeter's transaction lines count as requests\n"
	"      --tz ZONE          of times without a zone\n"
	"\n"
	"TIME takes 200ms, 1s, 2m; a bare number is seconds.\n";
