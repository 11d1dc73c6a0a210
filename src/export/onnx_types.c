/* The dtypes of names and nodes. A node that ONNX or its runtimes do not have for a dtype is
 * written for a wider one, between conversions that lose nothing. What remains is refused. */
#include "export/generated/onnx_types.h"

#include <stdio.h>
#include <string.h>

#include "export/onnx.h"

static const adzi_onnx_signature *signature_of(const char *type)
{
    const size_t n = sizeof adzi_onnx_signatures / sizeof *adzi_onnx_signatures;
    for (size_t i = 0; i < n; ++i) {
        if (strcmp(adzi_onnx_signatures[i].type, type) == 0) {
            return &adzi_onnx_signatures[i];
        }
    }
    return NULL;
}

static bool contains(unsigned mask, int dtype)
{
    return (mask >> dtype & 1u) != 0;
}

bool adzi_onnx_runs(const char *type, adz_dtype dtype)
{
    const adzi_onnx_signature *s = signature_of(type);
    return s != NULL && contains(s->in[0].runs, (int)dtype);
}

/* The dtype in which an input is given to a node: its own, or a wider one that holds all its
 * numbers, and in which integers wrap around to equal results. A node that onnxruntime runs is
 * preferred. Returns the dtype itself if the node takes none of them. */
static int dtype_for(const adzi_onnx_types *t, int dtype)
{
    static const int8_t wider[][3] = { [ADZ_F32] = { -1 },
        [ADZ_F64] = { -1 },
        [ADZ_I32] = { ADZ_I64, -1 },
        [ADZ_I64] = { -1 },
        [ADZ_BOOL] = { ADZ_I32, ADZ_I64, -1 },
        [ADZ_U8] = { ADZ_I32, ADZ_I64, -1 },
        [ADZ_F16] = { ADZ_F32, -1 },
        [ADZ_BF16] = { ADZ_F32, -1 } };
    const unsigned masks[] = { t->runs, t->allowed };
    for (int m = 0; m < 2; ++m) {
        if (contains(masks[m], dtype)) {
            return dtype;
        }
        for (int i = 0; wider[dtype][i] >= 0; ++i) {
            if (contains(masks[m], wider[dtype][i])) {
                return wider[dtype][i];
            }
        }
    }
    return dtype;
}

/* Input i of a signature; the last one of a variadic node stands for all that follow. */
static const adzi_onnx_types *input_of(const adzi_onnx_signature *s, size_t i)
{
    if (s->variadic && i >= (size_t)s->least) {
        i = (size_t)s->least - 1;
    }
    return i < ADZI_ONNX_TYPED_INPUTS && s->in[i].allowed != 0 ? &s->in[i] : NULL;
}

static bool refuse(adzi_onnx *g, const char *type, int dtype)
{
    char reason[200];
    snprintf(reason, sizeof reason,
        "needs ONNX's %s of %s, which opset 17 does not have; convert the inputs with adz_to", type,
        dtype >= 0 ? adz_dtype_name((adz_dtype)dtype) : "an unknown dtype");
    return adzi_onnx_refuse(g, reason);
}

bool adzi_onnx_type_node(
    adzi_onnx *g, const char *type, adzi_onnx_names in, adzi_onnx_choice *choice)
{
    const adzi_onnx_signature *s = signature_of(type);
    memset(choice, -1, sizeof *choice);
    choice->signature = s;
    if (s == NULL || in.count < (size_t)s->least || in.count > (size_t)s->most) {
        return refuse(g, type, -1);
    }
    for (size_t i = 0; i < in.count; ++i) {
        const adzi_onnx_types *t = input_of(s, i);
        const int dtype = adzi_onnx_dtype_of(g, in.items[i]);
        if (in.items[i][0] == '\0') {
            continue;
        }
        const int chosen = t != NULL && dtype >= 0 ? dtype_for(t, dtype) : -1;
        if (chosen < 0 || !contains(t->allowed, chosen) ||
            (t->same != 0 && choice->given[t->same] >= 0 && choice->given[t->same] != dtype)) {
            return refuse(g, type, dtype);
        }
        choice->given[t->same] = (int8_t)dtype;
        choice->chosen[t->same] = (int8_t)chosen;
    }
    return true;
}

int adzi_onnx_input_dtype(const adzi_onnx_choice *choice, size_t i)
{
    const adzi_onnx_types *t = input_of(choice->signature, i);
    return t->same != 0 ? choice->chosen[t->same] : -1;
}

void adzi_onnx_output_dtypes(const adzi_onnx_choice *choice, size_t k, int *node, int *result)
{
    /* The first result of a Split stands for all of them. */
    const adzi_onnx_types *out = choice->signature->out;
    const adzi_onnx_types *t =
        k < ADZI_ONNX_TYPED_OUTPUTS && out[k].allowed != 0 ? &out[k] : &out[0];
    *node = *result = -1;
    if (t->same != 0 && choice->chosen[t->same] >= 0) {
        *node = choice->chosen[t->same];
        *result = choice->given[t->same];
        return;
    }
    for (int dtype = ADZ_F32; dtype <= ADZ_BF16; ++dtype) {
        if (t->allowed == 1u << dtype) {
            *node = *result = dtype;
        }
    }
}
