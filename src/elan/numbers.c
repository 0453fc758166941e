/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/limits.h"
#include "elan/numbers.h"

#define HEX_DIGITS_MAX 16

void elan_numbers_free(struct elan_numbers *numbers)
{
    free(numbers->value);
    memset(numbers, 0, sizeof(*numbers));
}

static bool digit(int c, enum elan_numbers_base base)
{
    return base == ELAN_HEXADECIMAL ? isxdigit(c) : isdigit(c);
}

/* One number at *s; colons between hexadecimal digits are skipped. */
static int get_number(const char **s, enum elan_numbers_base base,
                      uint64_t *value)
{
    int most = base == ELAN_HEXADECIMAL ? HEX_DIGITS_MAX : SF_ELAN_DIGITS_MAX;
    int digits = 0;

    *value = 0;
    if (base == ELAN_HEXADECIMAL && strncasecmp(*s, "0x", 2) == 0)
        *s += 2;
    for (; **s; (*s)++) {
        int c = tolower((unsigned char)**s);

        if (base == ELAN_HEXADECIMAL && c == ':' && digits > 0)
            continue;
        if (!digit(c, base))
            break;
        if (++digits > most)
            return -1;
        *value =
            *value * base + (uint64_t)(isdigit(c) ? c - '0' : c - 'a' + 10);
    }
    return digits > 0 ? 0 : -1;
}

/* "5" or "5-9" at *s. */
static int get_range(const char **s, enum elan_numbers_base base, uint64_t *low,
                     uint64_t *high, struct errbuf *err)
{
    int rc = get_number(s, base, low);

    *high = *low;
    if (rc == 0 && **s == '-') {
        (*s)++;
        rc = get_number(s, base, high);
    }
    errno = EINVAL;
    if (rc < 0)
        return errprintf(err, "a number is missing or too long");
    if (*high < *low)
        return errprintf(err, "a range runs backwards");
    return 0;
}

static int reserve(struct elan_numbers *numbers, uint64_t more,
                   struct errbuf *err)
{
    uint32_t want = numbers->room ? 2 * numbers->room : 16;
    uint64_t *value;

    if (more > SF_ELAN_NODES_MAX - numbers->n) {
        errno = E2BIG;
        return errprintf(err, "more than %d numbers", SF_ELAN_NODES_MAX);
    }
    if (numbers->n + more <= numbers->room)
        return 0;
    if (want < numbers->n + more)
        want = (uint32_t)(numbers->n + more);
    value = realloc(numbers->value, want * sizeof(*value));
    if (!value)
        return errprintf(err, "out of memory");
    numbers->value = value;
    numbers->room = want;
    return 0;
}

static int append(struct elan_numbers *numbers, uint64_t low, uint64_t high,
                  struct errbuf *err)
{
    uint64_t count = high - low;

    /* count + 1 could wrap to 0. */
    if (count >= SF_ELAN_NODES_MAX)
        count = SF_ELAN_NODES_MAX;
    if (reserve(numbers, count + 1, err) < 0)
        return -1;
    for (uint64_t i = 0; i <= count; i++)
        numbers->value[numbers->n++] = low + i;
    return 0;
}

int elan_numbers_parse(struct elan_numbers *numbers, const char *text,
                       enum elan_numbers_base base, struct errbuf *err)
{
    const char *end = *text == '[' ? "]" : "";
    uint64_t low, high;

    if (*text == '[')
        text++;
    for (;; text++) {
        if (get_range(&text, base, &low, &high, err) < 0 ||
            append(numbers, low, high, err) < 0)
            return -1;
        if (*text != ',')
            break;
    }
    if (strcmp(text, end) == 0)
        return 0;
    errno = EINVAL;
    return errprintf(err, "not a list of numbers");
}
