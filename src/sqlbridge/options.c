/* The command line, and the secrets that must not be on it. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bridge.h"
#include "useprobe/clock.h"

static const char help[] =
	"usage: useprobe-sqlbridge [OPTION]... DSN|@FILE\n"
	"\n"
	"Holds one ODBC connection and hands a database's wait statistics out over HTTP: /sample, /metrics, /health.\n"
	"\n"
	"  DSN                   a data source of odbc.ini\n"
	"  @FILE                 a file with an ODBC connection string, readable by its owner only (chmod 600)\n"
	"                        neither: the connection string in USEPROBE_SQL_CONNECTION\n"
	"  --user NAME           who logs in; also USEPROBE_SQL_USER\n"
	"  --password-file FILE  first line = password; also USEPROBE_SQL_PASSWORD\n"
	"  --listen ADDR:PORT    default 127.0.0.1:9187; port 0 takes a free one\n"
	"  --token-file FILE     requests need this bearer token; must be given beyond loopback\n"
	"  --allow-host NAME     a further name clients may call us by\n"
	"  --interval TIME       between two samples, default 1s (PostgreSQL is looked at every 50 ms besides)\n"
	"  --login-timeout TIME, --query-timeout TIME   whole seconds, default 5s\n"
	"  --name NAME           name of the instance\n"
	"  --dialect NAME        sqlserver or postgresql; default: what the driver says\n"
	"\n"
	"Passwords and connection strings are never taken from the command line. docs/SQL.md has the rights the database must give.\n";

static int wrong(char *message, size_t size, const char *format, ...) UP_PRINTF(3, 4);
static int wrong(char *message, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(message, size, format, args);
	va_end(args);
	return -EINVAL;
}

/* The whole file (at most size - 1 bytes, without trailing newlines). A secret others can read is none. */
static int read_secret(const char *path, char *ret, size_t ret_size, char *message, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	ssize_t n = -1;
	bool open_to_others = false;

	if (fd >= 0 && fstat(fd, &st) == 0) {
		open_to_others = S_ISREG(st.st_mode) && (st.st_mode & (S_IRGRP | S_IROTH | S_IWGRP | S_IWOTH));
		n = read(fd, ret, ret_size);
	}
	if (n < 0)
		wrong(message, size, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return -EINVAL;
	if (open_to_others)
		return wrong(message, size, "%s: others than its owner may read it; chmod 600 %s", path, path);
	if ((size_t)n >= ret_size)
		return wrong(message, size, "%s: at most %zu bytes expected", path, ret_size - 1);
	while (n > 0 && (ret[n - 1] == '\n' || ret[n - 1] == '\r'))
		n--;
	ret[n] = '\0';
	if (n == 0 || strlen(ret) != (size_t)n)
		return wrong(message, size, "%s: empty, or not a text", path);
	return 0;
}

/* Copies a variable and wipes it, so that /proc/PID/environ and children do not have it. */
static int take_environment(const char *name, char *ret, size_t size, char *message, size_t message_size)
{
	char *text = getenv(name);
	size_t len = text ? strlen(text) : 0;

	if (len >= size)
		return wrong(message, message_size, "%s: at most %zu bytes expected", name, size - 1);
	if (len > 0) {
		memcpy(ret, text, len + 1);
		explicit_bzero(text, len);
	}
	return 0;
}

static int take_data_source(const char *source, struct bridge_options *ret, char *message, size_t size)
{
	if (!source) {
		if (take_environment("USEPROBE_SQL_CONNECTION", ret->connection, sizeof(ret->connection), message, size) < 0)
			return -EINVAL;
		for (size_t n = strlen(ret->connection);
			n > 0 && (ret->connection[n - 1] == '\n' || ret->connection[n - 1] == '\r'); n--)
			ret->connection[n - 1] = '\0';
		return ret->connection[0]
			       ? 0
			       : wrong(message, size, "no data source: DSN, @FILE or USEPROBE_SQL_CONNECTION; see --help");
	}
	if (source[0] == '@')
		return read_secret(source + 1, ret->connection, sizeof(ret->connection), message, size);
	/* The text is not repeated: it may hold a password. */
	if (strpbrk(source, "=;{}") || strlen(source) > 64 || source[0] == '\0')
		return wrong(message, size,
			"the name of a data source is expected; a connection string would be seen by everyone in `ps`: "
			"put it into a file (chmod 600) and give @FILE");
	snprintf(ret->connection, sizeof(ret->connection), "DSN=%s", source);
	if (!ret->instance[0])
		snprintf(ret->instance, sizeof(ret->instance), "%s", source);
	return 0;
}

static int take_credentials(const char *user, const char *password_file, struct bridge_options *ret, char *message, size_t size)
{
	char name[128] = "", password[256] = "";
	int rc = -EINVAL;

	if (user && strlen(user) < sizeof(name))
		memcpy(name, user, strlen(user) + 1);
	if (!user && take_environment("USEPROBE_SQL_USER", name, sizeof(name), message, size) < 0)
		return rc;
	if (password_file ? read_secret(password_file, password, sizeof(password), message, size)
			  : take_environment("USEPROBE_SQL_PASSWORD", password, sizeof(password), message, size))
		return rc;
	if ((name[0] && bridge_connection_add(ret->connection, sizeof(ret->connection), "UID", name) < 0) ||
		(password[0] && bridge_connection_add(ret->connection, sizeof(ret->connection), "PWD", password) < 0))
		wrong(message, size, "the connection string is longer than %zu bytes", sizeof(ret->connection) - 1);
	else
		rc = 0;
	explicit_bzero(password, sizeof(password));
	if (!bridge_connection_value(ret->connection, "PWD", ret->secret, sizeof(ret->secret)))
		(void)bridge_connection_value(ret->connection, "Password", ret->secret, sizeof(ret->secret));
	return rc;
}

static int take_seconds(const char *text, unsigned *ret)
{
	uint64_t ns;

	if (up_time_parse(text, &ns) < 0 || ns < UP_NS_PER_S || ns > 600 * UP_NS_PER_S || ns % UP_NS_PER_S)
		return -EINVAL;
	*ret = (unsigned)(ns / UP_NS_PER_S);
	return 0;
}

enum {
	OPT_USER = 256,
	OPT_PASSWORD,
	OPT_LISTEN,
	OPT_TOKEN,
	OPT_HOST,
	OPT_INTERVAL,
	OPT_LOGIN,
	OPT_QUERY,
	OPT_NAME,
	OPT_DIALECT,
	OPT_HELP,
	OPT_VERSION
};

static int take_option(int option, struct bridge_options *ret, char *message, size_t size)
{
	switch (option) {
	case OPT_LISTEN:
		return up_http_listen_parse(optarg, &ret->guard) == 0
			       ? 0
			       : wrong(message, size,
					 "--listen %s: an address and a port are expected, 127.0.0.1:9187 or [::1]:9187", optarg);
	case OPT_TOKEN:
		return read_secret(optarg, ret->guard.token, sizeof(ret->guard.token), message, size);
	case OPT_HOST:
		if (ret->guard.n_hosts == UP_COUNT(ret->guard.hosts))
			return wrong(message, size, "--allow-host: at most %zu", UP_COUNT(ret->guard.hosts));
		snprintf(ret->guard.hosts[ret->guard.n_hosts++], sizeof(ret->guard.hosts[0]), "%s", optarg);
		return 0;
	case OPT_INTERVAL:
		return up_time_parse(optarg, &ret->interval_ns) == 0 && ret->interval_ns >= 100 * UP_NS_PER_MS
			       ? 0
			       : wrong(message, size, "--interval %s: a time of at least 100ms is expected", optarg);
	case OPT_LOGIN:
		return take_seconds(optarg, &ret->login_timeout_s) == 0
			       ? 0
			       : wrong(message, size, "--login-timeout %s: whole seconds from 1s to 10m are expected", optarg);
	case OPT_QUERY:
		return take_seconds(optarg, &ret->query_timeout_s) == 0
			       ? 0
			       : wrong(message, size, "--query-timeout %s: whole seconds from 1s to 10m are expected", optarg);
	case OPT_NAME:
		snprintf(ret->instance, sizeof(ret->instance), "%s", optarg);
		return 0;
	case OPT_DIALECT:
		ret->dialect = strcmp(optarg, "sqlserver") == 0    ? BRIDGE_SQLSERVER
			       : strcmp(optarg, "postgresql") == 0 ? BRIDGE_POSTGRESQL
								   : BRIDGE_UNKNOWN;
		return ret->dialect ? 0 : wrong(message, size, "--dialect %s: sqlserver or postgresql is expected", optarg);
	case OPT_HELP:
		fputs(help, stdout);
		return 1;
	case OPT_VERSION:
		puts("useprobe-sqlbridge " UP_VERSION);
		return 1;
	default:
		return wrong(message, size, "wrong use; see --help");
	}
}

int bridge_options_parse(int argc, char **argv, struct bridge_options *ret, char *message, size_t size)
{
	static const struct option longs[] = { { "user", required_argument, NULL, OPT_USER },
		{ "password-file", required_argument, NULL, OPT_PASSWORD }, { "listen", required_argument, NULL, OPT_LISTEN },
		{ "token-file", required_argument, NULL, OPT_TOKEN }, { "allow-host", required_argument, NULL, OPT_HOST },
		{ "interval", required_argument, NULL, OPT_INTERVAL }, { "login-timeout", required_argument, NULL, OPT_LOGIN },
		{ "query-timeout", required_argument, NULL, OPT_QUERY }, { "name", required_argument, NULL, OPT_NAME },
		{ "dialect", required_argument, NULL, OPT_DIALECT }, { "help", no_argument, NULL, OPT_HELP },
		{ "version", no_argument, NULL, OPT_VERSION }, { NULL, 0, NULL, 0 } };
	const char *user = NULL, *password_file = NULL;
	int option, rc;

	*ret = (struct bridge_options){ .guard = { .address = "127.0.0.1", .port = 9187, .loopback = true },
		.interval_ns = UP_NS_PER_S,
		.login_timeout_s = 5,
		.query_timeout_s = 5 };
	optind = 0;
	opterr = 0; /* getopt would repeat the argument */
	while ((option = getopt_long(argc, argv, "", longs, NULL)) >= 0) {
		if (option == OPT_USER)
			user = optarg;
		else if (option == OPT_PASSWORD)
			password_file = optarg;
		else if ((rc = take_option(option, ret, message, size)) != 0)
			return rc;
	}
	if (argc - optind > 1)
		return wrong(message, size, "one data source is expected; see --help");
	if (!ret->guard.loopback && !ret->guard.token[0])
		return wrong(message, size, "--listen %s is not loopback: everyone who reaches it could read; give --token-file",
			ret->guard.address);
	rc = take_data_source(argv[optind], ret, message, size);
	return rc < 0 ? rc : take_credentials(user, password_file, ret, message, size);
}
