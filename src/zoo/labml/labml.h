/* Helpers that the modules of the annotated transformers (labml_nn) share. */
#ifndef ADZI_ZOO_LABML_LABML_H
#define ADZI_ZOO_LABML_LABML_H

#include "adze/nn/linear.h"

/** Adds a Linear as a child; false with the error recorded. */
bool adzi_labml_add_linear(
    adz_module *self, const char *name, int64_t in, int64_t out, const adz_linear_options *options);

/** A named argument of adzi_labml_call. */
typedef struct adzi_argument {
    const char *name;
    adz_tensor *tensor;
} adzi_argument;

/** Calls a module with these arguments. Returns the first result, or NULL with the error recorded.
 */
adz_tensor *adzi_labml_call(adz_module *module, const adzi_argument *arguments, size_t n);

/** Adds n children to `self` under these names. Their references are taken over in every case. If
 * one cannot be added, `self` is freed and the result is NULL; otherwise it is `self`. */
adz_module *adzi_labml_adopt(
    adz_module *self, const char *const *names, adz_module *const *children, size_t n);

#endif
