/* The values that modules carry from call to call, as a checkpoint has them: one set for each
 * micro-batch. */
#ifndef ADZI_IO_CHECKPOINT_CARRIED_H
#define ADZI_IO_CHECKPOINT_CARRIED_H

#include "base/text.h"
#include "distributed/data_parallel.h"
#include "io/safetensors.h"

/** Writes the name of carried buffer i of a micro-batch in a file, "carried.3.encoder.hidden", to
 * an empty text. False with the error recorded if memory is refused. */
bool adzi_carried_name(
    const char *op, adzi_text *name, const adzi_micro_state *state, int micro, size_t i);

/** New values for this rank's micro-batches, read from a file and not yet applied. All zeros if
 * there are none. */
typedef struct adzi_carried_values {
    adz_data_parallel *parallel;
    adz_tensor **values; /* [micro-batches of this rank * per_micro], one reference each, or NULL */
    size_t per_micro;
} adzi_carried_values;

/** Reads them. A file that was saved without data-parallel training has none. ADZ_ERR_STATE if it
 * was saved with other micro-batches, another seed or from another module. adzi_carried_end follows
 * in any case. */
adz_status adzi_carried_read(
    const char *op, adzi_carried_values *c, adz_data_parallel *parallel, adz_safetensors *file);

/** Applies them. Cannot fail. */
void adzi_carried_commit(adzi_carried_values *c);

/** Releases them. They must not be used afterwards. */
void adzi_carried_end(adzi_carried_values *c);

#endif
