/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as a file of domains.
 */
#include <string.h>

#include "fuzz.h"
#include "net/topo_domains.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct errbuf err = {""};
    struct net_domains *d =
        net_domains_parse("fuzz", (const char *)data, size, &err);

    if (!d && !err.text[0])
        abort();
    for (uint32_t i = 0; d && i < d->n; i++) {
        if (d->list[i].n == 0 || strlen(d->list[i].name) >= SF_DOMAIN_NAME_MAX)
            abort();
    }
    net_domains_free(d);
    return 0;
}
