#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "useprobe/collector.h"

#define UP_COLLECTOR(name) extern const struct up_collector up_collector_##name;
#include "collect/collectors.def"
#undef UP_COLLECTOR

const struct up_collector *const up_collectors[] = {
#define UP_COLLECTOR(name) &up_collector_##name,
#include "collect/collectors.def"
#undef UP_COLLECTOR
	NULL,
};

const char *up_setting_next(const struct up_env *env, const char *key, size_t *index)
{
	for (; *index < env->setting_count; (*index)++)
		if (strcmp(env->settings[*index].key, key) == 0)
			return env->settings[(*index)++].value;
	return NULL;
}

int up_fail(struct up_env *env, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(env->error, sizeof(env->error), format, args);
	va_end(args);
	return error;
}
