/* write_networks FOLDER: writes each network as FOLDER/NAME.onnx, and in FOLDER/NAME.safetensors
 * the inputs and results for two batch sizes, which onnx_check.py compares with a runtime's. */
#include <stdio.h>
#include <stdlib.h>

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
    adz_module_free(&module);
    return good;
}

int main(int argc, char **argv)
{
    int failed = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: write_networks FOLDER\n");
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < n_networks; ++i) {
        failed += !write_network(argv[1], &networks[i], ADZ_F32);
        failed += !write_network(argv[1], &networks[i], ADZ_F64);
    }
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
