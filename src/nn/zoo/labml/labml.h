/* Helpers that the annotated library's modules share. */
#ifndef ADZI_NN_ZOO_LABML_LABML_H
#define ADZI_NN_ZOO_LABML_LABML_H

/** A Linear as a child. */
bool adzi_labml_add_linear(
    adz_module *self, const char *name, int64_t in, int64_t out, bool bias, adz_dtype dtype);

/** A named argument of adzi_labml_call. */
typedef struct adzi_argument {
    const char *name;
    adz_tensor *tensor;
} adzi_argument;

/** The first result of a module called with these arguments. */
adz_tensor *adzi_labml_call(adz_module *module, const adzi_argument *arguments, size_t n);

/** Gives `self` children under these names, whose references it takes over in every case; ends it
 * when one fails. */
adz_module *adzi_labml_adopt(
    adz_module *self, const char *const *names, adz_module *const *children, size_t n);

#endif
