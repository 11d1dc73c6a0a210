/* The layout of a checkpoint's file: a safetensors file whose tensors and metadata have these
 * names.
 */
#ifndef ADZI_IO_CHECKPOINT_H
#define ADZI_IO_CHECKPOINT_H

#include "adze/io/checkpoint.h"
#include "adze/io/safetensors.h"

/** Metadata: the version of the layout. A file without it is no checkpoint. */
#define ADZI_CHECKPOINT_MARK    "adze_checkpoint"
#define ADZI_CHECKPOINT_VERSION "2"

/** Version 1 differs in the position of the loader alone: it counted batches of an order that a
 * generator drew, which is not drawn any more. */
#define ADZI_CHECKPOINT_DRAWN "1"

/** Tensors: the model's, each name after this prefix. */
#define ADZI_CHECKPOINT_MODEL "model."

/** Metadata: the kind of the optimizer and its groups, as JSON. */
#define ADZI_CHECKPOINT_OPTIMIZER "optimizer"

/** Tensors of the optimizer: "state.<index of the parameter>.<name>", as in PyTorch. */
#define ADZI_CHECKPOINT_STATE "state."

/** Metadata: the kind of a scheduler. Tensor: its numbers, f64. */
#define ADZI_CHECKPOINT_SCHEDULER "scheduler.%zu"

/** Tensor i64[2]: the bits of a generator's seed and offset. */
#define ADZI_CHECKPOINT_GENERATOR "generator.%zu"

/** Tensor i64[4] of the loader: the bits of the fields of adz_loader_position. */
#define ADZI_CHECKPOINT_LOADER "loader"

/** Metadata of data-parallel training: the number of micro-batches, and the seed. */
#define ADZI_CHECKPOINT_MICRO_BATCHES "micro_batches"
#define ADZI_CHECKPOINT_SEED          "seed"

/** Tensors: what modules carry from call to call, "carried.<micro-batch>.<name>". */
#define ADZI_CHECKPOINT_CARRIED "carried."

/** NAME: the size of a buffer for one of these names. NUMBERS: the numbers of a loader. */
enum { ADZI_CHECKPOINT_NAME = 40, ADZI_LOADER_NUMBERS = 4 };

/** Why data-parallel training has no checkpoints in memory: the end of a message. */
#define ADZI_CHECKPOINT_BY_FILES                                                           \
    "ranks gather their parts in a file, by adz_checkpoint_save, and adz_checkpoint_load " \
    "reads them"

/** Adds what adz_checkpoint_save writes of a run without data-parallel training. The tensors are
 * those of the run and no copies. */
adz_status adzi_checkpoint_collect(const char *op, const adz_checkpoint *c, adz_safetensors *file);

/** Adds the kind and the groups of an optimizer as metadata. */
adz_status adzi_checkpoint_add_groups(
    const char *op, adz_safetensors *file, const adz_optimizer *optimizer);

/** Checks the caller's struct. ADZ_ERR_NULL if a list or a scheduler is NULL. ADZ_ERR_STATE if the
 * optimizer is divided among ranks and `parallel` does not say which, or in the middle of a step.
 */
adz_status adzi_checkpoint_check(const char *op, const adz_checkpoint *c);

#endif
