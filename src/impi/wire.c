/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/wire.h"

#include <stdio.h>

#include "base/be.h"

const struct impi_label_info impi_labels[IMPI_N_LABELS] = {
    {IMPI_C_VERSION, "IMPI_C_VERSION", IMPI_PER_CLIENT, 8, true, 0},
    {IMPI_X_EXT, "X_EXT", IMPI_PER_CLIENT, 4, false, 0},
    {IMPI_C_NHOSTS, "IMPI_C_NHOSTS", IMPI_PER_CLIENT, 4, true, 0},
    {IMPI_C_NPROCS, "IMPI_C_NPROCS", IMPI_PER_CLIENT, 4, true, 0},
    {IMPI_C_DATALEN, "IMPI_C_DATALEN", IMPI_PER_CLIENT, 4, true, 0},
    {IMPI_C_TAGUB, "IMPI_C_TAGUB", IMPI_PER_CLIENT, 4, true, 0},
    {IMPI_C_COLL_XSIZE, "IMPI_C_COLL_XSIZE", IMPI_PER_CLIENT, 4, true, 0},
    {IMPI_C_COLL_MAXLINEAR, "IMPI_C_COLL_MAXLINEAR", IMPI_PER_CLIENT, 4, true,
     0},
    {IMPI_H_IPV6, "IMPI_H_IPV6", IMPI_PER_HOST, 16, true, 0},
    {IMPI_H_PORT, "IMPI_H_PORT", IMPI_PER_HOST, 4, true, 0},
    {IMPI_H_NPROCS, "IMPI_H_NPROCS", IMPI_PER_HOST, 4, true, 0},
    {IMPI_H_ACKMARK, "IMPI_H_ACKMARK", IMPI_PER_HOST, 4, true, 0},
    {IMPI_H_HIWATER, "IMPI_H_HIWATER", IMPI_PER_HOST, 4, true, 0},
    {IMPI_P_IPV6, "IMPI_P_IPV6", IMPI_PER_PROC, 16, true, 0},
    {IMPI_P_PID, "IMPI_P_PID", IMPI_PER_PROC, 8, true, 0},
    {IMPI_X_RANK, "X_RANK", IMPI_PER_PROC, 4, false, 1},
    {IMPI_X_ADDR, "X_ADDR", IMPI_PER_PROC, 16, false, 1},
    {IMPI_X_PORT, "X_PORT", IMPI_PER_PROC, 4, false, 1},
    {IMPI_X_REPR, "X_REPR", IMPI_PER_CLIENT, 16, false, 1},
    {IMPI_X_CPUS, "X_CPUS", IMPI_PER_PROC, 4, false, 3},
};

int impi_label_find(int32_t label)
{
    for (int i = 0; i < IMPI_N_LABELS; i++)
        if (impi_labels[i].label == label)
            return i;
    return -1;
}

bool impi_label_standard(int32_t label)
{
    int i = impi_label_find(label);

    return i >= 0 && impi_labels[i].mandatory;
}

const char *impi_label_name(int32_t label, char buf[24])
{
    int i = impi_label_find(label);

    if (i >= 0)
        return impi_labels[i].name;
    snprintf(buf, 24, "label 0x%x", (unsigned)label);
    return buf;
}

const char *impi_cmd_name(int32_t cmd, char buf[24])
{
    switch (cmd) {
    case IMPI_CMD_AUTH:
        return "AUTH";
    case IMPI_CMD_IMPI:
        return "IMPI";
    case IMPI_CMD_COLL:
        return "COLL";
    case IMPI_CMD_DONE:
        return "DONE";
    case IMPI_CMD_FINI:
        return "FINI";
    default:
        snprintf(buf, 24, "command 0x%x", (unsigned)cmd);
        return buf;
    }
}

void impi_cmd_encode(struct bytebuf *o, int32_t cmd, uint32_t len)
{
    bytebuf_add32(o, (uint32_t)cmd);
    bytebuf_add32(o, len);
}

struct impi_cmd impi_cmd_decode(const uint8_t raw[IMPI_CMD_SIZE])
{
    return (struct impi_cmd){(int32_t)be_load32(raw),
                             (int32_t)be_load32(raw + 4)};
}

void impi_auth_encode(struct bytebuf *o, const uint32_t *mask, uint32_t words)
{
    impi_cmd_encode(o, IMPI_CMD_AUTH, words * 4);
    for (uint32_t i = 0; i < words; i++)
        bytebuf_add32(o, mask[i]);
}

void impi_server_auth_encode(struct bytebuf *o,
                             const struct impi_server_auth *a)
{
    bytebuf_add32(o, (uint32_t)a->which);
    bytebuf_add32(o, (uint32_t)a->len);
}

struct impi_server_auth
impi_server_auth_decode(const uint8_t raw[IMPI_SERVER_AUTH_SIZE])
{
    return (struct impi_server_auth){(int32_t)be_load32(raw),
                                     (int32_t)be_load32(raw + 4)};
}

void impi_auth_key_encode(struct bytebuf *o, uint64_t key)
{
    bytebuf_add64(o, key);
}

uint64_t impi_auth_key_decode(const uint8_t raw[IMPI_AUTH_KEY_SIZE])
{
    return be_load64(raw);
}

void impi_impi_encode(struct bytebuf *o, int32_t value)
{
    impi_cmd_encode(o, IMPI_CMD_IMPI, IMPI_IMPI_SIZE);
    bytebuf_add32(o, (uint32_t)value);
}

int32_t impi_impi_decode(const uint8_t raw[IMPI_IMPI_SIZE])
{
    return (int32_t)be_load32(raw);
}

void impi_coll_encode(struct bytebuf *o, int32_t label, uint32_t len)
{
    impi_cmd_encode(o, IMPI_CMD_COLL, IMPI_COLL_SIZE + len);
    bytebuf_add32(o, (uint32_t)label);
}

int32_t impi_coll_decode(const uint8_t raw[IMPI_COLL_SIZE])
{
    return (int32_t)be_load32(raw);
}

void impi_chdr_encode(struct bytebuf *o, const struct impi_chdr *h,
                      uint32_t len)
{
    impi_cmd_encode(o, IMPI_CMD_COLL, IMPI_CHDR_SIZE + len);
    bytebuf_add32(o, (uint32_t)h->label);
    bytebuf_add32(o, h->client_mask);
}

struct impi_chdr impi_chdr_decode(const uint8_t raw[IMPI_CHDR_SIZE])
{
    return (struct impi_chdr){(int32_t)be_load32(raw), be_load32(raw + 4)};
}

void impi_version_encode(struct bytebuf *o, const struct impi_version *v)
{
    bytebuf_add32(o, v->major);
    bytebuf_add32(o, v->minor);
}

struct impi_version impi_version_decode(const uint8_t raw[IMPI_VERSION_SIZE])
{
    return (struct impi_version){be_load32(raw), be_load32(raw + 4)};
}

int impi_version_compare(const struct impi_version *a,
                         const struct impi_version *b)
{
    if (a->major != b->major)
        return a->major < b->major ? -1 : 1;
    if (a->minor != b->minor)
        return a->minor < b->minor ? -1 : 1;
    return 0;
}
