/* LocalResponseNorm and CrossMapLRN2d. Both call adz_local_response_norm. */
#include "adze/nn/group_norm.h"
#include "adze/ops/norm.h"
#include "base/error.h"
#include "nn/module.h"

typedef struct {
    int64_t size;
    double alpha, beta, k;
} state;

static const adz_field fields[] = {
    ADZ_FIELD(state, size, ADZ_SIZE_FROM(1), .shown = ADZ_SHOWN_BARE),
    ADZ_FIELD(state, alpha, .value = 1e-4),
    ADZ_FIELD(state, beta, .value = 0.75),
    ADZ_FIELD(state, k, .value = 1),
};

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    const state *s = self->state;
    return adz_local_response_norm(x, s->size, s->alpha, s->beta, s->k);
}

/* An even window is one channel shorter, and is divided by its size as it was asked for. */
static adz_tensor *cross_map(adz_module *self, adz_tensor *x)
{
    const state *s = self->state;
    if (!adzi_check_tensor("CrossMapLRN2d", "x", x)) {
        return NULL;
    }
    if (x->rank != 4) {
        return adzi_fail(
            "CrossMapLRN2d", ADZ_ERR_SHAPE, "x%s must be [N, C, H, W]", adzi_text_shape(x));
    }
    const int64_t size = s->size - 1 + s->size % 2;
    const double alpha = s->alpha * (double)size / (double)s->size;
    return adz_local_response_norm(x, size, alpha, s->beta, s->k);
}

static const adz_module_type local_response_norm_type = {
    .size = sizeof(adz_module_type),
    .name = "LocalResponseNorm",
    .forward = forward,
    ADZI_MODULE_FIELDS(fields),
};

static const adz_module_type cross_map_type = {
    .size = sizeof(adz_module_type),
    .name = "CrossMapLRN2d",
    .forward = cross_map,
    ADZI_MODULE_FIELDS(fields),
};

static adz_module *norm_new(const char *op, const adz_module_type *type, const state *s)
{
    return adz_fields_check(op, fields, sizeof fields / sizeof *fields, s)
               ? adzi_module_of(type, s, sizeof *s)
               : NULL;
}

adz_module *adz_local_response_norm_new(int64_t size, double alpha, double beta, double k)
{
    const state s = { size, alpha, beta, k };
    return norm_new("adz_local_response_norm_new", &local_response_norm_type, &s);
}

adz_module *adz_cross_map_lrn2d_new(int64_t size, double alpha, double beta, double k)
{
    const state s = { size, alpha, beta, k };
    return norm_new("adz_cross_map_lrn2d_new", &cross_map_type, &s);
}
