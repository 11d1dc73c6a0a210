/* One call of adz_operator_call, and the two ways in which it is computed: by the program's kernel
 * (operator_kernel.c) and by the operator's expression (operator_expression.c). */
#ifndef ADZI_AUTOGRAD_OPERATOR_CALL_H
#define ADZI_AUTOGRAD_OPERATOR_CALL_H

#include "autograd/form.h"
#include "autograd/operator.h"

enum { ADZI_OPERATOR_INPUTS = 32, ADZI_OPERATOR_RESULTS = 8, ADZI_OPERATOR_ATTRIBUTES = 512 };

/** `op` is a copy of the program's struct, in which members that the caller's version lacks are
 * zero. */
typedef struct adzi_operator_call {
    adz_operator op;
    adz_tensor *in[ADZI_OPERATOR_INPUTS];
    adz_tensor *out[ADZI_OPERATOR_RESULTS]; /* n_out results, and the values that are kept */
    int n_in, n_out;
    const adz_tensor *leading; /* the input that decides the dtype */
    adz_shape shape;           /* of the leading input, or the one to which the inputs broadcast */
    bool inplace;              /* the result is in[0] */
    int64_t slices, slice_size, slice_stride; /* of units that are slices; see adz_kernel_call */
    adz_result results[ADZI_OPERATOR_RESULTS];
    _Alignas(max_align_t) unsigned char attributes[ADZI_OPERATOR_ATTRIBUTES];
    adzi_call call;
} adzi_operator_call;

static inline void *adzi_operator_attributes(adzi_operator_call *c)
{
    return c->op.attributes_size > 0 ? c->attributes : NULL;
}

/** Records the call, and saves what its backward reads. */
ADZI_INLINED bool adzi_record_operator(adzi_operator_call *c)
{
    if (!adzi_form_record(
            &c->call, &c->op, (int)c->op.n_kept, c->out, adzi_operator_attributes(c))) {
        return false;
    }
    adzi_form_save(&c->call, &c->op, c->n_in, c->out);
    return true;
}

/** Whether a trace of a step records the call of an operator whose backward may read values that
 * are kept. The trace has calls and no such values, so the backward is that of the expression. It
 * refuses those of a call in place. */
static inline bool adzi_is_traced_without_kept(const adzi_operator_call *c)
{
    return !c->inplace && c->call.record && c->op.n_kept > 0 && c->op.expression != NULL &&
           adzi_trace_is_step();
}

/** Makes and records the results, and computes them by the operator's kernel for the dtype of the
 * leading input. False with the error recorded. */
bool adzi_compute_by_kernel(adzi_operator_call *c);

/** Makes and records the results, and computes them by the operator's expression, which gets no
 * graph of its own. False with the error recorded. */
bool adzi_compute_by_expression(adzi_operator_call *c);

#endif
