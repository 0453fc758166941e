/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of numbers as people write them: "0-15,20", "[0-3]"; decimal, or
 * hexadecimal as board ids and GUIDs ("00:60:dd:47:00:00-0060dd47000f").
 */
#ifndef SF_ELAN_NUMBERS_H
#define SF_ELAN_NUMBERS_H

#include <stdint.h>

#include "base/errbuf.h"

struct elan_numbers {
    uint64_t *value; /* [n], owned */
    uint32_t n;
    uint32_t room; /* private */
};

enum elan_numbers_base { ELAN_DECIMAL = 10, ELAN_HEXADECIMAL = 16 };

/* Append the numbers of text.  Returns 0, or -1 with errno and text: EINVAL
 * malformed, E2BIG more than SF_ELAN_NODES_MAX numbers, ENOMEM; what was
 * appended before the error stays. */
int elan_numbers_parse(struct elan_numbers *numbers, const char *text,
                       enum elan_numbers_base base, struct errbuf *err);
void elan_numbers_free(struct elan_numbers *numbers);

#endif
