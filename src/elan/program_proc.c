/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elan/program_proc.h"

int proc_parse_stat(const char *text, pid_t *ppid, uint64_t *start)
{
    const char *p = strrchr(text, ')'); /* end of the command name */
    int parent;

    if (!p || sscanf(p, ") %*c %d", &parent) != 1)
        return -1;
    /* After the name: field 3 is the state, 4 the parent, 22 the start. */
    p += 2;
    for (int field = 3; field < 22; field++) {
        p = strchr(p, ' ');
        if (!p)
            return -1;
        p++;
    }
    if (sscanf(p, "%" SCNu64, start) != 1)
        return -1;
    *ppid = parent;
    return 0;
}

/* The start of the line that begins with word, behind the word; or NULL. */
static const char *find_line(const char *text, const char *word)
{
    size_t len = strlen(word);

    for (const char *line = text; line && *line;) {
        if (strncmp(line, word, len) == 0)
            return line + len;
        line = strchr(line, '\n');
        if (line)
            line++;
    }
    return NULL;
}

uint64_t proc_parse_status_kb(const char *text, const char *name)
{
    const char *p = find_line(text, name);

    return p && *p == ':' ? strtoull(p + 1, NULL, 10) : 0;
}

uint64_t proc_parse_flat(const char *text, const char *key)
{
    size_t len = strlen(key);
    const char *p = text;

    while ((p = find_line(p, key)) && *p != ' ') {
        p = strchr(p - len, '\n');
        if (!p)
            return 0;
        p++;
    }
    return p ? strtoull(p + 1, NULL, 10) : 0;
}

/* Copy [from, to) into dst; false when it does not fit. */
static bool copy_span(char *dst, size_t size, const char *from, const char *to)
{
    if ((size_t)(to - from) >= size)
        return false;
    memcpy(dst, from, (size_t)(to - from));
    dst[to - from] = '\0';
    return true;
}

bool proc_next_cgroup(const char **text, char *controllers, size_t csize,
                      char *path, size_t psize)
{
    while (**text) {
        const char *line = *text;
        const char *end = line + strcspn(line, "\n");
        const char *one = memchr(line, ':', (size_t)(end - line));
        const char *two =
            one ? memchr(one + 1, ':', (size_t)(end - one - 1)) : NULL;

        *text = *end ? end + 1 : end;
        if (two && copy_span(controllers, csize, one + 1, two) &&
            copy_span(path, psize, two + 1, end) && path[0] == '/')
            return true;
    }
    return false;
}

int proc_parse_cgroup2(const char *text, char *path, size_t size)
{
    char controllers[128];

    while (
        proc_next_cgroup(&text, controllers, sizeof(controllers), path, size))
        if (controllers[0] == '\0')
            return 0;
    return -1;
}

/* Is word one of the comma separated words of list? */
static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);

    for (const char *p = list; p; p = strchr(p, ',')) {
        if (*p == ',')
            p++;
        if (strncmp(p, word, len) == 0 && (p[len] == ',' || p[len] == '\0'))
            return true;
    }
    return false;
}

/* Mount points write space, tab, newline and backslash as \ooo. */
static void unescape(char *s)
{
    char *out = s;

    while (*s) {
        if (s[0] == '\\' && isdigit((unsigned char)s[1]) &&
            isdigit((unsigned char)s[2]) && isdigit((unsigned char)s[3])) {
            *out++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + s[3] - '0');
            s += 4;
        } else {
            *out++ = *s++;
        }
    }
    *out = '\0';
}

/* One line of mountinfo: is it a mount of what we look for? */
static bool wanted_mount(const char *line, const char *controllers,
                         char root[4096], char point[4096])
{
    char type[32], options[1024];
    const char *dash = strstr(line, " - ");

    if (!dash || sscanf(line, "%*d %*d %*s %4095s %4095s", root, point) != 2 ||
        sscanf(dash, " - %31s %*s %1023s", type, options) != 2)
        return false;
    unescape(point);
    if (!controllers)
        return strcmp(type, "cgroup2") == 0;
    return strcmp(type, "cgroup") == 0 && has_word(options, controllers);
}

int proc_find_cgroup_mount(const char *mountinfo, const char *controllers,
                           char *path, size_t size)
{
    char line[8192], root[4096], point[4096];
    int found = -1;

    for (const char *p = mountinfo; *p;) {
        const char *end = p + strcspn(p, "\n");

        if (copy_span(line, sizeof(line), p, end) &&
            wanted_mount(line, controllers, root, point) &&
            strlen(point) < size && (found == -1 || strcmp(root, "/") == 0)) {
            memcpy(path, point, strlen(point) + 1);
            found = 0;
            if (strcmp(root, "/") == 0)
                return 0;
        }
        p = *end ? end + 1 : end;
    }
    return found;
}

/* Is the component [p, p + strlen) "word_<digit>..."? */
static bool is_numbered(const char *p, const char *word)
{
    size_t len = strlen(word);

    return strncmp(p, word, len) == 0 && isdigit((unsigned char)p[len]);
}

bool proc_slurm_step_group(const char *path, char *user, size_t size)
{
    const char *last = strrchr(path, '/');
    const char *step, *job = NULL;

    if (!last || strcmp(last, "/slurm") != 0)
        return false;
    for (step = last; step > path && step[-1] != '/'; step--)
        ;
    if (step <= path + 1 || strncmp(step, "step_", 5) != 0)
        return false;
    for (job = step - 1; job > path && job[-1] != '/'; job--)
        ;
    if (!is_numbered(job, "job_"))
        return false;
    return (size_t)snprintf(user, size, "%.*s/user", (int)(last - path), path) <
           size;
}

bool proc_in_slurm_job(const char *path)
{
    for (const char *p = path; (p = strchr(p, '/')); p++)
        if (is_numbered(p + 1, "job_"))
            return true;
    return false;
}
