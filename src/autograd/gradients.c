/* Which tensors take part in gradients, and their .grad. */
#include <string.h>

#include "autograd/leaf.h"
#include "autograd/op.h"

/* ---- which tensors --------------------------------------------------------------------------- */

adz_tensor *adz_requires_grad_(adz_tensor *t, bool on)
{
    static const char op[] = "requires_grad_";
    if (!adzi_check_tensor(op, "t", t)) {
        return NULL;
    }
    if (!adzi_is_float((adz_dtype)t->dtype)) {
        return adzi_fail(op, ADZ_ERR_DTYPE, "t%s is %s; only float32 and float64 have gradients",
            adzi_text_shape(t), adz_dtype_name((adz_dtype)t->dtype));
    }
    if (t->node != NULL) {
        return on ? t
                  : adzi_fail(op, ADZ_ERR_GRAPH,
                        "t%s was made by %s; only leaves can stop wanting a gradient, use adz_detach",
                        adzi_text_shape(t), t->node->op->name);
    }
    if (on && adzi_gradient_of(op, t) == NULL) {
        return NULL;
    }
    if (t->requires_grad != on) {
        t->requires_grad = on;
        adzi_settings_changed();
    }
    return t;
}

bool adz_tensor_requires_grad(const adz_tensor *t)
{
    return adzi_check_tensor("adz_tensor_requires_grad", "t", t) && adzi_requires_grad(t);
}

bool adz_tensor_is_leaf(const adz_tensor *t)
{
    return adzi_check_tensor("adz_tensor_is_leaf", "t", t) && t->node == NULL;
}

/* ---- .grad ----------------------------------------------------------------------------------- */

adz_tensor *adz_tensor_grad(const adz_tensor *t)
{
    if (!adzi_check_tensor("adz_tensor_grad", "t", t)) {
        return NULL;
    }
    adzi_capture_gradient(t->gradient);
    return t->gradient != NULL ? t->gradient->grad : NULL;
}

static adz_status copy_grad(const char *op, adz_tensor *t, adz_tensor *grad)
{
    if (!adzi_check_tensor(op, "grad", grad)) {
        return adz_error_code();
    }
    if (!adzi_same_sizes(t, grad)) {
        return adzi_error(op, ADZ_ERR_SHAPE, "grad%s does not have the shape of t%s",
            adzi_text_shape(grad), adzi_text_shape(t));
    }
    if (t->dtype != grad->dtype || !adzi_is_float((adz_dtype)t->dtype)) {
        return adzi_error(op, ADZ_ERR_DTYPE, "grad is %s, t is %s",
            adz_dtype_name((adz_dtype)grad->dtype), adz_dtype_name((adz_dtype)t->dtype));
    }
    adzi_gradient *gradient = adzi_gradient_of(op, t);
    adzi_trace_gradient(gradient, true);
    adzi_capture_gradient(gradient);
    if (gradient != NULL && adzi_self()->tracer != NULL && grad != gradient->grad) {
        return adzi_gradient_set_traced(gradient, grad) ? ADZ_OK : adzi_status(NULL);
    }
    const bool placed = gradient != NULL && adzi_place_is_free(gradient);
    if (placed && grad == gradient->place) {
        adzi_gradient_placed(gradient, op);
        gradient->spoiled = false;
        return ADZ_OK;
    }
    /* A view of the place would be written to while it is read, so there is a copy in any case. */
    adz_tensor *copy =
        gradient != NULL ? adzi_tensor_new(adzi_self(), op, (adz_dtype)t->dtype, t->rank, t->sizes)
                         : NULL;
    if (copy == NULL) {
        return adz_error_code();
    }
    adzi_copy(copy, grad);
    if (placed) {
        adzi_copy(gradient->place, copy);
        adzi_gradient_placed(gradient, op);
        adzi_drop(copy);
    } else {
        adz_tensor *before = gradient->grad;
        gradient->grad = copy;
        adzi_drop(before);
    }
    gradient->spoiled = false;
    return ADZ_OK;
}

adz_status adz_tensor_set_grad(adz_tensor *t, adz_tensor *grad)
{
    static const char op[] = "adz_tensor_set_grad";
    if (!adzi_check_tensor(op, "t", t)) {
        return adz_error_code();
    }
    if (grad == NULL) {
        return adzi_error_null(op, "grad");
    }
    adzi_settings_changed();
    if (!adzi_is_none(grad)) {
        return copy_grad(op, t, grad);
    }
    if (t->gradient != NULL) {
        adzi_gradient_drop(t->gradient);
    }
    return ADZ_OK;
}

adz_status adz_retain_grad(adz_tensor *t)
{
    static const char op[] = "retain_grad";
    if (!adzi_check_tensor(op, "t", t)) {
        return adz_error_code();
    }
    if (!adzi_requires_grad(t)) {
        return adzi_error(op, ADZ_ERR_GRAPH, "t%s wants no gradient", adzi_text_shape(t));
    }
    if (t->node == NULL) {
        return ADZ_OK; /* a leaf keeps its gradient anyway */
    }
    if (adzi_gradient_of(op, t) == NULL) {
        return adz_error_code();
    }
    t->retains_grad = true;
    t->node->results[t->result].retains = t;
    t->node->watched = true;
    return ADZ_OK;
}
