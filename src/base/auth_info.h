/* SPDX-License-Identifier: BSD-3-Clause
 *
 * AuthInfo of slurm.conf: "socket=PATH,ttl=60,...".
 */
#ifndef SF_BASE_AUTH_INFO_H
#define SF_BASE_AUTH_INFO_H

#include <stddef.h>

/* The path of munged's socket that auth_info (may be NULL) names, written to
 * buf.  Returns buf, or NULL, with buf empty: it names none, or one of `size`
 * bytes or more; libmunge's own default applies. */
const char *auth_info_munge_socket(const char *auth_info, char *buf,
                                   size_t size);

#endif
