/* The form of a plain operator: what its adzi_op declares is all that a call does.
 *
 *     static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
 *     {
 *         cumsum_attr *at = block;
 *         at->dim = adzi_dim("cumsum", in[0], at->dim); // negative dimensions count from the last
 *         return adzi_form_status(at->dim >= 0);
 *     }
 *
 *     static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
 *     {
 *         const cumsum_attr *at = block;
 *         adzi_slices_run(KERNEL_FOR(cumsum, in[0]->dtype), y[0], 1, in, at->dim);
 *     }
 *
 *     const adzi_op adzi_op_cumsum = { .name = "cumsum", .backward = backward,
 *         ADZI_ATTRIBUTES(cumsum_attr, fields), .shape_rule = shape_rule,
 *         .dtypes = ADZI_DTYPES_COMPUTABLE };
 *
 *     adz_tensor *adz_cumsum(adz_tensor *x, int dim)
 *     {
 *         return ADZI_RUN(cumsum, launch, &(cumsum_attr){ dim }, x);
 *     }
 *
 * The members of adz_operator mean the same for an operator of a program, which
 * adz_operator_call calls (operator.c). A program's operator has kernels, which the library
 * launches; an operator of the library has a function that launches them, because it chooses among
 * instruction sets and may need several launches.
 *
 * The functions here are inlined where they are called, with an operator that is a constant there.
 * What it does not declare therefore costs nothing. */
#ifndef ADZI_AUTOGRAD_FORM_H
#define ADZI_AUTOGRAD_FORM_H

#include <string.h>

#include "autograd/op.h"

#define ADZI_INLINED static inline __attribute__((always_inline))

/** The dtypes in which operators compute: all but f16 and bf16, which are for storage. */
#define ADZI_DTYPES_COMPUTABLE                                                                     \
    (ADZ_DTYPES_FLOATS | ADZ_DTYPE_BIT(ADZ_I32) | ADZ_DTYPE_BIT(ADZ_I64) | ADZ_DTYPE_BIT(ADZ_U8) | \
        ADZ_DTYPE_BIT(ADZ_BOOL))

/** The members of an adzi_op that describe its attributes: their struct and its table of fields. */
#define ADZI_ATTRIBUTES(type, table) ADZI_FIELDS(table), .attributes_size = sizeof(type)

/** The results, with the extra values of the node, and the inputs that one call in this form may
 * have. */
enum { ADZI_FORM_RESULTS = 8, ADZI_FORM_INPUTS = ADZI_CALL_INPUTS };

/** The results without extra values that a call of the library's own may have. They are few because
 * a call may take less than four kilobytes of stack (adzi_settle in base/frame.c). */
enum { ADZI_PLAIN_RESULTS = 3 };

/**
 * Launches the kernels of a call. `in` are contiguous, except those in the operator's
 * strided_inputs. Cannot fail. NULL for views.
 */
typedef void (*adzi_launcher)(adz_tensor *const *y, adz_tensor *const *in, const void *attr);

/**
 * The steps of a call beyond what its operator declares; any of them may be NULL. They run in the
 * order of the members: `check` before the results are known, `prepare` before the recording.
 */
typedef struct adzi_steps {
    /* Checks what the shape rule cannot, such as the elements of an index, and converts inputs in
       call->in. False with the error recorded. */
    bool (*check)(adzi_call *call, void *attr);
    /* Makes what the launch needs and what may be refused. `in` are the inputs as the launch reads
       them. Tensors behind the results, and behind the values whose shapes the shape rule knows
       (n_kept of the operator), become extra values of the node, as those do; NULL for none. A
       computation that may fail, such as a factorisation, is done here, and there is no launch.
       False with the error recorded; nothing is left to release then. */
    bool (*prepare)(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *attr);
    /* Saves what the backward reads, instead of what the operator says: where it depends on the
       call, or where the derived backward reads less than all inputs. */
    void (*save)(adzi_call *call, adz_tensor *const *y, const void *attr);
    adzi_launcher launch;
    /* Releases what `prepare` has made, after the launch or if the recording was refused. */
    void (*release)(void *attr);
    int n_kept; /* extra values of the node that `prepare` makes */
} adzi_steps;

/** A call in this form. */
typedef struct adzi_plain {
    const adzi_op *op;
    adzi_steps steps;
    void *attr;        /* of op->attributes_size bytes or more, which the shape rule completes. The
                          node gets so many; the steps may use further ones */
    adz_tensor **in;   /* ADZI_FORM_INPUTS at most */
    int n_in;          /* as in op->n_inputs */
    bool inplace;      /* the result is in[0] itself */
    const char *names; /* of the inputs, for messages */
    adz_tensor **more; /* gets the results from the second on; NULL if there is one */
} adzi_plain;

/** What a shape rule returns: ADZ_OK, or the code of the error that a check has recorded. */
static inline adz_status adzi_form_status(bool good)
{
    return good ? ADZ_OK : adzi_status(NULL);
}

/** The shape of a tensor for a result. For shape rules. */
ADZI_INLINED void adzi_form_like(adz_result *y, const adz_tensor *t)
{
    y->shape.rank = t->rank;
    memcpy(y->shape.sizes, t->sizes, sizeof y->shape.sizes);
}

/** Whether input i has a dtype of the mask. Records the error if not. */
ADZI_INLINED bool adzi_want_dtypes(adzi_call *call, int i, uint32_t dtypes)
{
    return (dtypes >> call->in[i]->dtype & 1) != 0 || adzi_refuse_dtype(call, i, dtypes);
}

/** How many results the operator has. */
ADZI_INLINED int adzi_form_count(const adz_operator *op)
{
    return op->n_results > 1 ? (int)op->n_results : 1;
}

/** How many tensors a call makes: the results, and the values that the operator keeps. */
ADZI_INLINED int adzi_form_made(const adz_operator *op)
{
    return adzi_form_count(op) + (int)op->n_kept;
}

/** Whether all results have the shape and the dtype of the first input. */
ADZI_INLINED bool adzi_form_is_like_input(const adz_operator *op)
{
    return op->shape_rule == NULL && !op->broadcasts && !op->view;
}

/** Finds the shape with which results come to the shape rule: that of `first`, or the one to which
 * all inputs broadcast. False with the error recorded if they do not fit. */
ADZI_INLINED bool adzi_form_shape(
    const adzi_call *call, const adz_operator *op, const adz_tensor *first, adz_shape *shape)
{
    shape->rank = op->broadcasts ? 0 : first->rank;
    if (!op->broadcasts) {
        memcpy(shape->sizes, first->sizes, sizeof shape->sizes);
        return true;
    }
    bool fits = true;
    for (int i = 0; i < call->n_in && fits; ++i) {
        fits = adzi_is_none(call->in[i]) ||
               adzi_broadcast_with(op->name, &shape->rank, shape->sizes, call->in[i]);
    }
    return fits;
}

/** Gives the results the shape of results[0] and the dtype of `first`, and asks the shape rule. A
 * call without a float among its results is not recorded. */
ADZI_INLINED adz_status adzi_form_results(adzi_call *call, const adz_operator *op,
    const adz_tensor *first, adz_result *results, void *attr)
{
    for (int k = 0; k < adzi_form_made(op); ++k) {
        if (k > 0) {
            results[k].shape = results[0].shape;
        }
        results[k].dtype = (adz_dtype)first->dtype;
        if (op->view) {
            memcpy(results[k].strides, first->strides, sizeof results[k].strides);
            results[k].offset = 0;
        }
    }
    const adz_status status =
        op->shape_rule != NULL ? op->shape_rule(results, call->in, attr) : ADZ_OK;
    bool floats = op->view;
    for (int k = 0; k < adzi_form_count(op); ++k) {
        floats = floats || adzi_is_float(results[k].dtype);
    }
    call->record = call->record && floats;
    return status;
}

/** Makes the results: new tensors, views of input 0, or input 0 itself if the call is in place. The
 * values that the operator keeps are new tensors behind them. */
ADZI_INLINED bool adzi_form_make(
    adzi_call *call, const adz_operator *op, const adz_result *results, adz_tensor **y)
{
    for (int k = 0; k < adzi_form_made(op); ++k) {
        const adz_result *r = &results[k];
        const bool kept = k >= adzi_form_count(op);
        y[k] = op->view ? adzi_new_view(call, call->in[0], r->shape.rank, r->shape.sizes,
                              r->strides, r->offset)
               : kept   ? adzi_scratch(op->name, r->dtype, r->shape.rank, r->shape.sizes)
                        : adzi_new(call, r->dtype, r->shape.rank, r->shape.sizes);
        if (y[k] == NULL) {
            return false;
        }
    }
    return true;
}

/** Records the call. y[n_results + k] is one of `n_kept` extra values of the node, or NULL. */
ADZI_INLINED bool adzi_form_record(
    adzi_call *call, const adz_operator *op, int n_kept, adz_tensor **y, const void *attr)
{
    const int n = adzi_form_count(op);
    if ((call->record || call->reported) &&
        !adzi_record_extra(
            call, n, y, n_kept, op->attributes_size > 0 ? attr : NULL, op->attributes_size)) {
        return false;
    }
    for (int k = 0; k < n_kept; ++k) {
        if (y[n + k] != NULL) {
            adzi_save_extra(call, k, y[n + k]);
        }
    }
    return true;
}

/** The inputs that the wanted gradients of a call read, by the operator's saved_for. */
ADZI_INLINED uint32_t adzi_form_wanted(const adzi_call *call, const adz_operator *op, int n_in)
{
    uint32_t read = 0;
    for (int i = 0; op->saved_for != NULL && i < n_in; ++i) {
        read |= adzi_wants(call, i) ? op->saved_for[i] : 0;
    }
    return read;
}

/** Saves what the operator says that its backward reads. The derived backward reads all inputs. */
ADZI_INLINED void adzi_form_save(
    adzi_call *call, const adz_operator *op, int n_in, adz_tensor *const *y)
{
    const uint32_t saved =
        op->backward == NULL ? ~0u : op->saved_inputs | adzi_form_wanted(call, op, n_in);
    for (int i = 0; i < n_in; ++i) {
        if (saved >> i & 1 && !adzi_is_none(call->in[i])) {
            adzi_save_input(call, i);
        }
    }
    for (int k = 0; k < adzi_form_count(op); ++k) {
        if (op->saved_results >> k & 1) {
            adzi_save_result(call, k, y[k]);
        }
    }
}

/** The step `save` of a call whose backward reads neither inputs nor results. */
static inline void adzi_save_nothing(adzi_call *call, adz_tensor *const *y, const void *attr)
{
    (void)call;
    (void)y;
    (void)attr;
}

/** Contiguous copies of the inputs that are strided, unless the operator takes them as they are. */
ADZI_INLINED bool adzi_form_read(
    const adzi_call *call, const adz_operator *op, int n_in, adz_tensor **read)
{
    for (int i = 0; i < n_in; ++i) {
        const bool strided = op->strided_inputs >> i & 1;
        read[i] = strided ? call->in[i] : adzi_compact(op->name, call->in[i]);
        if (!strided && read[i] == NULL) {
            return false;
        }
    }
    return true;
}

/** Makes the results of a call of the library. */
ADZI_INLINED bool adzi_plain_results(adzi_call *call, const adzi_plain *p, adz_tensor **y)
{
    const adzi_op *op = p->op;
    adz_result results[ADZI_PLAIN_RESULTS];
    if (adzi_form_is_like_input(op) && op->n_results <= 1) {
        y[0] = p->inplace ? call->in[0] : adzi_new_like(call, call->in[0]);
        return y[0] != NULL;
    }
    return adzi_form_shape(call, op, call->in[0], &results[0].shape) &&
           adzi_form_results(call, op, call->in[0], results, p->attr) == ADZ_OK &&
           adzi_form_make(call, op, results, y);
}

/** Checks the inputs of a call of the library, and finds what its launch reads. */
ADZI_INLINED bool adzi_plain_inputs(adzi_call *call, const adzi_plain *p, adz_tensor **read)
{
    const adzi_op *op = p->op;
    return adzi_enter(call, op, p->names, p->in, p->n_in, op->optional_inputs) &&
           (!p->inplace || adzi_begin_inplace(call,
                               (op->saved_inputs | adzi_form_wanted(call, op, p->n_in)) & 1)) &&
           (op->dtypes == 0 || adzi_want_dtypes(call, 0, op->dtypes)) &&
           (op->promotion == ADZ_PROMOTION_NONE ||
               adzi_promote_inputs(call, op->other_dtypes, op->promotion)) &&
           (p->steps.check == NULL || p->steps.check(call, p->attr)) &&
           (op->view || adzi_form_read(call, op, p->n_in, read));
}

/** Calls an operator of the library. Returns its first result, borrowed from the scope, or NULL
 * with the error recorded. */
ADZI_INLINED adz_tensor *adzi_run_plain(const adzi_plain *p)
{
    const adzi_op *op = p->op;
    const adzi_steps *steps = &p->steps;
    adzi_call call;
    adz_tensor *y[ADZI_FORM_RESULTS], *read[ADZI_FORM_INPUTS];
    if (!adzi_plain_inputs(&call, p, read) || !adzi_plain_results(&call, p, y) ||
        (steps->prepare != NULL && !steps->prepare(&call, y, op->view ? call.in : read, p->attr))) {
        return NULL;
    }
    const bool recorded = adzi_form_record(&call, op, (int)op->n_kept + steps->n_kept, y, p->attr);
    if (recorded) {
        if (steps->save != NULL) {
            steps->save(&call, y, p->attr);
        } else {
            adzi_form_save(&call, op, p->n_in, y);
        }
        for (size_t k = 1; k < op->n_results; ++k) {
            p->more[k - 1] = y[k];
        }
        if (op->view) {
            return y[0]; /* a view passes everything on, also in anomaly mode */
        }
        if (steps->launch != NULL) {
            steps->launch(y, read, p->attr);
        }
    }
    if (steps->release != NULL) {
        steps->release(p->attr);
    }
    return !recorded                             ? NULL
           : p->inplace && op->saved_results & 1 ? adzi_leave_saving(&call, y[0])
                                                 : adzi_leave(&call, y[0]);
}

/** A call of operator `name` (whose adzi_op is adzi_op_<name>) with tensors named as written. */
#define ADZI_RUN(name, its_launch, its_attr, ...) \
    ADZI_RUN_OF(&adzi_op_##name, its_launch, its_attr, __VA_ARGS__)

/** ADZI_RUN for an operator that is given by a pointer. */
#define ADZI_RUN_OF(its_op, its_launch, its_attr, ...) \
    ADZI_RUN_STEPS(its_op, ((adzi_steps){ .launch = (its_launch) }), its_attr, __VA_ARGS__)

/** ADZI_RUN_OF with further steps, an adzi_steps that is constant where the call is compiled. */
#define ADZI_RUN_STEPS(its_op, its_steps, its_attr, ...) \
    ADZI_RUN_AS(false, NULL, its_op, its_steps, its_attr, __VA_ARGS__)

/** ADZI_RUN_STEPS in place: the result is the first tensor itself. */
#define ADZI_RUN_STEPS_(its_op, its_steps, its_attr, ...) \
    ADZI_RUN_AS(true, NULL, its_op, its_steps, its_attr, __VA_ARGS__)

/** ADZI_RUN_STEPS for an operator with several results. The array `its_more` gets those from the
 * second on before the launch, so they mean nothing if the call returns NULL. */
#define ADZI_RUN_SEVERAL(its_more, its_op, its_steps, its_attr, ...) \
    ADZI_RUN_AS(false, its_more, its_op, its_steps, its_attr, __VA_ARGS__)

#define ADZI_RUN_AS(is_inplace, its_more, its_op, its_steps, its_attr, ...)            \
    adzi_run_plain(&(const adzi_plain){ .op = (its_op),                                \
        .steps = its_steps,                                                            \
        .attr = (its_attr),                                                            \
        .in = (adz_tensor *[]){ __VA_ARGS__ },                                         \
        .n_in = (int)(sizeof((adz_tensor *[]){ __VA_ARGS__ }) / sizeof(adz_tensor *)), \
        .inplace = (is_inplace),                                                       \
        .more = (its_more),                                                            \
        .names = #__VA_ARGS__ })

#endif
