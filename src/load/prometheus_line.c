/* One line of the Prometheus text format: name{label="value",...} value [time] [# exemplar]. */
#include "prometheus.h"

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':' || c == '.' ||
	       c == '-';
}

static void skip_blanks(struct up_text *at)
{
	while (at->n && (*at->at == ' ' || *at->at == '\t')) {
		at->at++;
		at->n--;
	}
}

static struct up_text take_name(struct up_text *at)
{
	struct up_text name = { at->at, 0 };

	while (name.n < at->n && is_name(name.at[name.n]))
		name.n++;
	at->at += name.n;
	at->n -= name.n;
	return name;
}

/* A quoted text, at its first quote. false when it does not end. */
static bool take_quoted(struct up_text *at, struct up_text *ret)
{
	size_t n = 1;

	while (n < at->n && at->at[n] != '"')
		n += at->at[n] == '\\' ? 2 : 1;
	if (n >= at->n)
		return false;
	*ret = (struct up_text){ at->at + 1, n - 1 };
	at->at += n + 1;
	at->n -= n + 1;
	return true;
}

static bool take_char(struct up_text *at, char c)
{
	skip_blanks(at);
	if (at->n == 0 || *at->at != c)
		return false;
	at->at++;
	at->n--;
	return true;
}

/* {name="value",...}; a quoted text without a value is the name of the metric (names in UTF-8). NULL, or what is wrong. */
static const char *take_labels(struct up_text *at, struct up_prom_sample *sample)
{
	while (!take_char(at, '}')) {
		struct up_prom_label label;

		skip_blanks(at);
		if (at->n && *at->at == '"') {
			if (!take_quoted(at, &label.name))
				return "a quote that does not end";
			if (sample->name.n == 0 && (at->n == 0 || *at->at != '=')) {
				sample->name = label.name;
				take_char(at, ',');
				continue;
			}
		} else {
			label.name = take_name(at);
		}
		if (label.name.n == 0 || !take_char(at, '='))
			return "a label without a value";
		skip_blanks(at);
		if (at->n == 0 || *at->at != '"' || !take_quoted(at, &label.value))
			return "a label's value without quotes around it";
		if (sample->n_labels == UP_PROM_LABELS_MAX)
			return "more than 32 labels";
		sample->label[sample->n_labels++] = label;
		skip_blanks(at);
		if (!take_char(at, ',') && (at->n == 0 || *at->at != '}'))
			return "labels that do not end with }";
	}
	return NULL;
}

static struct up_text take_word(struct up_text *at)
{
	struct up_text word;

	skip_blanks(at);
	word = (struct up_text){ at->at, 0 };
	while (word.n < at->n && word.at[word.n] != ' ' && word.at[word.n] != '\t')
		word.n++;
	at->at += word.n;
	at->n -= word.n;
	return word;
}

const char *up_prom_sample_parse(struct up_text line, struct up_prom_sample *ret)
{
	struct up_prom_sample sample = { .name = take_name(&line) };
	const char *wrong = take_char(&line, '{') ? take_labels(&line, &sample) : NULL;

	if (wrong)
		return wrong;
	if (sample.name.n == 0)
		return "no name of a metric";
	sample.value = take_word(&line);
	if (sample.value.n == 0)
		return "no value";
	skip_blanks(&line);
	if (line.n && *line.at != '#')
		sample.time = take_word(&line);
	skip_blanks(&line);
	if (line.n && *line.at != '#') /* an exemplar */
		return "more than a value and a time";
	*ret = sample;
	return NULL;
}
