/* What applies to every module or parameter of a tree. */
#include "nn/module.h"

#include <string.h>

#include "tensor/copy.h"
#include "tensor/error.h"

adz_status adz_module_zero_grad(adz_module *module)
{
    const adzi_listing *listing = adzi_module_listing("adz_module_zero_grad", module);
    if (listing == NULL) {
        return adz_error_code();
    }
    for (size_t i = 0; i < listing->n_parameters; ++i) {
        adzi_gradient *gradient = listing->parameters[i]->gradient;
        if (gradient != NULL) {
            adzi_drop(gradient->grad);
            gradient->grad = NULL;
        }
    }
    return ADZ_OK;
}

adz_status adz_module_fill_grad_zero(adz_module *module)
{
    const adzi_listing *listing = adzi_module_listing("adz_module_fill_grad_zero", module);
    if (listing == NULL) {
        return adz_error_code();
    }
    for (size_t i = 0; i < listing->n_parameters; ++i) {
        adzi_gradient *gradient = listing->parameters[i]->gradient;
        if (gradient != NULL && gradient->grad != NULL) {
            adzi_fill(gradient->grad, 0);
            adz_tensor_touch(gradient->grad);
        }
    }
    return ADZ_OK;
}

static void set_mode(adz_module *module, bool mode)
{
    module->training = mode;
    for (size_t i = 0; i < module->n_children; ++i) {
        set_mode(module->children[i].module, mode);
    }
}

adz_status adz_module_train(adz_module *module, bool mode)
{
    if (module == NULL) {
        return adzi_error_null("adz_module_train", "module");
    }
    set_mode(module, mode);
    return ADZ_OK;
}

adz_status adz_module_eval(adz_module *module)
{
    return adz_module_train(module, false);
}

bool adz_module_is_training(const adz_module *module)
{
    if (module == NULL) {
        adzi_error_null("adz_module_is_training", "module");
        return false;
    }
    return module->training;
}

adz_status adz_module_requires_grad(adz_module *module, bool on)
{
    const adzi_listing *listing = adzi_module_listing("adz_module_requires_grad", module);
    if (listing == NULL) {
        return adz_error_code();
    }
    for (size_t i = 0; i < listing->n_parameters; ++i) {
        listing->parameters[i]->requires_grad = on; /* its gradient part is there since adding */
    }
    return ADZ_OK;
}

/* A module that stands twice in one parent is visited once there, as PyTorch does. */
static bool stands_earlier(const adz_module *module, size_t i)
{
    for (size_t k = 0; k < i; ++k) {
        if (module->children[k].module == module->children[i].module) {
            return true;
        }
    }
    return false;
}

adz_status adz_module_apply(adz_module *module, adz_module_visitor visit, void *user)
{
    if (module == NULL || visit == NULL) {
        return adzi_error_null("adz_module_apply", module == NULL ? "module" : "visit");
    }
    for (size_t i = 0; i < module->n_children; ++i) {
        if (!stands_earlier(module, i)) {
            adz_status status = adz_module_apply(module->children[i].module, visit, user);
            if (status != ADZ_OK) {
                return status;
            }
        }
    }
    return visit(module, user);
}

static adz_status reset(adz_module *module, void *user)
{
    (void)user;
    return module->type.reset_parameters != NULL ? module->type.reset_parameters(module) : ADZ_OK;
}

adz_status adz_module_reset_parameters(adz_module *module)
{
    return adz_module_apply(module, reset, NULL);
}

/* ---- dtypes --------------------------------------------------------------------------------- */

/* What a tensor will be, made before any of them changes. */
typedef struct conversion {
    adz_tensor *tensor, *value;
    adz_tensor *gradient; /* or NULL */
} conversion;

static bool prepare(const char *op, conversion *c, adz_tensor *t, adz_dtype dtype)
{
    adzi_thread *thread = adzi_self();
    adz_tensor *grad = t->gradient != NULL ? t->gradient->grad : NULL;
    *c = (conversion){ t, adzi_tensor_new(thread, op, dtype, t->rank, t->sizes), NULL };
    if (c->value != NULL && grad != NULL) {
        c->gradient = adzi_tensor_new(thread, op, dtype, t->rank, t->sizes);
    }
    if (c->value == NULL || (grad != NULL && c->gradient == NULL)) {
        adzi_drop(c->value);
        return false;
    }
    adzi_copy(c->value, t);
    if (grad != NULL) {
        adzi_copy(c->gradient, grad);
    }
    return true;
}

/* The header stays, so whoever holds the tensor sees the new elements. A graph that saved the old
 * ones finds another version. */
static void commit(conversion *c, const char *op)
{
    adz_tensor *t = c->tensor, *value = c->value;
    adzi_storage *old = t->storage;
    value->storage->version = old->version + 1;
    value->storage->history = old->history;
    value->storage->writer = op;
    adzi_tensor_adopt(t, value);
    if (c->gradient != NULL) {
        adzi_drop(t->gradient->grad);
        t->gradient->grad = c->gradient;
    }
}

adz_status adz_module_to(adz_module *module, adz_dtype dtype)
{
    static const char op[] = "adz_module_to";
    if (!adzi_is_float(dtype)) {
        return adzi_error(
            op, ADZ_ERR_DTYPE, "%s; modules compute in float32 or float64", adz_dtype_name(dtype));
    }
    const adzi_listing *listing = adzi_module_listing(op, module);
    if (listing == NULL) {
        return adz_error_code();
    }
    size_t most = listing->n_parameters + listing->n_buffers, n = 0;
    conversion *all = adzi_alloc((most + 1) * sizeof *all);
    bool good = all != NULL;
    if (!good) {
        adzi_fail_memory(op, most * sizeof *all);
    }
    for (size_t i = 0; i < most && good; ++i) {
        adz_tensor *t = i < listing->n_parameters
                            ? listing->parameters[i]
                            : listing->buffers[i - listing->n_parameters].tensor;
        if (t->dtype != dtype && adzi_is_float((adz_dtype)t->dtype)) {
            good = prepare(op, &all[n], t, dtype);
            n += good;
        }
    }
    for (size_t i = 0; i < n; ++i) {
        if (good) {
            commit(&all[i], op);
        } else {
            adzi_drop(all[i].value);
            adzi_drop(all[i].gradient);
        }
    }
    adzi_free(all, (most + 1) * sizeof *all);
    return good ? ADZ_OK : adz_error_code();
}
