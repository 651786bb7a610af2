/* record - the load generator's results: a CSV line for each request, a summary line for each step. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "record.h"

static const char header[] = "planned_s,sent_s,end_s,status,vu,step\n";

int lab_record_init(struct lab_record *record, const struct lab_schedule *schedule, const char *path, uint64_t start_ns,
	struct lab_error *ret_error)
{
	struct timespec wall;

	memset(record, 0, sizeof(*record));
	record->schedule = schedule;
	record->start_ns = start_ns;
	clock_gettime(CLOCK_REALTIME, &wall);
	record->wall_offset_ns = (int64_t)wall.tv_sec * (int64_t)LAB_NS_PER_S + wall.tv_nsec - (int64_t)lab_now_ns();
	if (!path)
		return 0;
	record->out = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
	if (!record->out || setvbuf(record->out, NULL, _IOFBF, 1u << 18) != 0 || fputs(header, record->out) < 0) {
		const int error = errno ? errno : EIO;

		snprintf(ret_error->text, sizeof(ret_error->text), "%s: %s; name a file that can be written", path,
			strerror(error));
		if (record->out && record->out != stdout)
			fclose(record->out);
		record->out = NULL;
		return -error;
	}
	return 0;
}

/* Unix seconds with microseconds and a comma, or only the comma. */
static int write_time(const struct lab_record *record, uint64_t mono_ns)
{
	const uint64_t us = (uint64_t)((int64_t)mono_ns + record->wall_offset_ns) / LAB_NS_PER_US;

	if (!mono_ns)
		return fputc(',', record->out);
	return fprintf(record->out, "%" PRIu64 ".%06" PRIu64 ",", us / 1000000, us % 1000000);
}

static int write_line(const struct lab_record *record, const struct lab_result *result)
{
	static const char *const words[] = { "", "dropped", "error", "timeout" };
	FILE *out = record->out;
	const unsigned step = record->schedule->pieces[result->piece].step;

	/* In a closed loop nothing is planned beside the answers: an intended start there would promise what does not exist. */
	(void)write_time(record, record->schedule->closed ? 0 : result->planned_ns);
	(void)write_time(record, result->sent_ns);
	(void)write_time(record, result->end_ns);
	if (result->outcome < 0)
		fputs(words[-result->outcome], out);
	else
		fprintf(out, "%d", result->outcome);
	if (result->vu)
		fprintf(out, ",%u", result->vu);
	else
		fputc(',', out);
	if (step)
		fprintf(out, ",%u\n", step);
	else
		fputs(",\n", out);
	return ferror(out) ? -EIO : 0;
}

static int keep_latency(struct lab_piece_result *piece, uint64_t latency_ns)
{
	const uint64_t us = latency_ns / LAB_NS_PER_US;

	if (piece->n_latencies == piece->max_latencies) {
		const size_t max = piece->max_latencies ? 2 * piece->max_latencies : 1024;
		uint32_t *larger = realloc(piece->latency_us, max * sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		piece->latency_us = larger;
		piece->max_latencies = max;
	}
	piece->latency_us[piece->n_latencies++] = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
	return 0;
}

int lab_record_add(struct lab_record *record, const struct lab_result *result)
{
	struct lab_piece_result *piece = &record->pieces[result->piece];
	int r = 0;

	piece->planned++;
	if (result->outcome == LAB_OUTCOME_DROPPED) {
		piece->dropped++;
	} else {
		const double end_s = (double)(result->end_ns - record->start_ns) / 1e9;

		record->ending_piece = lab_schedule_piece(record->schedule, end_s, record->ending_piece);
		if (record->ending_piece < record->schedule->n_pieces)
			record->pieces[record->ending_piece].ended++;
		if (result->outcome >= 200 && result->outcome < 400)
			piece->ok++;
		else
			piece->failed++;
		r = keep_latency(piece, result->end_ns - result->planned_ns);
	}
	if (record->out && write_line(record, result) < 0)
		r = -EIO;
	return r;
}

int lab_record_done(struct lab_record *record)
{
	int r = 0;

	for (unsigned i = 0; i < LAB_PIECES_MAX; i++)
		free(record->pieces[i].latency_us);
	if (record->out && fflush(record->out) != 0)
		r = errno ? -errno : -EIO;
	if (record->out && record->out != stdout && fclose(record->out) != 0 && r == 0)
		r = errno ? -errno : -EIO;
	record->out = NULL;
	return r;
}

uint32_t lab_nearest_rank(const uint32_t *sorted, size_t n, double p)
{
	const size_t rank = (size_t)ceil(p / 100 * (double)n - 1e-9);

	return sorted[rank ? rank - 1 : 0];
}

static int compare_u32(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

void lab_record_summary(struct lab_record *record, FILE *out)
{
	fprintf(out, "%-5s %6s %10s %10s %9s %9s %9s %9s %8s %8s\n", "step", record->schedule->closed ? "users" : "rate",
		"offered/s", "achieved/s", "p50 ms", "p95 ms", "p99 ms", "max ms", "dropped", "failed");
	for (unsigned i = 0; i < record->schedule->n_pieces; i++) {
		const struct lab_piece *piece = &record->schedule->pieces[i];
		struct lab_piece_result *p = &record->pieces[i];

		if (!p->planned)
			continue;
		if (piece->step)
			fprintf(out, "%-5u ", piece->step);
		else
			fprintf(out, "%-5s ", "ramp");
		fprintf(out, "%6.6g %10.1f %10.1f ", record->schedule->closed ? piece->users : piece->rate_end_per_s,
			(double)p->planned / piece->duration_s, (double)p->ended / piece->duration_s);
		if (p->n_latencies) {
			qsort(p->latency_us, p->n_latencies, sizeof(*p->latency_us), compare_u32);
			fprintf(out, "%9.2f %9.2f %9.2f %9.2f ", lab_nearest_rank(p->latency_us, p->n_latencies, 50) / 1e3,
				lab_nearest_rank(p->latency_us, p->n_latencies, 95) / 1e3,
				lab_nearest_rank(p->latency_us, p->n_latencies, 99) / 1e3,
				p->latency_us[p->n_latencies - 1] / 1e3);
		} else {
			fprintf(out, "%9s %9s %9s %9s ", "-", "-", "-", "-");
		}
		fprintf(out, "%8" PRIu64 " %8" PRIu64 "\n", p->dropped, p->failed);
	}
}
