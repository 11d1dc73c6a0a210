/* Helpers that the networks of other code bases share. Networks and helpers are written as a user's
 * own modules are: with the public headers alone. */
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

/** For an argument that is NULL: leaves an error that is recorded already, else records
 * ADZ_ERR_NULL. Returns the code. */
adz_status zoo_error_null(const char *op, const char *argument);
void *zoo_fail_null(const char *op, const char *argument);

/** Whether an argument is a tensor; false with an error recorded for NULL and for ADZ_NONE. */
bool zoo_check_tensor(const char *op, const char *argument, const adz_tensor *t);

/** Whether a size is `least` or more and not so large that it overflows; else with an error. */
bool zoo_check_size(const char *op, const char *name, int64_t size, int64_t least);

/** Whether a number of layers is between `least` and 65535, which can be made; else with an error.
 */
bool zoo_check_layers(const char *op, const char *name, int64_t n, int64_t least);

/** Whether parameters can have that dtype; else with an error. */
bool zoo_check_dtype(const char *op, adz_dtype dtype);

/** Whether p is in [0, 1]; else with an error. */
bool zoo_check_probability(const char *op, const char *name, double p);

/** A text for messages: sizes as "[4, 10]", a number as Python prints it. Each call has one of
 * eight buffers of the thread. */
const char *zoo_shape(const adz_tensor *t);
const char *zoo_sizes(int rank, const int64_t *sizes);
const char *zoo_number(double x);

/** zoo_number with ".0" behind a whole number, as Python prints a float. */
const char *zoo_float(double x);

/* ---- tensors and modules -------------------------------------------------------------------- */

static inline bool zoo_is_none(const adz_tensor *t)
{
    return t == ADZ_NONE;
}

/** The state of a module that a function only reads. */
static inline void *zoo_state(const adz_module *module)
{
    return adz_module_state((adz_module *)(uintptr_t)module);
}

/** Own parameter i; ADZ_NONE for one that is left out. */
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

/** Returns the module if `good`; else ends it and returns NULL. */
adz_module *zoo_if(bool good, adz_module *module);

/** Appends the values of `from` to `to`, beginning with number `first`. */
adz_status zoo_append(adz_values *to, const adz_values *from, size_t first);

/** Closes a constructor's scope and returns the module if `good`; else ends it and returns NULL. */
adz_module *zoo_built(adz_scope *scope, adz_module *module, bool good);

/** `bytes` of zeros that live as long as the innermost scope; NULL with the error recorded. */
void *zoo_scratch(size_t bytes);

/** `bytes` of zeros until zoo_free, in a tensor's memory, so that the limit on memory counts them;
 * NULL with the error recorded. */
void *zoo_alloc(size_t bytes);
void zoo_free(void *memory);

/** y = x w + b for w[in, out]; fails for an x[...] that does not end in `in`, which the message
 * calls `width`. */
adz_tensor *zoo_linear(
    adz_module *self, const char *width, adz_tensor *x, adz_tensor *w, adz_tensor *b);

/* ---- options -------------------------------------------------------------------------------- */

/** Overwrites the defaults in `all` with as much as the caller's struct has; see adz_sgd_options
 * for how such structs begin. False with an error for a struct that was not filled. */
bool zoo_read_options(
    const char *op, const char *start, void *all, size_t size, const void *options);

/** Fills the caller's struct with the defaults. */
adz_status zoo_fill_options(
    const char *op, void *options, size_t size, const void *all, size_t all_size);

/** Defines the public function that fills an option struct. */
#define ZOO_OPTIONS_INIT(function, type, DEFAULTS)                              \
    void function(type *options, size_t size)                                   \
    {                                                                           \
        const type defaults = DEFAULTS;                                         \
        zoo_fill_options(#function, options, size, &defaults, sizeof defaults); \
    }

/** zoo_read_options into `all`, which was initialised with DEFAULTS. */
#define ZOO_OPTIONS_READ(op, DEFAULTS, all, options) \
    zoo_read_options((op), #DEFAULTS, (all), sizeof *(all), (options))

/* ---- dropout -------------------------------------------------------------------------------- */

/** The state of a module that drops elements. */
typedef struct zoo_dropout_state {
    double p;
    bool always; /* in evaluation too */
    adz_generator *generator;
} zoo_dropout_state;

/** A dropout module of a type, whose state is zoo_dropout_state; p in [0, 1]. */
adz_module *zoo_dropout_new(
    const char *op, const adz_module_type *type, double p, const adz_dropout_options *options);

/** x under dropout: by the module's next replayed mask if there is one, else by the generator. */
adz_tensor *zoo_dropped(
    adz_module *self, adz_tensor *x, double p, bool active, adz_generator *generator);

/** Tells attention to drop what its child `dropout` would drop; false with an error recorded. */
bool zoo_plan_dropout(adz_module *dropout, adz_attention_options *options);

#endif
