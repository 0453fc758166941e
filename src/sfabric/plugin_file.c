/* SPDX-License-Identifier: BSD-3-Clause */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
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

static bool is_it(const struct file *f, const Elf64_Shdr *names,
                  const Elf64_Sym *sym)
{
    static const char want[] = "plugin_version";
    const char *s = part(f, names->sh_offset + sym->st_name, sizeof(want));

    return s && memcmp(s, want, sizeof(want)) == 0;
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
    const Elf64_Ehdr *e = part(f, 0, sizeof(*e));

    if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 ||
        e->e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    for (uint32_t i = 0; i < e->e_shnum; i++) {
        const Elf64_Shdr *s = section(f, e, i), *names;

        if (!s || s->sh_type != SHT_DYNSYM ||
            !(names = section(f, e, s->sh_link)))
            continue;
        for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= s->sh_size;
             at += sizeof(Elf64_Sym)) {
            const Elf64_Sym *sym =
                part(f, s->sh_offset + at, sizeof(Elf64_Sym));

            if (!sym)
                return false;
            if (is_it(f, names, sym))
                return value_of(f, e, sym, version);
        }
    }
    return false;
}

int plugin_file_version(const char *path, uint32_t *version, struct errbuf *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct file f = {NULL, 0};
    struct stat st;
    bool found = false;

    if (fd < 0)
        return errprintf(err, "%s: %m", path);
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        f.len = (size_t)st.st_size;
        f.at = mmap(NULL, f.len, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    close(fd);
    if (f.at && f.at != MAP_FAILED) {
        found = search(&f, version);
        munmap((void *)f.at, f.len);
    }
    if (found)
        return 0;
    errno = EBADMSG;
    return errprintf(err, "%s: no Slurm plugin", path);
}
