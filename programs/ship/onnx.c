/* Networks in ONNX files. */
#include <adze/onnx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/shared/command_line.h"
#include "network.h"

bool is_onnx_file(const char *path)
{
    const size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".onnx") == 0;
}

static void call(const net *n, adz_tensor *const *inputs, adz_tensor **outputs)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    for (size_t i = 0; i < n->n_inputs; ++i) {
        adz_values_add(in, NULL, inputs[i]);
    }
    adz_module_call(n->root, in, out);
    for (size_t i = 0; i < n->n_outputs; ++i) {
        adz_tensor *y = adz_values_at(out, i);
        outputs[i] = y != ADZ_NONE ? y : NULL;
    }
    adz_values_free(&in);
    adz_values_free(&out);
}

static void end(net *n)
{
    adz_module_release(&n->root);
}

/* ---- the sizes of inputs --------------------------------------------------------------------- */

/* The sizes in a text "NAME=2,3" of --inputs; NULL if it is of another input. */
static const char *sizes_of(const char *text, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(text, name, length) == 0 && text[length] == '=' ? text + length + 1 : NULL;
}

/* What --inputs gives for an input; NULL if there is none. */
static const char *given_shape(const reading_options *o, const char *name)
{
    const char *found = NULL;
    for (size_t i = 0; i < o->n_shapes; ++i) {
        const char *sizes = sizes_of(o->shapes[i], name);
        if (sizes != NULL && found != NULL) {
            usage_error("--inputs gives the shape of '%s' twice", name);
        }
        found = sizes != NULL ? sizes : found;
    }
    return found;
}

static adz_shape parse_shape(const char *name, const char *text)
{
    adz_shape shape = { 0 };
    const char *at = text;
    while (*at != '\0') {
        char *after = NULL;
        const long long size = strtoll(at, &after, 10);
        const bool separated = *after == '\0' || (*after == ',' && after[1] != '\0');
        if (after == at || size < 1 || size > INT32_MAX || !separated ||
            shape.rank == ADZ_MAX_RANK) {
            usage_error("--inputs %s=%s: a shape is up to %d sizes, as 1,3,32,32", name, text,
                ADZ_MAX_RANK);
        }
        shape.sizes[shape.rank++] = size;
        at = *after == ',' ? after + 1 : after;
    }
    return shape;
}

static void shape_text(char *text, size_t size, const adz_shape *shape)
{
    size_t used = 0;
    for (int d = 0; d < shape->rank && used < size; ++d) {
        used += (size_t)snprintf(text + used, size - used, shape->sizes[d] < 0 ? "%s?" : "%s%lld",
            d > 0 ? "," : "", (long long)shape->sizes[d]);
    }
}

/* The sizes that --inputs gives or the file does. A file often leaves the number of rows free: that
 * is 1 here. Of other sizes nobody knows a good one. */
static adz_shape shape_of_input(
    const char *path, const char *name, adz_shape declared, const reading_options *o)
{
    char text[200] = "";
    const char *given = given_shape(o, name);
    if (declared.rank >= 0) {
        shape_text(text, sizeof text, &declared);
    }
    if (given != NULL) {
        const adz_shape shape = parse_shape(name, given);
        bool fits = declared.rank < 0 || declared.rank == shape.rank;
        for (int d = 0; d < declared.rank && fits; ++d) {
            fits = declared.sizes[d] < 0 || declared.sizes[d] == shape.sizes[d];
        }
        if (!fits) {
            usage_error("--inputs %s=%s: the file has the shape %s, where ? may be any size", name,
                given, text);
        }
        return shape;
    }
    if (declared.rank > 0 && declared.sizes[0] < 0) {
        declared.sizes[0] = 1;
    }
    for (int d = 0; d < declared.rank; ++d) {
        if (declared.sizes[d] < 0) {
            usage_error("%s leaves the shape of input '%s' free: %s, where ? is any size; give it, "
                        "as --inputs %s=1,3,32,32",
                path, name, text, name);
        }
    }
    if (declared.rank < 0) {
        usage_error("%s does not say the shape of input '%s'; give it, as --inputs %s=1,3,32,32",
            path, name, name);
    }
    return declared;
}

/* ---- loading --------------------------------------------------------------------------------- */

static port new_port(const char *name, adz_shape shape, adz_dtype dtype)
{
    port p = { .shape = shape, .dtype = dtype };
    snprintf(p.name, sizeof p.name, "%s", name);
    return p;
}

/* Every shape of --inputs has to be that of an input. */
static void check_names(const net *n, const reading_options *o)
{
    for (size_t i = 0; i < o->n_shapes; ++i) {
        bool found = false;
        for (size_t k = 0; k < n->n_inputs; ++k) {
            found = found || sizes_of(o->shapes[i], adz_onnx_input_name_at(n->root, k)) != NULL;
        }
        if (!found) {
            usage_error("--inputs %s: the first input of the file is '%s'; write NAME=SHAPE",
                o->shapes[i], n->n_inputs > 0 ? adz_onnx_input_name_at(n->root, 0) : "");
        }
    }
}

/* The results' shapes and dtypes are those of a call with zeros. */
static void run_network(net *n)
{
    adz_tensor *inputs[PORTS], *outputs[PORTS] = { NULL };
    adz_scope *scope = adz_scope_open();
    for (size_t i = 0; i < n->n_inputs; ++i) {
        inputs[i] = adz_zeros(n->inputs[i].shape, n->inputs[i].dtype);
    }
    ADZ_NO_GRAD
    {
        call(n, inputs, outputs);
    }
    for (size_t i = 0; i < n->n_outputs; ++i) {
        n->outputs[i] = new_port(adz_onnx_output_name_at(n->root, i), adz_tensor_shape(outputs[i]),
            adz_tensor_dtype(outputs[i]));
    }
    adz_scope_close(scope);
}

net load_onnx(const char *path, const reading_options *o)
{
    adz_onnx_load_options options = ADZ_ONNX_LOAD_OPTIONS;
    options.dtype = o->dtype;
    net n = { .root = adz_onnx_load(path, &options), .call = call, .end = end };
    n.n_inputs = adz_onnx_input_count(n.root);
    n.n_outputs = adz_onnx_output_count(n.root);
    if (n.n_inputs > PORTS || n.n_outputs > PORTS) {
        fail("%s has %zu inputs and %zu results; ship writes networks with at most %d of each",
            path, n.n_inputs, n.n_outputs, PORTS);
    }
    check_names(&n, o);
    for (size_t i = 0; i < n.n_inputs; ++i) {
        const char *name = adz_onnx_input_name_at(n.root, i);
        n.inputs[i] =
            new_port(name, shape_of_input(path, name, adz_onnx_input_shape_at(n.root, i), o),
                adz_onnx_input_dtype_at(n.root, i));
    }
    run_network(&n);
    return n;
}
