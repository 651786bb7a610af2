/* Any bytes as a CSV: no crash, and what was taken is written and read again without a loss. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "useprobe/csv_reader.h"
#include "useprobe/sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct up_csv_reader *open_bytes(const void *data, size_t size)
{
	const int fd = memfd_create("csv", MFD_CLOEXEC);
	struct up_csv_reader *reader;
	char message[256];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	return up_csv_reader_open_fd(fd, &reader, message, sizeof(message)) < 0 ? NULL : reader;
}

/* Reads all ticks; writes them to AGAIN unless it is NULL. Rows taken. */
static uint64_t read_all(struct up_csv_reader *reader, FILE *again)
{
	static char line[4 << 20];
	struct up_rows rows;
	struct up_tick tick;
	uint64_t count;

	if (up_rows_init(&rows) < 0)
		abort();
	while (up_csv_reader_tick(reader, &rows, &tick) > 0) {
		for (size_t i = 0; again && i < rows.count; i++) {
			const long n = up_csv_format(&tick, &rows.items[i], line, sizeof(line));

			if (n < 0)
				abort();
			fwrite(line, 1, (size_t)n, again);
		}
	}
	count = up_csv_reader_notes(reader)->rows;
	up_rows_done(&rows);
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct up_csv_reader *reader = open_bytes(data, size);
	char *text = NULL;
	size_t len;
	uint64_t first, second;
	FILE *again;

	if (!reader)
		return 0;
	again = open_memstream(&text, &len);
	fputs(up_csv_header, again);
	first = read_all(reader, again);
	up_csv_reader_close(reader);
	fclose(again);
	reader = open_bytes(text, len);
	if (!reader)
		abort();
	second = read_all(reader, NULL);
	if (second != first || up_csv_reader_notes(reader)->skipped_rows || up_csv_reader_notes(reader)->cut_line)
		abort();
	up_csv_reader_close(reader);
	free(text);
	return 0;
}
