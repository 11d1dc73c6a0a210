/* The debug mode of adz_set_debug. One lock guards the lists of all threads. */
#include "tensor/debug.h"
#include "base/capture.h"
#include "base/handle.h"

#include <pthread.h>
#include <string.h>

#include "base/threads/fork.h"

atomic_bool adzi_debug_on;

static struct {
    pthread_mutex_t lock;
    adz_tensor **alive;
    size_t n_alive, capacity;
} list = { .lock = PTHREAD_MUTEX_INITIALIZER };

ADZI_FORK_TAKES(list.lock, ADZI_LOCK_DEBUG)

adz_tensor *adzi_debug_made(adz_tensor *t)
{
    pthread_mutex_lock(&list.lock);
    if (adzi_grow(&list.alive, &list.capacity, list.n_alive + 1, sizeof *list.alive)) {
        list.alive[list.n_alive++] = t;
    }
    pthread_mutex_unlock(&list.lock);
    return t;
}

void adzi_debug_ended(adz_tensor *t)
{
    pthread_mutex_lock(&list.lock);
    for (size_t i = list.n_alive; i-- > 0;) { /* newest first: most tensors end soon */
        if (list.alive[i] == t) {
            memmove(
                &list.alive[i], &list.alive[i + 1], (list.n_alive - i - 1) * sizeof *list.alive);
            --list.n_alive;
            break;
        }
    }
    pthread_mutex_unlock(&list.lock);
}

/* Frees the list. The caller holds the lock. */
static void clear(void)
{
    adzi_free(list.alive, list.capacity * sizeof *list.alive);
    list.alive = NULL;
    list.n_alive = list.capacity = 0;
}

bool adz_set_debug(bool on)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, false);
    bool before = atomic_exchange(&adzi_debug_on, on);
    adzi_keep_handles(on);
    if (before && !on) {
        pthread_mutex_lock(&list.lock);
        clear();
        pthread_mutex_unlock(&list.lock);
    }
    return before;
}

bool adz_is_debug(void)
{
    return atomic_load_explicit(&adzi_debug_on, memory_order_relaxed);
}

/* Writes one line about a living tensor. False if the stream refused it. */
static bool report(const adz_tensor *t, FILE *stream)
{
    char line[512];
    int n = snprintf(line, sizeof line, "%s %s, %d references (%d kept)",
        adz_dtype_name((adz_dtype)t->dtype), adzi_text_shape(t), atomic_load(&t->refs),
        atomic_load(&t->keeps));
    if (t->node != NULL) {
        n += snprintf(
            line + n, sizeof line - (size_t)n, ", made by %s", adzi_tape.node_name(t->node));
    }
    if (!t->is_view && t->storage->file != NULL) {
        snprintf(
            line + n, sizeof line - (size_t)n, " at %s:%d", t->storage->file, t->storage->line);
    }
    return fputs(line, stream) >= 0 && fputs("\n", stream) >= 0;
}

adz_status adz_report_alive(FILE *stream)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    if (stream == NULL) {
        return adzi_error_null("report_alive", "stream");
    }
    bool ok = true;
    pthread_mutex_lock(&list.lock);
    for (size_t i = 0; i < list.n_alive && ok; ++i) {
        ok = report(list.alive[i], stream);
    }
    pthread_mutex_unlock(&list.lock);
    return ok ? ADZ_OK : adzi_error("report_alive", ADZ_ERR_IO, "writing to the stream failed");
}
