/* The checks and texts of adze/checks.h. */
#include "adze/checks.h"

#include "base/door.h"
#include "base/error.h"
#include "base/text.h"
#include "tensor/fields.h"
#include "tensor/tensor.h"

bool adz_check_tensor(const char *op, const char *argument, const adz_tensor *t)
{
    const bool sound = t != NULL && t->alive == ADZI_ALIVE && !adzi_is_none(t);
    return sound || adzi_refuse_tensor(adzi_error_name(op), argument, t);
}

bool adz_check_size(const char *op, const char *name, int64_t size, int64_t least)
{
    const adz_field field = { .name = name, .kind = ADZ_FIELD_I64, ADZ_SIZE_FROM((double)least) };
    return adz_fields_check(op, &field, 1, &size);
}

bool adz_check_range(const char *op, const char *name, int64_t n, int64_t least, int64_t most)
{
    const adz_field field = {
        .name = name, .kind = ADZ_FIELD_I64, ADZ_CLOSED((double)least, (double)most)
    };
    return adz_fields_check(op, &field, 1, &n);
}

bool adz_check_probability(const char *op, const char *name, double p)
{
    const adz_field field = { .name = name, .kind = ADZ_FIELD_F64, ADZ_CLOSED(0, 1) };
    return adz_fields_check(op, &field, 1, &p);
}

bool adz_check_parameter_dtype(const char *op, adz_dtype dtype)
{
    if (!adzi_is_float(dtype)) {
        adz_error_format(
            op, ADZ_ERR_DTYPE, "parameters are float32 or float64, not %s", adz_dtype_name(dtype));
    }
    return adzi_is_float(dtype);
}

const char *adz_text_shape(const adz_tensor *t)
{
    return t == NULL ? "(NULL)" : t->alive != ADZI_ALIVE ? "(ended)" : adzi_text_shape(t);
}

const char *adz_text_sizes(adz_shape shape)
{
    return adzi_text_sizes(shape.rank, shape.sizes);
}

const char *adz_text_number(double x)
{
    return adzi_text_number(x);
}

const char *adz_text_float(double x)
{
    return adzi_text_float(x);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* What adz_error_within runs, and what that returned. */
typedef struct within {
    adz_error_scope_function f;
    void *user;
    adz_status status;
} within;

static bool run_within(void *state)
{
    within *w = state;
    w->status = w->f(w->user);
    return !adzi_callback_failed("adz_error_within", w->status, "the function failed");
}

adz_status adz_error_within(const char *text, adz_error_scope_function f, void *user)
{
    const adzi_door door = { .op = "adz_error_within", .path = text };
    if (text == NULL || f == NULL) {
        return adz_error_null(door.op, text == NULL ? "text" : "f");
    }
    within w = { f, user, ADZ_ERR_MEMORY };
    adzi_through_door(&door, run_within, &w);
    return w.status;
}
