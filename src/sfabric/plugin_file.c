/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sfabric/plugin_file.h"

struct file {
    const uint8_t *at;
    size_t len;
};

static const void *part(const struct file *f, uint64_t off, uint64_t len)
{
    return off > f->len || len > f->len - off ? NULL : f->at + off;
}

static const Elf64_Shdr *section(const struct file *f, const Elf64_Ehdr *e,
                                 uint32_t i)
{
    if (i >= e->e_shnum || e->e_shentsize != sizeof(Elf64_Shdr))
        return NULL;
    return part(f, e->e_shoff + (uint64_t)i * sizeof(Elf64_Shdr),
                sizeof(Elf64_Shdr));
}

/* The dynamic symbols of a file. */
struct symbols {
    const struct file *f;
    const Elf64_Ehdr *e;
    const Elf64_Shdr *names;
    uint64_t at, n;       /* of the table */
    uint64_t versions_at; /* of the table with each one's version, or 0 */
};

static const Elf64_Sym *symbol(const struct symbols *s, uint64_t i)
{
    return part(s->f, s->at + i * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
}

/* NULL: it does not end within the file. */
static const char *symbol_name(const struct symbols *s, const Elf64_Sym *sym)
{
    uint64_t at = s->names->sh_offset + sym->st_name;
    const char *name = part(s->f, at, 1);

    return name && memchr(name, '\0', s->f->len - at) ? name : NULL;
}

static bool symbols_find(const struct file *f, struct symbols *out)
{
    const Elf64_Ehdr *e = part(f, 0, sizeof(*e));

    if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 ||
        e->e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    *out = (struct symbols){.f = f, .e = e};
    for (uint32_t i = 0; i < e->e_shnum; i++) {
        const Elf64_Shdr *s = section(f, e, i);

        if (s && s->sh_type == SHT_GNU_versym)
            out->versions_at = s->sh_offset;
        if (!s || s->sh_type != SHT_DYNSYM ||
            !part(f, s->sh_offset, s->sh_size))
            continue;
        out->names = section(f, e, s->sh_link);
        out->at = s->sh_offset;
        out->n = s->sh_size / sizeof(Elf64_Sym);
    }
    return out->names != NULL;
}

static bool is_exported(const struct symbols *s, const char *name)
{
    for (uint64_t i = 0; i < s->n; i++) {
        const Elf64_Sym *sym = symbol(s, i);
        const char *its = sym ? symbol_name(s, sym) : NULL;

        if (its && sym->st_shndx != SHN_UNDEF && strcmp(its, name) == 0)
            return true;
    }
    return false;
}

/* The bytes of a symbol: its section's file offset plus its place in it. */
static bool value_of(const struct file *f, const Elf64_Ehdr *e,
                     const Elf64_Sym *sym, uint32_t *out)
{
    const Elf64_Shdr *s = section(f, e, sym->st_shndx);
    const void *p;

    if (!s || s->sh_type == SHT_NOBITS || sym->st_value < s->sh_addr)
        return false;
    p = part(f, s->sh_offset + (sym->st_value - s->sh_addr), sizeof(*out));
    if (p)
        memcpy(out, p, sizeof(*out));
    return p != NULL;
}

static bool search(const struct file *f, uint32_t *version)
{
    struct symbols s;

    if (!symbols_find(f, &s))
        return false;
    for (uint64_t i = 0; i < s.n; i++) {
        const Elf64_Sym *sym = symbol(&s, i);
        const char *name = sym ? symbol_name(&s, sym) : NULL;

        if (name && strcmp(name, "plugin_version") == 0)
            return value_of(f, s.e, sym, version);
    }
    return false;
}

static int file_map(struct file *f, const char *path, struct errbuf *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *at = NULL;

    *f = (struct file){NULL, 0};
    if (fd < 0)
        return errprintf(err, "%s: %m", path);
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at && at != MAP_FAILED)
            *f = (struct file){at, (size_t)st.st_size};
    }
    close(fd);
    return 0;
}

static void file_unmap(struct file *f)
{
    if (f->at)
        munmap((void *)f->at, f->len);
}

int plugin_file_version(const char *path, uint32_t *version, struct errbuf *err)
{
    struct file f;
    bool found;

    if (file_map(&f, path, err) < 0)
        return -1;
    found = search(&f, version);
    file_unmap(&f);
    if (found)
        return 0;
    errno = EBADMSG;
    return errprintf(err, "%s: no Slurm plugin", path);
}

/* ---- what a plugin and a Slurm want of each other -------------------------
 */

/* "the plugin lacks A, B; Slurm lacks C", as far as there is room. */
struct lacks {
    struct errbuf *text;
    const char *whose; /* that of the last name */
    int n;
};

static void lacks_add(struct lacks *l, const char *whose, const char *name)
{
    char so_far[SF_ERRBUF_SIZE];

    snprintf(so_far, sizeof(so_far), "%s", l->text->text);
    if (l->whose == whose)
        errprintf(l->text, "%s, %s", so_far, name);
    else
        errprintf(l->text, "%s%s%s %s", so_far, l->n > 0 ? "; " : "", whose,
                  name);
    l->whose = whose;
    l->n++;
}

/* Slurm's library has the names of the hooks as texts: "switch_p_job_init". */
static void hooks_compare(struct lacks *l, const struct file *library,
                          const char *kind, const struct symbols *plugin)
{
    static const char lacks[] = "the plugin lacks";
    const uint8_t *at = library->at, *end = library->at + library->len;
    char begin[32];
    size_t len;

    len = (size_t)snprintf(begin, sizeof(begin), "%c%s_p_", '\0', kind);
    while ((at = memmem(at, (size_t)(end - at), begin, len))) {
        const char *name = (const char *)at + 1;
        const uint8_t *nul = memchr(name, '\0', (size_t)(end - at) - 1);

        if (!nul)
            return;
        if (strspn(name, "abcdefghijklmnopqrstuvwxyz_") == strlen(name) &&
            !is_exported(plugin, name))
            lacks_add(l, lacks, name);
        at = nul;
    }
}

/* Those of other libraries: with a version, or with one of these beginnings. */
static bool is_slurms(const struct symbols *s, uint64_t i, const char *name)
{
    const uint16_t *version =
        part(s->f, s->versions_at + i * sizeof(*version), sizeof(*version));

    if (s->versions_at && version && (*version & 0x7fff) > VER_NDX_GLOBAL)
        return false;
    return name[0] != '_' && strncmp(name, "munge_", 6) != 0 &&
           strncmp(name, "ini_", 4) != 0;
}

static void calls_compare(struct lacks *l, const struct symbols *library,
                          const struct symbols *plugin)
{
    static const char lacks[] = "Slurm lacks";

    for (uint64_t i = 0; i < plugin->n; i++) {
        const Elf64_Sym *sym = symbol(plugin, i);
        const char *name = sym ? symbol_name(plugin, sym) : NULL;

        /* A weak one is looked for before it is used. */
        if (!name || !name[0] || sym->st_shndx != SHN_UNDEF ||
            ELF64_ST_BIND(sym->st_info) == STB_WEAK ||
            !is_slurms(plugin, i, name))
            continue;
        if (!is_exported(library, name))
            lacks_add(l, lacks, name);
    }
}

int plugin_file_lacks(const char *path, const char *library, const char *kind,
                      struct errbuf *lacks, struct errbuf *err)
{
    struct symbols ours, theirs;
    struct lacks l = {lacks, NULL, 0};
    struct file f, slurm;
    int rc = -1;

    lacks->text[0] = '\0';
    if (file_map(&f, path, err) < 0)
        return -1;
    if (file_map(&slurm, library, err) < 0) {
        file_unmap(&f);
        return -1;
    }
    if (symbols_find(&f, &ours) && symbols_find(&slurm, &theirs)) {
        hooks_compare(&l, &slurm, kind, &ours);
        calls_compare(&l, &theirs, &ours);
        rc = l.n;
    } else {
        errno = EBADMSG;
        errprintf(err, "%s or %s is no library", path, library);
    }
    file_unmap(&slurm);
    file_unmap(&f);
    return rc;
}
