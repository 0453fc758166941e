/* SPDX-License-Identifier: BSD-3-Clause
 * The list of -auth: "3,1-0".
 */
#include <errno.h>
#include <string.h>

#include "impi/auth.h"

/* A number 0..IMPI_AUTH_NUMBERS-1 at *p, which is moved behind it; or -1. */
static int get_number(const char **p)
{
    int value = 0;
    const char *s = *p;

    if (*s < '0' || *s > '9')
        return -1;
    for (; *s >= '0' && *s <= '9'; s++) {
        value = value * 10 + (*s - '0');
        if (value >= IMPI_AUTH_NUMBERS)
            return -1;
    }
    *p = s;
    return value;
}

static int add(struct impi_auth_list *list, int number, struct errbuf *err)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (list->number[i] == number)
            return errprintf(err, "method %d is given twice", number);
    list->number[list->n++] = (uint16_t)number;
    return 0;
}

static int get_range(struct impi_auth_list *list, const char **p,
                     struct errbuf *err)
{
    int first = get_number(p), last = first, step;

    if (first >= 0 && **p == '-') {
        ++*p;
        last = get_number(p);
    }
    if (first < 0 || last < 0)
        return errprintf(err,
                         "expected a method number 0..%d or a range at \"%s\"",
                         IMPI_AUTH_NUMBERS - 1, *p);
    step = first <= last ? 1 : -1;
    for (int n = first;; n += step) {
        if (add(list, n, err) < 0)
            return -1;
        if (n == last)
            return 0;
    }
}

int impi_auth_list_parse(struct impi_auth_list *list, const char *text,
                         struct errbuf *err)
{
    const char *p = text;

    list->n = 0;
    errno = EINVAL;
    for (;;) {
        if (get_range(list, &p, err) < 0)
            return -1;
        if (!*p)
            return 0;
        if (*p != ',')
            return errprintf(err, "expected a comma at \"%s\"", p);
        p++;
    }
}
