/* Helpers of the networks in this folder. They use the public headers only, so they repeat in small
 * what the library has inside: formatting numbers, reading options, memory that the limit counts.
 */
#include "nn/zoo/zoo.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>

#include "adze/nn/dropout.h"
#include "adze/ops/dropout.h"
#include "adze/ops/linalg.h"
#include "adze/ops/shape.h"

/* ---- text ----------------------------------------------------------------------------------- */

const char *zoo_write_sizes(zoo_text *to, int rank, const int64_t *sizes)
{
    const int room = sizeof to->text;
    int length = snprintf(to->text, sizeof to->text, "[");
    for (int i = 0; i < rank && length < room - 24; ++i) {
        length += snprintf(to->text + length, (size_t)(room - length), "%s%lld", i > 0 ? ", " : "",
            (long long)sizes[i]);
    }
    snprintf(to->text + length, (size_t)(room - length), "]");
    return to->text;
}

const char *zoo_write_shape(zoo_text *to, const adz_tensor *t)
{
    adz_shape shape = adz_tensor_shape(t);
    return zoo_write_sizes(to, shape.rank, shape.sizes);
}

const char *zoo_write_number(zoo_text *to, double x)
{
    snprintf(to->text, sizeof to->text, "%.10g", x);
    char *point = strstr(to->text, localeconv()->decimal_point);
    if (point != NULL) {
        *point = '.'; /* right for a decimal point of one byte, which nearly all locales have */
    }
    return to->text;
}

const char *zoo_write_float(zoo_text *to, double x)
{
    zoo_write_number(to, x);
    if (strpbrk(to->text, ".en") == NULL) {
        memcpy(to->text + strlen(to->text), ".0", sizeof ".0");
    }
    return to->text;
}

/* ---- errors --------------------------------------------------------------------------------- */

static void record(const char *op, adz_status status, const char *format, va_list arguments)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    adz_error_set(op, status, text);
}

adz_status zoo_error(const char *op, adz_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(op, status, format, arguments);
    va_end(arguments);
    return status;
}

void *zoo_fail(const char *op, adz_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(op, status, format, arguments);
    va_end(arguments);
    return NULL;
}

adz_status zoo_error_null(const char *op, const char *argument)
{
    adz_status earlier = adz_error_code();
    return earlier != ADZ_OK ? earlier
                             : zoo_error(op, ADZ_ERR_NULL,
                                   "%s is NULL though no call has failed; leave optional tensors "
                                   "out with ADZ_NONE",
                                   argument);
}

void *zoo_fail_null(const char *op, const char *argument)
{
    zoo_error_null(op, argument);
    return NULL;
}

bool zoo_has_entry(adz_module *module, const char *name)
{
    adz_state *state = adz_module_state_dict(module);
    const bool found = state != NULL && adz_state_find(state, name) != NULL;
    adz_state_free(&state);
    return found;
}

bool zoo_check_tensor(const char *op, const char *argument, const adz_tensor *t)
{
    if (t == NULL) {
        zoo_error_null(op, argument);
    } else if (zoo_is_none(t)) {
        zoo_error(op, ADZ_ERR_ARGUMENT, "%s is not optional: ADZ_NONE was given", argument);
    } else {
        return adz_tensor_rank(t) >= 0; /* records an error for a stale pointer */
    }
    return false;
}

/* The largest number of features. No tensor in memory reaches it, and 16 times this number still
 * fits int64_t. */
#define MOST_FEATURES (INT64_MAX / 16)

bool zoo_check_size(const char *op, const char *name, int64_t size, int64_t least)
{
    if (size < least) {
        zoo_error(op, ADZ_ERR_ARGUMENT, "%s is %lld, but must be %lld or more", name,
            (long long)size, (long long)least);
    } else if (size > MOST_FEATURES) {
        zoo_error(
            op, ADZ_ERR_ARGUMENT, "%s is %lld, more than fit in memory", name, (long long)size);
    }
    return size >= least && size <= MOST_FEATURES;
}

bool zoo_check_layers(const char *op, const char *name, int64_t n, int64_t least)
{
    const int64_t most = 65535;
    if (n < least || n > most) {
        zoo_error(op, ADZ_ERR_ARGUMENT, "%s is %lld, but must be in [%lld, %lld]", name,
            (long long)n, (long long)least, (long long)most);
    }
    return n >= least && n <= most;
}

bool zoo_check_dtype(const char *op, adz_dtype dtype)
{
    if (dtype != ADZ_F32 && dtype != ADZ_F64) {
        zoo_error(
            op, ADZ_ERR_DTYPE, "parameters are float32 or float64, not %s", adz_dtype_name(dtype));
    }
    return dtype == ADZ_F32 || dtype == ADZ_F64;
}

bool zoo_check_probability(const char *op, const char *name, double p)
{
    if (!(p >= 0 && p <= 1)) {
        zoo_error(op, ADZ_ERR_ARGUMENT, "%s is %s, but must be in [0, 1]", name, zoo_number(p));
    }
    return p >= 0 && p <= 1;
}

/* ---- tensors and modules -------------------------------------------------------------------- */

adz_module *zoo_or_free(bool good, adz_module *module)
{
    if (!good) {
        adz_module_free(&module);
    }
    return module;
}

adz_module *zoo_built(adz_scope *scope, adz_module *module, bool good)
{
    adz_scope_close(scope);
    return zoo_or_free(good, module);
}

adz_status zoo_append(adz_values *to, const adz_values *from, size_t first)
{
    adz_status status = ADZ_OK;
    for (size_t i = first; i < adz_values_count(from) && status == ADZ_OK; ++i) {
        status = adz_values_add(to, adz_values_name(from, i), adz_values_at(from, i));
    }
    return status;
}

void *zoo_scratch(size_t bytes)
{
    adz_tensor *memory = adz_empty(ADZ_SHAPE((int64_t)bytes), ADZ_U8);
    void *start = memory != NULL ? adz_tensor_data(memory) : NULL;
    return start != NULL ? memset(start, 0, bytes) : NULL;
}

enum { HEADER = 16 }; /* bytes before the memory; they hold the address of the tensor */

void *zoo_alloc(size_t bytes)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *memory = adz_keep(adz_empty(ADZ_SHAPE((int64_t)(HEADER + bytes)), ADZ_U8));
    char *start = memory != NULL ? adz_tensor_data(memory) : NULL;
    adz_scope_close(scope);
    if (start == NULL) {
        return NULL;
    }
    memset(start, 0, HEADER + bytes);
    memcpy(start, &memory, sizeof memory);
    return start + HEADER;
}

void zoo_free(void *memory)
{
    if (memory != NULL) {
        adz_tensor *t;
        memcpy(&t, (char *)memory - HEADER, sizeof t);
        adz_release(&t);
    }
}

adz_tensor *zoo_linear(
    adz_module *self, const char *width, adz_tensor *x, adz_tensor *w, adz_tensor *b)
{
    const char *name = adz_module_name(self);
    if (!zoo_check_tensor(name, "x", x)) {
        return NULL;
    }
    const int64_t in = adz_tensor_size(w, 0);
    if (adz_tensor_rank(x) < 1 || adz_tensor_size(x, -1) != in) {
        return zoo_fail(name, ADZ_ERR_SHAPE, "x%s must end in %s, which is %lld", zoo_shape(x),
            width, (long long)in);
    }
    return adz_linear(x, adz_transpose(w, 0, 1), b);
}

/* ---- options -------------------------------------------------------------------------------- */

bool zoo_read_options(
    const char *op, const char *start, void *all, size_t size, const void *options)
{
    size_t given = size;
    if (options == NULL) {
        return true;
    }
    memcpy(&given, options, sizeof given);
    if (given < sizeof given) {
        zoo_error(op, ADZ_ERR_ARGUMENT,
            "the struct's size is %zu, so none of its fields would be read; begin with %s, which "
            "sets the size and the defaults, and change fields after that",
            given, start);
        return false;
    }
    memcpy(all, options, given < size ? given : size);
    return true;
}

adz_status zoo_fill_options(
    const char *op, void *options, size_t size, const void *all, size_t all_size)
{
    if (options == NULL) {
        return zoo_error_null(op, "the struct to fill");
    }
    if (size < sizeof size) {
        return zoo_error(op, ADZ_ERR_ARGUMENT,
            "size is %zu; hand over sizeof of the struct that is to be filled", size);
    }
    memset(options, 0, size);
    memcpy(options, all, size < all_size ? size : all_size);
    memcpy(options, &size, sizeof size);
    return ADZ_OK;
}

/* ---- dropout -------------------------------------------------------------------------------- */

adz_module *zoo_dropout_new(
    const char *op, const adz_module_type *type, double p, const adz_dropout_options *options)
{
    adz_dropout_options o = ADZ_DROPOUT_OPTIONS;
    if (!ZOO_OPTIONS_READ(op, ADZ_DROPOUT_OPTIONS, &o, options) ||
        !zoo_check_probability(op, "p", p)) {
        return NULL;
    }
    adz_module *self = adz_module_new(type, sizeof(zoo_dropout_state));
    if (self != NULL) {
        *(zoo_dropout_state *)zoo_state(self) = (zoo_dropout_state){ p, false, o.generator };
    }
    return self;
}

adz_tensor *zoo_apply_dropout(
    adz_module *self, adz_tensor *x, double p, bool active, adz_generator *generator)
{
    adz_tensor *mask = active && p > 0 ? adz_module_next_mask(self) : ADZ_NONE;
    return zoo_is_none(mask) ? adz_dropout(x, p, active, generator)
                             : adz_dropout_mask(x, mask, 1 - p);
}

bool zoo_attention_dropout(adz_module *dropout, adz_attention_options *options)
{
    adz_bias_activation_options step = ADZ_BIAS_ACTIVATION_OPTIONS;
    const adz_module_type *type = adz_module_type_of(dropout);
    if (type == NULL || type->elementwise_step == NULL) {
        zoo_error("zoo", ADZ_ERR_ARGUMENT, "the child is a %s, but attention needs a dropout there",
            adz_module_name(dropout));
        return false;
    }
    type->elementwise_step(dropout, &step);
    options->dropout_p = step.dropout;
    options->training = step.training;
    options->generator = step.generator;
    if (step.training && step.dropout > 0) {
        options->dropout_mask = adz_module_next_mask(dropout);
        return options->dropout_mask != NULL;
    }
    return true;
}
