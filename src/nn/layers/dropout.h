/* Replaying masks. */
#ifndef ADZI_NN_LAYERS_DROPOUT_H
#define ADZI_NN_LAYERS_DROPOUT_H

#include "adze/nn/dropout.h"
#include "nn/module.h"

/**
 * From now on every dropout of the tree takes the next of these masks in place of drawing one, in
 * the order of the calls. A dropout that leaves its argument alone, in evaluation or with p 0,
 * takes none. One that finds no mask left fails. The list stays the caller's; NULL ends the replay.
 */
void adzi_module_replay(adz_module *module, adzi_masks *masks);

#endif
