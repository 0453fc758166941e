/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "nicd/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "health/nic_text.h"

#define IB "class/infiniband"
#define CXI "class/cxi"
#define NET "class/net"
#define VERBS "class/infiniband_verbs"
#define PATH_SIZE 256

enum kind { RDMA, SLINGSHOT, INTERFACE };

/* A port that is there, with what does not change. */
struct known {
    enum kind kind;
    char device[SF_NIC_NAME_MAX];
    unsigned port;
    bool own_state;               /* InfiniBand: the port's state is true */
    char behind[SF_NIC_NAME_MAX]; /* interface; "": none */
    struct nic_port is;
};

struct sysfs {
    int sys, dev;
    char *watch, *ignore, *behind, *drivers;
    unsigned looks;
    bool list;   /* at the next look */
    bool listed; /* since sysfs_rdma() was called */
    size_t n, nrdma;
    struct known known[SF_NIC_PORTS_MAX];
    struct sysfs_rdma rdma[SF_NIC_PORTS_MAX];
};

/* ---- files and directories ----------------------------------------------- */

/* The first line of a file, without control characters.  False: it is not
 * there, or cannot be read. */
static bool get(int dir, char *text, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static bool get(int dir, char *text, size_t size, const char *fmt, ...)
{
    char path[PATH_SIZE];
    va_list ap;
    ssize_t n;
    int fd, len;

    va_start(ap, fmt);
    len = vsnprintf(path, sizeof(path), fmt, ap);
    va_end(ap);
    *text = '\0';
    if (len < 0 || (size_t)len >= sizeof(path))
        return false;
    fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    n = read(fd, text, size - 1);
    close(fd);
    if (n < 0)
        n = 0;
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
            *c = '?';
    return n > 0;
}

static bool is_there(int dir, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static bool is_there(int dir, const char *fmt, ...)
{
    char path[PATH_SIZE];
    va_list ap;
    int len;

    va_start(ap, fmt);
    len = vsnprintf(path, sizeof(path), fmt, ap);
    va_end(ap);
    return len > 0 && (size_t)len < sizeof(path) &&
           faccessat(dir, path, F_OK, 0) == 0;
}

struct names {
    size_t n;
    char at[SF_NIC_ENTRIES_MAX][SF_NIC_NAME_MAX];
};

static int by_version(const void *a, const void *b)
{
    return strverscmp(a, b);
}

/* The names in a directory, in order; too long ones and those beyond the limit
 * are none. */
static void list(int dir, const char *path, struct names *names)
{
    int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;

    names->n = 0;
    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while (names->n < SF_NIC_ENTRIES_MAX && (e = readdir(d))) {
        if (e->d_name[0] == '.' || strlen(e->d_name) >= SF_NIC_NAME_MAX - 4)
            continue;
        strcpy(names->at[names->n++], e->d_name);
    }
    closedir(d);
    qsort(names->at, names->n, sizeof(names->at[0]), by_version);
}

/* ---- what is watched ----------------------------------------------------- */

/* Is one of the patterns, apart by commas, this name's? */
static bool matches(const char *patterns, const char *name)
{
    char one[PATH_SIZE];

    while (patterns && *patterns) {
        size_t len = strcspn(patterns, ",");

        if (len < sizeof(one)) {
            memcpy(one, patterns, len);
            one[len] = '\0';
            if (*name && fnmatch(one, name, 0) == 0)
                return true;
        }
        patterns += len;
        patterns += *patterns == ',';
    }
    return false;
}

static bool matches_any(const char *patterns, const struct known *k)
{
    return matches(patterns, k->is.name) || matches(patterns, k->device) ||
           matches(patterns, k->behind);
}

/* "DEVICE:INTERFACE" of the configuration. */
static bool named_behind(const struct sysfs *s, struct known *k)
{
    size_t len = strlen(k->device);

    for (const char *at = s->behind; at && *at; at += strcspn(at, ",")) {
        at += *at == ',';
        if (strncmp(at, k->device, len) == 0 && at[len] == ':') {
            size_t n = strcspn(at + len + 1, ",");

            snprintf(k->behind, sizeof(k->behind), "%.*s", (int)n,
                     at + len + 1);
            return true;
        }
    }
    return false;
}

/* The interface behind a port: as its GID table has it, or the one of the
 * same card that has this port's number. */
static void find_behind(const struct sysfs *s, struct known *k,
                        struct names *names)
{
    char path[PATH_SIZE], text[SF_NIC_FILE_MAX];
    const char *class = k->kind == RDMA ? IB : CXI;

    if (named_behind(s, k))
        return;
    if (k->kind == RDMA &&
        get(s->sys, text, sizeof(text), IB "/%s/ports/%u/gid_attrs/ndevs/0",
            k->device, k->port) &&
        strlen(text) < sizeof(k->behind) && !strchr(text, '/')) {
        strcpy(k->behind, text);
        return;
    }
    snprintf(path, sizeof(path), "%s/%s/device/net", class, k->device);
    list(s->sys, path, names);
    for (size_t i = 0; i < names->n; i++) {
        uint64_t port = 0;

        get(s->sys, text, sizeof(text), NET "/%s/dev_port", names->at[i]);
        if (k->kind == SLINGSHOT || names->n == 1 ||
            (nic_text_number(text, &port) && port == k->port - 1u)) {
            strcpy(k->behind, names->at[i]);
            return;
        }
    }
}

static void find_model(const struct sysfs *s, struct known *k,
                       const char *class)
{
    char vendor[SF_NIC_FILE_MAX], device[SF_NIC_FILE_MAX];

    if (k->kind == RDMA &&
        get(s->sys, vendor, sizeof(vendor), IB "/%s/hca_type", k->device)) {
        snprintf(k->is.model, sizeof(k->is.model), "%.20s", vendor);
    } else if (get(s->sys, vendor, sizeof(vendor), "%s/%s/device/vendor", class,
                   k->device) &&
               get(s->sys, device, sizeof(device), "%s/%s/device/device", class,
                   k->device)) {
        snprintf(k->is.model, sizeof(k->is.model), "%.8s:%.8s", vendor, device);
    }
    for (char *c = k->is.model; *c; c++)
        if (*c == ' ')
            *c = '_';
}

/* ---- listing ------------------------------------------------------------- */

static void find_board(const struct sysfs *s, struct known *k)
{
    char text[SF_NIC_FILE_MAX];

    if (k->own_state) {
        get(s->sys, text, sizeof(text), IB "/%s/ports/%u/gids/0", k->device,
            k->port);
        k->is.board = nic_text_gid(text);
    } else if (k->behind[0]) {
        get(s->sys, text, sizeof(text), NET "/%s/address", k->behind);
        k->is.board = nic_text_mac(text);
    }
}

/* What a device has to be usable by verbs: a number in class/infiniband_verbs,
 * and the character device of that number, whose name this is; else NULL. */
static const char *find_verbs(const struct sysfs *s, const char *device,
                              const struct names *verbs)
{
    char text[SF_NIC_FILE_MAX];

    for (size_t i = 0; i < verbs->n; i++)
        if (get(s->sys, text, sizeof(text), VERBS "/%s/ibdev", verbs->at[i]) &&
            strcmp(text, device) == 0)
            return is_there(s->dev, "infiniband/%s", verbs->at[i])
                       ? verbs->at[i]
                       : NULL;
    return NULL;
}

/* The driver's name is the last part of what its link leads to. */
static bool has_driver(const struct sysfs *s, const char *device)
{
    char path[PATH_SIZE], to[PATH_SIZE];
    const char *name;
    ssize_t n;

    snprintf(path, sizeof(path), IB "/%s/device/driver", device);
    n = readlinkat(s->sys, path, to, sizeof(to) - 1);
    if (n < 0)
        return matches(s->drivers, "virtual");
    to[n] = '\0';
    name = strrchr(to, '/');
    return matches(s->drivers, name ? name + 1 : to);
}

static struct known *add(struct sysfs *s, enum kind kind, const char *device,
                         unsigned port)
{
    struct known *k;

    if (s->n == SF_NIC_PORTS_MAX)
        return NULL;
    k = &s->known[s->n++];
    memset(k, 0, sizeof(*k));
    k->kind = kind;
    k->port = port;
    snprintf(k->device, sizeof(k->device), "%s", device);
    if (port)
        snprintf(k->is.name, sizeof(k->is.name), "%.27s/%u", device,
                 port % 1000u);
    else
        snprintf(k->is.name, sizeof(k->is.name), "%s", device);
    return k;
}

/* Is it watched? */
static bool list_port(struct sysfs *s, const char *device, unsigned port,
                      bool no_verbs, struct names *names)
{
    char text[SF_NIC_FILE_MAX];
    struct known *k = add(s, RDMA, device, port);

    if (!k)
        return false;
    get(s->sys, text, sizeof(text), IB "/%s/ports/%u/link_layer", device, port);
    k->own_state = strcmp(text, "InfiniBand") == 0;
    k->is.no_verbs = no_verbs;
    if (!k->own_state)
        find_behind(s, k, names);
    find_model(s, k, IB);
    find_board(s, k);
    k->is.out =
        (s->watch && !matches_any(s->watch, k)) || matches_any(s->ignore, k);
    return !k->is.out;
}

static void list_ports(struct sysfs *s, const char *device, const char *verbs,
                       struct names *names)
{
    char path[PATH_SIZE];
    bool watched = false;

    snprintf(path, sizeof(path), IB "/%s/ports", device);
    list(s->sys, path, names);
    for (unsigned port = 1, n = (unsigned)names->n; port <= n && port < 255;
         port++)
        if (is_there(s->sys, IB "/%s/ports/%u", device, port))
            watched |= list_port(s, device, port, !verbs, names);
    if (watched && verbs && s->nrdma < SF_NIC_PORTS_MAX &&
        has_driver(s, device)) {
        struct sysfs_rdma *r = &s->rdma[s->nrdma++];

        snprintf(r->device, sizeof(r->device), "%s", device);
        snprintf(r->verbs, sizeof(r->verbs), "%s", verbs);
    }
}

static void list_rdma(struct sysfs *s, struct names *devices,
                      struct names *verbs, struct names *names)
{
    list(s->sys, IB, devices);
    list(s->sys, VERBS, verbs);
    for (size_t i = 0; i < devices->n; i++) {
        const char *device = devices->at[i];

        if (!is_there(s->sys, IB "/%s/device/physfn", device))
            list_ports(s, device, find_verbs(s, device, verbs), names);
    }
}

static void list_slingshot(struct sysfs *s, struct names *devices,
                           struct names *names)
{
    list(s->sys, CXI, devices);
    for (size_t i = 0; i < devices->n; i++) {
        struct known *k = add(s, SLINGSHOT, devices->at[i], 0);

        if (!k)
            return;
        find_behind(s, k, names);
        find_model(s, k, CXI);
        find_board(s, k);
        k->is.out = (s->watch && !matches_any(s->watch, k)) ||
                    matches_any(s->ignore, k);
    }
}

static bool is_behind(const struct sysfs *s, const char *interface)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->known[i].behind, interface) == 0)
            return true;
    return false;
}

/* Interfaces are watched when they are named, and no device of above is in
 * front of them. */
static void list_interfaces(struct sysfs *s, struct names *names)
{
    if (!s->watch)
        return;
    list(s->sys, NET, names);
    for (size_t i = 0; i < names->n; i++) {
        const char *name = names->at[i];
        struct known *k;

        if (!matches(s->watch, name) || matches(s->ignore, name) ||
            is_behind(s, name) || !(k = add(s, INTERFACE, name, 0)))
            continue;
        strcpy(k->behind, name);
        find_model(s, k, NET);
        find_board(s, k);
    }
}

static void list_all(struct sysfs *s)
{
    struct names *n = calloc(3, sizeof(*n));

    s->n = s->nrdma = 0;
    if (!n)
        return; /* the next look does it */
    s->listed = true;
    list_rdma(s, &n[0], &n[1], &n[2]);
    list_slingshot(s, &n[0], &n[1]);
    list_interfaces(s, &n[0]);
    free(n);
}

/* ---- a look -------------------------------------------------------------- */

/* The interface tells: it is up, and has a carrier. */
static void look_behind(const struct sysfs *s, const struct known *k,
                        struct nic_port *p)
{
    char text[SF_NIC_FILE_MAX], carrier[SF_NIC_FILE_MAX];
    bool own_is_up = k->kind != RDMA || p->link == NIC_UP, up;
    uint64_t n;

    if (!get(s->sys, text, sizeof(text), NET "/%s/operstate", k->behind))
        snprintf(text, sizeof(text), "no interface");
    up = strcmp(text, "up") == 0;
    if (strcmp(text, "unknown") == 0)
        up = get(s->sys, carrier, sizeof(carrier), NET "/%s/carrier",
                 k->behind) &&
             strcmp(carrier, "1") == 0;
    if (own_is_up) {
        p->link = up ? NIC_UP : NIC_DOWN;
        snprintf(p->says, sizeof(p->says), "%.24s", text);
    }
    get(s->sys, text, sizeof(text), NET "/%s/speed", k->behind);
    if (nic_text_number(text, &n) && n > 0 && n <= 10000000)
        p->mbps = (uint32_t)n;
    get(s->sys, text, sizeof(text), NET "/%s/carrier_down_count", k->behind);
    p->has_downs = nic_text_number(text, &p->downs);
}

/* False: the port is not there. */
static bool look(const struct sysfs *s, const struct known *k,
                 struct nic_port *p)
{
    char state[SF_NIC_FILE_MAX], phys[SF_NIC_FILE_MAX];

    *p = k->is;
    if (k->kind == RDMA) {
        if (!get(s->sys, state, sizeof(state), IB "/%s/ports/%u/state",
                 k->device, k->port))
            return false;
        get(s->sys, phys, sizeof(phys), IB "/%s/ports/%u/phys_state", k->device,
            k->port);
        if (!nic_text_link(state, phys, p))
            return false;
        get(s->sys, state, sizeof(state), IB "/%s/ports/%u/rate", k->device,
            k->port);
        nic_text_rate(state, p);
    } else if (!is_there(s->sys, "%s/%s", k->kind == SLINGSHOT ? CXI : NET,
                         k->device)) {
        return false;
    }
    if (k->behind[0])
        look_behind(s, k, p);
    else if (k->kind != RDMA)
        snprintf(p->says, sizeof(p->says), "no interface");
    return true;
}

static void look_counters(const struct sysfs *s, const struct known *k,
                          struct nic_port *p)
{
    char text[SF_NIC_FILE_MAX];

    for (int i = 0; k->kind == RDMA && i < TALLY_RX_CRC_ERRORS; i++) {
        if (get(s->sys, text, sizeof(text), IB "/%s/ports/%u/%scounters/%s",
                k->device, k->port, i < TALLY_PORT_COUNTERS ? "" : "hw_",
                tally_counter_name((enum tally_counter)i)))
            nic_text_counter((enum tally_counter)i, text, p);
    }
    if (k->behind[0] && get(s->sys, text, sizeof(text),
                            NET "/%s/statistics/rx_crc_errors", k->behind))
        nic_text_counter(TALLY_RX_CRC_ERRORS, text, p);
    if (!p->has_downs && p->has & 1u << TALLY_LINK_DOWNED) {
        p->has_downs = true;
        p->downs = p->value[TALLY_LINK_DOWNED];
    }
}

size_t sysfs_look(struct sysfs *s, struct nic_port ports[SF_NIC_PORTS_MAX])
{
    bool slow = s->looks++ % SYSFS_LIST == 0;
    size_t n = 0;

    if (slow || s->list)
        list_all(s);
    s->list = false;
    for (size_t i = 0; i < s->n; i++) {
        const struct known *k = &s->known[i];

        if (!look(s, k, &ports[n])) {
            s->list = true;
            continue;
        }
        if (slow && !ports[n].out)
            look_counters(s, k, &ports[n]);
        n++;
    }
    return n;
}

const struct sysfs_rdma *sysfs_rdma(struct sysfs *s, size_t *n)
{
    if (!s->listed)
        return NULL;
    s->listed = false;
    *n = s->nrdma;
    return s->rdma;
}

/* ---- open and close ------------------------------------------------------ */

static int open_dir(const char *root, const char *name, struct errbuf *err)
{
    char path[PATH_SIZE];
    int fd;

    if (snprintf(path, sizeof(path), "%s/%s", root, name) >= (int)sizeof(path))
        return errprintf(err, "%s: too long", root);
    fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? errprintf(err, "%s: %s", path, strerror(errno)) : fd;
}

static bool copy(char **to, const char *text)
{
    return !text || (*to = strdup(text));
}

struct sysfs *sysfs_open(const struct sysfs_options *o, struct errbuf *err)
{
    struct sysfs *s = calloc(1, sizeof(*s));

    if (!s) {
        errprintf(err, "no memory");
        return NULL;
    }
    s->sys = s->dev = -1;
    if (!copy(&s->watch, o->watch) || !copy(&s->ignore, o->ignore) ||
        !copy(&s->behind, o->behind) || !copy(&s->drivers, o->drivers))
        errprintf(err, "no memory");
    else if ((s->sys = open_dir(o->root, "sys", err)) >= 0 &&
             (s->dev = open_dir(o->root, "dev", err)) >= 0)
        return s;
    sysfs_close(s);
    return NULL;
}

void sysfs_close(struct sysfs *s)
{
    if (!s)
        return;
    if (s->sys >= 0)
        close(s->sys);
    if (s->dev >= 0)
        close(s->dev);
    free(s->watch);
    free(s->ignore);
    free(s->behind);
    free(s->drivers);
    free(s);
}
