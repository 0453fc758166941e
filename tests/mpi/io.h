/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the programs of files share: where the files are, and what is in them.
 */
#ifndef TESTS_MPI_IO_H
#define TESTS_MPI_IO_H

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parts.h"

/* The path of a file of this run, the same in all processes. */
static inline const char *path_of(const char *name)
{
    static char path[512];
    const char *dir = getenv("IO_DIR");

    snprintf(path, sizeof(path), "%s/%s", dir ? dir : ".", name);
    return path;
}

/* With IO_DRIVER=library bytes go by the library's handle. */
static inline MPI_Info hints(void)
{
    static MPI_Info info = MPI_INFO_NULL;

    if (!getenv("IO_DRIVER") || info != MPI_INFO_NULL)
        return info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "impi_driver", getenv("IO_DRIVER"));
    return info;
}

#define RW (MPI_MODE_CREATE | MPI_MODE_RDWR)

static inline MPI_File file(const char *name, int amode)
{
    MPI_File f = MPI_FILE_NULL;
    int rc = MPI_File_open(MPI_COMM_WORLD, path_of(name), amode, hints(), &f);

    if (rc != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING];
        int len;

        MPI_Error_string(rc, text, &len);
        fprintf(stderr, "rank %d: cannot open %s: %s\n", rank, path_of(name),
                text);
    }
    CHECK(rc == MPI_SUCCESS && f != MPI_FILE_NULL);
    return f;
}

/* An empty one. */
static inline MPI_File fresh(const char *name)
{
    MPI_File f = file(name, RW);

    CHECK(MPI_File_set_size(f, 0) == MPI_SUCCESS);
    return f;
}

static inline void closed(MPI_File *f)
{
    CHECK(MPI_File_close(f) == MPI_SUCCESS);
    CHECK(*f == MPI_FILE_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
}

static inline int count_of(const MPI_Status *st, MPI_Datatype type)
{
    int n = -1;

    MPI_Get_count(st, type, &n);
    return n;
}

static inline int class_of(int code)
{
    int class = -1;

    MPI_Error_class(code, &class);
    return class;
}

/* A view of `bytes` of each rank's, in pieces of 4 KB in turn. */
static inline void interleave(MPI_File f, int bytes)
{
    MPI_Datatype type;

    MPI_Type_vector(bytes / 4096, 4096, 4096 * size, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_File_set_view(f, (MPI_Offset)rank * 4096, MPI_BYTE, type,
                            "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&type);
}

/* The whole file, as the system has it. */
static inline void content(const char *name, unsigned char *to, long size)
{
    int fd = open(path_of(name), O_RDONLY);
    struct stat st;

    CHECK(fd >= 0 && fstat(fd, &st) == 0);
    if (st.st_size != size)
        fprintf(stderr, "rank %d: %s has %ld bytes, not %ld\n", rank, name,
                (long)st.st_size, size);
    CHECK(st.st_size == size);
    CHECK(read(fd, to, (size_t)size) == size);
    close(fd);
}

#endif
