/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Big-endian cursors: the only place that shifts bits.  Both kinds are
 * sticky: after the first access past the end every further one does nothing
 * (reads give 0, borrowed pointers NULL) and `bad` stays true, so a codec
 * reads a whole structure and looks at `bad` once.
 */
#ifndef SF_BASE_BE_H
#define SF_BASE_BE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct be_reader {
    const uint8_t *pos;
    size_t left;
    bool bad;
};

struct be_writer {
    uint8_t *start;
    size_t len;  /* bytes written so far */
    size_t size; /* bytes that fit */
    bool bad;
};

void be_reader_init(struct be_reader *r, const void *buf, size_t len);
uint8_t be_get8(struct be_reader *r);
uint16_t be_get16(struct be_reader *r);
uint32_t be_get32(struct be_reader *r);
uint64_t be_get64(struct be_reader *r);
/* Borrow the next len bytes; NULL when they are not there. */
const uint8_t *be_get_bytes(struct be_reader *r, size_t len);
/* Copy the next len bytes to dst; zeroes dst when they are not there. */
void be_copy_bytes(struct be_reader *r, void *dst, size_t len);
/* A string with a 16-bit length in front, copied and NUL terminated into
 * dst[size].  Longer than size - 1, or with a NUL inside: bad. */
void be_get_str(struct be_reader *r, char *dst, size_t size);
/* The same of any length, copied; free() it.  NULL: bad, or no memory. */
char *be_dup_str(struct be_reader *r);
/* True when all bytes were read and nothing went wrong. */
bool be_reader_done(const struct be_reader *r);

void be_writer_init(struct be_writer *w, void *buf, size_t size);
void be_put8(struct be_writer *w, uint8_t v);
void be_put16(struct be_writer *w, uint16_t v);
void be_put32(struct be_writer *w, uint32_t v);
void be_put64(struct be_writer *w, uint64_t v);
void be_put_bytes(struct be_writer *w, const void *src, size_t len);
/* 16-bit length, then the bytes of s without its NUL. */
void be_put_str(struct be_writer *w, const char *s);

/* Single values at an address of any alignment. */
uint32_t be_load32(const void *p);
uint64_t be_load64(const void *p);
void be_store32(void *p, uint32_t v);
void be_store64(void *p, uint64_t v);

#endif
