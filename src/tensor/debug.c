/* The debug mode of adz_set_debug. One lock guards the lists of all threads. */
#include "tensor/debug.h"
#include "base/capture.h"

#include <pthread.h>
#include <string.h>

atomic_bool adzi_debug_on;

typedef struct dead_block {
    void *address;
    size_t bytes;
} dead_block;

static struct {
    pthread_mutex_t lock;
    adz_tensor **alive, **dead; /* `dead`: headers that have ended and whose memory is kept */
    dead_block *blocks;         /* what else has ended and is kept */
    size_t n_alive, alive_capacity, n_dead, dead_capacity, n_blocks, blocks_capacity;
} list = { .lock = PTHREAD_MUTEX_INITIALIZER };

adz_tensor *adzi_debug_made(adz_tensor *t)
{
    pthread_mutex_lock(&list.lock);
    if (adzi_grow(&list.alive, &list.alive_capacity, list.n_alive + 1, sizeof *list.alive)) {
        list.alive[list.n_alive++] = t;
    }
    pthread_mutex_unlock(&list.lock);
    return t;
}

bool adzi_debug_ended(adz_tensor *t)
{
    bool kept = false;
    pthread_mutex_lock(&list.lock);
    for (size_t i = list.n_alive; i-- > 0;) { /* newest first: most tensors end soon */
        if (list.alive[i] == t) {
            memmove(
                &list.alive[i], &list.alive[i + 1], (list.n_alive - i - 1) * sizeof *list.alive);
            --list.n_alive;
            break;
        }
    }
    if (atomic_load(&adzi_debug_on) &&
        adzi_grow(&list.dead, &list.dead_capacity, list.n_dead + 1, sizeof *list.dead)) {
        list.dead[list.n_dead++] = t;
        kept = true;
    }
    pthread_mutex_unlock(&list.lock);
    return kept;
}

bool adzi_debug_keep_block(void *block, size_t bytes)
{
    if (!adz_is_debug()) {
        return false;
    }
    pthread_mutex_lock(&list.lock);
    const bool kept =
        adzi_grow(&list.blocks, &list.blocks_capacity, list.n_blocks + 1, sizeof *list.blocks);
    if (kept) {
        list.blocks[list.n_blocks++] = (dead_block){ block, bytes };
    }
    pthread_mutex_unlock(&list.lock);
    return kept;
}

/* Frees the headers and blocks that were kept, and all lists. The caller holds the lock. */
static void clear(void)
{
    for (size_t i = 0; i < list.n_dead; ++i) {
        adzi_tensor_bury(list.dead[i]);
    }
    for (size_t i = 0; i < list.n_blocks; ++i) {
        adzi_free(list.blocks[i].address, list.blocks[i].bytes);
    }
    adzi_free(list.blocks, list.blocks_capacity * sizeof *list.blocks);
    adzi_free(list.dead, list.dead_capacity * sizeof *list.dead);
    adzi_free(list.alive, list.alive_capacity * sizeof *list.alive);
    list.dead = list.alive = NULL;
    list.blocks = NULL;
    list.n_blocks = list.blocks_capacity = list.n_dead = list.dead_capacity = list.n_alive =
        list.alive_capacity = 0;
}

bool adz_set_debug(bool on)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, false);
    bool before = atomic_exchange(&adzi_debug_on, on);
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
