/* SPDX-License-Identifier: BSD-3-Clause
 * What is behind a space in a step's sealed text: a job's lease.
 */
#include <stdlib.h>

#include "elan/lease.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elan_lease lease, again;
    struct errbuf err;
    void *buf;
    size_t len;

    if (elan_lease_decode(&lease, data, size, &err) < 0)
        return 0;
    if (elan_lease_encode(&lease, &buf, &len, &err) < 0 ||
        elan_lease_decode(&again, buf, len, &err) < 0)
        abort();
    free(buf);
    elan_lease_free(&again);
    elan_lease_free(&lease);
    return 0;
}
