#include "ops/elementwise.h"

/* The shared parts of elementwise operators: functions of one float tensor, promotion of several
 * inputs to one dtype, broadcasting, and checks of masks.
 *
 * The operators' own files hold the formula, the kernels' tables and the backward. Shapes are free:
 * a function of one tensor keeps the shape of x, all others broadcast by NumPy's rules. */

/* The whole forward of functions like exp and tanh. An integer or bool x is converted to f32 by
 * adz_to before the call is recorded, so such an x never receives a gradient. The node saves either
 * x or y, whichever gives the cheaper derivative: exp saves y, log saves x.
 * An operator whose result keeps an integer dtype, such as abs, has its own forward. */
adz_tensor *adzi_unary(
    const adzi_op *op, adz_tensor *x, adzi_float_kernels kernels, adzi_saves saves)
{
    adzi_call call;
    if (!adzi_enter(&call, op, "x", &x, 1, 0) || !adzi_want_computable(&call, 0)) {
        return NULL;
    }
    /* From here on call.in[0] is the float tensor that the kernel reads and that is saved. */
    if (!adzi_is_float((adz_dtype)x->dtype) && !adzi_convert(&call, 0, ADZ_F32)) {
        return NULL;
    }
    adz_tensor *y = adzi_new_like(&call, call.in[0]);
    if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
        return NULL;
    }
    if (saves == ADZI_SAVES_X) {
        adzi_save_input(&call, 0);
    } else {
        adzi_save_result(&call, 0, y);
    }
    adzi_pointwise(kernels[adzi_cpu_level][y->dtype], y, 1, call.in, NULL);
    return adzi_leave(&call, y);
}

/* The gradient is written over dy where the engine is dy's only owner. The kernel may do so,
 * because it reads element i of both inputs before it writes element i. dy and `saved` have the
 * dtype and the shape of dx. */
adz_status adzi_unary_fused(
    adzi_node *node, adz_tensor **dx, adz_tensor *dy, adz_tensor *saved, adzi_float_kernels kernels)
{
    dx[0] = saved != NULL ? adzi_scratch_over(node->op->name, dy, saved) : NULL;
    if (dx[0] == NULL) {
        return adzi_status(NULL);
    }
    /* The order of a backward kernel's operands: upstream gradient first, then the saved value. */
    adzi_pointwise(
        kernels[adzi_cpu_level][saved->dtype], dx[0], 2, (adz_tensor *[]){ dy, saved }, NULL);
    return ADZ_OK;
}

/* For functions whose derivative reads y, such as tanh: 1 - y^2. */
adz_status adzi_unary_fused_of_result(
    adzi_node *node, adz_tensor **dx, adz_tensor *dy, adzi_float_kernels kernels)
{
    return adzi_unary_fused(node, dx, dy, adzi_saved_result(node, 0), kernels);
}

/* A float y of the shape and dtype of x, or an integer one for an integer x. Nothing is saved. */
adz_tensor *adzi_unary_kept(
    const adzi_op *op, adz_tensor *x, adzi_all_kernels kernels, const char *instead)
{
    adzi_call call;
    if (!adzi_enter(&call, op, "x", &x, 1, 0) || !adzi_want_computable(&call, 0) ||
        (instead != NULL && !adzi_refuse_bool(&call, 0, instead))) {
        return NULL;
    }
    adz_tensor *y = adzi_new_like(&call, x);
    if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
        return NULL;
    }
    adzi_pointwise(kernels[adzi_cpu_level][y->dtype], y, 1, call.in, NULL);
    return adzi_leave(&call, y);
}

/* A tensor of zeros, as in PyTorch: what led to x still receives a gradient. */
adz_status adzi_backward_zeros(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node;
    dx[0] = adz_zeros_like(dy[0]);
    return adzi_status(dx[0]);
}

/* Two integers are converted to f32 directly and not first to their common integer dtype. That
 * dtype may be unable to hold an operand of rank 0, as u8 cannot hold -1. */
bool adzi_promote_floats(adzi_call *call)
{
    if (adzi_is_float((adz_dtype)call->in[0]->dtype) ||
        adzi_is_float((adz_dtype)call->in[1]->dtype)) {
        return adzi_promote(call, 0, 1);
    }
    /* Both are integers or bool here, or f16 or bf16, which are refused. */
    return adzi_want_computable(call, 0) && adzi_want_computable(call, 1) &&
           adzi_convert(call, 0, ADZ_F32) && adzi_convert(call, 1, ADZ_F32);
}

/* The whole forward of functions like atan2. Both inputs are saved even if one alone wants a
 * gradient, because each derivative reads both. */
adz_tensor *adzi_binary(const adzi_op *op, adz_tensor *a, adz_tensor *b, adzi_float_kernels kernels)
{
    adzi_call call;
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    if (!adzi_enter(&call, op, "a, b", (adz_tensor *[]){ a, b }, 2, 0) ||
        !adzi_promote_floats(&call) ||
        !adzi_broadcast(op->name, &rank, sizes, call.in[0], call.in[1])) {
        return NULL;
    }
    adz_tensor *y = adzi_new(&call, (adz_dtype)call.in[0]->dtype, rank, sizes);
    if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
        return NULL;
    }
    adzi_save_input(&call, 0);
    adzi_save_input(&call, 1);
    adzi_pointwise(kernels[adzi_cpu_level][y->dtype], y, 2, call.in, NULL);
    return adzi_leave(&call, y);
}

/* torch.result_type of the inputs from `first` on. Tensors with dimensions decide among themselves.
 * Tensors of rank 0 count as numbers: they matter only if they are of a higher category. The
 * categories are bool, integers and floats, in rising order. */
static adz_dtype result_type(const adzi_call *call, int first)
{
    /* Index 0 is for tensors with dimensions, index 1 for tensors of rank 0. */
    adz_dtype of[2] = { ADZ_BOOL, ADZ_BOOL };
    bool found[2] = { false, false };
    for (int i = first; i < call->n_in; ++i) {
        const int k = call->in[i]->rank == 0;
        const adz_dtype dtype = (adz_dtype)call->in[i]->dtype;
        of[k] = found[k] ? adz_promote_types(of[k], dtype) : dtype;
        found[k] = true;
    }
    /* Where all inputs are of one kind, that kind decides alone. */
    if (!found[0] || !found[1]) {
        return of[found[0] ? 0 : 1];
    }
    return adzi_number_result_type(of[0], of[1]);
}

/* Operators of three inputs, such as addcmul, promote all of them at once.
 * Pairwise promotion would depend on the order of the inputs. */
bool adzi_promote_from(adzi_call *call, int first)
{
    for (int i = first; i < call->n_in; ++i) {
        if (!adzi_want_computable(call, i)) {
            return false;
        }
    }
    adz_dtype dtype = result_type(call, first);
    /* Checked before anything is converted, so that the message names the result's dtype. */
    if (call->inplace && dtype != call->in[0]->dtype) {
        adzi_error(call->op->name, ADZ_ERR_DTYPE,
            "the result is %s and cannot be written to %s in place", adz_dtype_name(dtype),
            adz_dtype_name((adz_dtype)call->in[0]->dtype));
        return false;
    }
    /* call->in[i] becomes the converted tensor, which is the one to save and to compute with. */
    for (int i = first; i < call->n_in; ++i) {
        if (!adzi_convert(call, i, dtype)) {
            return false;
        }
    }
    return true;
}

/* Starts from a scalar's shape and widens it by one input after the other. */
bool adzi_broadcast_inputs(adzi_call *call, int *rank, int64_t *sizes)
{
    *rank = 0;
    for (int i = 0; i < call->n_in; ++i) {
        if (!adzi_broadcast_with(call->op->name, rank, sizes, call->in[i])) {
            return false;
        }
    }
    return true;
}

/* For conditions and masks. A mask of numbers is refused instead of being compared with 0: in
 * PyTorch, too, where and masked_fill take bool alone. */
bool adzi_want_mask(adzi_call *call, int i)
{
    const adz_tensor *t = call->in[i];
    if (t->dtype == ADZ_BOOL) {
        return true;
    }
    adzi_error(call->op->name, ADZ_ERR_DTYPE,
        "input %d%s is %s; bool is needed, as comparisons give it or adz_to(x, ADZ_BOOL)", i,
        adzi_text_shape(t), adz_dtype_name((adz_dtype)t->dtype));
    return false;
}

/* For operators that PyTorch refuses for bool, such as neg. The message ends with `instead`, the
 * call to use for truth values. */
bool adzi_refuse_bool(adzi_call *call, int i, const char *instead)
{
    const adz_tensor *t = call->in[i];
    if (t->dtype != ADZ_BOOL) {
        return true;
    }
    adzi_error(call->op->name, ADZ_ERR_DTYPE, "input %d%s is bool, which has no %s; use %s", i,
        adzi_text_shape(t), call->op->name, instead);
    return false;
}

adz_tensor *adzi_scaled_gradient(adz_tensor *dy, double number)
{
    const adzi_thread *thread = adzi_self();
    if (thread->grad_enabled || thread->tracer != NULL || dy->rank < 2 || dy->strides[0] != 0 ||
        dy->sizes[0] < 2) {
        return adz_mul_number(dy, number);
    }
    adz_tensor *row = adz_mul_number(adz_narrow(dy, 0, 0, 1), number);
    return row != NULL ? adz_expand(row, adz_shape_of(dy->rank, dy->sizes)) : NULL;
}
