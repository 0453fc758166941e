/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "pmi/pmi1_line.h"

static int add_word(struct pmi1_line *line, char *word)
{
    char *eq = strchr(word, '=');

    if (!eq || eq == word || line->nwords == PMI1_WORDS_MAX) {
        errno = EPROTO;
        return -1;
    }
    *eq = '\0';
    line->word[line->nwords].key = word;
    line->word[line->nwords].value = eq + 1;
    line->nwords++;
    return 0;
}

int pmi1_line_split(struct pmi1_line *line, char *text)
{
    char *save, *word;

    line->nwords = 0;
    for (word = strtok_r(text, " \t\r", &save); word;
         word = strtok_r(NULL, " \t\r", &save)) {
        if (add_word(line, word) < 0)
            return -1;
    }
    return 0;
}

const char *pmi1_line_get(const struct pmi1_line *line, const char *key)
{
    for (size_t i = 0; i < line->nwords; i++)
        if (strcmp(line->word[i].key, key) == 0)
            return line->word[i].value;
    return NULL;
}
