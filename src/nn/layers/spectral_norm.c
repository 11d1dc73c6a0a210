/* Spectral norm as a parametrisation (Miyato et al., 2018): a weight is divided by u^T W v, an
 * approximation of its largest singular value. */
#include "adze/nn/parametrize.h"

#include <string.h>

#include "adze/autograd.h"
#include "adze/nn/init.h"
#include "adze/ops.h"
#include "adze/options.h"
#include "base/capture.h"
#include "base/door.h"
#include "base/error.h"
#include "nn/parametrize.h"
#include "tensor/shape.h"

enum { U, V };             /* buffers */
enum { FIRST_STEPS = 15 }; /* power iterations of new vectors */

static const adz_field fields[] = {
    ADZ_FIELD(adz_spectral_norm_options, n_power_iterations, .value = 1, ADZ_SIZE_FROM(1)),
    ADZ_FIELD(adz_spectral_norm_options, eps, .value = 1e-12, ADZ_AT_LEAST(0)),
    ADZ_FIELD(adz_spectral_norm_options, dim, .value = ADZ_DIM_OF_OUTPUTS),
};

ADZ_OPTIONS_TABLE(adz_spectral_norm_options, ADZ_SPECTRAL_NORM_OPTIONS, fields)

/* The weight as a matrix: `dim` gives the rows, all other dimensions the columns. */
static adz_tensor *matrix_of(adz_tensor *weight, int dim)
{
    int64_t columns = 1;
    adz_dims order = { .count = 0 };
    order.dims[order.count++] = dim;
    for (int d = 0; d < weight->rank; ++d) {
        if (d != dim) {
            order.dims[order.count++] = d;
            columns *= weight->sizes[d];
        }
    }
    return adz_reshape(
        dim == 0 ? weight : adz_permute(weight, order), ADZ_SHAPE(weight->sizes[dim], columns));
}

/* Does power iterations and writes the vectors, which *u and *v receive as tensors of their own. */
static bool iterate(adz_module *self, adz_tensor *matrix, int64_t n, adz_tensor **u, adz_tensor **v)
{
    const adz_spectral_norm_options *o = self->state;
    const bool before = adz_set_grad_enabled(false);
    adz_tensor *turned = adz_transpose(matrix, 0, 1);
    *v = self->buffers[V].tensor;
    for (int64_t i = 0; i < n && *v != NULL; ++i) {
        *u = adz_normalize(adz_matmul(matrix, *v), 2, 0, o->eps);
        *v = adz_normalize(adz_matmul(turned, *u), 2, 0, o->eps);
    }
    const bool good = *v != NULL && adz_copy_(self->buffers[U].tensor, *u) != NULL &&
                      adz_copy_(self->buffers[V].tensor, *v) != NULL;
    adz_set_grad_enabled(before);
    return good;
}

/* The buffers are not used themselves, because the next call changes them before a backward of this
 * one may read them. */
static adz_tensor *forward(adz_module *self, adz_tensor *weight)
{
    const adz_spectral_norm_options *o = self->state;
    adz_tensor *u = ADZ_NONE, *v = ADZ_NONE;
    if (!adzi_check_tensor(self->type.name, "weight", weight)) {
        return NULL;
    }
    if (weight->rank <= 1) {
        return adz_normalize(weight, 2, 0, o->eps);
    }
    adz_tensor *matrix = matrix_of(weight, o->dim);
    if (matrix == NULL ||
        (self->training && !iterate(self, matrix, o->n_power_iterations, &u, &v))) {
        return NULL;
    }
    if (!self->training) {
        u = adz_clone(self->buffers[U].tensor);
        v = adz_clone(self->buffers[V].tensor);
    }
    return adz_div(weight, adz_matmul(u, adz_matmul(matrix, v)));
}

/* Values are taken as they are, as PyTorch does: they may have any norm. */
static adz_status right_inverse(adz_module *self, adz_tensor *value, adz_values *originals)
{
    (void)self;
    return adz_values_add(originals, "", value);
}

static const adz_module_type spectral_norm_type = {
    .size = sizeof(adz_module_type),
    .name = "_SpectralNorm",
    .forward = forward,
    .right_inverse = right_inverse,
};

bool adzi_is_spectral_norm(const adz_module *module)
{
    return module->identity == &spectral_norm_type;
}

/* A vector of norm 1. */
static adz_tensor *drawn(int64_t n, adz_dtype dtype, double eps)
{
    return adz_normalize(adz_randn(ADZ_SHAPE(n), dtype), 2, 0, eps);
}

static bool add_vectors(adz_module *self, adz_tensor *weight)
{
    const adz_spectral_norm_options *o = self->state;
    adz_tensor *matrix = weight->rank > 1 ? matrix_of(weight, o->dim) : NULL, *u, *v;
    if (weight->rank <= 1) {
        return true;
    }
    if (matrix == NULL) {
        return false;
    }
    const adz_dtype dtype = (adz_dtype)matrix->dtype;
    u = drawn(matrix->sizes[0], dtype, o->eps);
    v = drawn(matrix->sizes[1], dtype, o->eps);
    return u != NULL && v != NULL && adz_module_add_buffer(self, "_u", u, true) != NULL &&
           adz_module_add_buffer(self, "_v", v, true) != NULL &&
           iterate(self, matrix, FIRST_STEPS, &u, &v);
}

/* The parametrisation of a weight; NULL with the error recorded. */
static adz_module *norm_new(
    const char *op, const adz_module *module, adz_tensor *weight, adz_spectral_norm_options o)
{
    const bool transposed = strncmp(module->identity->name, "ConvTranspose", 13) == 0;
    if (weight->rank == 0) {
        return adzi_fail(op, ADZ_ERR_DIM, "a scalar has no singular value");
    }
    o.dim = o.dim == ADZ_DIM_OF_OUTPUTS ? (transposed && weight->rank > 1 ? 1 : 0)
                                        : adzi_dim(op, weight, o.dim);
    adz_module *self = o.dim >= 0 ? adzi_module_of(&spectral_norm_type, &o, sizeof o) : NULL;
    if (self != NULL && !add_vectors(self, weight)) {
        adz_module_release(&self);
    }
    return self;
}

typedef struct making {
    const char *op;
    adz_module *module;
    const char *name;
    adz_spectral_norm_options o;
    adz_module *norm;
} making;

static bool run_making(void *state)
{
    making *m = state;
    adz_tensor *weight = adz_module_get_parameter(m->module, m->name);
    m->norm =
        adzi_check_tensor(m->op, m->name, weight) ? norm_new(m->op, m->module, weight, m->o) : NULL;
    return m->norm != NULL;
}

adz_status adz_spectral_norm(
    adz_module *module, const char *name, const adz_spectral_norm_options *options)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_spectral_norm";
    adz_spectral_norm_options o = ADZ_SPECTRAL_NORM_OPTIONS;
    adz_scope *scope = NULL;
    if (!adz_options_take(op, &adz_spectral_norm_options_table, &o, options) ||
        (scope = adz_scope_open()) == NULL) {
        return adz_error_code();
    }
    const adzi_door door = { .op = op, .mode = ADZI_DOOR_RECORDS_NOTHING };
    making m = { op, module, name, o, NULL };
    const bool good = adzi_through_door(&door, run_making, &m);
    adz_scope_close(scope);
    return good && adz_module_register_parametrization(module, name, m.norm) != NULL
               ? ADZ_OK
               : adz_error_code();
}
