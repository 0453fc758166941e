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

#endif
