/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "elan/state.h"
#include "plugins/switch_elan/state_file.h"

static const char *path_in(const char *dir, char *path, size_t size)
{
    snprintf(path, size, "%s/" STATE_FILE_NAME, dir);
    return path;
}

int state_file_write(const char *dir, const char *text, struct errbuf *err)
{
    char path[4096];

    return file_replace(path_in(dir, path, sizeof(path)), text, strlen(text),
                        0600, FILE_DURABLE, err);
}

int state_file_read(const char *dir, char **text, struct errbuf *err)
{
    char path[4096];

    *text = file_read(path_in(dir, path, sizeof(path)), ELAN_STATE_SIZE_MAX,
                      FILE_NO_LINK, NULL, err);
    return *text || errno == ENOENT ? 0 : -1;
}
