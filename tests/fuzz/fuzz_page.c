/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a stranger's request may hold that is looked at: "HOST\nPATH", after
 * libmicrohttpd's own reading of it.
 */
#include "fuzz.h"
#include "../unit/page_bed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct page_bed *b;
    struct page_answer a;
    enum history_by by;
    const char *link;
    char *text = malloc(size + 1), *path;

    if (!text)
        abort();
    if (!b) {
        page_bed_up((void **)&b);
        page_bed_peer(b, "n1");
        page_bed_says(b, 1, SEEN_DOWN, "no link");
    }
    memcpy(text, data, size);
    text[size] = '\0';
    path = strchr(text, '\n');
    if (path)
        *path++ = '\0';
    page_host_ok(text, "ctl", "fabric.site, ctl.site");
    /* The list is the site's own, and no less foreign. */
    page_host_ok("fabric.site:80", "", text);
    if (path && page_get(b->page, &b->n, path, &a) && !a.text)
        abort();
    if (path && page_is_history(path, &link, &by) &&
        (link < path || link > path + strlen(path)))
        abort();
    free(text);
    return 0;
}
