/* Networks that ffn-regression has saved. */
#include <stdio.h>
#include <stdlib.h>

#include "../../examples/ffn-regression/model.h"
#include "../../examples/shared/command_line.h"
#include "network.h"

/* The standardisers and the network compute with one dtype here, which is that of the file in C. */
static void call(const net *n, adz_tensor *const *inputs, adz_tensor **outputs)
{
    const model *m = n->own;
    adz_tensor *x = adz_module_forward(input_standardizer(m), inputs[0]);
    outputs[0] =
        adz_standardizer_inverse(target_standardizer(m), adz_module_forward(network(m), x));
}

static void end(net *n)
{
    free_model(n->own);
    free(n->own);
}

/* Why files of other programs are refused, by what their metadata has. */
static const struct other {
    const char *key, *reason;
} others[] = {
    { "tokenizer",
        "text-classifier has saved this file; its input is a text of any length, which has no "
        "fixed shape" },
    { "span",
        "forecast has saved this file; its forecasts come from an ensemble and the series before "
        "them, not from one network" },
};

static void check_origin(const char *path)
{
    adz_safetensors *file = adz_safetensors_load(path, NULL);
    if (adz_safetensors_get_metadata(file, "activation") == NULL) {
        for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
            if (adz_safetensors_get_metadata(file, others[i].key) != NULL) {
                fail("%s: %s", path, others[i].reason);
            }
        }
        fail(
            "%s: neither ffn-regression nor digits has saved this file, and networks of other programs "
            "cannot be rebuilt from their files; give an ONNX file, as char-lm --export-onnx and "
            "adz_module_write_onnx write it",
            path);
    }
    adz_safetensors_free(&file);
}

net load_ffn(const char *path, const reading_options *o)
{
    check_origin(path);
    model *m = allocate(sizeof *m);
    *m = load_model(path, NULL);
    adz_module_to(m->root, o->dtype);
    adz_module_eval(m->root);
    return (net){ .root = m->root,
        .inputs = { { "x", ADZ_SHAPE(1, (int64_t)m->n_features), o->dtype } },
        .outputs = { { "y", ADZ_SHAPE(1, 1), o->dtype } },
        .n_inputs = 1,
        .n_outputs = 1,
        .call = call,
        .end = end,
        .own = m };
}
