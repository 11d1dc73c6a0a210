#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adze/onnx.h"
#include "suite.h"

enum { FLOAT16 = 10, BFLOAT16 = 16 }; /* element types of ONNX */

long suite_compared;

/** A tensor of a file, with floats as f64 if asked for. */
static adz_tensor *read_tensor(const char *path, bool f64)
{
    adz_tensor *t = adz_onnx_tensor_load(path);
    return f64 && adz_tensor_dtype(t) == ADZ_F32 ? adz_to(t, ADZ_F64) : t;
}

/** Reads input_0.pb, input_1.pb and so on; false if one has a dtype that adze does not hold. */
static bool read_tensors(const char *folder, const suite_case *c, bool f64, case_tensors *t)
{
    char path[1024];
    for (int side = 0; side < 2; side++) {
        int *n = side == 0 ? &t->n_in : &t->n_out;
        for (*n = 0; *n < CASE_TENSORS; (*n)++) {
            snprintf(path, sizeof(path), "%s/%s/%s/%s_%d.pb", folder, c->kind, c->name,
                side == 0 ? "input" : "output", *n);
            FILE *file = fopen(path, "rb");
            if (file == NULL) {
                break;
            }
            fclose(file);
            adz_tensor *read = read_tensor(path, f64);
            if (read == NULL) {
                return false;
            }
            *(side == 0 ? &t->in[*n] : &t->out[*n]) = read;
        }
    }
    return t->n_out > 0;
}

static bool close_to(double got, double expected, double rtol, double atol)
{
    if (isnan(expected) || isnan(got)) {
        return isnan(expected) && isnan(got);
    }
    if (isinf(expected) || isinf(got)) {
        return got == expected;
    }
    return fabs(got - expected) <= atol + rtol * fabs(expected);
}

static bool same_shape(const adz_tensor *a, const adz_tensor *b)
{
    adz_shape x = adz_tensor_shape(a), y = adz_tensor_shape(b);
    return x.rank == y.rank && memcmp(x.sizes, y.sizes, (size_t)x.rank * sizeof(x.sizes[0])) == 0;
}

static const char *shape_text(const adz_tensor *t, char *text, size_t size)
{
    adz_shape s = adz_tensor_shape(t);
    size_t used = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < s.rank && used < size; i++) {
        used += (size_t)snprintf(
            text + used, size - used, "%s%lld", i > 0 ? ", " : "", (long long)s.sizes[i]);
    }
    if (used < size) {
        snprintf(text + used, size - used, ")");
    }
    return text;
}

/** The element type of output i, by its number in TensorProto. */
static int type_of(const suite_case *c, int i)
{
    const char *at = c->types;
    for (int k = 0; k < i && at != NULL; k++) {
        at = strchr(at, ',');
        at = at != NULL ? at + 1 : NULL;
    }
    return at != NULL ? atoi(at) : 0;
}

static bool same_elements(adz_tensor *got, adz_tensor *expected, bool floats, double rtol,
    int slack, const suite_case *c, char text[CASE_TEXT])
{
    adz_tensor *x = adz_contiguous(adz_to(got, floats ? ADZ_F64 : ADZ_I64));
    adz_tensor *y = adz_contiguous(adz_to(expected, floats ? ADZ_F64 : ADZ_I64));
    for (int64_t i = 0; i < adz_tensor_numel(x); i++) {
        double u = floats ? adz_tensor_data_f64(x)[i] : (double)adz_tensor_data_i64(x)[i];
        double v = floats ? adz_tensor_data_f64(y)[i] : (double)adz_tensor_data_i64(y)[i];
        bool same = floats ? close_to(u, v, rtol, c->atol)
                           : llabs(adz_tensor_data_i64(x)[i] - adz_tensor_data_i64(y)[i]) <= slack;
        if (!same) {
            snprintf(text, CASE_TEXT, "element %lld is %.9g instead of %.9g", (long long)i, u, v);
            return false;
        }
    }
    return true;
}

/** As onnx.backend.test compares, but integers exactly. Results of 16 bits are rounded before they
 * are compared. Their tolerance is two units in the last place: onnx computes every step in 16
 * bits, adze in 32. */
static bool equal_output(
    adz_tensor *got, adz_tensor *expected, int type, const suite_case *c, char text[CASE_TEXT])
{
    char a[128], b[128];
    if (adz_tensor_dtype(got) != adz_tensor_dtype(expected)) {
        snprintf(text, CASE_TEXT, "dtype %s instead of %s", adz_dtype_name(adz_tensor_dtype(got)),
            adz_dtype_name(adz_tensor_dtype(expected)));
        return false;
    }
    if (!same_shape(got, expected)) {
        snprintf(text, CASE_TEXT, "shape %s instead of %s", shape_text(got, a, sizeof(a)),
            shape_text(expected, b, sizeof(b)));
        return false;
    }
    if (isinf(c->atol)) {
        return true;
    }
    if (type == FLOAT16 || type == BFLOAT16) {
        got = adz_to(got, type == FLOAT16 ? ADZ_F16 : ADZ_BF16);
    }
    adz_dtype dtype = adz_tensor_dtype(expected);
    double rtol = type == BFLOAT16 ? 1.0 / 64 : type == FLOAT16 ? 1.0 / 512 : c->rtol;
    /* In f64, numbers that lie between two of 8 bits may be rounded to the other one. */
    int slack = dtype == ADZ_U8 && c->f64 ? 1 : 0;
    return same_elements(got, expected, dtype == ADZ_F32 || dtype == ADZ_F64, rtol, slack, c, text);
}

static outcome refused(const char *when, char text[CASE_TEXT])
{
    adz_status status = adz_error_code();
    char message[CASE_TEXT - 32] = "";
    adz_error_take(message, sizeof(message));
    snprintf(text, CASE_TEXT, "%s: %s", when, message);
    return status == ADZ_ERR_UNSUPPORTED ? REFUSED : WRONG;
}

adz_status suite_call(
    adz_module *module, const case_tensors *t, adz_tensor *const *in, adz_values *out)
{
    adz_values *arguments = adz_values_new();
    adz_status status = ADZ_OK;
    for (int i = 0; i < t->n_in && status == ADZ_OK; i++) {
        status = adz_values_add(arguments, NULL, in[i]);
    }
    if (status == ADZ_OK) {
        status = adz_module_call(module, arguments, out);
    }
    adz_values_free(&arguments);
    return status;
}

static outcome compared(
    const case_tensors *t, const suite_case *c, const adz_values *out, char text[CASE_TEXT])
{
    char why[CASE_TEXT];
    if ((int)adz_values_count(out) != t->n_out) {
        snprintf(text, CASE_TEXT, "%zu outputs instead of %d", adz_values_count(out), t->n_out);
        return WRONG;
    }
    for (int i = 0; i < t->n_out; i++) {
        if (!equal_output(adz_values_at(out, (size_t)i), t->out[i], type_of(c, i), c, why)) {
            snprintf(text, CASE_TEXT, "output %d: %.*s", i, CASE_TEXT - 32, why);
            return WRONG;
        }
    }
    return PASSED;
}

static outcome with_module(adz_module *module, const char *folder, const suite_case *c,
    const suite_options *options, char text[CASE_TEXT])
{
    case_tensors t = { .n_in = 0 };
    if (!read_tensors(folder, c, options->f64, &t)) {
        adz_error_clear();
        snprintf(text, CASE_TEXT, "%s",
            c->held ? "its files cannot be read"
                    : "loaded, although adze does not hold its tensors");
        return WRONG;
    }
    adz_module_eval(module);
    adz_values *out = adz_values_new();
    outcome result = suite_call(module, &t, t.in, out) != ADZ_OK ? refused("run", text)
                                                                 : compared(&t, c, out, text);
    adz_values_free(&out);
    if (result == PASSED && options->gradients && !isinf(c->atol) &&
        !suite_gradients(module, &t, c, &suite_compared, text)) {
        result = WRONG;
    }
    return result;
}

outcome suite_run(
    const char *folder, const suite_case *c, const suite_options *options, char text[CASE_TEXT])
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s/%s/model.onnx", folder, c->kind, c->name);
    text[0] = 0;
    adz_scope *scope = adz_scope_open();
    adz_onnx_load_options load = ADZ_ONNX_LOAD_OPTIONS;
    if (options->f64) {
        load.dtype = ADZ_F64;
    }
    adz_module *module = adz_onnx_load(path, &load);
    outcome result =
        module == NULL ? refused("load", text) : with_module(module, folder, c, options, text);
    adz_module_release(&module);
    adz_scope_close(scope);
    return result;
}
