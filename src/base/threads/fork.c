/* What happens to the locks of the library when a process forks. */
#include "base/threads/fork.h"

#include <stddef.h>

static pthread_mutex_t *locks[ADZI_LOCKS]; /* NULL: of a part that this program has not linked */

void adzi_fork_takes(pthread_mutex_t *lock, adzi_lock_order order)
{
    locks[order] = lock;
}

static void take_all(void)
{
    for (int i = 0; i < ADZI_LOCKS; ++i) {
        if (locks[i] != NULL) {
            pthread_mutex_lock(locks[i]);
        }
    }
}

static void free_all(void)
{
    for (int i = ADZI_LOCKS - 1; i >= 0; --i) {
        if (locks[i] != NULL) {
            pthread_mutex_unlock(locks[i]);
        }
    }
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(take_all, free_all, free_all);
}
