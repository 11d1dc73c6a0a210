/* The layout of a checkpoint's file: a safetensors file whose tensors and metadata have these
 * names.
 */
#ifndef ADZI_IO_CHECKPOINT_H
#define ADZI_IO_CHECKPOINT_H

#include "adze/io/checkpoint.h"

#define ADZI_CHECKPOINT_MARK      "adze_checkpoint" /* metadata: the layout's version */
#define ADZI_CHECKPOINT_VERSION   "1"
#define ADZI_CHECKPOINT_MODEL     "model."
#define ADZI_CHECKPOINT_OPTIMIZER "optimizer"     /* metadata: its kind and groups, as JSON */
#define ADZI_CHECKPOINT_STATE     "state."        /* tensors: "state.<index of parameter>.<what>" */
#define ADZI_CHECKPOINT_SCHEDULER "scheduler.%zu" /* metadata: its kind; tensor: its f64 numbers \
                                                   */
#define ADZI_CHECKPOINT_GENERATOR "generator.%zu" /* tensor i64[2]: the bits of seed and offset */
#define ADZI_CHECKPOINT_LOADER    "loader" /* tensor i64[6]: epoch, batch, two generator states */

enum { ADZI_CHECKPOINT_NAME = 40, ADZI_LOADER_NUMBERS = 6 };

/** Checks the lists of schedulers and generators in the caller's struct. ADZ_ERR_NULL if a list or
 * a scheduler is NULL. */
adz_status adzi_checkpoint_check(const char *op, const adz_checkpoint *c);

#endif
