/* SPDX-License-Identifier: BSD-3-Clause */
#include "libimpi/disk_watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/quiet_thread.h"
#include "libimpi/state.h"

#define LOOK_S 1
/* Seconds after which such a call is told of. */
#define TELL_AFTER 20
#define HOST_MAX 256

static struct {
    pthread_mutex_t lock;
    pthread_cond_t news;
    pthread_t thread;
    bool running, stop;
    unsigned files;
    int silence; /* seconds, 0: for ever */
    struct disk_call *calls;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER};

static int choose_silence(void)
{
    const char *text = getenv("IMPI_FILE_SILENCE");
    char *end;
    long n;

    if (!text || !*text)
        return 0;
    n = strtol(text, &end, 10);
    if (*end || n < 0 || n > SF_IMPI_SILENCE_MAX)
        be_die(
            1,
            "SF-E401: IMPI_FILE_SILENCE is not a number of seconds from 0 to "
            "%d: %s",
            SF_IMPI_SILENCE_MAX, text);
    return (int)n;
}

static void host_name(char name[HOST_MAX])
{
    if (gethostname(name, HOST_MAX) < 0)
        name[0] = '\0';
    name[HOST_MAX - 1] = '\0';
}

/* A call that is held for too long ends the job, if that is wanted. */
static void look_at(struct disk_call *c, int64_t now)
{
    int64_t seconds = (now - c->since) / 1000;
    char host[HOST_MAX];

    if (watch.silence > 0 && seconds >= watch.silence) {
        host_name(host);
        be_die(1,
               "SF-E411: %s: %s has not come back for %d s on %s "
               "(IMPI_FILE_SILENCE); the file may not be whole",
               c->file, c->what, (int)seconds, host);
    }
    if (c->told || seconds < TELL_AFTER)
        return;
    c->told = true;
    host_name(host);
    be_say("SF-E411: %s: %s has not come back for %d s on %s: does its server "
           "answer? The job waits for it (IMPI_FILE_SILENCE=SECONDS would end "
           "it)",
           c->file, c->what, (int)seconds, host);
}

static void wait_a_while(void)
{
    struct timespec until;

    if (watch.files == 0) {
        pthread_cond_wait(&watch.news, &watch.lock);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LOOK_S;
    pthread_cond_timedwait(&watch.news, &watch.lock, &until);
}

static void *look(void *arg)
{
    pthread_mutex_lock(&watch.lock);
    while (!watch.stop) {
        for (struct disk_call *c = watch.calls; c; c = c->next)
            look_at(c, clock_ms());
        wait_a_while();
    }
    pthread_mutex_unlock(&watch.lock);
    return arg;
}

/* Without the thread nobody tells, and the calls are as they were. */
void disk_watch_file(int more)
{
    pthread_mutex_lock(&watch.lock);
    watch.files += (unsigned)more;
    if (!watch.running) {
        watch.silence = choose_silence();
        watch.stop = false;
        watch.running = quiet_thread(&watch.thread, look, NULL) == 0;
    }
    pthread_cond_signal(&watch.news);
    pthread_mutex_unlock(&watch.lock);
}

void disk_watch_stop(void)
{
    if (!watch.running)
        return;
    pthread_mutex_lock(&watch.lock);
    watch.stop = true;
    pthread_cond_signal(&watch.news);
    pthread_mutex_unlock(&watch.lock);
    pthread_join(watch.thread, NULL);
    watch.running = false;
}

void disk_call_begin(struct disk_call *c, const char *file, const char *what)
{
    *c = (struct disk_call){.file = file, .what = what, .since = clock_ms()};
    pthread_mutex_lock(&watch.lock);
    c->next = watch.calls;
    watch.calls = c;
    pthread_mutex_unlock(&watch.lock);
}

void disk_call_end(struct disk_call *c)
{
    struct disk_call **at = &watch.calls;
    int kept = errno;

    pthread_mutex_lock(&watch.lock);
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    pthread_mutex_unlock(&watch.lock);
    errno = kept;
}
