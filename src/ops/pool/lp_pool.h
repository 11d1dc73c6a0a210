/* The arguments of lp_pool1d to lp_pool3d, which the modules read too. */
#ifndef ADZI_OPS_POOL_LP_POOL_H
#define ADZI_OPS_POOL_LP_POOL_H

#include "adze/fields.h"
#include "adze/ops/pool.h"

/** The arguments of a call or of a module, behind the options. */
typedef struct adzi_lp_pool_arguments {
    adz_lp_pool_options o;
    double norm_type;
    adz_shape kernel_size; /* with one number or n, as the caller gave it */
    unsigned no_stride;    /* 0: what modules without a stride print */
} adzi_lp_pool_arguments;

enum { ADZI_LP_POOL_ROWS = 4 };
extern const adz_field adzi_lp_pool_rows[ADZI_LP_POOL_ROWS];

/** Reads the options into `all`, which has the norm and the kernel_size. False with the error
 * recorded under `op` if they are wrong for any x of n dimensions. */
bool adzi_lp_pool_read(
    const char *op, int n, adzi_lp_pool_arguments *all, const adz_lp_pool_options *options);

#endif
