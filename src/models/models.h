/* Helpers of the published models. Models and helpers use the public headers only, as a user's own
 * modules do. */
#ifndef ADZI_MODELS_MODELS_H
#define ADZI_MODELS_MODELS_H

#include <stddef.h>

#include "adze/checks.h"

/** adz_error_format for functions that return a pointer. Its value is NULL. */
#define models_fail(...) (adz_error_format(__VA_ARGS__), NULL)

/** Memory of `bytes` zeros that lives until adzi_models_free; NULL with the error recorded. It is
 * the memory of a tensor, so that the memory limit counts it. */
void *adzi_models_alloc(size_t bytes);

/** Gives memory back. NULL is left alone. */
void adzi_models_free(void *memory);

/** Memory of `bytes` zeros that lives as long as the innermost scope; NULL with the error recorded.
 */
void *adzi_models_scratch(size_t bytes);

#endif
