/* Classifiers of images that digits has saved. */
#include <stdlib.h>

#include "../../examples/digits/model.h"
#include "network.h"

bool is_digits_file(const char *path)
{
    adz_safetensors *file = adz_safetensors_load(path, NULL);
    const bool found = adz_safetensors_get_metadata(file, "image-height") != NULL;
    adz_safetensors_free(&file);
    return found;
}

/* An image in its own unit goes in, and the scores of the classes come out. */
static void call(const net *n, adz_tensor *const *inputs, adz_tensor **outputs)
{
    const model *m = n->own;
    outputs[0] = scores_of(m, scaled(m, inputs[0]));
}

static void end(net *n)
{
    free_digits(n->own);
    free(n->own);
}

net load_digits_file(const char *path, const reading_options *o)
{
    model *m = allocate(sizeof *m);
    *m = load_digits(path);
    adz_module_to(m->root, o->dtype);
    adz_module_eval(m->root);
    return (net){ .root = m->root,
        .inputs = { { "x", ADZ_SHAPE(1, 1, m->height, m->width), o->dtype } },
        .outputs = { { "y", ADZ_SHAPE(1, CLASSES), o->dtype } },
        .n_inputs = 1,
        .n_outputs = 1,
        .call = call,
        .end = end,
        .own = m };
}
