/* Moving a loader in two steps, so that a checkpoint can check everything before it changes
 * anything. */
#ifndef ADZI_DATA_LOADER_H
#define ADZI_DATA_LOADER_H

#include "adze/data/loader.h"

/** A move that is ready. */
typedef struct adzi_loader_move {
    adz_loader *loader;
    adz_generator *generator; /* NULL when the loader does not shuffle */
    adz_loader_position to;
    int64_t *order; /* of the epoch that is gone to; NULL between epochs */
} adzi_loader_move;

/** All that can fail. Afterwards comes one of the other two. */
adz_status adzi_loader_prepare(const char *op, adz_loader *loader,
    const adz_loader_position *position, adzi_loader_move *move);

void adzi_loader_commit(adzi_loader_move *move);
void adzi_loader_discard(adzi_loader_move *move);

#endif
