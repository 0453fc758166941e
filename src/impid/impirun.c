/* SPDX-License-Identifier: BSD-3-Clause
 * Options and help.
 */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/number.h"
#include "config.h"
#include "impi/auth.h"
#include "impid/impirun.h"
#include "impid/names.h"
#include "impid/user_env.h"

static const char help[] =
    "usage: impirun -server N [-port P] [-auth LIST] [-withhold]\n"
    "       impirun -client RANK HOST:PORT [-np N] COMMAND [ARG ...]\n"
    "       impirun -server N -file APPFILE [-launcher COMMAND]\n"
    "\n"
    "Start a job whose MPI_COMM_WORLD spans several MPI libraries by hand.\n"
    "\n"
    "  -server N       be the IMPI server of N clients (1 to 32); prints\n"
    "                  ADDRESS:PORT and stays until they have finished\n"
    "  -port P         listen there or fail\n"
    "  -auth LIST      authentication methods, best first: numbers and ranges\n"
    "                  (0 none, 1 key, 30 MUNGE); others are refused\n"
    "  -withhold       labels that are not of IMPI 0.0 go only to the clients\n"
    "                  that said them, too\n"
    "  -client RANK    be client RANK of that server: its ranks follow those\n"
    "                  of the clients before it\n"
    "  -np N           processes of this client, all on this machine "
    "(default 1)\n"
    "  -file APPFILE   start all clients: one line each,\n"
    "                  MACHINE -client RANK $hostport [-np N] COMMAND ...\n"
    "  -launcher CMD   how another machine of the file is reached "
    "(default: ssh)\n"
    "  -h, -help, --help  this text\n"
    "  --version       the version of slurm-fabric\n"
    "\n"
    "An address of IPv6 with a port is written [ADDRESS]:PORT.\n"
    "IMPI_AUTH_KEY=NUMBER on server and clients: only who knows it joins.\n"
    "IMPI_AUTH_NONE=1: anybody may.  Neither: MUNGE, the same user.\n"
    "EXIT STATUS: the worst of the processes; that of MPI_Abort; 1 the job\n"
    "failed, 2 wrong usage.\n";

static int usage(const char *what, const char *value)
{
    fprintf(stderr, "impirun: %s%s%s\nimpirun: see impirun --help\n", what,
            value ? ": " : "", value ? value : "");
    return IMPIRUN_USAGE;
}

static bool is_host_port(const char *text)
{
    const char *colon = text ? strrchr(text, ':') : NULL;
    uint32_t port;

    return colon && colon != text && strlen(text) < SERVER_ADDRESS_MAX &&
           number_parse(&port, colon + 1, 1, UINT16_MAX) == 0;
}

static int check_auth(const char *text)
{
    struct impi_auth_list list;
    struct errbuf err;

    if (impi_auth_list_parse(&list, text, &err) == 0)
        return 0;
    fprintf(stderr, "impirun: -auth: %s\nimpirun: see impirun --help\n",
            err.text);
    return IMPIRUN_USAGE;
}

/* One option at argv[i]; returns how many words it took, 0: not one, -1: bad
 * (told). */
static int server_option(struct impirun *run, char **argv)
{
    uint32_t port;

    if (strcmp(argv[0], "-withhold") == 0) {
        run->withhold = true;
        return 1;
    }
    if (strcmp(argv[0], "-port") == 0) {
        if (number_parse(&port, argv[1], 1, UINT16_MAX) < 0)
            return -usage("-port wants a port number", argv[1]);
        run->port = (uint16_t)port;
    } else if (strcmp(argv[0], "-auth") == 0) {
        run->auth = argv[1];
    } else if (strcmp(argv[0], "-file") == 0) {
        run->file = argv[1];
    } else if (strcmp(argv[0], "-launcher") == 0) {
        run->launcher = argv[1];
    } else {
        return 0;
    }
    return argv[1] ? 2 : -usage("value missing", argv[0]);
}

static int parse_server(struct impirun *run, char **argv)
{
    if (number_parse(&run->nclients, argv[1], 1, SF_IMPI_CLIENTS_MAX) < 0)
        return usage("-server wants the number of clients, 1 to 32", argv[1]);
    for (argv += 2; *argv;) {
        int n = server_option(run, argv);

        if (n < 0)
            return IMPIRUN_USAGE;
        if (n == 0)
            return usage("unknown option", *argv);
        argv += n;
    }
    if (run->launcher && !run->file)
        return usage("-launcher goes with -file", NULL);
    return run->auth ? check_auth(run->auth) : 0;
}

static int parse_client(struct impirun *run, char **argv)
{
    run->is_client = true;
    run->np = 1;
    if (number_parse(&run->client, argv[1], 0, SF_IMPI_CLIENTS_MAX - 1) < 0)
        return usage("-client wants a rank, 0 to 31", argv[1]);
    if (!is_host_port(argv[2]))
        return usage("-client RANK wants HOST:PORT", argv[2]);
    run->where = argv[2];
    argv += 3;
    if (*argv && strcmp(*argv, "-np") == 0) {
        if (number_parse(&run->np, argv[1], 1, SF_IMPI_PROCS_MAX) < 0)
            return usage("-np wants a number of processes", argv[1]);
        argv += 2;
    }
    if (!*argv)
        return usage("no command", NULL);
    if (**argv == '-')
        return usage("unknown option", *argv);
    run->command = argv;
    return 0;
}

/* As of a program whose other options have one dash. */
static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-help") == 0 ||
           strcmp(word, "-h") == 0;
}

static void tell_ignored(void)
{
    struct errbuf text;
    size_t at = 0;

    while (user_env_ignored(&at, &text))
        fprintf(stderr, "impirun: %s\n", text.text);
}

int main(int argc, char **argv)
{
    struct impirun run = {0};
    int rc;

    if (argc > 1 && is_help(argv[1])) {
        fputs(help, stdout);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        puts("impirun (" PACKAGE_NAME ") " PACKAGE_VERSION);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "-server") == 0)
        rc = parse_server(&run, argv + 1);
    else if (argc > 1 && strcmp(argv[1], "-client") == 0)
        rc = parse_client(&run, argv + 1);
    else
        rc = usage("-server or -client comes first", NULL);
    if (rc)
        return rc;
    tell_ignored();
    return run.is_client ? impirun_client(&run) : impirun_server(&run);
}
