/* The arguments of max_unpool1d to max_unpool3d, which the modules read too. */
#ifndef ADZI_OPS_POOL_MAX_UNPOOL_H
#define ADZI_OPS_POOL_MAX_UNPOOL_H

#include "adze/fields.h"
#include "adze/ops/unpool.h"

/** The arguments of a call or of a module, behind the options. */
typedef struct adzi_max_unpool_arguments {
    adz_max_unpool_options o;
    adz_shape kernel_size;
} adzi_max_unpool_arguments;

enum { ADZI_MAX_UNPOOL_ROWS = 4 };
extern const adz_field adzi_max_unpool_rows[ADZI_MAX_UNPOOL_ROWS];

/** Reads the options into `all`, which has the kernel_size. All its lists then have n numbers, but
 * output_size, which may have none. False with the error recorded under `op`. */
bool adzi_max_unpool_read(
    const char *op, int n, adzi_max_unpool_arguments *all, const adz_max_unpool_options *options);

/** max_unpool over n dimensions. */
adz_tensor *adzi_max_unpool(const char *op, int n, adz_tensor *x, adz_tensor *indices,
    adz_shape kernel_size, const adz_max_unpool_options *options);

#endif
