/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A joining client, and the server's words as a script has them.
 */
#ifndef SF_TESTS_JOIN_SCRIPT_H
#define SF_TESTS_JOIN_SCRIPT_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi_job.h"

static struct job job;

/* One joining client (0 of 2) that has sent its rank. */
struct script {
    struct impi_auth_method none;
    struct job_client k;
    struct errbuf err;
};

static inline void script_begin(struct script *s, bool extensions)
{
    static const uint32_t one[] = {1, 1};

    job_init(&job, 2, one, one);
    s->none = impi_auth_none();
    s->k = job.clients[0];
    s->k.o.methods = &s->none;
    s->k.o.nmethods = 1;
    s->k.o.hosts = s->k.hosts;
    s->k.o.procs = s->k.procs;
    s->k.o.extensions = extensions;
    s->k.join = impi_join_create(&s->k.o, NULL);
    assert_non_null(s->k.join);
}

static inline int tell(struct script *s, const void *bytes, size_t len)
{
    return impi_join_input(s->k.join, bytes, len, &s->err);
}

#define TELL(s, literal) tell(s, literal, sizeof(literal) - 1)

static inline void said(struct script *s, const void *want, size_t len)
{
    const uint8_t *data;
    size_t have = impi_join_output(s->k.join, &data);

    assert_int_equal(have, len);
    if (len)
        assert_memory_equal(data, want, len);
    impi_join_sent(s->k.join, have);
}

#define SAID(s, literal) said(s, literal, sizeof(literal) - 1)

static inline void script_joined(struct script *s, bool extensions)
{
    script_begin(s, extensions);
    SAID(s, "AUTH\0\0\0\4\0\0\0\1");
    assert_int_equal(TELL(s, "\0\0\0\0\0\0\0\0"), 0);
    SAID(s, "IMPI\0\0\0\4\0\0\0\0");
    /* a server that answers at once (IM-062) */
    assert_int_equal(TELL(s, "IMPI\0\0\0\4\0\0\0\2"), 0);
    SAID(s, "COLL\0\0\0\14\0\0\x10\0\0\0\0\0\0\0\0\0");
}

/* The answer to VERSION. */
#define VERSIONS                                                               \
    "COLL\0\0\0\x18\0\0\x10\0\0\0\0\3"                                         \
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"

#endif
