/* Names in a checkpoint's file. */
#ifndef ADZI_IO_CHECKPOINT_H
#define ADZI_IO_CHECKPOINT_H

#include "adze/io/checkpoint.h"

#define ADZI_CHECKPOINT_MARK      "adze_checkpoint" /* metadata: the layout's version */
#define ADZI_CHECKPOINT_VERSION   "1"
#define ADZI_CHECKPOINT_MODEL     "model."
#define ADZI_CHECKPOINT_OPTIMIZER "optimizer"     /* metadata: its kind and groups, as JSON */
#define ADZI_CHECKPOINT_STATE     "state."        /* and then the index and what it is */
#define ADZI_CHECKPOINT_SCHEDULER "scheduler.%zu" /* metadata: its kind; tensor: its numbers */
#define ADZI_CHECKPOINT_GENERATOR "generator.%zu" /* seed and offset, as the bits of i64 */
#define ADZI_CHECKPOINT_LOADER    "loader" /* epoch, batch, and the two states of generators */

enum { ADZI_CHECKPOINT_NAME = 40, ADZI_LOADER_NUMBERS = 6 };

/** Checks the lists of a checkpoint that the caller filled in. */
adz_status adzi_checkpoint_check(const char *op, const adz_checkpoint *c);

#endif
