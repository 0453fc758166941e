/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every limit that guards an allocation or a wait against foreign input, in
 * one place.  A value read from a network, a file, a user or another process
 * is compared with one of these before anything is allocated or looped over.
 */
#ifndef SF_BASE_LIMITS_H
#define SF_BASE_LIMITS_H

/* Longest text for people that travels in an error buffer, NUL included. */
#define SF_ERRBUF_SIZE 512

/* Configuration files: bytes in one line, NUL included (inih's default). */
#define SF_CONF_LINE_MAX 200

/* MUNGE: longest payload that is sealed.  munged refuses 1 MiB in all. */
#define SF_SEAL_PAYLOAD_MAX (512 * 1024)

/* impid and its processes (task_wire): longest text, NUL included; strings
 * in one environment; payload of one frame from a process, and from impid
 * (a world of 10^5 ranks is about 8 MB). */
#define SF_TASK_TEXT_MAX 512
#define SF_TASK_ENV_MAX 256
#define SF_TASK_REQUEST_MAX 4096
#define SF_TASK_REPLY_MAX (64 * 1024 * 1024)

#endif
