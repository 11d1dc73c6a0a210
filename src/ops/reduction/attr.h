/* The attributes of reductions that have no argument but the dimensions: sum, mean, prod and
 * logsumexp. */
#ifndef ADZI_OPS_REDUCTION_ATTR_H
#define ADZI_OPS_REDUCTION_ATTR_H

#include "ops/op.h"

typedef struct adzi_reduce_attr {
    unsigned mask; /* bit d: dimension d of x is reduced */
    bool keepdim;
} adzi_reduce_attr;

extern const adz_field adzi_reduce_fields[2];

#endif
