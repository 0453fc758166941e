/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective operations that do not span yet: native communicators only.
 */
#include "libimpi/assist.h"

#define NATIVE(name, params, args)                                             \
    int impi_##name params                                                     \
    {                                                                          \
        if (unlikely(impi_span_find(comm) != NULL))                            \
            return impi_unsupported(comm, CALL_##name);                        \
        return ASSISTED(impi_real.name args);                                  \
    }

NATIVE(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm),
       (comm, group, newcomm))
