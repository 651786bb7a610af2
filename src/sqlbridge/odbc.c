/* ODBC through unixODBC. Every value is fetched as text: one path for FreeTDS, msodbcsql and psqlodbc, whose numeric conversions differ. */
#include <errno.h>
#include <sql.h>
#include <sqlext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "odbc.h"

#define COLUMNS 32
#define ROWS 8192

struct bridge_odbc {
	SQLHENV environment;
	SQLHDBC connection;
	const struct bridge_options *options;
};

static int classify(const struct bridge_diag *diag)
{
	/* SQL Server: 18456 login failed, 18452 untrusted, 18470 disabled, 4060 database; 229, 230, 262, 297, 300, 371 rights. */
	static const int denied[] = { 18456, 18452, 18470, 4060, 229, 230, 262, 297, 300, 371 };
	static const char *const missing[] = { "42S02", "42S22", "42P01", "42703", "42883", "3F000" };

	for (size_t i = 0; i < UP_COUNT(denied); i++)
		if (diag->native == denied[i])
			return -EACCES;
	/* psqlodbc has no state of its own for a refused login; libpq's words are translated, so several are looked for. */
	if (strncmp(diag->sqlstate, "28", 2) == 0 || strcmp(diag->sqlstate, "42501") == 0 ||
		strstr(diag->message, "authentication failed") || strstr(diag->message, "no pg_hba.conf entry") ||
		strstr(diag->message, "no password supplied"))
		return -EACCES;
	if (diag->native == 208 || diag->native == 207)
		return -ENOENT;
	for (size_t i = 0; i < UP_COUNT(missing); i++)
		if (strcmp(diag->sqlstate, missing[i]) == 0)
			return -ENOENT;
	if (strncmp(diag->sqlstate, "HYT", 3) == 0 || strcmp(diag->sqlstate, "S1T00") == 0 ||
		strcmp(diag->sqlstate, "57014") == 0 || diag->native == 20003)
		return -ETIMEDOUT;
	return -EIO;
}

/* The record that says most: drivers put "login failed" behind "unable to connect", or in front of it. */
static int diagnose(const struct bridge_options *options, SQLSMALLINT type, SQLHANDLE handle, struct bridge_diag *ret)
{
	int best = 0;

	*ret = (struct bridge_diag){ .sqlstate = "", .message = "the driver does not say why" };
	for (SQLSMALLINT i = 1; i <= 8; i++) {
		struct bridge_diag one = { .sqlstate = "" };
		SQLCHAR state[6] = "", text[sizeof(one.message)] = "";
		SQLINTEGER native = 0;
		SQLSMALLINT len;
		int kind;

		if (!SQL_SUCCEEDED(SQLGetDiagRec(type, handle, i, state, &native, text, sizeof(text), &len)))
			break;
		snprintf(one.sqlstate, sizeof(one.sqlstate), "%s", (char *)state);
		snprintf(one.message, sizeof(one.message), "%s", (char *)text);
		one.native = (int)native;
		bridge_redact(one.message, options->secret);
		for (char *c = one.message; *c; c++)
			if ((unsigned char)*c < ' ')
				*c = ' ';
		kind = classify(&one);
		if (i == 1 || (best == -EIO && kind != -EIO)) {
			*ret = one;
			best = kind;
		}
	}
	return best ? best : -EIO;
}

int bridge_odbc_open(const struct bridge_options *options, struct bridge_odbc **ret, struct bridge_diag *diag)
{
	struct bridge_odbc *odbc = calloc(1, sizeof(*odbc));
	SQLRETURN rc;
	int error;

	*diag = (struct bridge_diag){ .sqlstate = "", .message = "out of memory" };
	if (!odbc)
		return -EIO;
	odbc->options = options;
	if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &odbc->environment)) ||
		!SQL_SUCCEEDED(SQLSetEnvAttr(odbc->environment, SQL_ATTR_ODBC_VERSION, (SQLPOINTER)(uintptr_t)SQL_OV_ODBC3, 0)) ||
		!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_DBC, odbc->environment, &odbc->connection))) {
		bridge_odbc_close(odbc);
		return -EIO;
	}
	SQLSetConnectAttr(odbc->connection, SQL_ATTR_LOGIN_TIMEOUT, (SQLPOINTER)(uintptr_t)options->login_timeout_s, 0);
	/* For drivers that know it: a limit on every other exchange. */
	SQLSetConnectAttr(odbc->connection, SQL_ATTR_CONNECTION_TIMEOUT, (SQLPOINTER)(uintptr_t)options->query_timeout_s, 0);
	rc = SQLDriverConnect(
		odbc->connection, NULL, (SQLCHAR *)options->connection, SQL_NTS, NULL, 0, NULL, SQL_DRIVER_NOPROMPT);
	if (!SQL_SUCCEEDED(rc)) {
		error = diagnose(options, SQL_HANDLE_DBC, odbc->connection, diag);
		bridge_odbc_close(odbc);
		return error;
	}
	*ret = odbc;
	return 0;
}

void bridge_odbc_close(struct bridge_odbc *odbc)
{
	if (!odbc)
		return;
	if (odbc->connection) {
		SQLDisconnect(odbc->connection);
		SQLFreeHandle(SQL_HANDLE_DBC, odbc->connection);
	}
	if (odbc->environment)
		SQLFreeHandle(SQL_HANDLE_ENV, odbc->environment);
	free(odbc);
}

void bridge_odbc_product(struct bridge_odbc *odbc, char *name, char *version, size_t size)
{
	SQLSMALLINT len;

	name[0] = version[0] = '\0';
	SQLGetInfo(odbc->connection, SQL_DBMS_NAME, name, (SQLSMALLINT)size, &len);
	SQLGetInfo(odbc->connection, SQL_DBMS_VER, version, (SQLSMALLINT)size, &len);
}

bool bridge_odbc_dead(struct bridge_odbc *odbc)
{
	SQLUINTEGER dead = SQL_CD_FALSE;

	return SQL_SUCCEEDED(SQLGetConnectAttr(odbc->connection, SQL_ATTR_CONNECTION_DEAD, &dead, sizeof(dead), NULL)) &&
	       dead == SQL_CD_TRUE;
}

/* One result set. */
struct result {
	SQLSMALLINT n;
	char names[COLUMNS][BRIDGE_TYPE], values[COLUMNS][BRIDGE_TEXT];
	const char *name_list[COLUMNS], *value_list[COLUMNS];
};

static SQLRETURN describe(SQLHSTMT statement, struct result *result)
{
	SQLRETURN rc = SQLNumResultCols(statement, &result->n);

	if (!SQL_SUCCEEDED(rc) || result->n > COLUMNS)
		return SQL_ERROR;
	for (SQLSMALLINT i = 0; i < result->n; i++) {
		SQLSMALLINT len, type, digits, nullable;
		SQLULEN size;

		rc = SQLDescribeCol(statement, (SQLUSMALLINT)(i + 1), (SQLCHAR *)result->names[i], BRIDGE_TYPE, &len, &type,
			&size, &digits, &nullable);
		if (!SQL_SUCCEEDED(rc))
			return rc;
		result->name_list[i] = result->names[i];
	}
	return SQL_SUCCESS;
}

static SQLRETURN fetch(SQLHSTMT statement, struct result *result)
{
	for (SQLSMALLINT i = 0; i < result->n; i++) {
		SQLLEN len = 0;
		SQLRETURN rc = SQLGetData(
			statement, (SQLUSMALLINT)(i + 1), SQL_C_CHAR, result->values[i], sizeof(result->values[i]), &len);

		if (!SQL_SUCCEEDED(rc))
			return rc;
		result->value_list[i] = len == SQL_NULL_DATA ? NULL : result->values[i];
	}
	return SQL_SUCCESS;
}

/* All rows of the result set INDEX. */
static int read_rows(struct bridge_odbc *odbc, SQLHSTMT statement, struct result *result, unsigned index, size_t *rows,
	bridge_row_fn *fn, void *context, struct bridge_diag *diag)
{
	SQLRETURN rc;

	while (SQL_SUCCEEDED(rc = SQLFetch(statement))) {
		const struct bridge_row row = {
			.n = (size_t)result->n, .names = result->name_list, .values = result->value_list
		};
		int error;

		rc = fetch(statement, result);
		if (!SQL_SUCCEEDED(rc))
			break;
		error = ++*rows > ROWS ? -E2BIG : fn ? fn(context, index, &row) : 0;
		if (error < 0) {
			snprintf(diag->message, sizeof(diag->message), "%s",
				error == -E2BIG ? "the answer has more than 8,192 rows"
						: "the answer holds something else than numbers");
			return error;
		}
	}
	return rc == SQL_NO_DATA ? 0 : diagnose(odbc->options, SQL_HANDLE_STMT, statement, diag);
}

int bridge_odbc_run(struct bridge_odbc *odbc, const char *sql, bridge_row_fn *fn, void *context, struct bridge_diag *diag)
{
	struct result *result = calloc(1, sizeof(*result));
	SQLHSTMT statement = SQL_NULL_HANDLE;
	unsigned index = 0;
	size_t rows = 0;
	SQLRETURN rc;
	int error = 0;

	*diag = (struct bridge_diag){ .sqlstate = "", .message = "" };
	if (!result || !SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, odbc->connection, &statement))) {
		error = diagnose(odbc->options, SQL_HANDLE_DBC, odbc->connection, diag);
		free(result);
		return error;
	}
	SQLSetStmtAttr(statement, SQL_ATTR_QUERY_TIMEOUT, (SQLPOINTER)(uintptr_t)odbc->options->query_timeout_s, 0);
	for (rc = SQLExecDirect(statement, (SQLCHAR *)sql, SQL_NTS); rc != SQL_NO_DATA && error == 0;
		rc = SQLMoreResults(statement)) {
		if (!SQL_SUCCEEDED(rc) || !SQL_SUCCEEDED(describe(statement, result))) {
			error = diagnose(odbc->options, SQL_HANDLE_STMT, statement, diag);
			break;
		}
		if (result->n > 0)
			error = read_rows(odbc, statement, result, index++, &rows, fn, context, diag);
		if (error < 0)
			break;
	}
	SQLFreeHandle(SQL_HANDLE_STMT, statement);
	free(result);
	return error;
}
