/* SPDX-License-Identifier: BSD-3-Clause
 * The clear job info; what is accepted must survive another round.
 */
#include <stdlib.h>
#include <string.h>

#include "elan/jobinfo.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elan_jobinfo info, again;
    struct errbuf err;
    void *buf;
    size_t len;

    if (elan_jobinfo_decode(&info, data, size, &err) < 0)
        return 0;
    if (elan_jobinfo_encode(&info, &buf, &len, &err) == 0) {
        if (elan_jobinfo_decode(&again, buf, len, &err) < 0 ||
            again.nnodes != info.nnodes || again.prognum != info.prognum)
            abort();
        elan_jobinfo_free(&again);
        free(buf);
    }
    elan_jobinfo_free(&info);
    return 0;
}
