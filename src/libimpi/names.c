/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of services (MPI-3.1 chapter 10.4.4): a file for each in a directory of
 * the user that all nodes see, SLURM_IMPI_NAMES or $HOME/.slurm-fabric/names.
 * Only that user can read it; whoever knows the name of a port may connect.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errbuf.h"
#include "base/fstat_old.h"
#include "base/limits.h"
#include "libimpi/failed.h"
#include "libimpi/port.h"
#include "libimpi/state.h"

#define PATH_SIZE 4096

/* Those of this process, taken back at its end. */
struct published {
    char path[PATH_SIZE];
    struct published *next;
};
static struct published *published;
static pthread_mutex_t published_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- where ---- */

static int directory(char path[PATH_SIZE], struct errbuf *err)
{
    const char *dir = getenv("SLURM_IMPI_NAMES"), *home = getenv("HOME");
    int n;

    if (dir && *dir)
        n = snprintf(path, PATH_SIZE, "%s", dir);
    else if (home && *home)
        n = snprintf(path, PATH_SIZE, "%s/.slurm-fabric/names", home);
    else
        return errprintf(err, "neither SLURM_IMPI_NAMES nor HOME is set");
    return n < PATH_SIZE ? 0
                         : errprintf(err, "the directory of names is too "
                                          "long");
}

/* Any name makes a file name: what is no letter, digit, - or _ becomes %XX. */
static int file_of(char path[PATH_SIZE], const char *service,
                   struct errbuf *err)
{
    size_t n, len = strlen(service);

    if (len == 0 || len > SF_IMPI_SERVICE_MAX)
        return errprintf(err, "a service's name has 1 to %d bytes",
                         SF_IMPI_SERVICE_MAX);
    if (directory(path, err) < 0)
        return -1;
    n = strlen(path);
    if (n + 2 + 3 * len >= PATH_SIZE)
        return errprintf(err, "the directory of names is too long");
    path[n++] = '/';
    for (; *service; service++) {
        unsigned char c = (unsigned char)*service;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     (c >= '0' && c <= '9') || c == '-' || c == '_';

        n += (size_t)snprintf(path + n, 4, plain ? "%c" : "%%%02X", c);
    }
    return 0;
}

/* Each directory on the way, the user's own alone. */
static void make_directories(const char *path)
{
    char part[PATH_SIZE];

    for (const char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        memcpy(part, path, (size_t)(p - path));
        part[p - path] = '\0';
        mkdir(part, 0700);
    }
}

/* ---- reading and writing ---- */

/* The user's own file with one line. */
static int read_port(const char *path, char port[MPI_MAX_PORT_NAME])
{
    char text[SF_IMPI_SERVICE_FILE_MAX];
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    ssize_t n = -1;
    char *end;

    if (fd < 0)
        return -1;
    if (fstat_old(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_uid == geteuid())
        n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    end = strchr(text, '\n');
    if (!end || end - text >= MPI_MAX_PORT_NAME)
        return -1;
    *end = '\0';
    strcpy(port, text);
    return 0;
}

/* Whole, or not there: written aside and linked. */
static int write_port(const char *path, const char *port)
{
    char aside[PATH_SIZE + 32];
    int fd, rc = -1, error;

    snprintf(aside, sizeof(aside), "%s.%ld.new", path, (long)getpid());
    unlink(aside);
    fd = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    if (dprintf(fd, "%s\n", port) > 0)
        rc = 0;
    if (close(fd) < 0)
        rc = -1;
    if (rc == 0)
        rc = link(aside, path);
    error = errno;
    unlink(aside);
    errno = error;
    return rc;
}

/* ---- the calls ---- */

static void remember(const char *path)
{
    struct published *p = malloc(sizeof(*p));

    if (!p)
        return;
    snprintf(p->path, sizeof(p->path), "%s", path);
    pthread_mutex_lock(&published_lock);
    p->next = published;
    published = p;
    pthread_mutex_unlock(&published_lock);
}

static void forget(const char *path)
{
    pthread_mutex_lock(&published_lock);
    for (struct published **at = &published; *at; at = &(*at)->next) {
        struct published *p = *at;

        if (strcmp(p->path, path) != 0)
            continue;
        *at = p->next;
        free(p);
        break;
    }
    pthread_mutex_unlock(&published_lock);
}

static int told(int code, const struct errbuf *err)
{
    return failed_note_why(MPI_COMM_WORLD, code, err->text);
}

int impi_Publish_name(const char *service_name, MPI_Info info,
                      const char *port_name)
{
    char path[PATH_SIZE];
    struct errbuf err;

    if (strnlen(port_name, MPI_MAX_PORT_NAME) >= MPI_MAX_PORT_NAME ||
        strchr(port_name, '\n')) {
        errprintf(&err, "that is not the name of a port");
        return told(MPI_ERR_PORT, &err);
    }
    if (file_of(path, service_name, &err) < 0)
        return told(MPI_ERR_SERVICE, &err);
    make_directories(path);
    if (write_port(path, port_name) < 0) {
        errprintf(&err, "%s: %s", path,
                  errno == EEXIST ? "this name is published already"
                                  : strerror(errno));
        return told(MPI_ERR_SERVICE, &err);
    }
    remember(path);
    return MPI_SUCCESS;
}

int impi_Lookup_name(const char *service_name, MPI_Info info, char *port_name)
{
    char path[PATH_SIZE];
    struct errbuf err;

    if (file_of(path, service_name, &err) < 0)
        return told(MPI_ERR_NAME, &err);
    if (read_port(path, port_name) == 0)
        return MPI_SUCCESS;
    errprintf(&err, "%s: nobody has published this name", path);
    return told(MPI_ERR_NAME, &err);
}

int impi_Unpublish_name(const char *service_name, MPI_Info info,
                        const char *port_name)
{
    char path[PATH_SIZE], port[MPI_MAX_PORT_NAME];
    struct errbuf err;

    if (file_of(path, service_name, &err) < 0)
        return told(MPI_ERR_SERVICE, &err);
    if (read_port(path, port) < 0 || strcmp(port, port_name) != 0 ||
        unlink(path) < 0) {
        errprintf(&err, "%s: this name is not published for this port", path);
        return told(MPI_ERR_SERVICE, &err);
    }
    forget(path);
    return MPI_SUCCESS;
}

void names_end(void)
{
    while (published) {
        struct published *p = published;

        published = p->next;
        unlink(p->path);
        free(p);
    }
}
