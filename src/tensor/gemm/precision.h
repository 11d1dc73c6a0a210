/* What the environment says about products; precision.c has the settings. */
#ifndef ADZI_TENSOR_GEMM_PRECISION_H
#define ADZI_TENSOR_GEMM_PRECISION_H

/** Why ADZE_PRODUCTS is not followed, such as "it is neither own nor blas"; NULL if it is. */
const char *adzi_products_request_ignored(void);

#endif
