/* Objectives as people write them: "p95<200ms,failed<1%". */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "useprobe/slo.h"

static const char *skip_blanks(const char *at)
{
	while (*at == ' ')
		at++;
	return at;
}

static bool take(const char **at, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*at, word, n) != 0)
		return false;
	*at += n;
	return true;
}

static int scan_number(const char **at, double *ret)
{
	double value = 0, unit = 1;
	const char *first = *at;

	for (; isdigit((unsigned char)**at); (*at)++)
		value = value * 10 + (**at - '0');
	if (**at == '.') {
		for ((*at)++; isdigit((unsigned char)**at); (*at)++)
			value += (**at - '0') * (unit /= 10);
	}
	if (*at == first || (*at == first + 1 && *first == '.'))
		return -EBADMSG;
	*ret = value;
	return 0;
}

static int scan_what(const char **at, struct up_slo *slo)
{
	unsigned longest = UP_QUANTILES;

	for (unsigned i = 0; i < UP_QUANTILES; i++) {
		const char *name = up_quantile_names[i].name;

		if (strncmp(*at, name, strlen(name)) == 0 &&
			(longest == UP_QUANTILES || strlen(name) > strlen(up_quantile_names[longest].name)))
			longest = i;
	}
	if (longest < UP_QUANTILES) {
		slo->term[slo->n].what = UP_SLO_QUANTILE;
		slo->term[slo->n].quantile = longest;
		*at += strlen(up_quantile_names[longest].name);
		return 0;
	}
	if (take(at, "mean") || take(at, "avg"))
		slo->term[slo->n].what = UP_SLO_MEAN;
	else if (take(at, "max"))
		slo->term[slo->n].what = UP_SLO_MAXIMUM;
	else if (take(at, "failed") || take(at, "errors"))
		slo->term[slo->n].what = UP_SLO_FAILED;
	else
		return -EBADMSG;
	return 0;
}

static int scan_limit(const char **at, struct up_slo *slo)
{
	bool failed = slo->term[slo->n].what == UP_SLO_FAILED;
	double value;

	if (scan_number(at, &value) < 0)
		return -EBADMSG;
	if (take(at, "%"))
		value = failed ? value / 100 : NAN;
	else if (take(at, "us"))
		value = failed ? NAN : value / 1e3;
	else if (take(at, "ms"))
		value = failed ? NAN : value;
	else if (take(at, "s"))
		value = failed ? NAN : value * 1e3;
	if (isnan(value) || (failed && value > 1))
		return -EBADMSG;
	slo->term[slo->n].limit = value;
	return 0;
}

static int scan_term(const char **at, struct up_slo *slo)
{
	*at = skip_blanks(*at);
	if (slo->n == UP_SLO_MAX || scan_what(at, slo) < 0)
		return -EBADMSG;
	*at = skip_blanks(*at);
	if (!take(at, "<"))
		return -EBADMSG;
	slo->term[slo->n].inclusive = take(at, "=");
	*at = skip_blanks(*at);
	if (scan_limit(at, slo) < 0)
		return -EBADMSG;
	slo->n++;
	*at = skip_blanks(*at);
	return 0;
}

int up_slo_parse(const char *text, struct up_slo *ret_slo, const char **ret_at)
{
	struct up_slo slo = { 0 };
	const char *at = text;

	do {
		if (scan_term(&at, &slo) < 0) {
			*ret_at = at;
			return -EBADMSG;
		}
	} while (take(&at, ",") || take(&at, "and"));
	if (*at != '\0') {
		*ret_at = at;
		return -EBADMSG;
	}
	*ret_slo = slo;
	return 0;
}

int up_slo_met(const struct up_slo *slo, const struct up_summary *summary)
{
	int met = 1;

	for (unsigned i = 0; i < slo->n; i++) {
		double value = NAN;

		switch (slo->term[i].what) {
		case UP_SLO_QUANTILE:
			value = summary->q[slo->term[i].quantile].ms;
			break;
		case UP_SLO_MEAN:
			value = summary->mean_ms;
			break;
		case UP_SLO_MAXIMUM:
			value = summary->max_ms;
			break;
		case UP_SLO_FAILED:
			value = summary->failed_known && summary->n ? (double)summary->failed / (double)summary->n : NAN;
			break;
		}
		if (isnan(value))
			met = met == 0 ? 0 : -1;
		else if (!(slo->term[i].inclusive ? value <= slo->term[i].limit : value < slo->term[i].limit))
			met = 0;
	}
	return met;
}
