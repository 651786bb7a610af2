/* Bytes of a load file: plain or gzip (told by the first two bytes, RFC 1952), from a path or standard input. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "reader.h"

enum { GZ_IN_BYTES = 65536, GZIP_WRAP = 16 + MAX_WBITS };

struct up_bytes {
	int fd;
	bool own_fd, gzip, looked, stream_end, inflating;
	uint64_t done_bytes, total_bytes;
	z_stream z;
	unsigned char in[GZ_IN_BYTES];
	size_t n_in; /* bytes read ahead to look at, before it is known what they are */
};

int up_bytes_open(const char *path, struct up_bytes **ret_bytes)
{
	struct up_bytes *bytes = calloc(1, sizeof(*bytes));
	struct stat st;
	int r;

	if (!bytes)
		return -ENOMEM;
	bytes->own_fd = strcmp(path, "-") != 0;
	bytes->fd = bytes->own_fd ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : STDIN_FILENO;
	if (bytes->fd < 0) {
		r = -errno;
		free(bytes);
		return r;
	}
	if (fstat(bytes->fd, &st) == 0) {
		if (S_ISDIR(st.st_mode)) {
			up_bytes_close(bytes);
			return -EISDIR;
		}
		bytes->total_bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	}
	*ret_bytes = bytes;
	return 0;
}

void up_bytes_close(struct up_bytes *bytes)
{
	if (!bytes)
		return;
	if (bytes->inflating)
		inflateEnd(&bytes->z);
	if (bytes->own_fd && bytes->fd >= 0)
		close(bytes->fd);
	free(bytes);
}

static ssize_t read_some(struct up_bytes *bytes, void *buffer, size_t n)
{
	ssize_t got;

	do
		got = read(bytes->fd, buffer, n);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	bytes->done_bytes += (uint64_t)got;
	return got;
}

/* Reads the first two bytes. 1 when they are there, 0 when not yet. */
static ssize_t look(struct up_bytes *bytes)
{
	while (bytes->n_in < 2) {
		ssize_t got = read_some(bytes, bytes->in + bytes->n_in, 2 - bytes->n_in);

		if (got < 0)
			return got;
		if (got == 0)
			return 0;
		bytes->n_in += (size_t)got;
	}
	bytes->looked = true;
	bytes->gzip = bytes->in[0] == 0x1f && bytes->in[1] == 0x8b;
	if (bytes->gzip) {
		if (inflateInit2(&bytes->z, GZIP_WRAP) != Z_OK)
			return -ENOMEM;
		bytes->inflating = true;
		bytes->z.next_in = bytes->in;
		bytes->z.avail_in = (uInt)bytes->n_in;
		bytes->n_in = 0;
	}
	return 1;
}

static ssize_t read_gzip(struct up_bytes *bytes, char *buffer, size_t n)
{
	z_stream *z = &bytes->z;

	z->next_out = (unsigned char *)buffer;
	z->avail_out = n > 1u << 30 ? 1u << 30 : (uInt)n;
	n = z->avail_out;
	for (;;) {
		int r;

		if (z->avail_in == 0) {
			ssize_t got = read_some(bytes, bytes->in, sizeof(bytes->in));

			if (got < 0)
				return got;
			if (got == 0)
				return (ssize_t)(n - z->avail_out);
			z->next_in = bytes->in;
			z->avail_in = (uInt)got;
		}
		if (bytes->stream_end) { /* a further member of the same file */
			if (inflateReset(z) != Z_OK)
				return -EBADMSG;
			bytes->stream_end = false;
		}
		r = inflate(z, Z_NO_FLUSH);
		bytes->stream_end = r == Z_STREAM_END;
		if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
			return n > z->avail_out ? (ssize_t)(n - z->avail_out) : -EBADMSG;
		if (z->avail_out == 0)
			return (ssize_t)n;
	}
}

ssize_t up_bytes_read(struct up_bytes *bytes, char *buffer, size_t n)
{
	ssize_t r;

	if (!bytes->looked) {
		r = look(bytes);
		if (r <= 0)
			return r; /* one byte tells nothing: wait for the second */
	}
	if (bytes->gzip)
		return read_gzip(bytes, buffer, n);
	if (bytes->n_in > 0) {
		size_t have = bytes->n_in < n ? bytes->n_in : n;

		memcpy(buffer, bytes->in, have);
		memmove(bytes->in, bytes->in + have, bytes->n_in - have);
		bytes->n_in -= have;
		/* more at once: a format is recognised by what the first read gives */
		r = have < n && bytes->n_in == 0 ? read_some(bytes, buffer + have, n - have) : 0;
		return r < 0 ? r : (ssize_t)have + r;
	}
	return read_some(bytes, buffer, n);
}

bool up_bytes_cut(const struct up_bytes *bytes)
{
	return bytes->gzip && !bytes->stream_end;
}

int up_bytes_fd(const struct up_bytes *bytes)
{
	return bytes->fd;
}

uint64_t up_bytes_done(const struct up_bytes *bytes)
{
	return bytes->done_bytes;
}

uint64_t up_bytes_total(const struct up_bytes *bytes)
{
	return bytes->total_bytes;
}
