#include "ops/elementwise/elementwise.h"

#include <math.h>

/* The shared parts of elementwise operators: the calls of functions of one and of two tensors,
 * promotion of several inputs to one dtype, broadcasting, and checks of masks.
 *
 * The table (table.h) holds formulas, kernels and gradients. Shapes are free: a function of one
 * tensor keeps the shape of x, all others broadcast by NumPy's rules. */

/* Whether the operator takes an x that is neither f32 nor f64. Conversions are recorded before the
 * call is, so an integer input never receives a gradient. */
static __attribute__((noinline)) bool take_other(const adzi_elementwise *form, adzi_call *call)
{
    if (form->types == ADZI_ONLY_FLOAT) {
        return adzi_want_float(call, 0);
    }
    if (!adzi_want_computable(call, 0)) {
        return false;
    }
    if (form->types == ADZI_TO_FLOAT) {
        return adzi_convert(call, 0, ADZ_F32);
    }
    if (call->in[0]->dtype != ADZ_BOOL || form->types == ADZI_TRUTH) {
        return true;
    }
    return form->types == ADZI_COUNTED
               ? adzi_convert(call, 0, ADZ_I64)
               : form->instead == NULL || adzi_refuse_bool(call, 0, form->instead);
}

/* Brings the inputs to the dtype in which the operator computes. */
static inline bool take_one(const adzi_elementwise *form, adzi_call *call)
{
    return adzi_is_float((adz_dtype)call->in[0]->dtype) || take_other(form, call);
}

static inline bool take_two(const adzi_elementwise *form, adzi_call *call)
{
    if (form->types == ADZI_TO_FLOAT) {
        return adzi_promote_floats(call);
    }
    if (form->types == ADZI_TRUTH_VALUES) { /* each by itself: a fraction is true */
        return adzi_want_computable(call, 0) && adzi_want_computable(call, 1) &&
               adzi_convert(call, 0, ADZ_BOOL) && adzi_convert(call, 1, ADZ_BOOL);
    }
    return adzi_promote(call, 0, 1) &&
           (form->instead == NULL || adzi_refuse_bool(call, 0, form->instead)) &&
           (form->check == NULL || form->check(call));
}

/* Saves what `what` names. In place adzi_save_result() does nothing, because x still has its old
 * values; adzi_leave_saving() saves x once it is the result. */
static inline void save(adzi_call *call, unsigned what, adz_tensor *y)
{
    if ((what & ADZI_SAVES_A) != 0) {
        adzi_save_input(call, 0);
    }
    if ((what & ADZI_SAVES_B) != 0) {
        adzi_save_input(call, 1);
    }
    if ((what & ADZI_SAVES_Y) != 0) {
        adzi_save_result(call, 0, y);
    }
}

static inline adzi_kernel kernel_of(const adzi_elementwise *form, const adzi_call *call)
{
    return form->kernels[adzi_cpu_level * form->columns + call->in[0]->dtype];
}

/* Truth values become part of no graph: their derivative is 0 wherever it exists. */
static inline bool record(
    const adzi_elementwise *form, adzi_call *call, adz_tensor *y, const void *attr)
{
    return y != NULL &&
           (form->types >= ADZI_TRUTH ? adzi_record_nothing(call, y, attr, form->attr_size)
                                      : adzi_record(call, 1, &y, attr, form->attr_size));
}

/* The call is written out here and in adzi_call2. The form is for an operator that is known where
 * the call is compiled, and these serve all rows of the table. */
adz_tensor *adzi_call1(
    const adzi_elementwise *form, adz_tensor *x, const double *p, const void *attr, bool inplace)
{
    adzi_call call;
    if (!adzi_enter(&call, form->op, "x", &x, 1, 0) || !take_one(form, &call) ||
        (inplace && !adzi_begin_inplace(&call, (form->saves & ADZI_SAVES_X) != 0))) {
        return NULL;
    }
    /* From here on call.in[0] is the tensor that the kernel reads and that is saved. */
    const adz_tensor *from = call.in[0];
    const adz_dtype dtype = form->types >= ADZI_TRUTH ? ADZ_BOOL : (adz_dtype)from->dtype;
    adz_tensor *y = adzi_new(&call, dtype, from->rank, from->sizes);
    if (!record(form, &call, y, attr)) {
        return NULL;
    }
    if (call.node != NULL) {
        save(&call, form->saves, y);
        adzi_offer_recompute(&call, form->recompute);
    }
    adzi_pointwise(kernel_of(form, &call), y, 1, call.in, p);
    return inplace && form->saves == ADZI_SAVES_Y ? adzi_leave_saving(&call, y)
                                                  : adzi_leave(&call, y);
}

adz_tensor *adzi_call2(const adzi_elementwise *form, adz_tensor *a, adz_tensor *b)
{
    adzi_call call;
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    if (!adzi_enter(&call, form->op, "a, b", (adz_tensor *[]){ a, b }, 2, 0) ||
        !take_two(form, &call) ||
        !adzi_broadcast(form->op->name, &rank, sizes, call.in[0], call.in[1])) {
        return NULL;
    }
    const adz_dtype dtype = form->types >= ADZI_TRUTH ? ADZ_BOOL : (adz_dtype)call.in[0]->dtype;
    adz_tensor *y = adzi_new(&call, dtype, rank, sizes);
    if (!record(form, &call, y, NULL)) {
        return NULL;
    }
    if (call.node != NULL) {
        save(&call, form->saves | (adzi_wants(&call, 1) ? form->saves_for_b : 0), y);
    }
    adzi_pointwise(kernel_of(form, &call), y, 2, call.in, NULL);
    return adzi_leave(&call, y);
}

/* A tensor for the number costs an allocation, a fill, and a kernel that broadcasts an operand:
 * half the time of a call with a small x. An x of one element is broadcast nowhere, and plans
 * gained nothing there. A trace needs the tensor. Zeros are left to the call with a tensor, because
 * products with them are left out, and numbers that are not finite to the messages about NaN. */
bool adzi_takes_number(const adz_tensor *x, double number)
{
    return x != NULL && x->alive == ADZI_ALIVE && adzi_is_float((adz_dtype)x->dtype) &&
           x->numel > 1 && !x->is_zero && number != 0 && isfinite(number) &&
           adzi_self()->tracer == NULL;
}

adz_tensor *adzi_call_number(const adzi_op *op, adzi_float_kernels kernels, adz_tensor *a,
    adz_tensor *b, double number, const void *attr)
{
    adzi_call call;
    adz_tensor *x = adzi_is_none(a) ? b : a;
    if (!adzi_enter(&call, op, "a, b", (adz_tensor *[]){ a, b }, 2, ADZI_OPTIONAL_FROM(0))) {
        return NULL;
    }
    adzi_capture_number(number);
    adz_tensor *y = adzi_new_like(&call, x);
    if (y == NULL || !adzi_record(&call, 1, &y, attr, op->attributes_size)) {
        return NULL;
    }
    adzi_pointwise(
        kernels[adzi_cpu_level][x->dtype], y, 1, &x, (double[ADZI_POINTWISE_PARAMS]){ number });
    return adzi_leave(&call, y);
}

/* The numbers that a node's attributes consist of, at most two. gelu has an enumeration instead. */
static void numbers_of(const adzi_node *node, double *p)
{
    const double *numbers = node->attr;
    for (size_t i = 0; i < node->op->n_fields && node->op->fields[i].kind == ADZ_FIELD_F64; ++i) {
        p[i] = numbers[i];
    }
}

/* The gradient is written over dy where the engine is dy's only owner. The kernel may do so,
 * because it reads element i of both inputs before it writes element i. dy and `saved` have the
 * dtype and the shape of dx. */
adz_status adzi_fused1(
    adzi_node *node, adz_tensor **dx, adz_tensor *dy, adz_tensor *saved, const adzi_kernel *kernels)
{
    double p[ADZI_POINTWISE_PARAMS] = { 0 };
    dx[0] = saved != NULL ? adzi_scratch_over(node->op->name, dy, saved) : NULL;
    if (dx[0] == NULL) {
        return adzi_status(NULL);
    }
    numbers_of(node, p);
    /* The order of a backward kernel's operands: upstream gradient first, then the saved value. */
    adzi_pointwise(kernels[saved->dtype], dx[0], 2, (adz_tensor *[]){ dy, saved }, p);
    return ADZ_OK;
}

/* dx[i] has the shape of dy, and the kernel broadcasts the inputs to it. dy itself is not written
 * over, because the gradient of the second input still reads it. */
adz_status adzi_fused2(adzi_node *node, adz_tensor **dx, adz_tensor *dy, adzi_float_kernels kernels)
{
    for (int i = 0; i < 2; ++i) {
        if (adzi_needs(node, i)) {
            adz_tensor *x = adzi_saved_input(node, i), *other = adzi_saved_input(node, 1 - i);
            /* Reading a saved input fails where it was changed in place after the forward. */
            const bool known = x != NULL && other != NULL;
            dx[i] = known ? adzi_scratch_like(node->op->name, dy) : NULL;
            if (dx[i] == NULL) {
                return adzi_status(NULL);
            }
            adzi_pointwise(kernels[adzi_cpu_level][dy->dtype], dx[i], 3,
                (adz_tensor *[]){ x, other, dy }, NULL);
        }
    }
    return ADZ_OK;
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
