/* Surroundings of tensors. */
#include <string.h>

#include "adze/ops/convert.h"
#include "adze/ops/shape.h"
#include "run.h"

/** Pairs of elements before and behind each dimension, the last dimension first, as adz_pad takes
 * them. */
typedef struct pads {
    int64_t of[2 * ADZ_MAX_RANK];
    size_t n;
} pads;

/** The pads of the dimensions that input 3 lists, or of all. */
static bool pads_of(const reader_call *call, int rank, pads *p)
{
    reader_numbers list, axes;
    bool given, chosen = false;
    if (!adzi_reader_list(call, "pads", call->node->opset < 11 ? NO_VALUE : 1, &list, &given) ||
        (call->node->opset >= 18 && !adzi_reader_list(call, "axes", 3, &axes, &chosen))) {
        return false;
    }
    size_t dims = chosen ? axes.n : (size_t)rank;
    *p = (pads){ .n = 2 * (size_t)rank };
    if (!given || list.n != 2 * dims) {
        adzi_reader_fail(
            call, ADZ_ERR_SHAPE, "%zu pads for %zu dimensions", given ? list.n : 0, dims);
        return false;
    }
    for (size_t i = 0; i < dims; i++) {
        int dim = chosen ? adzi_reader_dim(call, axes.at[i].i, rank) : (int)i;
        if (dim < 0) {
            return false;
        }
        p->of[2 * (rank - 1 - dim)] = list.at[i].i;
        p->of[2 * (rank - 1 - dim) + 1] = list.at[dims + i].i;
    }
    return true;
}

/** The element that surrounds; false with an error recorded. */
static bool value_of(const reader_call *call, double *value)
{
    const double given = adzi_reader_float(call, "value", 0);
    *value = given;
    return call->node->opset < 11 || adzi_reader_number(call, 2, given, value);
}

/** Negative pads crop before the others surround. */
static adz_tensor *cropped(adz_tensor *x, pads *p)
{
    pads crops = { .n = p->n };
    bool any = false;
    for (size_t i = 0; i < p->n; i++) {
        if (p->of[i] < 0) {
            crops.of[i] = p->of[i];
            p->of[i] = 0;
            any = true;
        }
    }
    return any ? adz_pad(x, crops.of, crops.n, 0) : x;
}

static adz_tensor *pad(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    const char *mode = adzi_reader_string(call, "mode", "constant");
    int rank = adz_tensor_rank(x);
    double value;
    pads p;
    if (x == NULL || !pads_of(call, rank, &p) || !value_of(call, &value)) {
        return NULL;
    }
    if (strcmp(mode, "constant") == 0) {
        return adz_pad(x, p.of, p.n, value);
    }
    adz_padding_mode by = strcmp(mode, "reflect") == 0 ? ADZ_PADDING_REFLECT
                          : strcmp(mode, "edge") == 0  ? ADZ_PADDING_REPLICATE
                                                       : ADZ_PADDING_CIRCULAR;
    return adz_pad_mode(cropped(x, &p), p.of, p.n, by);
}

#define MODES "mode:s=constant|reflect|edge"

const reader_operator adzi_reader_pads[] = {
    ROW("Pad", 2, 10, 1, 1, 1, "pads:I value:f " MODES, 0, pad),
    ROW("Pad", 11, 17, 2, 3, 1, MODES, 6, pad),
    ROW("Pad", 18, 18, 2, 4, 1, MODES, 14, pad),
    ROW("Pad", 19, 0, 2, 4, 1, MODES "|wrap", 14, pad),
    { .name = NULL },
};
