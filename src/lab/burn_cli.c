/* burn_cli - `uselab burn`: a neighbour that takes CPU time and serves nobody. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "lab.h"
#include "work.h"

#define PERIOD_NS (10 * LAB_NS_PER_MS)

static const char help[] =
	"usage: uselab burn [--threads N] [--percent P] [--duration TIME]\n"
	"Threads burn-1 ... burn-N that are busy P percent of the time each: a noisy neighbour, or two spinners in a cgroup.\n"
	"\n"
	"  --threads N       1\n"
	"  --percent P       of one CPU, each thread (100)\n"
	"  --duration TIME   60s\n"
	"\n"
	"example:\n"
	"  uselab burn --threads 2 --duration 30s\n";

struct burner {
	pthread_t thread;
	uint64_t busy_ns, end_ns;
	unsigned number;
};

static void *burner_main(void *arg)
{
	const struct burner *burner = arg;
	struct lab_hand hand = { .burn_debt_ns = 0 };
	char name[16];

	snprintf(name, sizeof(name), "burn-%u", burner->number);
	lab_thread_prepare(name);
	for (uint64_t at_ns = lab_now_ns(); at_ns < burner->end_ns;) {
		const uint64_t now_ns = lab_now_ns();

		lab_burn(&hand, burner->busy_ns);
		at_ns = at_ns + PERIOD_NS > now_ns ? at_ns + PERIOD_NS : now_ns + PERIOD_NS;
		lab_sleep_until(at_ns < burner->end_ns ? at_ns : burner->end_ns);
	}
	return NULL;
}

static int burn(unsigned threads, double percent, uint64_t duration_ns)
{
	struct burner *burners = calloc(threads, sizeof(*burners));
	const uint64_t end_ns = lab_now_ns() + duration_ns;
	int r = burners ? 0 : 1;

	for (unsigned i = 0; r == 0 && i < threads; i++) {
		burners[i] = (struct burner){
			.busy_ns = (uint64_t)(percent / 100 * (double)PERIOD_NS), .end_ns = end_ns, .number = i + 1
		};
		if (pthread_create(&burners[i].thread, NULL, burner_main, &burners[i]) != 0)
			r = 1;
	}
	if (r) {
		/* Threads that run are ended with the process. */
		fprintf(stderr, "uselab burn: %u threads cannot be created: ask for fewer, or raise pids.max\n", threads);
		return 1;
	}
	for (unsigned i = 0; i < threads; i++)
		pthread_join(burners[i].thread, NULL);
	free(burners);
	return 0;
}

int lab_burn_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "threads", required_argument, NULL, 't' },
		{ "percent", required_argument, NULL, 'p' },
		{ "duration", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	uint64_t threads = 1, duration_ns = 60 * LAB_NS_PER_S;
	double percent = 100;
	int c;

	optind = 0;
	while ((c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		const char *expected = NULL;

		if (c == 'h') {
			fputs(help, stdout);
			return 0;
		}
		if (c == 't' && lab_count_read(optarg, 1, 1024, &threads) < 0)
			expected = "a whole number from 1 to 1024";
		else if (c == 'p' && (lab_number_read(optarg, &percent) < 0 || percent > 100))
			expected = "0 to 100";
		else if (c == 'd' && lab_time_read(optarg, &duration_ns) < 0)
			expected = "a time like 30s";
		else if (c == '?' || c == ':')
			expected = "an option of --help, with its value";
		if (expected) {
			fprintf(stderr, "uselab burn: %.100s: expected %s\n", c == '?' || c == ':' ? argv[optind - 1] : optarg,
				expected);
			return 2;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "uselab burn: `%.100s` is no option; --help lists them\n", argv[optind]);
		return 2;
	}
	return burn((unsigned)threads, percent, duration_ns);
}
