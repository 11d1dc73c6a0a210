/* Helpers of the networks of other code bases. Networks and helpers use the public headers only, as
 * a user's own modules do. */
#ifndef ADZI_NN_ZOO_ZOO_H
#define ADZI_NN_ZOO_ZOO_H

#include <stdint.h>
#include <string.h>

#include "adze/nn/dropout.h"
#include "adze/nn/type.h"
#include "adze/nn/values.h"
#include "adze/ops/attention.h"

/* ---- errors --------------------------------------------------------------------------------- */

#ifdef __GNUC__
#define ZOO_FORMAT __attribute__((format(printf, 3, 4)))
#else
#define ZOO_FORMAT
#endif

/** Records an error and returns its code. */
adz_status zoo_error(const char *op, adz_status status, const char *format, ...) ZOO_FORMAT;

/** Records an error and returns NULL. */
void *zoo_fail(const char *op, adz_status status, const char *format, ...) ZOO_FORMAT;

/** Reports a NULL argument. If an error is recorded already, the NULL comes from the call that
 * failed: that error stays. Otherwise ADZ_ERR_NULL is recorded. Returns the code. */
adz_status zoo_error_null(const char *op, const char *argument);
/** Reports a NULL argument as zoo_error_null does, and returns NULL. */
void *zoo_fail_null(const char *op, const char *argument);

/** Whether the state of a module has an entry of this name. False with the error recorded if memory
 * was refused. */
bool zoo_has_entry(adz_module *module, const char *name);

/** True if an argument is a living tensor; false with the error recorded for NULL, ADZ_NONE and a
 * stale pointer. */
bool zoo_check_tensor(const char *op, const char *argument, const adz_tensor *t);

/** True if a size is at least `least` and small enough to be multiplied by 16; false with
 * ADZ_ERR_ARGUMENT recorded. */
bool zoo_check_size(const char *op, const char *name, int64_t size, int64_t least);

/** True if a number of layers is between `least` and 65535; false with ADZ_ERR_ARGUMENT recorded.
 */
bool zoo_check_layers(const char *op, const char *name, int64_t n, int64_t least);

/** True for the dtypes of parameters, f32 and f64; false with ADZ_ERR_DTYPE recorded. */
bool zoo_check_dtype(const char *op, adz_dtype dtype);

/** True if p is in [0, 1]; false with ADZ_ERR_ARGUMENT recorded. */
bool zoo_check_probability(const char *op, const char *name, double p);

/** A text for messages. It lives as long as the block of code around the call that made it. */
typedef struct zoo_text {
    char text[192];
} zoo_text;

/** The sizes of a tensor, as "[4, 10]". */
#define zoo_shape(t) zoo_write_shape(&(zoo_text){ 0 }, t)

/** Sizes, as "[4, 10]". */
#define zoo_sizes(rank, sizes) zoo_write_sizes(&(zoo_text){ 0 }, rank, sizes)

/** A number as Python prints it. */
#define zoo_number(x) zoo_write_number(&(zoo_text){ 0 }, x)

/** A number as Python prints a float: ".0" ends a whole number. */
#define zoo_float(x) zoo_write_float(&(zoo_text){ 0 }, x)

const char *zoo_write_shape(zoo_text *to, const adz_tensor *t);
const char *zoo_write_sizes(zoo_text *to, int rank, const int64_t *sizes);
const char *zoo_write_number(zoo_text *to, double x);
const char *zoo_write_float(zoo_text *to, double x);

/* ---- tensors and modules -------------------------------------------------------------------- */

static inline bool zoo_is_none(const adz_tensor *t)
{
    return t == ADZ_NONE;
}

/** The module's state. It takes a const module, because functions that only read one have no other.
 */
static inline void *zoo_state(const adz_module *module)
{
    return adz_module_state((adz_module *)(uintptr_t)module);
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
adz_module *zoo_or_free(bool good, adz_module *module);

/** Appends the values of `from` to `to`, from index `first` on. */
adz_status zoo_append(adz_values *to, const adz_values *from, size_t first);

/** Closes a constructor's scope. Returns the module if `good`; otherwise frees it and returns NULL.
 */
adz_module *zoo_built(adz_scope *scope, adz_module *module, bool good);

/** Memory of `bytes` zeros that lives as long as the innermost scope; NULL with the error recorded.
 */
void *zoo_scratch(size_t bytes);

/** Memory of `bytes` zeros that lives until zoo_free; NULL with the error recorded. It is the
 * memory of a tensor, so that the memory limit counts it. */
void *zoo_alloc(size_t bytes);
void zoo_free(void *memory);

/** y[..., out] = x[..., in] w + b for w[in, out] and b[out] or ADZ_NONE. If the last size of x is
 * not `in`, the result is NULL and the message calls that size `width`. */
adz_tensor *zoo_linear(
    adz_module *self, const char *width, adz_tensor *x, adz_tensor *w, adz_tensor *b);

/* ---- options -------------------------------------------------------------------------------- */

/** Overwrites the defaults in `all` with the caller's struct, as far as its first field, its size
 * in bytes, says. False with the error recorded for a struct whose size was not set. */
bool zoo_read_options(
    const char *op, const char *start, void *all, size_t size, const void *options);

/** Fills the caller's struct of `size` bytes with the defaults in `all`. */
adz_status zoo_fill_options(
    const char *op, void *options, size_t size, const void *all, size_t all_size);

/** Defines the public function that fills an option struct. */
#define ZOO_OPTIONS_INIT(function, type, DEFAULTS)                              \
    void function(type *options, size_t size)                                   \
    {                                                                           \
        const type defaults = DEFAULTS;                                         \
        zoo_fill_options(#function, options, size, &defaults, sizeof defaults); \
    }

/** Calls zoo_read_options for `all`, which must have been initialised with DEFAULTS. */
#define ZOO_OPTIONS_READ(op, DEFAULTS, all, options) \
    zoo_read_options((op), #DEFAULTS, (all), sizeof *(all), (options))

/* ---- dropout -------------------------------------------------------------------------------- */

/** The state of a dropout module. */
typedef struct zoo_dropout_state {
    double p;
    bool always; /* drop elements in evaluation too */
    adz_generator *generator;
} zoo_dropout_state;

/** Makes a dropout module of `type`, whose state is a zoo_dropout_state. NULL with the error
 * recorded if p is not in [0, 1]. */
adz_module *zoo_dropout_new(
    const char *op, const adz_module_type *type, double p, const adz_dropout_options *options);

/** Applies dropout to x if `active`: by the module's next mask if a replay is running, else by a
 * mask from the generator. */
adz_tensor *zoo_apply_dropout(
    adz_module *self, adz_tensor *x, double p, bool active, adz_generator *generator);

/** Fills the fields of `options` about dropout from the module `dropout`, so that attention applies
 * it; false with the error recorded. */
bool zoo_attention_dropout(adz_module *dropout, adz_attention_options *options);

#endif
