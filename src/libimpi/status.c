/* SPDX-License-Identifier: BSD-3-Clause */
#include "libimpi/status.h"

#include "libimpi/state.h"

void status_set(MPI_Status *status, int source, int tag, uint64_t bytes,
                bool cancelled)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    impi_real.Status_set_elements_x(status, MPI_BYTE, (MPI_Count)bytes);
    impi_real.Status_set_cancelled(status, cancelled);
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
}

void status_translate_set(MPI_Status *status, const struct impi_comm *c)
{
    if (status->MPI_SOURCE >= 0 && status->MPI_SOURCE < c->native_size)
        status->MPI_SOURCE = c->members[status->MPI_SOURCE] - c->peer;
}

void status_empty(MPI_Status *status)
{
    status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
}

void status_from_core(MPI_Status *status, const struct impi_status *st)
{
    status_set(status, st->source, st->tag, st->msglen, false);
}
