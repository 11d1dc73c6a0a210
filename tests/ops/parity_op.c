/* Runs the vector files of operators: calls the operator that config.op names on the file's inputs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/parity.h"
#include "ops/sweep.h"

/* The case of an operator: one that lists the name among its vectors, or else one that is called so
 * and lists none. The cases "pow" and "dropout" list none, and the files of these names are of
 * other cases, which list them. */
static const op_case *case_for(const char *op)
{
    const op_case *called = NULL;
    for (int i = 0; i < n_op_cases; ++i) {
        if (op_cases[i]->vectors[0] == NULL && strcmp(op_cases[i]->name, op) == 0) {
            called = op_cases[i];
        }
        for (int k = 0; k < 8 && op_cases[i]->vectors[k] != NULL; ++k) {
            if (strcmp(op_cases[i]->vectors[k], op) == 0) {
                return op_cases[i];
            }
        }
    }
    return called;
}

static int64_t integer(const json_t *list, size_t i)
{
    return json_integer_value(json_array_get(list, i));
}

/* Makes the view that one step of config.views describes. */
static adz_tensor *view_step(adz_tensor *t, const json_t *step)
{
    const char *what = json_string_value(json_array_get(step, 0));
    if (strcmp(what, "transpose") == 0) {
        return adz_transpose(t, (int)integer(step, 1), (int)integer(step, 2));
    }
    if (strcmp(what, "slice") == 0) {
        return adz_slice(
            t, (int)integer(step, 1), integer(step, 2), integer(step, 3), integer(step, 4));
    }
    if (strcmp(what, "unsqueeze") == 0) {
        return adz_unsqueeze(t, (int)integer(step, 1));
    }
    const json_t *list = json_array_get(step, 1);
    int64_t sizes[ADZ_MAX_RANK];
    int dims[ADZ_MAX_RANK], n = (int)json_array_size(list);
    for (int i = 0; i < n; ++i) {
        sizes[i] = integer(list, (size_t)i);
        dims[i] = (int)sizes[i];
    }
    return strcmp(what, "permute") == 0 ? adz_permute(t, adz_dims_of(n, dims))
                                        : adz_expand(t, adz_shape_of(n, sizes));
}

/* One computation: a leaf for each input, and the results. */
typedef struct {
    adz_tensor *leaves[CASE_INPUTS], *results[CASE_RESULTS];
    int n_results;
} computed;

/* The tensor "<prefix><group>.<name>" of the first group that has it, or NULL. */
static adz_tensor *find(
    const vector_file *v, const char *prefix, const char *const *groups, const char *name)
{
    for (; *groups != NULL; ++groups) {
        char full[120];
        snprintf(full, sizeof full, "%s%s.%s", prefix, *groups, name);
        adz_tensor *t = vector_tensor(v, full);
        if (t != NULL) {
            return t;
        }
    }
    return NULL;
}

/* The groups of names. Arguments can be inputs, parameters or buffers of a module, and a changed
 * buffer is a result. */
static const char *const arguments[] = { "input", "param", "buffer", NULL };
static const char *const outputs[] = { "output", "buffer_after", NULL };

/* The file's name of input i, or NULL behind the last one. A case without names has a, b, ... */
static const char *input_name(const op_case *c, int i)
{
    static const char *const letters[CASE_INPUTS] = { "a", "b", "c", "d" };
    return (c->inputs[0] != NULL ? c->inputs : letters)[i];
}

/* The file's name of result k. Files with one result call it y; files with several name each, or
 * call them y, y1 and y2. */
static const char *output_name(const vector_file *v, const op_case *c, int k)
{
    static const char *const numbered[CASE_RESULTS] = { "y", "y1", "y2" };
    return c->outputs[k] != NULL && find(v, "", outputs, c->outputs[k]) != NULL ? c->outputs[k]
           : k == 0 || c->outputs[0] == NULL                                    ? numbered[k]
                                                                                : NULL;
}

/* The case's numbers, config.p. */
static void read_numbers(const json_t *config, op_args *args)
{
    const json_t *numbers = json_object_get(config, "p");
    for (size_t i = 0; i < json_array_size(numbers) && i < CASE_PARAMS; ++i) {
        args->p[i] = json_number_value(json_array_get(numbers, i));
    }
}

static bool compute(
    const vector_file *v, const op_case *c, adz_dtype dtype, bool from_f32, computed *run)
{
    op_args args = { .n = 0 };
    reset_case_units();
    char name[80];
    for (int i = 0; i < CASE_INPUTS && input_name(c, i) != NULL; ++i) {
        adz_tensor *t = find(v, "", arguments, input_name(c, i));
        args.in[i] = ADZ_NONE;
        run->leaves[i] = NULL;
        if (t == NULL) {
            continue;
        }
        args.n = i + 1;
        if (adz_tensor_dtype(t) == ADZ_F64) {
            t = from_f32 ? adz_to(adz_to(t, ADZ_F32), dtype) : adz_to(t, dtype);
            if (find(v, "grad.", arguments, input_name(c, i)) != NULL) {
                adz_requires_grad_(t, true);
            }
        }
        run->leaves[i] = t;
        const json_t *views =
            json_object_get(json_object_get(v->config, "views"), input_name(c, i));
        for (size_t s = 0; s < json_array_size(views); ++s) {
            t = view_step(t, json_array_get(views, s));
        }
        args.in[i] = t;
    }
    read_numbers(v->config, &args);
    if (c->config != NULL && !c->config(v->config, &args)) {
        return false;
    }
    run->n_results = c->call(&args, run->results);
    adz_tensor *ys[CASE_RESULTS], *upstream[CASE_RESULTS];
    size_t n = 0;
    for (int k = 0; k < run->n_results; ++k) {
        const char *result = output_name(v, c, k);
        snprintf(name, sizeof name, "upstream.%s", result != NULL ? result : "");
        adz_tensor *g = vector_tensor(v, name);
        if (g != NULL && adz_tensor_requires_grad(run->results[k])) {
            ys[n] = run->results[k];
            upstream[n++] = adz_to(g, dtype);
        }
    }
    return run->n_results > 0 && (n == 0 || adz_autograd_backward(ys, upstream, n, NULL) == ADZ_OK);
}

/* The number of results and gradients in the file. */
static int count_expected(const vector_file *v)
{
    const char *key;
    json_t *value;
    int n = 0;
    json_object_foreach(v->header, key, value)
    {
        n += strncmp(key, "output.", 7) == 0 || strncmp(key, "grad.", 5) == 0 ||
             strncmp(key, "buffer_after.", 13) == 0;
    }
    return n;
}

/* Runs a case. In f32 it is compared with a run in f64 on the inputs rounded to f32. */
static bool run_case(const vector_file *v, const op_case *c, bool f32, verdict *out)
{
    computed run = { .n_results = 0 }, again = { .n_results = 0 };
    if (!compute(v, c, f32 ? ADZ_F32 : ADZ_F64, f32, &run) ||
        (f32 && !compute(v, c, ADZ_F64, true, &again))) {
        return false;
    }
    for (int k = 0; k < run.n_results; ++k) {
        const char *result = output_name(v, c, k);
        adz_tensor *stored = result != NULL ? find(v, "", outputs, result) : NULL;
        adz_tensor *expected = f32 ? again.results[k] : stored;
        if (result != NULL && expected != NULL) {
            parity_judge(out, "", result, run.results[k], expected);
        }
    }
    for (int i = 0; i < CASE_INPUTS && input_name(c, i) != NULL; ++i) {
        adz_tensor *expected = find(v, "grad.", arguments, input_name(c, i));
        if (expected == NULL) {
            continue;
        }
        adz_tensor *got = adz_tensor_grad(run.leaves[i]);
        expected = f32 ? adz_tensor_grad(again.leaves[i]) : expected;
        got = got != NULL ? got : adz_zeros_like(run.leaves[i]);
        expected = expected != NULL ? expected : adz_zeros_like(run.leaves[i]);
        parity_judge(out, "grad.", input_name(c, i), got, expected);
    }
    if (out->compared != count_expected(v)) {
        snprintf(out->note, sizeof out->note,
            "the file has %d results and gradients, %d of them known", count_expected(v),
            out->compared);
        return false;
    }
    return true;
}

bool parity_op(const vector_file *v, bool f32, verdict *out)
{
    const char *name = config_text(v->config, "op", "?");
    const op_case *c = case_for(name);
    out->tolerance = f32 ? 1e-4 : out->tolerance;
    if (c == NULL) {
        snprintf(out->note, sizeof out->note, "no operator serves '%s'", name);
    }
    return c != NULL && run_case(v, c, f32, out);
}
