/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elan/state.h"
#include "plugins/switch_elan/state_file.h"

static int fill(int fd, const char *text)
{
    size_t len = strlen(text);

    return write(fd, text, len) == (ssize_t)len && fsync(fd) == 0 ? 0 : -1;
}

int state_file_write(const char *dir, const char *text, struct errbuf *err)
{
    char path[4096], new[4096 + 8];
    int fd, rc;

    snprintf(path, sizeof(path), "%s/" STATE_FILE_NAME, dir);
    snprintf(new, sizeof(new), "%s.new", path);
    fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return errprintf(err, "%s: %s", new, strerror(errno));
    rc = fill(fd, text);
    if (close(fd) < 0 || rc < 0 || rename(new, path) < 0) {
        errprintf(err, "%s: %s", path, strerror(errno));
        unlink(new);
        return -1;
    }
    return 0;
}

int state_file_read(const char *dir, char **text, struct errbuf *err)
{
    char path[4096];
    ssize_t n;
    int fd;

    *text = NULL;
    snprintf(path, sizeof(path), "%s/" STATE_FILE_NAME, dir);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT
                   ? 0
                   : errprintf(err, "%s: %s", path, strerror(errno));
    *text = calloc(1, ELAN_STATE_SIZE_MAX + 1);
    n = *text ? read(fd, *text, ELAN_STATE_SIZE_MAX) : -1;
    close(fd);
    if (n >= 0)
        return 0;
    free(*text);
    *text = NULL;
    return errprintf(err, "%s: cannot be read", path);
}
