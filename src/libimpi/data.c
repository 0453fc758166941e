/* SPDX-License-Identifier: BSD-3-Clause
 *
 * User data on their way to or from another client.
 *
 * Derived types go by their type map, piece by piece, or, where messages are
 * short or the map is long, through the native MPI_Pack and MPI_Unpack: what
 * these produce without external32 is the data of the type map in order,
 * without gaps, the same in all libraries of one machine type.
 */
#include "libimpi/data.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "libimpi/buffer.h"
#include "libimpi/external.h"
#include "libimpi/state.h"
#include "libimpi/type_runs.h"

/* A shorter message is packed faster than its type map is made. */
#define PIECES_MIN 8192
/* More runs than one for so many bytes take longer than MPI_Pack. */
#define BYTES_PER_RUN 64

/* Blocks that are longer, on average, the kernel takes from where they lie; of
 * shorter ones a copy in a row is faster. */
#define PLACE_MIN 1024

/* MPI_Pack counts bytes in an int. */
#define PACK_STEP (1 << 30)

static MPI_Comm pack_comm(void)
{
    return impi_be.world_comm->hidden; /* its errors are returned */
}

/* ---- packing by the native library, in steps ---- */

struct steps {
    char *user;
    MPI_Aint extent;
    MPI_Datatype type;
    size_t size; /* of one */
    bool shifted;
};

/* MPICH's MPI_Pack refuses MPI_BOTTOM: the same addresses, counted from
 * somewhere else. */
static int steps_shift(struct steps *s)
{
    static char anchor;
    MPI_Aint back = -(MPI_Aint)(intptr_t)&anchor;
    int one = 1, rc;

    rc = impi_real.Type_create_hindexed(1, &one, &back, s->type, &s->type);
    if (rc != MPI_SUCCESS)
        return rc;
    s->user = &anchor;
    s->shifted = true;
    return impi_real.Type_commit(&s->type);
}

/* steps_end() also after a failure. */
static int steps_init(struct steps *s, void *user, const struct type_info *t)
{
    MPI_Aint lb;
    int rc;

    s->user = user;
    s->type = t->type;
    s->size = t->size;
    s->shifted = false;
    rc = impi_real.Type_get_extent(t->type, &lb, &s->extent);
    if (rc == MPI_SUCCESS && user == MPI_BOTTOM && t->size > 0)
        rc = steps_shift(s);
    return rc;
}

static void steps_end(struct steps *s)
{
    if (s->shifted)
        impi_real.Type_free(&s->type);
}

static int step_count(const struct steps *s, int left)
{
    size_t most = s->size ? PACK_STEP / s->size : INT_MAX;

    most = most ? most : 1;
    return (size_t)left < most ? left : (int)most;
}

/* n elements, that are more than an int counts only if it is one. */
static int pack_step(const struct steps *s, int n, char *wire)
{
    size_t len = (size_t)n * s->size;
    MPI_Count at = 0;
    int pos = 0;

    if (len <= INT_MAX)
        return impi_real.Pack(s->user, n, s->type, wire, (int)len, &pos,
                              pack_comm());
    if (!impi_real.Pack_c)
        return MPI_ERR_COUNT;
    return impi_real.Pack_c(s->user, n, s->type, wire, (MPI_Count)len, &at,
                            pack_comm());
}

static int unpack_step(const struct steps *s, int n, const char *wire)
{
    size_t len = (size_t)n * s->size;
    MPI_Count at = 0;
    int pos = 0;

    if (len <= INT_MAX)
        return impi_real.Unpack(wire, (int)len, &pos, s->user, n, s->type,
                                pack_comm());
    if (!impi_real.Unpack_c)
        return MPI_ERR_COUNT;
    return impi_real.Unpack_c(wire, (MPI_Count)len, &at, s->user, n, s->type,
                              pack_comm());
}

static int pack(const struct type_info *t, const void *user, int count,
                char *wire)
{
    struct steps s;
    int rc = steps_init(&s, (void *)(uintptr_t)user, t);

    while (rc == MPI_SUCCESS && count > 0) {
        int n = step_count(&s, count);

        rc = pack_step(&s, n, wire);
        s.user += n * s.extent;
        wire += n * s.size;
        count -= n;
    }
    steps_end(&s);
    return rc;
}

/* The last element of a short message: pack what the user has there, lay the
 * new bytes over it, unpack it whole. */
static int unpack_part(const struct steps *s, const char *wire, size_t bytes)
{
    char *one = malloc(s->size);
    int rc;

    if (!one)
        return MPI_ERR_NO_MEM;
    rc = pack_step(s, 1, one);
    memcpy(one, wire, bytes);
    if (rc == MPI_SUCCESS)
        rc = unpack_step(s, 1, one);
    free(one);
    return rc;
}

static int unpack(const struct type_info *t, void *user, const char *wire,
                  size_t bytes)
{
    struct steps s;
    int rc = steps_init(&s, user, t);

    while (rc == MPI_SUCCESS && bytes >= s.size && bytes > 0) {
        size_t whole = bytes / s.size;
        int n = step_count(&s, whole < INT_MAX ? (int)whole : INT_MAX);

        rc = unpack_step(&s, n, wire);
        s.user += n * s.extent;
        wire += n * s.size;
        bytes -= n * s.size;
    }
    if (rc == MPI_SUCCESS && bytes > 0)
        rc = unpack_part(&s, wire, bytes);
    steps_end(&s);
    return rc;
}

/* ---- both ways ---- */

static int get_staging(struct data *d)
{
    d->staging = malloc(d->len ? d->len : 1);
    d->base = d->staging;
    return d->staging ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static int begin(struct data *d, void *buf, int count, MPI_Datatype type)
{
    int rc;

    d->staging = NULL;
    d->held = false;
    d->map = NULL;
    d->user = buf;
    d->count = count;
    rc = type_look_up(&d->info, type);
    if (rc == MPI_SUCCESS)
        rc = buffer_check(buf, count, type);
    if (rc != MPI_SUCCESS)
        return rc;
    d->len = (uint64_t)count * d->info.wire;
    d->base = buf;
    return MPI_SUCCESS;
}

static bool straight(const struct type_info *info)
{
    return info->contiguous &&
           (impi_be.native || external_is_plain(info->basic));
}

const struct type_info *data_plain;

bool data_look_plain(int count, MPI_Datatype type, uint64_t *len)
{
    const struct type_info *info = type_known(type);

    if (!info || count < 0 || !straight(info))
        return false;
    __atomic_store_n(&data_plain, info, __ATOMIC_RELEASE);
    *len = (uint64_t)count * info->wire;
    return true;
}

static int stage_send(struct data *d)
{
    int rc = get_staging(d);

    if (rc != MPI_SUCCESS)
        return rc;
    if (impi_be.native)
        rc = pack(&d->info, d->user, d->count, d->staging);
    else
        rc = external_encode(&d->info, d->staging, d->user, d->count);
    if (rc != MPI_SUCCESS)
        data_drop(d);
    return rc;
}

int data_for_send(struct data *d, const void *buf, int count, MPI_Datatype type)
{
    int rc = begin(d, (void *)(uintptr_t)buf, count, type);

    return rc != MPI_SUCCESS || straight(&d->info) ? rc : stage_send(d);
}

/* The program may free its type while the receive is open. */
static int hold_type(struct data *d)
{
    MPI_Datatype own;
    int rc;

    if (d->info.basic == d->info.type)
        return MPI_SUCCESS; /* predefined */
    rc = impi_real.Type_dup(d->info.type, &own);
    if (rc == MPI_SUCCESS) {
        d->info.type = own;
        d->held = true;
    }
    return rc;
}

static int stage_recv(struct data *d)
{
    int rc = hold_type(d);

    if (rc == MPI_SUCCESS)
        rc = get_staging(d);
    if (rc != MPI_SUCCESS)
        data_drop(d);
    return rc;
}

int data_for_recv(struct data *d, void *buf, int count, MPI_Datatype type)
{
    int rc = begin(d, buf, count, type);

    return rc != MPI_SUCCESS || straight(&d->info) ? rc : stage_recv(d);
}

/* ---- by pieces ---- */

static int take_piece(void *arg, uint64_t off, void *wire, size_t n)
{
    impi_typemap_take(&((struct data *)arg)->cursor, wire, n);
    return 0;
}

static int put_piece(void *arg, uint64_t off, void *wire, size_t n)
{
    impi_typemap_put(&((struct data *)arg)->cursor, wire, n);
    return 0;
}

static int where_next(void *arg, struct iovec *at, int max, size_t n)
{
    return impi_typemap_places(&((struct data *)arg)->cursor, at, max, n);
}

static void pass(void *arg, size_t n)
{
    impi_typemap_pass(&((struct data *)arg)->cursor, n);
}

/* Elements of one block each are one run.  Returns how many there are then. */
static uint64_t join_elements(struct type_runs *r, int count)
{
    if (r->n != 1 || r->run[0].repeat != 1)
        return (uint64_t)count;
    r->run[0].repeat = (uint64_t)count;
    r->run[0].stride = r->extent;
    return 1;
}

/* False: it has to be staged. */
static bool by_pieces(struct data *d)
{
    uint64_t most = d->len / BYTES_PER_RUN, elements = 1;
    struct type_runs r;

    if (!impi_be.native || d->len < PIECES_MIN)
        return false;
    if (most > SF_IMPI_RUNS_MAX)
        most = SF_IMPI_RUNS_MAX;
    if (type_runs_get(&r, d->info.type, (uint32_t)most) == MPI_SUCCESS) {
        elements = join_elements(&r, d->count);
        d->map = impi_typemap_make(r.extent, r.run, r.n);
    }
    free(r.run);
    /* A type of which the library packs other bytes is its own to pack. */
    if (!d->map || d->map->size != d->len / elements) {
        free(d->map);
        d->map = NULL;
        return false;
    }
    impi_typemap_begin(&d->cursor, d->map, d->user);
    return true;
}

static void buffer_of(struct impi_buffer *b, struct data *d,
                      int (*move)(void *, uint64_t, void *, size_t))
{
    *b = (struct impi_buffer){.len = d->len};
    if (d->map) {
        b->move = move;
        b->arg = d;
        if (d->map->size / d->map->blocks >= PLACE_MIN)
            b->places = where_next;
        b->pass = pass;
    } else {
        b->base = d->base;
    }
}

int data_send_by(struct data *d, const void *buf, int count, MPI_Datatype type,
                 struct impi_buffer *b)
{
    int rc = begin(d, (void *)(uintptr_t)buf, count, type);

    if (rc == MPI_SUCCESS && !straight(&d->info) && !by_pieces(d))
        rc = stage_send(d);
    buffer_of(b, d, take_piece);
    return rc;
}

int data_recv_by(struct data *d, void *buf, int count, MPI_Datatype type,
                 struct impi_buffer *b)
{
    int rc = begin(d, buf, count, type);

    if (rc == MPI_SUCCESS && !straight(&d->info) && !by_pieces(d))
        rc = stage_recv(d);
    buffer_of(b, d, put_piece);
    return rc;
}

int data_received(struct data *d, uint64_t wire, uint64_t *bytes)
{
    int rc = MPI_SUCCESS;

    *bytes = wire;
    if (d->staging && impi_be.native)
        rc = unpack(&d->info, d->user, d->staging, wire);
    else if (d->staging)
        rc = external_decode(&d->info, d->user, d->staging, wire, d->count,
                             bytes);
    data_drop(d);
    return rc;
}

void data_spare_empty(int *count, MPI_Datatype *type)
{
    MPI_Count size = 1;

    if (type_known(*type) || *type == MPI_DATATYPE_NULL ||
        impi_real.Type_size_x(*type, &size) != MPI_SUCCESS || size != 0)
        return;
    *count = 0;
    *type = MPI_BYTE;
}

void data_free(struct data *d)
{
    free(d->staging);
    d->staging = NULL;
    free(d->map);
    d->map = NULL;
    if (d->held)
        impi_real.Type_free(&d->info.type);
    d->held = false;
}

/* The bytes that count elements cover: from *lb on, *len of them. */
static void covered(int count, MPI_Datatype type, MPI_Aint *first, size_t *len)
{
    MPI_Aint lb, extent, text;

    impi_real.Type_get_extent(type, &lb, &extent);
    buffer_span(type, first, &text);
    if (extent < 0) {
        *first += (count - 1) * extent;
        extent = -extent;
    }
    *len = count > 0 && text > 0 ? (size_t)((count - 1) * extent + text) : 0;
}

/* Not arithmetic on a pointer: `buf` may be MPI_BOTTOM, or lie so far below
 * what it stands for that there is no such address. */
static void *byte_at(const void *buf, MPI_Aint at)
{
    return (void *)((uintptr_t)buf + (uintptr_t)at);
}

int data_copy(void *to, const void *from, int count, MPI_Datatype type)
{
    MPI_Aint first;
    size_t len;

    covered(count, type, &first, &len);
    if (len)
        memmove(byte_at(to, first), byte_at(from, first), len);
    return MPI_SUCCESS;
}

int data_assign(void *to, const void *from, int count, MPI_Datatype type)
{
    struct type_info info;
    char *packed;
    int rc = type_look_up(&info, type);

    if (rc != MPI_SUCCESS || info.contiguous)
        return rc == MPI_SUCCESS ? data_copy(to, from, count, type) : rc;
    packed = malloc((size_t)count * info.size + 1);
    if (!packed)
        return MPI_ERR_NO_MEM;
    rc = pack(&info, from, count, packed);
    if (rc == MPI_SUCCESS)
        rc = unpack(&info, to, packed, (size_t)count * info.size);
    free(packed);
    return rc;
}

void *data_room(int count, MPI_Datatype type, void **origin)
{
    MPI_Aint first;
    size_t len;
    void *room;

    covered(count, type, &first, &len);
    room = malloc(len ? len : 1);
    *origin = byte_at(room, -first);
    return room;
}

void *data_clone(const void *from, int count, MPI_Datatype type, void **origin)
{
    void *copy = data_room(count, type, origin);

    if (copy && data_assign(*origin, from, count, type) != MPI_SUCCESS) {
        free(copy);
        return NULL;
    }
    return copy;
}
