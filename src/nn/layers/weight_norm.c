/* Weight norm as a parametrisation (Salimans and Kingma, 2016): w = v g / |v|. */
#include "adze/nn/parametrize.h"

#include "adze/nn/type.h"
#include "adze/ops.h"
#include "base/error.h"
#include "nn/module.h"

typedef struct {
    int dim; /* -1: one length of the whole weight */
} state;

/* The norms of w over all dimensions but dim, which keep size 1. */
static adz_tensor *norm_except(adz_tensor *w, int dim)
{
    if (dim < 0) {
        return adz_norm(w, 2, ADZ_ALL_DIMS, ADZ_DROPDIM);
    }
    if (w->rank == 1) {
        return adz_abs(w);
    }
    adz_dims others = { .count = 0 };
    for (int d = 0; d < w->rank; ++d) {
        if (d != dim) {
            others.dims[others.count++] = d;
        }
    }
    return adz_norm(w, 2, others, ADZ_KEEPDIM);
}

static adz_status call(adz_module *self, const adz_values *in, adz_values *out)
{
    const state *s = self->state;
    adz_tensor *g = adz_values_argument(in, 0, "weight_g");
    adz_tensor *v = adz_values_argument(in, 1, "weight_v");
    if (g == ADZ_NONE || v == ADZ_NONE) {
        return adzi_error(self->type.name, ADZ_ERR_ARGUMENT,
            "needs two originals, so it must be the first parametrisation of a parameter");
    }
    adz_tensor *norm = g != NULL && v != NULL ? norm_except(v, s->dim) : NULL;
    adz_tensor *w = adz_mul(v, adz_div(g, norm));
    return w != NULL ? adz_values_add(out, "", w) : adz_error_code();
}

static adz_status right_inverse(adz_module *self, adz_tensor *value, adz_values *originals)
{
    const state *s = self->state;
    adz_tensor *g = norm_except(value, s->dim);
    const adz_status status = g != NULL ? adz_values_add(originals, "", g) : adz_error_code();
    return status == ADZ_OK ? adz_values_add(originals, "", value) : status;
}

static const adz_module_type weight_norm_type = {
    .size = sizeof(adz_module_type),
    .name = "_WeightNorm",
    .call = call,
    .right_inverse = right_inverse,
};

adz_status adz_weight_norm(adz_module *module, const char *name, int dim)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_weight_norm";
    adz_scope *scope = adz_scope_open();
    if (scope == NULL) {
        return adz_error_code();
    }
    const adz_tensor *w = adz_module_get_parameter(module, name);
    const int rank = w != NULL ? w->rank : 0;
    adz_scope_close(scope);
    if (w == NULL) {
        return adz_error_code();
    }
    if (dim < -1 || dim >= rank) {
        return adzi_error(op, ADZ_ERR_DIM,
            "dim is %d, but must be a dimension of %s, which has %d, or -1 for one length of all",
            dim, name, rank);
    }
    const state s = { dim };
    adz_module *norm = adzi_module_of(&weight_norm_type, &s, sizeof s);
    return norm != NULL && adz_module_register_parametrization(module, name, norm) != NULL
               ? ADZ_OK
               : adz_error_code();
}
