/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The structures of the IMPI start-up protocol (sections 2.3.2 to 2.3.7) and
 * their bytes.  Every integer is two's complement, big-endian, unpadded
 * (1.2.1).  Encoders append to a queue; decoders take exactly the size named
 * beside them.
 */
#ifndef SF_IMPI_WIRE_H
#define SF_IMPI_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytebuf.h"

enum impi_cmd_code {
    IMPI_CMD_AUTH = 0x41555448, /* "AUTH" */
    IMPI_CMD_IMPI = 0x494D5049, /* "IMPI" */
    IMPI_CMD_COLL = 0x434F4C4C, /* "COLL" */
    IMPI_CMD_DONE = 0x444F4E45, /* "DONE" */
    IMPI_CMD_FINI = 0x46494E49, /* "FINI" */
};

enum impi_label {
    IMPI_NO_LABEL = 0,
    IMPI_C_VERSION = 0x1000,
    IMPI_X_EXT = 0x1080, /* ours: doc/impi-extensions.md */
    IMPI_C_NHOSTS = 0x1100,
    IMPI_C_NPROCS = 0x1200,
    IMPI_C_DATALEN = 0x1300,
    IMPI_C_TAGUB = 0x1400,
    IMPI_C_COLL_XSIZE = 0x1500,
    IMPI_C_COLL_MAXLINEAR = 0x1600,
    IMPI_H_IPV6 = 0x2000,
    IMPI_H_PORT = 0x2100,
    IMPI_H_NPROCS = 0x2200,
    IMPI_H_ACKMARK = 0x2300,
    IMPI_H_HIWATER = 0x2400,
    IMPI_P_IPV6 = 0x3000,
    IMPI_P_PID = 0x3100,
    IMPI_X_RANK = 0x4000, /* ours, too */
    IMPI_X_ADDR = 0x4100,
    IMPI_X_PORT = 0x4200,
    IMPI_X_REPR = 0x4300,
    IMPI_X_CPUS = 0x4400,
};

/* What a label's array has one element for. */
enum impi_label_per { IMPI_PER_CLIENT, IMPI_PER_HOST, IMPI_PER_PROC };

struct impi_label_info {
    int32_t label;
    const char *name;
    enum impi_label_per per;
    uint32_t size;  /* bytes of one element; VERSION has one or more */
    bool mandatory; /* one of the 14 of version 0.0 */
    uint32_t since; /* version of our extensions that all clients must have */
};

#define IMPI_EXT_FIRST 1 /* such a version: what all that say X_EXT have */
#define IMPI_N_LABELS 20 /* that we know, in ascending order */
extern const struct impi_label_info impi_labels[IMPI_N_LABELS];

/* Index into impi_labels, or -1. */
int impi_label_find(int32_t label);
/* One of the 14 labels of version 0.0. */
bool impi_label_standard(int32_t label);
/* "IMPI_C_NHOSTS", or "label 0x7777" written into buf[24]. */
const char *impi_label_name(int32_t label, char buf[24]);
/* "COLL", or "command 0x12345678" written into buf[24]. */
const char *impi_cmd_name(int32_t cmd, char buf[24]);

#define IMPI_CMD_SIZE 8
struct impi_cmd {
    int32_t cmd;
    int32_t len; /* bytes of payload that follow */
};

#define IMPI_SERVER_AUTH_SIZE 8
struct impi_server_auth {
    int32_t which; /* method number */
    int32_t len;   /* bytes that follow, defined by the method */
};

#define IMPI_AUTH_KEY_SIZE 8
#define IMPI_IMPI_SIZE 4 /* rank to the server, number of clients back */
#define IMPI_COLL_SIZE 4 /* label, in front of each payload to the server */
#define IMPI_VERSION_SIZE 8

#define IMPI_CHDR_SIZE 8
struct impi_chdr {
    int32_t label;
    uint32_t client_mask; /* bit i: client i contributed */
};

struct impi_version {
    uint32_t major, minor;
};

void impi_cmd_encode(struct bytebuf *o, int32_t cmd, uint32_t len);
struct impi_cmd impi_cmd_decode(const uint8_t raw[IMPI_CMD_SIZE]);

/* AUTH with `words` masks (IMPI_Client_auth, repeated). */
void impi_auth_encode(struct bytebuf *o, const uint32_t *mask, uint32_t words);

/* No IMPI_Cmd in front (doc/impi-decisions.md, IM-046). */
void impi_server_auth_encode(struct bytebuf *o,
                             const struct impi_server_auth *a);
struct impi_server_auth
impi_server_auth_decode(const uint8_t raw[IMPI_SERVER_AUTH_SIZE]);

void impi_auth_key_encode(struct bytebuf *o, uint64_t key);
uint64_t impi_auth_key_decode(const uint8_t raw[IMPI_AUTH_KEY_SIZE]);

/* IMPI command with its payload: rank or number of clients. */
void impi_impi_encode(struct bytebuf *o, int32_t value);
int32_t impi_impi_decode(const uint8_t raw[IMPI_IMPI_SIZE]);

/* COLL command toward the server: header and label; len bytes of payload are
 * to be appended by the caller. */
void impi_coll_encode(struct bytebuf *o, int32_t label, uint32_t len);
int32_t impi_coll_decode(const uint8_t raw[IMPI_COLL_SIZE]);

/* COLL command toward a client, in the same way. */
void impi_chdr_encode(struct bytebuf *o, const struct impi_chdr *h,
                      uint32_t len);
struct impi_chdr impi_chdr_decode(const uint8_t raw[IMPI_CHDR_SIZE]);

void impi_version_encode(struct bytebuf *o, const struct impi_version *v);
struct impi_version impi_version_decode(const uint8_t raw[IMPI_VERSION_SIZE]);
/* <0, 0, >0 as a is older than, equal to, newer than b. */
int impi_version_compare(const struct impi_version *a,
                         const struct impi_version *b);

#endif
