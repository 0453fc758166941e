/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is known about a datatype.  Predefined types never go away, so what
 * was found out about them is kept; a derived type is looked at each time,
 * because the library gives its handle to another one after MPI_Type_free.
 */
#include <stdlib.h>

#include "libimpi/data.h"
#include "libimpi/external.h"
#include "libimpi/layouts.h"
#include "libimpi/state.h"

#define CACHE_SLOTS 256 /* more than there are predefined types */

static struct type_info *cache[CACHE_SLOTS];

static struct type_info **slot_of(MPI_Datatype type)
{
    uint64_t k = (uint64_t)(uintptr_t)type * UINT64_C(0x9e3779b97f4a7c15);

    return &cache[k >> 56];
}

/* With its layout, when data are converted. */
static struct type_info *copy_of(const struct type_info *info)
{
    struct type_info *copy = malloc(sizeof(*copy));
    struct impi_layout *layout = NULL;
    MPI_Aint lb;

    if (!copy)
        return NULL;
    *copy = *info;
    if (!impi_be.native && layout_make(&layout, info->type) == MPI_SUCCESS)
        impi_real.Type_get_extent(info->type, &lb, &copy->extent);
    copy->layout = layout;
    return copy;
}

/* A slot is written once; a collision leaves the second type uncached. */
static void remember(const struct type_info *info)
{
    struct type_info **slot = slot_of(info->type), *old = NULL, *copy;

    if (__atomic_load_n(slot, __ATOMIC_ACQUIRE))
        return;
    copy = copy_of(info);
    if (!copy ||
        __atomic_compare_exchange_n(slot, &old, copy, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED))
        return;
    impi_layout_free((struct impi_layout *)(uintptr_t)copy->layout);
    free(copy);
}

static int look_at_named(struct type_info *info)
{
    MPI_Aint lb, extent;
    int size, rc;

    rc = impi_real.Type_size(info->type, &size);
    if (rc == MPI_SUCCESS)
        rc = impi_real.Type_get_extent(info->type, &lb, &extent);
    if (rc != MPI_SUCCESS || size == MPI_UNDEFINED)
        return MPI_ERR_TYPE;
    info->basic = info->type;
    info->size = (size_t)size;
    info->contiguous = lb == 0 && extent == size;
    info->wire = info->size;
    if (impi_be.native)
        return MPI_SUCCESS;
    return external_size(info->type, &info->wire);
}

/* n of an inner type, one after the other. */
static int look_at_inner(struct type_info *info, int combiner)
{
    int count = 1, n, inner_combiner, rc;
    MPI_Aint none;
    MPI_Datatype inner;
    struct type_info in;

    rc = impi_real.Type_get_contents(info->type, combiner != MPI_COMBINER_DUP,
                                     0, 1, &count, &none, &inner);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = type_look_up(&in, inner);
    if (rc == MPI_SUCCESS) {
        info->basic = in.contiguous ? in.basic : MPI_DATATYPE_NULL;
        info->contiguous = in.contiguous;
    }
    if (impi_real.Type_get_envelope(inner, &n, &n, &n, &inner_combiner) ==
            MPI_SUCCESS &&
        inner_combiner != MPI_COMBINER_NAMED)
        impi_real.Type_free(&inner);
    return rc;
}

static int look_at_derived(struct type_info *info, int combiner)
{
    MPI_Count size;
    int rc = impi_real.Type_size_x(info->type, &size);

    if (rc != MPI_SUCCESS || size == MPI_UNDEFINED)
        return MPI_ERR_TYPE;
    info->size = info->wire = (size_t)size;
    info->basic = MPI_DATATYPE_NULL;
    info->contiguous = false;
    if (combiner == MPI_COMBINER_CONTIGUOUS || combiner == MPI_COMBINER_DUP)
        rc = look_at_inner(info, combiner);
    if (rc != MPI_SUCCESS || impi_be.native)
        return rc;
    return external_size(info->type, &info->wire);
}

const struct type_info *type_known(MPI_Datatype type)
{
    struct type_info *known = __atomic_load_n(slot_of(type), __ATOMIC_ACQUIRE);

    return likely(known && known->type == type) ? known : NULL;
}

int type_look_up(struct type_info *info, MPI_Datatype type)
{
    const struct type_info *known = type_known(type);
    int n, combiner, rc;

    if (known) {
        *info = *known;
        return MPI_SUCCESS;
    }
    if (type == MPI_DATATYPE_NULL)
        return MPI_ERR_TYPE;
    *info = (struct type_info){.type = type};
    rc = impi_real.Type_get_envelope(type, &n, &n, &n, &combiner);
    if (rc != MPI_SUCCESS)
        return rc;
    switch (combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
        rc = look_at_named(info);
        if (rc == MPI_SUCCESS)
            remember(info);
        return rc;
    default:
        return look_at_derived(info, combiner);
    }
}
