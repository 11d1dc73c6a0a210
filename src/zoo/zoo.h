/* Helpers of the networks of other code bases. Networks and helpers use the public headers only, as
 * a user's own modules do. */
#ifndef ADZI_ZOO_ZOO_H
#define ADZI_ZOO_ZOO_H

#include <stdint.h>
#include <string.h>

#include "adze/checks.h"
#include "adze/nn/dropout.h"
#include "adze/nn/type.h"
#include "adze/nn/values.h"
#include "adze/ops/attention.h"
#include "adze/options.h"

/** adz_error_format and adz_error_null for functions that return a pointer. Their value is NULL. */
#define zoo_fail(...)               (adz_error_format(__VA_ARGS__), NULL)
#define zoo_fail_null(op, argument) (adz_error_null((op), (argument)), NULL)

/** Whether the state of a module has an entry of this name. False with the error recorded if memory
 * was refused. */
bool adzi_zoo_has_entry(adz_module *module, const char *name);

/** The most layers of a network. Without a bound, a mistaken number would use up all memory. */
enum { ZOO_MOST_LAYERS = 65535 };

/* ---- tensors and modules -------------------------------------------------------------------- */

static inline bool zoo_is_none(const adz_tensor *t)
{
    return t == ADZ_NONE;
}

/** The module's state. It takes a const module, because functions that only read one have no other.
 */
static inline void *zoo_state(const adz_module *module)
{
    return adz_module_data((adz_module *)(uintptr_t)module);
}

/** The module's own parameter i; ADZ_NONE if it is left out. */
static inline adz_tensor *zoo_parameter(const adz_module *module, size_t i)
{
    return adz_module_parameter_at((adz_module *)(uintptr_t)module, i);
}

static inline adz_tensor *zoo_buffer(const adz_module *module, size_t i)
{
    return adz_module_buffer_at((adz_module *)(uintptr_t)module, i);
}

static inline adz_module *zoo_child(const adz_module *module, size_t i)
{
    return adz_module_child_at((adz_module *)(uintptr_t)module, i);
}

/** Returns the module if `good`; otherwise frees it and returns NULL. */
adz_module *adzi_zoo_or_free(bool good, adz_module *module);

/** Appends the values of `from` to `to`, from index `first` on. */
adz_status adzi_zoo_append(adz_values *to, const adz_values *from, size_t first);

/** Closes a constructor's scope. Returns the module if `good`; otherwise frees it and returns NULL.
 */
adz_module *adzi_zoo_built(adz_scope *scope, adz_module *module, bool good);

/** Memory of `bytes` zeros that lives as long as the innermost scope; NULL with the error recorded.
 */
void *adzi_zoo_scratch(size_t bytes);

/** Memory of `bytes` zeros that lives until adzi_zoo_free; NULL with the error recorded. It is the
 * memory of a tensor, so that the memory limit counts it. */
void *adzi_zoo_alloc(size_t bytes);
void adzi_zoo_free(void *memory);

/** y[..., out] = x[..., in] w + b for w[in, out] and b[out] or ADZ_NONE. If the last size of x is
 * not `in`, the result is NULL and the message calls that size `width`. */
adz_tensor *adzi_zoo_linear(
    adz_module *self, const char *width, adz_tensor *x, adz_tensor *w, adz_tensor *b);

/* ---- dropout -------------------------------------------------------------------------------- */

/** The state of a dropout module. */
typedef struct zoo_dropout_state {
    double p;
    bool always; /* drop elements in evaluation too */
    adz_generator *generator;
} zoo_dropout_state;

/** Makes a dropout module of `type`, whose state is a zoo_dropout_state. NULL with the error
 * recorded if p is not in [0, 1]. */
adz_module *adzi_zoo_dropout_new(
    const char *op, const adz_module_type *type, double p, const adz_dropout_options *options);

/** Applies dropout to x if `active`: by the module's next mask if a replay is running, else by a
 * mask from the generator. */
adz_tensor *adzi_zoo_apply_dropout(
    adz_module *self, adz_tensor *x, double p, bool active, adz_generator *generator);

/** Fills the fields of `options` about dropout from the module `dropout`, so that attention applies
 * it; false with the error recorded. */
bool adzi_zoo_attention_dropout(adz_module *dropout, adz_attention_options *options);

#endif
