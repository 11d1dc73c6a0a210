/* Moving a loader in two steps, so that a checkpoint can check everything before it changes
 * anything. */
#ifndef ADZI_DATA_LOADER_H
#define ADZI_DATA_LOADER_H

#include "adze/data/loader.h"

/** Whether the loader can be set to a position; the error is recorded under `op`. */
adz_status adzi_loader_check_position(
    const char *op, const adz_loader *loader, const adz_loader_position *position);

/** Sets a position that was checked. Cannot fail. */
void adzi_loader_move(adz_loader *loader, const adz_loader_position *position);

#endif
