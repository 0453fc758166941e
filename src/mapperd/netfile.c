/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See netfile.h.
 */
#include "mapperd/netfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "net/build.h"
#include "net/format.h"

#define PIECE 65536

static int text_of(const char *name, FILE *f, struct bytebuf *out,
                   struct errbuf *err)
{
    uint8_t *at;
    size_t n;

    while ((at = bytebuf_room(out, PIECE)) && (n = fread(at, 1, PIECE, f)) > 0)
        bytebuf_grow(out, n);
    if (ferror(f))
        return errprintf(err, "%s: %s", name, strerror(errno));
    if (at)
        return 0;
    errno = EMSGSIZE;
    return errprintf(err, "%s: too long", name);
}

int netfile_text(const char *path, struct bytebuf *out, struct errbuf *err)
{
    FILE *f = fopen(path, "re");
    int rc, e;

    if (!f)
        return errprintf(err, "%s: %s", path, strerror(errno));
    rc = text_of(path, f, out, err);
    e = errno;
    fclose(f);
    errno = e;
    return rc;
}

struct net *netfile_read(const char *name, struct errbuf *err)
{
    struct bytebuf text;
    struct net *net = NULL;

    bytebuf_init(&text, SF_NET_FILE_MAX);
    if (netfile_text(name, &text, err) == 0)
        net = net_parse(name, (const char *)bytebuf_data(&text),
                        bytebuf_len(&text), err);
    else if (errno == ENOENT && !strchr(name, '/'))
        net = net_build_named(name, err);
    bytebuf_free(&text);
    return net;
}

static bool ends_in(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);

    return n > m && strcmp(path + n - m, end) == 0;
}

static int put_open(int fd, const struct bytebuf *bytes)
{
    const uint8_t *p = bytebuf_data(bytes);
    size_t left = bytebuf_len(bytes);

    while (left > 0) {
        ssize_t n = write(fd, p, left);

        if (n < 0 && errno != EINTR)
            return -1;
        p += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int netfile_put(const char *path, const struct bytebuf *bytes, int mode,
                struct errbuf *err)
{
    char tmp[4096];
    int fd, rc;

    if (snprintf(tmp, sizeof(tmp), "%s.new", path) >= (int)sizeof(tmp))
        return errprintf(err, "%s: name too long", path);
    fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return errprintf(err, "%s: %s", tmp, strerror(errno));
    rc = put_open(fd, bytes);
    rc = close(fd) == 0 ? rc : -1;
    if (rc == 0 && rename(tmp, path) == 0)
        return 0;
    errprintf(err, "%s: %s", path, strerror(errno));
    unlink(tmp);
    return -1;
}

int netfile_write(const char *path, const struct net *net, struct errbuf *err)
{
    struct bytebuf text;
    int rc;

    bytebuf_init(&text, SF_NET_FILE_MAX);
    if (ends_in(path, ".json"))
        net_write_json(net, &text);
    else if (ends_in(path, ".ibnet"))
        net_write_ib(net, &text);
    else
        net_write_text(net, &text);
    rc = text.bad ? errprintf(err, "%s: no memory, or too long", path)
                  : netfile_put(path, &text, 0666, err);
    bytebuf_free(&text);
    return rc;
}
