/* write_networks FOLDER: writes each network as FOLDER/NAME.onnx, and in FOLDER/NAME.safetensors
 * the inputs and results for two batch sizes, which onnx_check.py compares with a runtime's. Also
 * writes a function with several results, whose tensors are called after the outputs, and functions
 * with loops. */
#include <stdio.h>
#include <stdlib.h>

#include "loop_functions.h"
#include "networks.h"

/* In f64, floating-point inputs are converted. The networks of f64 are traced with a single row,
 * whose size 1 must not be taken for a dimension that broadcasts. */
static bool write_network(const char *folder, const network *n, adz_dtype dtype)
{
    const int64_t traced = dtype == ADZ_F64 ? 1 : 3;
    char path[4096];
    adz_module *module = network_new(n, dtype);
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = adz_safetensors_new();
    snprintf(path, sizeof path, "%s/%s%s.onnx", folder, n->name, dtype == ADZ_F64 ? "_f64" : "");
    adz_onnx_options o = ADZ_ONNX_OPTIONS;
    o.batch_dimension = n->fixed_batch ? ADZ_BATCH_AUTO : ADZ_BATCH_FREE;
    bool good = true;
    for (int i = 0; i < (n->fixed_batch ? 1 : 2) && good; ++i) {
        adz_tensor *x = n->input(i == 0 ? traced : 4);
        x = adz_tensor_dtype(x) == ADZ_F32 ? adz_to(x, dtype) : x;
        adz_module_reset(module);
        good = (i > 0 || network_write(module, x, path, &o) == ADZ_OK) &&
               adz_safetensors_add(file, i == 0 ? "x0" : "x1", x) == ADZ_OK;
        adz_module_reset(module);
        good = good && adz_safetensors_add(file, i == 0 ? "y0" : "y1",
                           adz_contiguous(adz_detach(adz_module_forward(module, x)))) == ADZ_OK;
    }
    snprintf(
        path, sizeof path, "%s/%s%s.safetensors", folder, n->name, dtype == ADZ_F64 ? "_f64" : "");
    good = good && adz_safetensors_save(file, path) == ADZ_OK;
    if (!good) {
        fprintf(stderr, "%s: %s\n", n->name, adz_error_message());
        adz_error_clear();
    }
    adz_safetensors_free(&file);
    adz_scope_close(scope);
    adz_module_release(&module);
    return good;
}

/* ---- several results ------------------------------------------------------------------------- */

enum { RESULTS = 5 };

static const char *const result_names[RESULTS] = { "scores", "best", "sure", "again", "turned" };

static adz_status several(adz_tensor **results, void *user)
{
    const module_and_input *of = user;
    adz_tensor *h = adz_module_forward(of->module, of->x);
    results[0] = adz_softmax(h, -1);
    results[1] = adz_argmax(h, ADZ_DIMS(-1), ADZ_DROPDIM);
    results[2] = adz_gt_number(h, 0);
    results[3] = results[0];
    results[4] = adz_transpose(results[0], 0, 1);
    return adz_error_code();
}

/* Adds an input and what the function computes of it. The first input is that of the model. */
static bool add_results(const char *folder, adz_safetensors *file, module_and_input *of, int i)
{
    char path[4096];
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs = adz_tensor_list_of(&of->x, 1);
    o.input_names = (const char *const[]){ "x" };
    o.module = of->module;
    o.result_names = result_names;
    adz_plan *plan = adz_plan_new_many(several, of, RESULTS, &o);
    snprintf(path, sizeof path, "%s/several_results.onnx", folder);
    adz_onnx_options batch = ADZ_ONNX_OPTIONS;
    batch.batch_dimension = ADZ_BATCH_FREE;
    bool good = plan != NULL && (i > 0 || adz_plan_write_onnx(plan, path, &batch) == ADZ_OK) &&
                adz_safetensors_add(file, i == 0 ? "x0" : "x1", of->x) == ADZ_OK;
    for (size_t k = 0; k < RESULTS && good; ++k) {
        char name[40];
        snprintf(name, sizeof name, "y%d.%s", i, result_names[k]);
        adz_tensor *y = adz_contiguous(adz_plan_result_at(plan, k));
        good = adz_safetensors_add(file, name, y) == ADZ_OK;
    }
    adz_plan_free(&plan);
    return good;
}

static bool write_results(const char *folder)
{
    char path[4096];
    adz_scope *scope = adz_scope_open();
    module_and_input of = { adz_linear_new(6, 4, NULL), NULL };
    adz_safetensors *file = adz_safetensors_new();
    bool good = true;
    for (int i = 0; i < 2 && good; ++i) {
        of.x = adz_randn(ADZ_SHAPE(i == 0 ? 3 : 4, 6), ADZ_F32);
        good = add_results(folder, file, &of, i);
    }
    snprintf(path, sizeof path, "%s/several_results.safetensors", folder);
    good = good && adz_safetensors_save(file, path) == ADZ_OK;
    if (!good) {
        fprintf(stderr, "several results: %s\n", adz_error_message());
        adz_error_clear();
    }
    adz_safetensors_free(&file);
    adz_module_release(&of.module);
    adz_scope_close(scope);
    return good;
}

/* ---- loops and branches ---------------------------------------------------------------------- */

static bool write_loop(const char *folder, const loop_function *f, adz_dtype dtype)
{
    char path[4096];
    const char *ending = dtype == ADZ_F64 ? "_f64" : "";
    adz_scope *scope = adz_scope_open();
    adz_module *cell = loop_module(f);
    adz_safetensors *file = adz_safetensors_new();
    adz_module_to(cell, dtype);
    adz_tensor *x = adz_randn(ADZ_SHAPE(LOOP_STEPS, LOOP_WIDTH), dtype);
    snprintf(path, sizeof path, "%s/loops_%s%s.onnx", folder, f->name, ending);
    bool good = loop_write_onnx(f, cell, x, path) == ADZ_OK &&
                adz_safetensors_add(file, "x0", x) == ADZ_OK &&
                adz_safetensors_add(file, "y0", adz_detach(f->call(cell, &x))) == ADZ_OK;
    snprintf(path, sizeof path, "%s/loops_%s%s.safetensors", folder, f->name, ending);
    good = good && adz_safetensors_save(file, path) == ADZ_OK;
    if (!good) {
        fprintf(stderr, "%s: %s\n", f->name, adz_error_message());
        adz_error_clear();
    }
    adz_safetensors_free(&file);
    adz_module_release(&cell);
    adz_scope_close(scope);
    return good;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: write_networks FOLDER\n");
        return EXIT_FAILURE;
    }
    int failed = !write_results(argv[1]);
    for (size_t i = 0; i < n_networks; ++i) {
        failed += !write_network(argv[1], &networks[i], ADZ_F32);
        failed += !write_network(argv[1], &networks[i], ADZ_F64);
    }
    for (size_t i = 0; i < n_loop_functions; ++i) {
        failed += !write_loop(argv[1], &loop_functions[i], ADZ_F32);
        failed += !write_loop(argv[1], &loop_functions[i], ADZ_F64);
    }
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
