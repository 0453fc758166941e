/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a file that spans is opened, closed, sized and described; and what is
 * wrong with a call, for all who made it.
 */
#include "io.h"

static void all_of_them_open_it(void)
{
    MPI_File f = fresh("open");
    MPI_Offset bytes = -1;
    MPI_Group g, world;
    int amode = -1, same_group;
    MPI_Info info;

    CHECK(MPI_File_get_amode(f, &amode) == MPI_SUCCESS && amode == RW);
    CHECK(MPI_File_get_group(f, &g) == MPI_SUCCESS);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(g, world, &same_group);
    CHECK(same_group == MPI_IDENT);
    MPI_Group_free(&g);
    MPI_Group_free(&world);
    CHECK(MPI_File_set_size(f, 12345) == MPI_SUCCESS);
    CHECK(MPI_File_get_size(f, &bytes) == MPI_SUCCESS && bytes == 12345);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_preallocate(f, 20000) == MPI_SUCCESS);
    CHECK(MPI_File_get_size(f, &bytes) == MPI_SUCCESS && bytes == 20000);
    CHECK(MPI_File_sync(f) == MPI_SUCCESS);
    CHECK(MPI_File_get_info(f, &info) == MPI_SUCCESS);
    CHECK(info != MPI_INFO_NULL);
    CHECK(MPI_File_set_info(f, info) == MPI_SUCCESS);
    MPI_Info_free(&info);
    CHECK(MPI_File_f2c(MPI_File_c2f(f)) == f);
    closed(&f);
}

static int refused(const char *name, int amode)
{
    MPI_File f = MPI_FILE_NULL;
    int rc =
        MPI_File_open(MPI_COMM_WORLD, path_of(name), amode, MPI_INFO_NULL, &f);

    CHECK(rc != MPI_SUCCESS && f == MPI_FILE_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    return class_of(rc);
}

static void modes_are_held(void)
{
    MPI_File f;
    char c = 1;

    CHECK(refused("none", MPI_MODE_RDONLY) == MPI_ERR_NO_SUCH_FILE);
    CHECK(refused("open", RW | MPI_MODE_EXCL) == MPI_ERR_FILE_EXISTS);
    CHECK(refused("open", 0) == MPI_ERR_AMODE);
    CHECK(refused("open", MPI_MODE_RDONLY | MPI_MODE_RDWR) == MPI_ERR_AMODE);
    CHECK(refused("open", MPI_MODE_RDONLY | MPI_MODE_CREATE) == MPI_ERR_AMODE);
    CHECK(refused("open", MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL) ==
          MPI_ERR_AMODE);
    CHECK(refused("none/none", RW) == MPI_ERR_NO_SUCH_FILE);
    CHECK(refused("open", rank == 0 ? RW : MPI_MODE_RDONLY) ==
          MPI_ERR_NOT_SAME);
    f = file("open", MPI_MODE_RDONLY);
    CHECK(class_of(MPI_File_write_at(f, 0, &c, 1, MPI_BYTE,
                                     MPI_STATUS_IGNORE)) == MPI_ERR_READ_ONLY);
    CHECK(class_of(MPI_File_write_at_all(
              f, 0, &c, 1, MPI_BYTE, MPI_STATUS_IGNORE)) == MPI_ERR_READ_ONLY);
    CHECK(class_of(MPI_File_set_size(f, 1)) == MPI_ERR_READ_ONLY);
    closed(&f);
    f = file("open", MPI_MODE_WRONLY);
    CHECK(class_of(MPI_File_read_at(f, 0, &c, 1, MPI_BYTE,
                                    MPI_STATUS_IGNORE)) == MPI_ERR_ACCESS);
    closed(&f);
}

static void a_new_file_is_made_once(void)
{
    MPI_File f = file("excl", RW | MPI_MODE_EXCL);

    closed(&f);
    CHECK(refused("excl", RW | MPI_MODE_EXCL) == MPI_ERR_FILE_EXISTS);
    f = file("excl", MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    CHECK(access(path_of("excl"), F_OK) == 0);
    closed(&f);
    CHECK(access(path_of("excl"), F_OK) < 0 && errno == ENOENT);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void append_begins_at_the_end(void)
{
    MPI_File f = fresh("append");
    MPI_Offset at = -1;

    CHECK(MPI_File_set_size(f, 100) == MPI_SUCCESS);
    closed(&f);
    f = file("append", MPI_MODE_RDWR | MPI_MODE_APPEND);
    CHECK(MPI_File_get_position(f, &at) == MPI_SUCCESS && at == 100);
    CHECK(MPI_File_get_position_shared(f, &at) == MPI_SUCCESS && at == 100);
    closed(&f);
}

/* Only the shared pointer is there. */
static void sequential_has_no_places(void)
{
    MPI_File f =
        file("seq", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
    MPI_Offset at = -1;
    MPI_Datatype etype, filetype;
    char rep[MPI_MAX_DATAREP_STRING];
    int v = rank;

    CHECK(class_of(MPI_File_seek(f, 0, MPI_SEEK_SET)) ==
          MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(class_of(MPI_File_get_position(f, &at)) ==
          MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(class_of(MPI_File_write(f, &v, 1, MPI_INT, MPI_STATUS_IGNORE)) ==
          MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(class_of(
              MPI_File_write_at_all(f, 0, &v, 1, MPI_INT, MPI_STATUS_IGNORE)) ==
          MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(MPI_File_write_ordered(f, &v, 1, MPI_INT, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(MPI_File_write_shared(f, &v, 1, MPI_INT, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    /* Where it is when all have come. */
    CHECK(MPI_File_set_view(f, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT,
                            (char *)"native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_get_view(f, &at, &etype, &filetype, rep) == MPI_SUCCESS);
    CHECK(at == 2 * size * (MPI_Offset)sizeof(v));
    CHECK(MPI_File_get_position_shared(f, &at) == MPI_SUCCESS && at == 0);
    closed(&f);
}

static void views_are_told(void)
{
    MPI_File f = fresh("view");
    MPI_Datatype type, e, t;
    MPI_Offset disp = -1;
    MPI_Aint extent = -1;
    char rep[MPI_MAX_DATAREP_STRING];
    int n, na, nt, combiner;

    MPI_Type_vector(3, 2, 5, MPI_INT, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_File_get_view(f, &disp, &e, &t, rep) == MPI_SUCCESS);
    CHECK(disp == 0 && e == MPI_BYTE && t == MPI_BYTE &&
          strcmp(rep, "native") == 0);
    CHECK(MPI_File_set_view(f, 40, MPI_INT, type, "internal", MPI_INFO_NULL) ==
          MPI_SUCCESS);
    MPI_Type_free(&type);
    CHECK(MPI_File_get_view(f, &disp, &e, &t, rep) == MPI_SUCCESS);
    CHECK(disp == 40 && e == MPI_INT && strcmp(rep, "internal") == 0);
    MPI_Type_get_envelope(t, &n, &na, &nt, &combiner);
    CHECK(combiner != MPI_COMBINER_NAMED);
    MPI_Type_free(&t);
    CHECK(MPI_File_get_byte_offset(f, 2, &disp) == MPI_SUCCESS);
    CHECK(disp == 40 + 5 * 4);
    CHECK(MPI_File_get_byte_offset(f, 6, &disp) == MPI_SUCCESS);
    CHECK(disp == 40 + 12 * 4);
    CHECK(MPI_File_set_size(f, 40 + 5 * 4 + 4) == MPI_SUCCESS);
    CHECK(MPI_File_seek(f, 0, MPI_SEEK_END) == MPI_SUCCESS);
    CHECK(MPI_File_get_position(f, &disp) == MPI_SUCCESS && disp == 3);
    CHECK(MPI_File_get_type_extent(f, MPI_LONG, &extent) == MPI_SUCCESS);
    CHECK(extent == sizeof(long));
    CHECK(MPI_File_set_view(f, 0, MPI_LONG, MPI_LONG, "external32",
                            MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_get_type_extent(f, MPI_LONG, &extent) == MPI_SUCCESS);
    CHECK(extent == 4);
    CHECK(class_of(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "no such",
                                     MPI_INFO_NULL)) ==
          MPI_ERR_UNSUPPORTED_DATAREP);
    CHECK(class_of(MPI_File_set_view(f, -5, MPI_INT, MPI_INT, "native",
                                     MPI_INFO_NULL)) == MPI_ERR_ARG);
    CHECK(MPI_File_get_view(f, &disp, &e, &t, rep) == MPI_SUCCESS);
    CHECK(e == MPI_LONG && strcmp(rep, "external32") == 0);
    closed(&f);
}

/* One rank's mistake is an error of all. */
static void all_hear_of_an_error(void)
{
    MPI_File f = fresh("wrong");
    int v = 1, rc;
    MPI_Status st;
    MPI_Request r;

    rc = MPI_File_write_at_all(f, 0, &v, rank == size - 1 ? -1 : 1, MPI_INT,
                               &st);
    CHECK(class_of(rc) == MPI_ERR_COUNT);
    rc = MPI_File_write_ordered(f, &v, rank == size - 1 ? -1 : 1, MPI_INT, &st);
    CHECK(class_of(rc) == MPI_ERR_COUNT);
    CHECK(MPI_File_iwrite_at_all(f, rank == 0 ? -1 : 0, &v, 1, MPI_INT, &r) ==
          MPI_SUCCESS);
    CHECK(class_of(MPI_Wait(&r, &st)) == MPI_ERR_ARG);
    CHECK(MPI_File_write_all_begin(f, &v, 1, MPI_INT) == MPI_SUCCESS);
    CHECK(class_of(MPI_File_write_all_begin(f, &v, 1, MPI_INT)) ==
          MPI_ERR_OTHER);
    CHECK(MPI_File_write_all_end(f, &v, &st) == MPI_SUCCESS);
    CHECK(class_of(MPI_File_write_all_end(f, &v, &st)) == MPI_ERR_OTHER);
    CHECK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) ==
          MPI_SUCCESS);
    CHECK(class_of(MPI_File_write(f, &v, 3, MPI_BYTE, &st)) == MPI_ERR_IO);
    closed(&f);
}

static int heard, heard_code;
static MPI_File heard_file;

static void hear(MPI_File *f, int *code, ...)
{
    heard++;
    heard_code = *code;
    heard_file = *f;
}

static void handlers_are_told(void)
{
    MPI_File f = fresh("handler");
    MPI_Errhandler h, was;
    char c = 0;

    CHECK(MPI_File_get_errhandler(f, &was) == MPI_SUCCESS);
    CHECK(was == MPI_ERRORS_RETURN);
    MPI_File_create_errhandler(hear, &h);
    CHECK(MPI_File_set_errhandler(f, h) == MPI_SUCCESS);
    CHECK(class_of(MPI_File_write_at(f, -1, &c, 1, MPI_BYTE,
                                     MPI_STATUS_IGNORE)) == MPI_ERR_ARG);
    CHECK(heard == 1 && class_of(heard_code) == MPI_ERR_ARG && heard_file == f);
    CHECK(MPI_File_call_errhandler(f, MPI_ERR_IO) == MPI_SUCCESS);
    CHECK(heard == 2 && heard_code == MPI_ERR_IO);
    MPI_Errhandler_free(&h);
    closed(&f);
}

/* What an error says: function and file, with MPICH. */
static void errors_name_the_file(void)
{
    MPI_File f = fresh("named");
    char text[MPI_MAX_ERROR_STRING], c = 0, lib[MPI_MAX_LIBRARY_VERSION_STRING];
    int len, rc = MPI_File_write_at(f, -1, &c, 1, MPI_BYTE, MPI_STATUS_IGNORE);

    MPI_Error_string(rc, text, &len);
    MPI_Get_library_version(lib, &len);
    if (!strstr(lib, "Open MPI"))
        CHECK(strstr(text, "MPI_File_write_at(") && strstr(text, "named"));
    closed(&f);
}

static void several_files_at_once(void)
{
    MPI_File a = fresh("a"), b, own;
    MPI_Comm half;
    int v = rank, got = -1;

    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &half);
    CHECK(MPI_File_open(half, path_of("b"), RW, MPI_INFO_NULL, &b) ==
          MPI_SUCCESS);
    CHECK(MPI_File_open(MPI_COMM_SELF, path_of("a"), MPI_MODE_RDWR,
                        MPI_INFO_NULL, &own) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(b, 4 * rank, &v, 1, MPI_INT,
                                MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_write_at(own, 4 * rank, &v, 1, MPI_INT, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(MPI_File_read_at(a, 4 * rank, &got, 1, MPI_INT, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(got == rank);
    CHECK(MPI_File_write_ordered(b, &v, 1, MPI_INT, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(MPI_File_read_at(b, 4 * (size - 1 - rank), &got, 1, MPI_INT,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(got == rank);
    MPI_Comm_free(&half);
    CHECK(MPI_File_close(&own) == MPI_SUCCESS);
    closed(&a);
    closed(&b);
}

int main(int argc, char **argv)
{
#define PART(name)                                                             \
    {                                                                          \
#name, name                                                            \
    }
    static const struct part parts[] = {
        PART(all_of_them_open_it),      PART(modes_are_held),
        PART(a_new_file_is_made_once),  PART(append_begins_at_the_end),
        PART(sequential_has_no_places), PART(views_are_told),
        PART(all_hear_of_an_error),     PART(handlers_are_told),
        PART(errors_name_the_file),     PART(several_files_at_once),
    };

    begin(&argc, &argv);
    run_parts(argc, argv, parts, sizeof(parts) / sizeof(parts[0]));
    return end("io_open");
}
