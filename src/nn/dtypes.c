/* The dtypes of a module's parameters: conversions, and weights that are stored in half precision
 * or in blocks of Q8_0. */
#include "nn/module.h"

#include "adze/autograd.h"
#include "adze/ops/convert.h"
#include "autograd/leaf.h"
#include "ops/convert/q8_0.h"
#include "tensor/copy.h"
#include "base/capture.h"
#include "base/door.h"
#include "base/error.h"

/* The converted elements of one tensor and of its gradient. All conversions of a call are made
 * before a tensor changes, so that a failure changes nothing. */
typedef struct conversion {
    adz_tensor *tensor, *value;
    adz_tensor *gradient; /* NULL if the tensor has no gradient, or will have none */
} conversion;

/* The conversions of one call of a public function. */
typedef struct conversions {
    const char *op;
    adz_dtype dtype; /* U8 stands for blocks of Q8_0 */
    conversion *items;
    size_t count, capacity;
} conversions;

/* The converted elements of a tensor, where these or the new ones are blocks of Q8_0. */
static adz_tensor *convert_blocks(const conversions *all, adz_tensor *t)
{
    adz_tensor *value = NULL;
    ADZ_SCOPE
    {
        adz_tensor *from = adz_detach(t);
        from = from != NULL && adzi_is_q8_0(from) ? adz_dequantize_q8_0(from) : from;
        from = from != NULL ? adz_to(from, all->dtype == ADZ_U8 ? ADZ_F32 : all->dtype) : NULL;
        value = from != NULL && all->dtype == ADZ_U8 ? adz_quantize_q8_0(from) : from;
        value = value != NULL ? adzi_retain(value) : NULL;
    }
    return value;
}

static bool prepare(const conversions *all, conversion *c, adz_tensor *t)
{
    if (all->dtype == ADZ_U8 || t->dtype == ADZ_U8) {
        *c = (conversion){ t, convert_blocks(all, t), NULL };
        return c->value != NULL;
    }
    adzi_thread *thread = adzi_self();
    const bool has_gradient = t->gradient != NULL && adzi_is_float(all->dtype);
    adz_tensor *grad = has_gradient ? t->gradient->grad : NULL;
    *c = (conversion){ t, adzi_tensor_new(thread, all->op, all->dtype, t->rank, t->sizes), NULL };
    if (c->value != NULL && grad != NULL) {
        c->gradient = adzi_tensor_new(thread, all->op, all->dtype, t->rank, t->sizes);
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

static bool check_not_laid_out(const char *op, const adz_tensor *t)
{
    const bool laid_out = t->gradient != NULL && t->gradient->place != NULL;
    if (laid_out) {
        adzi_error(op, ADZ_ERR_STATE,
            "a parameter%s lies in a flat buffer of %s; end the layout with adz_flat_parameters_free before you convert the module",
            adzi_text_shape(t), adz_dtype_name((adz_dtype)t->dtype));
    }
    return !laid_out;
}

/* Prepares the conversion of one tensor. False with the error recorded if it cannot be converted.
 */
static bool add_conversion(conversions *all, adz_tensor *t)
{
    if (!check_not_laid_out(all->op, t)) {
        return false;
    }
    if (!adzi_grow(&all->items, &all->capacity, all->count + 1, sizeof *all->items)) {
        adzi_fail_memory(all->op, (all->count + 1) * sizeof *all->items);
        return false;
    }
    const bool good = prepare(all, &all->items[all->count], t);
    all->count += good;
    return good;
}

/* Gives the tensor the converted elements. The header stays, so every owner of the tensor sees
 * them. The version rises, so that the backward of a graph that saved the tensor reports the
 * change. A stored weight has no gradient. */
static void commit(conversion *c, const char *op)
{
    adz_tensor *t = c->tensor, *value = c->value;
    adzi_storage *old = t->storage;
    value->storage->version = old->version + 1;
    value->storage->history = old->history;
    value->storage->writer = op;
    adzi_tensor_adopt(t, value);
    if (!adzi_is_float((adz_dtype)t->dtype)) {
        adzi_leaf_drop_gradient(t);
        t->requires_grad = false;
    } else if (c->gradient != NULL) {
        adzi_drop(t->gradient->grad);
        t->gradient->grad = c->gradient;
    }
}

/* Makes all conversions, or none after a failure. */
static adz_status end_conversions(conversions *all, bool good)
{
    for (size_t i = 0; i < all->count; ++i) {
        if (good) {
            commit(&all->items[i], all->op);
        } else {
            adzi_drop(all->items[i].value);
            adzi_drop(all->items[i].gradient);
        }
    }
    adzi_free(all->items, all->capacity * sizeof *all->items);
    return good ? ADZ_OK : adz_error_code();
}

adz_status adz_module_to(adz_module *module, adz_dtype dtype)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    conversions all = { .op = "adz_module_to", .dtype = dtype };
    if (!adzi_is_float(dtype)) {
        return adzi_error(all.op, ADZ_ERR_DTYPE,
            "%s; modules compute in float32 or float64, and adz_module_store_weights stores weights in half precision",
            adz_dtype_name(dtype));
    }
    const adzi_listing *listing = adzi_module_listing(all.op, module);
    if (listing == NULL) {
        return adz_error_code();
    }
    bool good = true;
    for (size_t i = 0; i < listing->n_parameters && good; ++i) {
        adz_tensor *t = listing->parameters[i];
        const adz_dtype from = (adz_dtype)t->dtype;
        if (from != dtype && (adzi_is_float(from) || adzi_is_half(from) || adzi_is_q8_0(t))) {
            good = add_conversion(&all, t);
        }
    }
    for (size_t i = 0; i < listing->n_buffers && good; ++i) {
        adz_tensor *t = listing->buffers[i].tensor;
        if (t->dtype != dtype && adzi_is_float((adz_dtype)t->dtype)) {
            good = add_conversion(&all, t);
        }
    }
    return end_conversions(&all, good);
}

/* Prepares one weight. A weight that several modules share is converted once. */
static bool add_weight(conversions *all, adz_tensor *t)
{
    bool listed = adzi_is_none(t) || t->dtype == all->dtype; /* stored so already */
    for (size_t i = 0; i < all->count && !listed; ++i) {
        listed = all->items[i].tensor == t;
    }
    if (!listed && t->dtype == ADZ_F64) {
        adzi_error(all->op, ADZ_ERR_DTYPE,
            "a weight%s is float64; call adz_module_to with ADZ_F32 first", adzi_text_shape(t));
        return false;
    }
    if (!listed && all->dtype == ADZ_U8 && (t->rank != 2 || t->sizes[1] % ADZI_Q8_0_VALUES != 0)) {
        adzi_error(all->op, ADZ_ERR_SHAPE,
            "a weight%s cannot be stored in blocks, because rows of Q8_0 hold multiples of 32 weights",
            adzi_text_shape(t));
        return false;
    }
    return listed || add_conversion(all, t);
}

/* Prepares the weights of a tree. */
static bool add_weights(conversions *all, const adz_module *module)
{
    bool good = true;
    for (size_t i = 0; i < module->n_parameters && good; ++i) {
        if (adzi_module_may_store(module, i) && module->parameters[i].tensor == NULL) {
            adzi_error(all->op, ADZ_ERR_STATE,
                "%s of a %s is parametrised, and its value is computed; call adz_module_remove_parametrizations first",
                module->parameters[i].name, module->type.name);
            good = false;
        } else if (adzi_module_may_store(module, i) && all->dtype == ADZ_U8 &&
                   !adzi_module_may_store_blocks(module, i)) {
            adzi_error(all->op, ADZ_ERR_UNSUPPORTED,
                "%s of a %s cannot be stored in blocks; its type does not declare block_parameters",
                module->parameters[i].name, module->type.name);
            good = false;
        } else if (adzi_module_may_store(module, i)) {
            good = add_weight(all, module->parameters[i].tensor);
        }
    }
    for (size_t i = 0; i < module->n_children && good; ++i) {
        good = add_weights(all, module->children[i].module);
    }
    return good;
}

adz_status adz_module_store_weights(adz_module *module, adz_dtype dtype)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    conversions all = { .op = "adz_module_store_weights", .dtype = dtype };
    if (!adzi_is_half(dtype)) {
        return adzi_error(all.op, ADZ_ERR_DTYPE,
            "%s; weights are stored as float16 or bfloat16, and adz_module_to converts them back",
            adz_dtype_name(dtype));
    }
    if (!adzi_check_module(all.op, "module", module)) {
        return adz_error_code();
    }
    return end_conversions(&all, add_weights(&all, module));
}

adz_status adz_module_quantize_weights(adz_module *module)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    conversions all = { .op = "adz_module_quantize_weights", .dtype = ADZ_U8 };
    if (!adzi_check_module(all.op, "module", module)) {
        return adz_error_code();
    }
    return end_conversions(&all, add_weights(&all, module));
}
