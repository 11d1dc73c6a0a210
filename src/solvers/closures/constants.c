/* Numbers that a program gives for each parameter: bounds, and the scale of L-BFGS. */
#include "adze/ops.h"
#include "adze/scope.h"
#include "base/error.h"
#include "optim/closure.h"

static double *data_of(const adz_tensor *t)
{
    return (double *)(void *)t->data;
}

/* Checks the tensor of parameter i: floating-point, of its shape or of one element. */
static bool check_constant(const char *op, const char *what, const adz_tensor *constant,
    const adz_tensor *parameter, size_t i)
{
    if (!adzi_check_tensor(op, what, constant)) {
        return false;
    }
    bool same = constant->rank == parameter->rank;
    for (int k = 0; k < constant->rank && same; ++k) {
        same = constant->sizes[k] == parameter->sizes[k];
    }
    if (!adzi_is_float((adz_dtype)constant->dtype) || !(same || constant->numel == 1)) {
        adzi_error(op, same || constant->numel == 1 ? ADZ_ERR_DTYPE : ADZ_ERR_SHAPE,
            "the %s of parameter %zu%s is %s%s, but must be f32 or f64, and of the parameter's shape or of one element",
            what, i, adzi_text_shape(parameter), adz_dtype_name((adz_dtype)constant->dtype),
            adzi_text_shape(constant));
        return false;
    }
    return true;
}

adz_tensor *adzi_search_constant(const char *op, const adz_optimizer *optimizer, const char *what,
    adz_tensor_list list, double none)
{
    const adzi_group *group = optimizer->groups[0];
    const int64_t numel = adzi_search_numel(optimizer);
    if (list.count != 0 && (list.count != group->count || list.items == NULL)) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "there are %zu tensors of %ss for %zu parameters",
            list.count, what, group->count);
    }
    adz_tensor *all = adzi_tensor_new(adzi_self(), op, ADZ_F64, 1, &numel);
    int64_t at = 0;
    for (size_t i = 0; i < group->count && all != NULL; ++i) {
        const adz_tensor *parameter = group->parameters[i];
        adz_tensor *constant = list.count != 0 ? list.items[i] : NULL;
        if (list.count != 0 && !check_constant(op, what, constant, parameter, i)) {
            adzi_drop(all);
            return NULL;
        }
        adz_tensor *flat =
            constant != NULL ? adz_reshape(constant, ADZ_SHAPE(constant->numel)) : NULL;
        for (int64_t k = 0; k < parameter->numel && adzi_pending() == ADZ_OK; ++k) {
            const int64_t from = flat != NULL && flat->numel > 1 ? k : 0;
            data_of(all)[at++] = flat != NULL ? adz_tensor_at(flat, &from) : none;
        }
    }
    if (adzi_pending() != ADZ_OK) {
        adzi_drop(all);
        return NULL;
    }
    return all;
}
