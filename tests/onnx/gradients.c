#include <math.h>
#include <stdio.h>

#include "suite.h"

enum { ELEMENTS = 12 }; /* of each input */

static bool floating(const adz_tensor *t)
{
    return adz_tensor_dtype(t) == ADZ_F64;
}

/** Weights that differ from element to element, so that no two errors cancel. */
static adz_tensor *weights(const adz_tensor *t)
{
    adz_tensor *w = adz_empty(adz_tensor_shape(t), ADZ_F64);
    double *at = adz_tensor_data_f64(w);
    for (int64_t i = 0; i < adz_tensor_numel(t); i++) {
        at[i] = 0.5 + fabs(sin(1.7 * (double)(i + 1)));
    }
    return w;
}

/** The weighted sum of the floating outputs; NULL if a call fails or no output is floating. */
static adz_tensor *weighted(adz_module *module, const case_tensors *t, adz_tensor *const *in)
{
    adz_values *out = adz_values_new();
    adz_tensor *sum = NULL;
    if (suite_call(module, t, in, out) == ADZ_OK) {
        for (size_t i = 0; i < adz_values_count(out); i++) {
            adz_tensor *y = adz_values_at(out, i);
            if (floating(y)) {
                adz_tensor *part = adz_sum(adz_mul(y, weights(y)), ADZ_ALL_DIMS, ADZ_DROPDIM);
                sum = sum == NULL ? part : adz_add(sum, part);
            }
        }
    }
    adz_values_free(&out);
    return sum;
}

/** (f(x + h) - f(x - h)) / 2h in element i of input k. */
static double difference(adz_module *module, const case_tensors *t, int k, int64_t i, double h)
{
    double value[2];
    for (int side = 0; side < 2; side++) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *in[CASE_TENSORS];
        for (int j = 0; j < t->n_in; j++) {
            in[j] = t->in[j];
        }
        in[k] = adz_clone(t->in[k]);
        adz_tensor_data_f64(in[k])[i] += side == 0 ? h : -h;
        adz_tensor *y = weighted(module, t, in);
        value[side] = y != NULL ? adz_item(y) : NAN;
        adz_error_clear();
        adz_scope_close(scope);
    }
    return (value[0] - value[1]) / (2 * h);
}

static bool compare_input(adz_module *module, const case_tensors *t, int k, adz_tensor *gradient,
    long *compared, char text[CASE_TEXT])
{
    int64_t n = adz_tensor_numel(t->in[k]), step = n / ELEMENTS + 1;
    const double *got = gradient != NULL ? adz_tensor_data_f64(adz_contiguous(gradient)) : NULL;
    for (int64_t i = 0; i < n; i += step) {
        double x = fabs(adz_tensor_data_f64(t->in[k])[i]);
        double h = 1e-5 * (x > 1 ? x : 1);
        double wide = difference(module, t, k, i, h), narrow = difference(module, t, k, i, h / 4);
        if (!isfinite(wide) || fabs(wide - narrow) > 1e-5 * (1 + fabs(wide))) {
            continue;
        }
        double expected = narrow, value = got != NULL ? got[i] : 0;
        if (!(fabs(value - expected) <= 2e-5 * (1 + fabs(expected)))) {
            snprintf(text, CASE_TEXT,
                "gradient of input %d, element %lld: %.9g, but differences give %.9g", k,
                (long long)i, value, expected);
            return false;
        }
        (*compared)++;
    }
    return true;
}

bool suite_gradients(
    adz_module *module, const case_tensors *t, long *compared, char text[CASE_TEXT])
{
    adz_tensor *in[CASE_TENSORS];
    bool any = false, fits = true;
    for (int i = 0; i < t->n_in; i++) {
        in[i] = t->in[i];
        if (floating(in[i])) {
            in[i] = adz_requires_grad_(adz_clone(in[i]), true);
            any = true;
        }
    }
    adz_tensor *sum = any ? weighted(module, t, in) : NULL;
    if (sum == NULL || !adz_tensor_requires_grad(sum)) {
        adz_error_clear();
        sum = NULL;
    } else if (adz_backward(sum) != ADZ_OK) {
        snprintf(text, CASE_TEXT, "backward: %.400s", adz_error_message());
        adz_error_clear();
        return false;
    }
    for (int i = 0; i < t->n_in && any && fits; i++) {
        fits =
            !floating(in[i]) || compare_input(module, t, i, adz_tensor_grad(in[i]), compared, text);
        adz_error_clear();
    }
    return fits;
}
