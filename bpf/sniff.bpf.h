/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
 * What does a connection carry? A look at the first bytes of the caller's own buffer, right after the call that moved them. Nothing of it
 * is kept but the answer. Needs bpf_task_pt_regs (5.15) and a system call we know; otherwise the answer is "not known". */
#ifndef UP_BPF_SNIFF_H
#define UP_BPF_SNIFF_H

#include "kernel_net.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

enum kind {
	KIND_UNKNOWN,
	KIND_PLAIN, /* one request at a time, as far as anybody can tell */
	KIND_TLS, /* the same, and what is inside cannot be seen */
	KIND_HTTP2,
	KIND_STREAM,
};

#define SNIFFS_MAX 8 /* looks at one connection before it counts as plain */

#if defined(__TARGET_ARCH_x86)
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs {
	unsigned long si;
	unsigned long orig_ax;
};
#pragma clang attribute pop
#define REGS_NUMBER(regs) ((regs)->orig_ax)
#define REGS_SECOND(regs) ((regs)->si)
enum {
	NR_READ = 0,
	NR_WRITE = 1,
	NR_READV = 19,
	NR_WRITEV = 20,
	NR_SENDTO = 44,
	NR_RECVFROM = 45,
	NR_SENDMSG = 46,
	NR_RECVMSG = 47
};
#elif defined(__TARGET_ARCH_arm64)
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct user_pt_regs {
	__u64 regs[31];
};
struct pt_regs {
	struct user_pt_regs user_regs;
	__s32 syscallno;
};
#pragma clang attribute pop
#define REGS_NUMBER(regs) ((__u64)(regs)->syscallno)
#define REGS_SECOND(regs) ((regs)->user_regs.regs[1])
enum {
	NR_READ = 63,
	NR_WRITE = 64,
	NR_READV = 65,
	NR_WRITEV = 66,
	NR_SENDTO = 206,
	NR_RECVFROM = 207,
	NR_SENDMSG = 211,
	NR_RECVMSG = 212
};
#endif

/* First bytes of the buffer of the running system call. */
static __always_inline bool caller_bytes(void *to, __u32 size)
{
#ifdef REGS_NUMBER
	struct pt_regs *regs;
	__u64 number, buffer;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return false;
	regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	number = REGS_NUMBER(regs);
	buffer = REGS_SECOND(regs);
	/* struct msghdr: name, its length, then the vector; struct iovec: the base first. */
	if ((number == NR_SENDMSG || number == NR_RECVMSG) &&
		bpf_probe_read_user(&buffer, sizeof(buffer), (void *)(buffer + 16)) < 0)
		return false;
	if ((number == NR_SENDMSG || number == NR_RECVMSG || number == NR_READV || number == NR_WRITEV) &&
		bpf_probe_read_user(&buffer, sizeof(buffer), (void *)buffer) < 0)
		return false;
	else if (number != NR_SENDMSG && number != NR_RECVMSG && number != NR_READV && number != NR_WRITEV && number != NR_READ &&
		 number != NR_WRITE && number != NR_SENDTO && number != NR_RECVFROM)
		return false;
	return bpf_probe_read_user(to, size, (void *)buffer) == 0;
#else
	return false;
#endif
}

/* A frame header of HTTP/2 (RFC 9113, section 4.1) as clients send them: length (3 bytes), type, flags, stream. Strict, since other
 * binary protocols begin with a length too. */
static __always_inline bool is_frame(const __u8 *b)
{
	const __u32 length = b[0] << 16 | b[1] << 8 | b[2];
	const __u32 stream = (__u32)b[5] << 24 | b[6] << 16 | b[7] << 8 | b[8];

	switch (b[3]) {
	case 0: /* DATA: end of stream, padded */
		return length <= 16384 && (stream & 0x80000001) == 1 && !(b[4] & ~0x09);
	case 1: /* HEADERS */
		return length > 0 && length <= 16384 && (stream & 0x80000001) == 1 && !(b[4] & ~0x2d);
	case 3: /* RST_STREAM */
		return length == 4 && (stream & 0x80000001) == 1 && b[4] == 0;
	case 4: /* SETTINGS */
		return length % 6 == 0 && length <= 120 && stream == 0 && !(b[4] & ~0x01) && (length || b[4]);
	case 6: /* PING */
		return length == 8 && stream == 0 && !(b[4] & ~0x01);
	case 8: /* WINDOW_UPDATE */
		return length == 4 && !(stream & 0x80000000) && b[4] == 0;
	}
	return false;
}

static __always_inline __u8 sniff_kind(void)
{
	__u8 b[12] = {};

	if (!caller_bytes(b, sizeof(b)))
		return KIND_UNKNOWN;
	/* "PRI * HTTP/2.0", or in the middle of it */
	if ((b[0] == 'P' && b[1] == 'R' && b[2] == 'I' && b[3] == ' ' && b[4] == '*') || is_frame(b))
		return KIND_HTTP2;
	/* TLS record: type 20 to 23, version 3.x */
	if (b[0] >= 0x14 && b[0] <= 0x17 && b[1] == 3 && b[2] <= 4)
		return KIND_TLS;
	/* A method of HTTP/1: capitals */
	if (b[0] >= 'A' && b[0] <= 'Z' && b[1] >= 'A' && b[1] <= 'Z' && b[2] >= 'A' && b[2] <= 'Z')
		return KIND_PLAIN;
	return KIND_UNKNOWN;
}

/* Does the caller's buffer begin an answer of HTTP/1? */
static __always_inline bool sniff_answer(void)
{
	__u8 b[8] = {};

	return caller_bytes(b, sizeof(b)) && b[0] == 'H' && b[1] == 'T' && b[2] == 'T' && b[3] == 'P' && b[4] == '/' &&
	       b[5] == '1';
}

#endif
