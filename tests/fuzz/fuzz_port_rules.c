/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any text as rules for ports of InfiniBand.
 */
#include "fuzz.h"
#include "mapperd/ib_watch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ib_rules rules;
    struct errbuf err;

    ib_rules_default(&rules);
    ib_rules_parse(&rules, "rules", (const char *)data, size, &err);
    return 0;
}
