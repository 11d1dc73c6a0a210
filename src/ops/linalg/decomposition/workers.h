/* Launches whose kernels need working memory for one item at a time. */
#ifndef ADZI_OPS_LINALG_DECOMPOSITION_WORKERS_H
#define ADZI_OPS_LINALG_DECOMPOSITION_WORKERS_H

#include <stddef.h>
#include <stdint.h>

/** The matrices of a batch, divided among workers. A unit of the launch is a worker. */
typedef struct adzi_workers {
    char *memory; /**< `bytes` for each worker, at multiples of 64 */
    int64_t bytes;
    int64_t batch, count;
} adzi_workers;

/** The memory of a worker. */
static inline void *adzi_worker_memory(const adzi_workers *w, int64_t worker)
{
    return w->memory + worker * w->bytes;
}

/** The first item of a worker; worker `count` would begin after the last item. */
static inline int64_t adzi_worker_begin(const adzi_workers *w, int64_t worker)
{
    return w->batch / w->count * worker +
           (worker < w->batch % w->count ? worker : w->batch % w->count);
}

#endif
