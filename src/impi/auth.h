/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Authentication of IMPI clients to the server (section 2.3.3): methods, the
 * masks in which they are offered, and the preference list.
 *
 * A method is a small table of functions with its state; the server and the
 * joining client take an array of them, best first.  None of it does I/O:
 * the credentials of MUNGE are made and opened by the caller's functions.
 *
 * On the wire, after the client's AUTH command with its masks:
 *   server  {which, len} and len bytes of challenge
 *   client  its answer: none, `answer_fixed` bytes, or a 32-bit length and
 *           that many bytes (answer_max > 0)
 */
#ifndef SF_IMPI_AUTH_H
#define SF_IMPI_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytebuf.h"
#include "base/errbuf.h"

#define IMPI_AUTH_NONE 0
#define IMPI_AUTH_KEY 1
/* Ours; fixed in doc/impi-extensions.md.  In the first mask word, so that a
 * peer that sends or reads one word only is not disturbed. */
#define IMPI_AUTH_MUNGE 30

#define IMPI_AUTH_NONCE_SIZE 32
#define IMPI_AUTH_NUMBERS (32 * SF_IMPI_AUTH_WORDS_MAX)

struct impi_auth_method {
    uint32_t number;
    const char *name;
    size_t answer_fixed; /* bytes of the client's answer, or */
    size_t answer_max;   /* longest length-prefixed answer; both 0: none */
    size_t challenge;    /* 0, or IMPI_AUTH_NONCE_SIZE: the server's nonce */
    /* Server: is the answer right?  0; -1 with the reason in err; or 1: that
     * is not known yet, ask again after impi_server_retry(). */
    int (*verify)(const struct impi_auth_method *m, const uint8_t *challenge,
                  const uint8_t *answer, size_t len, struct errbuf *err);
    /* Client: append the answer, without length prefix.  0 or -1. */
    int (*answer)(const struct impi_auth_method *m, const uint8_t *challenge,
                  struct bytebuf *out, struct errbuf *err);
    const void *arg; /* of the two, borrowed */
    uint64_t key;    /* KEY */
};

/* NONE: anybody.  The user must have asked for it (IMPI_AUTH_NONE set). */
struct impi_auth_method impi_auth_none(void);
/* KEY: anybody who knows 64 bits. */
struct impi_auth_method impi_auth_key(uint64_t key);

/* The value of the environment variable IMPI_AUTH_KEY: decimal digits,
 * 0..2^64-1, nothing else.  Returns 0, or -1 EINVAL. */
int impi_auth_key_parse(uint64_t *key, const char *text, struct errbuf *err);

/* The standard's methods as the user makes them available: NONE when the
 * value of IMPI_AUTH_NONE is not NULL (it may be empty), KEY when that of
 * IMPI_AUTH_KEY is neither NULL nor empty.  Returns how many; or -1 EINVAL
 * (the key is malformed). */
int impi_auth_from_env(struct impi_auth_method methods[2], const char *none,
                       const char *key, struct errbuf *err);

/* ---- MUNGE ---- */

/* What a credential is valid for. */
struct impi_auth_binding {
    uint32_t job;
    uint32_t step;
    uint32_t component;  /* of the client; the server takes any */
    uint32_t generation; /* which MPI program of the step */
};

/* Seal: make a credential (seal_make) that only the server's uid can open, and
 * append its text.  Open: append the payload of one; refuse anybody but the
 * job's user.  Both return 0, or -1 with the reason.  Opening may take munged
 * some time: 1 means that it is being opened. */
typedef int impi_auth_seal_f(void *arg, const void *payload, size_t len,
                             struct bytebuf *cred, struct errbuf *err);
typedef int impi_auth_open_f(void *arg, const char *cred,
                             struct bytebuf *payload, struct errbuf *err);

struct impi_auth_munge_arg {
    struct impi_auth_binding binding;
    impi_auth_seal_f *seal; /* client side */
    impi_auth_open_f *open; /* server side */
    void *arg;
};

/* arg is borrowed and must outlive the method. */
struct impi_auth_method impi_auth_munge(const struct impi_auth_munge_arg *arg);

/* ---- masks and preference ---- */

/* Words needed and their bits for an array of methods; words <= 8. */
uint32_t impi_auth_masks(uint32_t mask[SF_IMPI_AUTH_WORDS_MAX],
                         const struct impi_auth_method *methods, size_t n);

/* First method of the array that the masks offer, or -1. */
int impi_auth_choose(const struct impi_auth_method *methods, size_t n,
                     const uint32_t *mask, uint32_t words);

struct impi_auth_list {
    uint32_t n;
    uint16_t number[IMPI_AUTH_NUMBERS]; /* best first, each once */
};

/* "3,1-0": numbers and ranges, comma separated, best first, ranges in either
 * direction.  Returns 0, or -1 EINVAL: empty, junk, a number above 255, or
 * one given twice. */
int impi_auth_list_parse(struct impi_auth_list *list, const char *text,
                         struct errbuf *err);

/* Put methods[0..n) into the order of the list and drop what it does not
 * name (a list forbids the rest, IM-050); list NULL: strongest first, that
 * is MUNGE, KEY, others by falling number, NONE last.  Returns how many are
 * left. */
size_t impi_auth_order(struct impi_auth_method *methods, size_t n,
                       const struct impi_auth_list *list);

/* A remark about an order that is legal and unwise (NONE before another
 * method).  False: none. */
bool impi_auth_warning(const struct impi_auth_method *methods, size_t n,
                       struct errbuf *text);

/* The words of both sides when the user made nothing available. */
#define IMPI_AUTH_NOTHING "No authentication methods available for negotiation"

#endif
