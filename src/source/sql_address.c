#include "useprobe/sql_address.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "useprobe/http_source.h"

int up_sql_address_parse(const char *value, struct up_sql_address *ret, char *error, size_t error_size)
{
	const char *scheme = strstr(value, "://"), *equals = strchr(value, '=');
	const char *url = equals && (!scheme || equals < scheme) ? equals + 1 : value;
	const size_t name_bytes = url == value ? 0 : (size_t)(equals - value);
	const char *path;
	int r;

	if (strncmp(url, "odbc:", 5) == 0) {
		snprintf(error, error_size, "the address of a bridge; start it with: useprobe-sqlbridge DSN");
		return -EINVAL;
	}
	r = up_http_url_check(url, error, error_size);
	if (r < 0)
		return r;
	if (name_bytes >= sizeof(ret->name) || strlen(url) + sizeof("/sample") > sizeof(ret->url)) {
		snprintf(error, error_size, "a shorter name and address");
		return -EINVAL;
	}
	memcpy(ret->name, value, name_bytes);
	ret->name[name_bytes] = '\0';
	path = strchr(strstr(url, "://") + 3, '/');
	snprintf(ret->url, sizeof(ret->url), "%s%s", url, !path ? "/sample" : !path[1] ? "sample" : "");
	return 0;
}
