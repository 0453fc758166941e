/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/auth.h"

#include <errno.h>
#include <string.h>

#include "base/mac.h"
#include "impi/wire.h"

struct impi_auth_method impi_auth_none(void)
{
    return (struct impi_auth_method){
        .number = IMPI_AUTH_NONE,
        .name = "IMPI_AUTH_NONE",
    };
}

static int key_verify(const struct impi_auth_method *m,
                      const uint8_t *challenge, const uint8_t *answer,
                      size_t len, struct errbuf *err)
{
    uint64_t key = impi_auth_key_decode(answer);

    if (mac_equal(&key, &m->key, sizeof(key)))
        return 0;
    return errprintf(err, "wrong key");
}

static int key_answer(const struct impi_auth_method *m,
                      const uint8_t *challenge, struct bytebuf *out,
                      struct errbuf *err)
{
    impi_auth_key_encode(out, m->key);
    return 0;
}

struct impi_auth_method impi_auth_key(uint64_t key)
{
    return (struct impi_auth_method){
        .number = IMPI_AUTH_KEY,
        .name = "IMPI_AUTH_KEY",
        .answer_fixed = IMPI_AUTH_KEY_SIZE,
        .verify = key_verify,
        .answer = key_answer,
        .key = key,
    };
}

int impi_auth_key_parse(uint64_t *key, const char *text, struct errbuf *err)
{
    uint64_t value = 0;

    errno = EINVAL;
    if (!*text)
        return errprintf(err, "IMPI_AUTH_KEY is empty");
    for (; *text; text++) {
        unsigned digit = (unsigned)(*text - '0');

        if (*text < '0' || *text > '9')
            return errprintf(err, "IMPI_AUTH_KEY is not a decimal number");
        if (value > (UINT64_MAX - digit) / 10)
            return errprintf(err, "IMPI_AUTH_KEY is more than 64 bits");
        value = value * 10 + digit;
    }
    *key = value;
    return 0;
}

int impi_auth_from_env(struct impi_auth_method methods[2], const char *none,
                       const char *key, struct errbuf *err)
{
    uint64_t value;
    int n = 0;

    if (key && *key) {
        if (impi_auth_key_parse(&value, key, err) < 0)
            return -1;
        methods[n++] = impi_auth_key(value);
    }
    if (none)
        methods[n++] = impi_auth_none();
    return n;
}

uint32_t impi_auth_masks(uint32_t mask[SF_IMPI_AUTH_WORDS_MAX],
                         const struct impi_auth_method *methods, size_t n)
{
    uint32_t words = 1;

    memset(mask, 0, SF_IMPI_AUTH_WORDS_MAX * sizeof(*mask));
    for (size_t i = 0; i < n; i++) {
        uint32_t word = methods[i].number / 32;

        mask[word] |= 1u << methods[i].number % 32;
        if (word >= words)
            words = word + 1;
    }
    return words;
}

int impi_auth_choose(const struct impi_auth_method *methods, size_t n,
                     const uint32_t *mask, uint32_t words)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t word = methods[i].number / 32;

        if (word < words && mask[word] >> methods[i].number % 32 & 1)
            return (int)i;
    }
    return -1;
}

/* Smaller is better. */
static unsigned default_place(const struct impi_auth_method *m)
{
    switch (m->number) {
    case IMPI_AUTH_MUNGE:
        return 0;
    case IMPI_AUTH_KEY:
        return 1;
    case IMPI_AUTH_NONE:
        return UINT16_MAX;
    default:
        return 2 + IMPI_AUTH_NUMBERS - m->number;
    }
}

static unsigned list_place(const struct impi_auth_list *list,
                           const struct impi_auth_method *m)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (list->number[i] == m->number)
            return i;
    return UINT32_MAX;
}

size_t impi_auth_order(struct impi_auth_method *methods, size_t n,
                       const struct impi_auth_list *list)
{
    unsigned place[IMPI_AUTH_NUMBERS];
    size_t kept = 0;

    for (size_t i = 0; i < n && kept < IMPI_AUTH_NUMBERS; i++) {
        struct impi_auth_method m = methods[i];
        unsigned p = list ? list_place(list, &m) : default_place(&m);
        size_t at = kept;

        if (p == UINT32_MAX)
            continue;
        for (; at > 0 && place[at - 1] > p; at--) {
            place[at] = place[at - 1];
            methods[at] = methods[at - 1];
        }
        place[at] = p;
        methods[at] = m;
        kept++;
    }
    return kept;
}

bool impi_auth_warning(const struct impi_auth_method *methods, size_t n,
                       struct errbuf *text)
{
    for (size_t i = 0; i + 1 < n; i++)
        if (methods[i].number == IMPI_AUTH_NONE) {
            errprintf(text, "IMPI_AUTH_NONE is preferred to %s",
                      methods[i + 1].name);
            return true;
        }
    return false;
}
