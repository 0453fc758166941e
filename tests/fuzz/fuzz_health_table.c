/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as a health table.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "health/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct health_table t;
    struct errbuf err;

    if (health_table_decode(&t, (const char *)data, size, &err) == 0) {
        health_table_find(&t, "n1");
        health_table_free(&t);
    }
    return 0;
}
