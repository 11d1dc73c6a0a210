/* The derivatives of residuals, for Levenberg-Marquardt. */
#ifndef ADZI_OPTIM_RESIDUAL_JACOBIAN_H
#define ADZI_OPTIM_RESIDUAL_JACOBIAN_H

#include "optim/closure.h"

/**
 * The Jacobian of residuals with respect to all parameters.
 *
 * @param r  [M] with its graph, which stays
 * @return   J[M, P] in f64, borrowed; 0 where nothing depends. NULL with the error recorded
 */
adz_tensor *adzi_residual_jacobian(const adzi_search_run *run, adz_tensor *r);

#endif
