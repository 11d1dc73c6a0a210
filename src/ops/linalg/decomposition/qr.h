#ifndef ADZI_OPS_LINALG_DECOMPOSITION_QR_H
#define ADZI_OPS_LINALG_DECOMPOSITION_QR_H

#include "ops/op.h"

/** QR factors for least squares with the matrices of `named`, which are those of `a` or their
 * transposes. Fails with ADZ_ERR_NUMERIC, as lstsq, if an item has no full rank to rounding or an
 * element that is not finite. Sets *r, which is not NULL, and returns q. */
adz_tensor *adzi_qr_of_full_rank(adz_tensor *a, adz_tensor **r, adz_tensor *named);

#endif
