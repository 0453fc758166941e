/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Views of a file (doc/impi-io.md): which bytes of it a process sees, and where
 * those of one access lie.  The data of a view are a stream: the filetype's, in
 * the order of its type map, again and again.  An access is a part of the
 * stream; as a list of runs it says where its bytes are in the file, in the
 * order of the stream.
 */
#ifndef SF_IMPI_IO_VIEW_H
#define SF_IMPI_IO_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "impi/typemap.h"

/* Offsets, and lengths of anything, lie below: no sum of two overflows. */
#define IMPI_IO_FAR (INT64_C(1) << 61)

struct impi_io_view {
    int64_t disp;   /* of the first filetype in the file */
    uint64_t etype; /* bytes of data in an etype, not 0 */
    uint64_t size;  /* bytes of data in a filetype, a multiple; or 0 */
    int64_t extent; /* from one filetype to the next */
    bool rising;    /* bytes behind each other in the stream are so in the
                       file, and none is in it twice */
    uint32_t nruns;
    struct impi_run *runs; /* of one filetype */
    uint64_t *before;      /* [nruns] bytes of the runs before it */
};

/* Copies the runs.  -1 with errno: EINVAL a length or place that no file has,
 * or a filetype that is not made of whole etypes; ENOMEM. */
int impi_io_view_init(struct impi_io_view *v, int64_t disp, uint64_t etype,
                      int64_t extent, const struct impi_run *runs,
                      uint32_t nruns);
void impi_io_view_free(struct impi_io_view *v);

/* Where byte `pos` of the stream is.  The view has data. */
int64_t impi_io_view_at(const struct impi_io_view *v, uint64_t pos);
/* Bytes of the stream that lie before this place; of a view that is not rising,
 * those of all filetypes that begin before it. */
uint64_t impi_io_view_before(const struct impi_io_view *v, int64_t at);

struct impi_io_list {
    struct impi_run *run; /* disp: the place in the file */
    size_t n, room;
    uint64_t bytes;
};
/* Add a run, which may become part of the last.  -1: no memory. */
int impi_io_list_add(struct impi_io_list *l, struct impi_run run);
void impi_io_list_free(struct impi_io_list *l);

/* Add where `len` bytes of the stream from `pos` on are.  -1 with errno: EINVAL
 * beyond where a file can be, or before its start; ENOMEM. */
int impi_io_view_cut(const struct impi_io_view *v, uint64_t pos, uint64_t len,
                     struct impi_io_list *l);

/* First byte of a rising list, and the one behind its last; not empty. */
int64_t impi_io_list_first(const struct impi_io_list *l);
int64_t impi_io_list_end(const struct impi_io_list *l);
/* Bytes of a rising list that lie before this place. */
uint64_t impi_io_list_before(const struct impi_io_list *l, int64_t at);

/* Step by step through a list: bytes in a row in the file. */
struct impi_io_cursor {
    const struct impi_io_list *l;
    size_t i;        /* run */
    uint64_t block;  /* of it */
    uint64_t inside; /* bytes of it that are past */
    uint64_t mem;    /* bytes of the list that are past */
};
void impi_io_start(struct impi_io_cursor *c, const struct impi_io_list *l);
/* The same at the first byte that is not before `at`; of a rising list. */
void impi_io_start_at(struct impi_io_cursor *c, const struct impi_io_list *l,
                      int64_t at);
/* The next bytes before `end`: where they are and how many.  c->mem, before the
 * call, is their place in the stream of the list.  False if there are none. */
bool impi_io_next(struct impi_io_cursor *c, int64_t end, int64_t *at,
                  uint64_t *len);

#endif
