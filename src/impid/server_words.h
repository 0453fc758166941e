/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What impi-server says on its control socket, line by line.  No stream of the
 * C library: from glibc 2.41 on exit() waits for the lock of each, and a thread
 * that waits for a line would hold one.
 */
#ifndef SF_IMPID_SERVER_WORDS_H
#define SF_IMPID_SERVER_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytebuf.h"
#include "impid/server_proc.h"

struct server_words {
    int fd; /* -1: none */
    struct bytebuf in;
    size_t taken; /* bytes of the line that was given out last */
};

/* Takes fd. */
void server_words_init(struct server_words *w, int fd);
/* Read what is there, or wait for something.  False: impi-server is gone, or
 * says a line that is too long. */
bool server_words_read(struct server_words *w);
bool server_words_await(struct server_words *w);
/* The next whole line that was read, good until the next call; false: none. */
bool server_words_next(struct server_words *w, struct server_line *line);
void server_words_close(struct server_words *w);

#endif
