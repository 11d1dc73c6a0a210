#include <math.h>
#include <stdio.h>
#include <string.h>

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

/** f where element i of input k is moved by h. */
static double moved(adz_module *module, const case_tensors *t, int k, int64_t i, double h)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *in[CASE_TENSORS];
    for (int j = 0; j < t->n_in; j++) {
        in[j] = t->in[j];
    }
    in[k] = adz_clone(t->in[k]);
    adz_tensor_data_f64(in[k])[i] += h;
    adz_tensor *y = weighted(module, t, in);
    double value = y != NULL ? adz_item(y) : NAN;
    adz_error_clear();
    adz_scope_close(scope);
    return value;
}

/** The derivative of f with respect to element i of input k, by differences; false where both sides
 * or two steps disagree, because the function bends or jumps there, or where f is so large that
 * its rounding hides the step. */
static bool slope(adz_module *module, const case_tensors *t, int k, int64_t i, double *value)
{
    double x = fabs(adz_tensor_data_f64(t->in[k])[i]), h = 1e-5 * (x > 1 ? x : 1);
    double here = moved(module, t, k, i, 0);
    double above = moved(module, t, k, i, h), below = moved(module, t, k, i, -h);
    double near = (moved(module, t, k, i, h / 4) - moved(module, t, k, i, -h / 4)) / (h / 2);
    double wide = (above - below) / (2 * h);
    *value = near;
    return isfinite(wide) && fabs(here) * 1e-15 <= 1e-5 * h &&
           fabs((above - here) - (here - below)) / h < 1e-2 * (1 + fabs(wide)) &&
           fabs(wide - near) < 1e-5 * (1 + fabs(wide));
}

/** Compares some elements of the gradient of input k. */
static bool compare_input(adz_module *module, const case_tensors *t, const suite_case *c, int k,
    const adz_tensor *gradient, long *compared, char text[CASE_TEXT])
{
    bool body = strcmp(c->operator_name, "Attention.body") == 0;
    int64_t n = adz_tensor_numel(t->in[k]), step = n / ELEMENTS + 1;
    const double *got = adz_tensor_data_f64(adz_contiguous((adz_tensor *)gradient));
    for (int64_t i = 0; i < n; i += step) {
        double expected;
        /* Where a query attends to no key, the nodes of the body compute 0 / 0 and drop it. */
        if (!slope(module, t, k, i, &expected) || (body && isnan(got[i]))) {
            continue;
        }
        if (!(fabs(got[i] - expected) <= 2e-5 * (1 + fabs(expected)))) {
            snprintf(text, CASE_TEXT,
                "gradient of input %d, element %lld: %.9g, but differences give %.9g", k,
                (long long)i, got[i], expected);
            return false;
        }
        (*compared)++;
    }
    return true;
}

/** Whether no element of input k changes f. */
static bool without_effect(adz_module *module, const case_tensors *t, int k, char text[CASE_TEXT])
{
    int64_t n = adz_tensor_numel(t->in[k]), step = n / ELEMENTS + 1;
    for (int64_t i = 0; i < n; i += step) {
        double expected;
        if (slope(module, t, k, i, &expected) && fabs(expected) > 1e-6) {
            snprintf(text, CASE_TEXT, "input %d has no gradient, but differences give %.9g", k,
                expected);
            return false;
        }
    }
    return true;
}

/** Inputs that no gradient passes by design: they are numbers that decide how a node computes. */
static bool is_setting(const char *operator_name, int k)
{
    static const struct {
        const char *name;
        int first;
    } settings[] = { { "CenterCropPad", 1 }, { "Clip", 1 }, { "Dropout", 1 }, { "Pad", 1 },
        { "Resize", 1 }, { "Upsample", 1 } };
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        if (strcmp(settings[i].name, operator_name) == 0) {
            return k >= settings[i].first;
        }
    }
    return false;
}

/** The gradient of input k alone. A refusal counts as none, as does a case without floats. */
static bool compare_one(adz_module *module, const case_tensors *t, const suite_case *c, int k,
    long *compared, char text[CASE_TEXT])
{
    adz_tensor *in[CASE_TENSORS];
    for (int i = 0; i < t->n_in; i++) {
        in[i] = t->in[i];
    }
    in[k] = adz_requires_grad_(adz_clone(t->in[k]), true);
    adz_tensor *sum = weighted(module, t, in);
    if (sum == NULL) {
        bool refused = adz_error_code() == ADZ_ERR_UNSUPPORTED || adz_error_code() == ADZ_OK;
        snprintf(text, CASE_TEXT, "input %d: %.400s", k, adz_error_message());
        adz_error_clear();
        return refused;
    }
    if (!adz_tensor_requires_grad(sum)) {
        return is_setting(c->operator_name, k) || without_effect(module, t, k, text);
    }
    if (adz_backward(sum) != ADZ_OK) {
        snprintf(text, CASE_TEXT, "backward, input %d: %.400s", k, adz_error_message());
        adz_error_clear();
        return false;
    }
    const adz_tensor *gradient = adz_tensor_grad(in[k]);
    return gradient != NULL ? compare_input(module, t, c, k, gradient, compared, text)
                            : without_effect(module, t, k, text);
}

bool suite_gradients(adz_module *module, const case_tensors *t, const suite_case *c, long *compared,
    char text[CASE_TEXT])
{
    for (int k = 0; k < t->n_in; k++) {
        adz_scope *scope = adz_scope_open();
        bool fits = !floating(t->in[k]) || adz_tensor_numel(t->in[k]) == 0 ||
                    compare_one(module, t, c, k, compared, text);
        adz_scope_close(scope);
        if (!fits) {
            return false;
        }
    }
    text[0] = 0;
    return true;
}
