/* Calls of users' operators: adz_operator_call checks the inputs, makes the results, launches the
 * user's kernel and records the call. What the user gives instead of a kernel, or leaves out, comes
 * from the operator's expression. */
#include <string.h>

#include "adze/operator.h"
#include "autograd/attr.h"
#include "autograd/operator.h"
#include "autograd/operators.h"
#include "base/capture.h"
#include "base/door.h"

enum { MOST_INPUTS = 32, MOST_RESULTS = 8, MOST_ATTRIBUTES = 512, GRAIN_ELEMENTS = 4096 };

/* One call. `op` is a copy of the user's struct, in which members that the caller's version lacks
 * are zero. */
typedef struct {
    adz_operator op;
    adz_tensor *in[MOST_INPUTS], *out[MOST_RESULTS];
    int n_in, n_out;
    const adz_tensor *leading; /* the input that decides the dtype */
    adz_result results[MOST_RESULTS];
    _Alignas(max_align_t) unsigned char attributes[MOST_ATTRIBUTES];
    adzi_call call;
} operator_call;

static const void *attributes_of(const operator_call *c)
{
    return c->op.attributes_size > 0 ? c->attributes : NULL;
}

/* ---- the operator --------------------------------------------------------------------------- */

static bool has_kernel(const adz_operator *op)
{
    bool has = false;
    for (int i = 0; i < ADZ_KERNEL_DTYPES && !has; ++i) {
        has = op->kernels[i] != NULL;
    }
    return has;
}

/* Checks what does not depend on the call. */
static bool check_numbers(const adz_operator *op)
{
    if (op->n_inputs > MOST_INPUTS || op->n_results > MOST_RESULTS ||
        op->attributes_size > MOST_ATTRIBUTES) {
        adzi_error(op->name, ADZ_ERR_ARGUMENT,
            "the operator says %zu inputs, %zu results and %zu bytes of attributes; there can be %d, %d and %d",
            op->n_inputs, op->n_results, op->attributes_size, (int)MOST_INPUTS, (int)MOST_RESULTS,
            (int)MOST_ATTRIBUTES);
        return false;
    }
    const bool counted = op->units >= ADZ_UNITS_ELEMENTS && op->units <= ADZ_UNITS_CALL;
    if ((has_kernel(op) && !counted) || op->grain < 0) {
        adzi_error(op->name, ADZ_ERR_ARGUMENT,
            "the operator says units %d and grain %lld; set .units to what its kernels count, ADZ_UNITS_ELEMENTS, ADZ_UNITS_ROWS or ADZ_UNITS_CALL, and .grain to 0 or more",
            (int)op->units, (long long)op->grain);
        return false;
    }
    return true;
}

bool adzi_read_operator(const char *function, const adz_operator *given, adz_operator *op)
{
    if (!adzi_check_operator(function, given)) {
        return false;
    }
    memset(op, 0, sizeof *op);
    memcpy(op, given, given->size < sizeof *op ? given->size : sizeof *op);
    if (!has_kernel(op) && op->expression == NULL) {
        adzi_error(op->name, ADZ_ERR_ARGUMENT,
            "the operator has neither a kernel nor an expression, so nothing computes it; set .kernels or .expression");
        return false;
    }
    if (op->attributes_free != NULL) {
        adzi_error(op->name, ADZ_ERR_ARGUMENT,
            "the attributes own memory (attributes_free), which a plan could not replay; hand it over as a tensor, an input of the operator");
        return false;
    }
    return check_numbers(op);
}

/* ---- the arguments -------------------------------------------------------------------------- */

/* Copies the attributes field by field, so that bytes between the fields are zero. */
static bool take_attributes(operator_call *c, const adz_operator *given, const void *attributes)
{
    const size_t size = c->op.attributes_size;
    size_t n;
    memset(c->attributes, 0, sizeof c->attributes);
    if (size == 0) {
        if (attributes != NULL) {
            adzi_error(c->op.name, ADZ_ERR_ARGUMENT,
                "the call has attributes, but the operator's attributes_size is 0");
        }
        return attributes == NULL;
    }
    if (attributes == NULL) {
        adzi_pass_null(c->op.name, "attributes");
        return false;
    }
    if (adzi_attr_fields(given, &n) == NULL) {
        adzi_error(c->op.name, ADZ_ERR_ARGUMENT,
            "the attributes have %zu bytes, but no table of fields says what they are; set .fields and .n_fields",
            size);
        return false;
    }
    if (!adzi_check_attributes(given, attributes, size)) {
        return false;
    }
    adzi_attr_copy(given, c->attributes, attributes, size);
    return true;
}

/* Finds the input that decides the dtype: the first that is not left out and has to have the dtype
 * of the others, or the first that is not left out. */
static bool find_leading(operator_call *c)
{
    const adz_tensor *any = NULL;
    c->leading = NULL;
    for (int i = 0; i < c->n_in && c->leading == NULL; ++i) {
        if (!adzi_is_none(c->in[i])) {
            any = any == NULL ? c->in[i] : any;
            c->leading = c->op.other_dtypes & (1u << i) ? NULL : c->in[i];
        }
    }
    c->leading = c->leading == NULL ? any : c->leading;
    if (c->leading == NULL) {
        adzi_error(c->op.name, ADZ_ERR_ARGUMENT, "all inputs are left out");
    }
    return c->leading != NULL;
}

static bool check_dtypes(const operator_call *c)
{
    for (int i = 0; i < c->n_in; ++i) {
        const adz_tensor *t = c->in[i];
        if (!adzi_is_none(t) && t->dtype != c->leading->dtype &&
            !(c->op.other_dtypes & (1u << i))) {
            adzi_error(c->op.name, ADZ_ERR_DTYPE,
                "input %d%s is %s, and the first input%s is %s; convert one of them with adz_to", i,
                adzi_text_shape(t), adz_dtype_name((adz_dtype)t->dtype),
                adzi_text_shape(c->leading), adz_dtype_name((adz_dtype)c->leading->dtype));
            return false;
        }
    }
    return true;
}

/* Whether a kernel or the expression computes the dtype. */
static bool check_kernel(const operator_call *c)
{
    const adz_operator *op = &c->op;
    if (op->kernels[c->leading->dtype] == NULL && op->expression == NULL) {
        adzi_text dtypes = { 0 };
        for (int i = 0; i < ADZ_KERNEL_DTYPES; ++i) {
            if (op->kernels[i] != NULL) {
                adzi_text_format(&dtypes, "%s%s", adzi_text_get(&dtypes)[0] != '\0' ? ", " : "",
                    adz_dtype_name((adz_dtype)i));
            }
        }
        adzi_error(op->name, ADZ_ERR_DTYPE,
            "the first input%s is %s, and the operator has kernels for %s; convert it with adz_to, or give the operator a kernel for %s or an expression",
            adzi_text_shape(c->leading), adz_dtype_name((adz_dtype)c->leading->dtype),
            adzi_text_get(&dtypes), adz_dtype_name((adz_dtype)c->leading->dtype));
        adzi_text_free(&dtypes);
        return false;
    }
    return true;
}

static bool take_inputs(operator_call *c, const adz_operator *given, adz_tensor *const *inputs,
    size_t n_inputs, adz_tensor **more)
{
    const size_t n = c->op.n_inputs > 0 ? c->op.n_inputs : 1;
    if (inputs == NULL || n_inputs != n) {
        adzi_error(c->op.name, inputs == NULL ? ADZ_ERR_NULL : ADZ_ERR_ARGUMENT,
            "the call has %zu inputs%s, and the operator's n_inputs is %zu", n_inputs,
            inputs == NULL ? " at NULL" : "", n);
        return false;
    }
    c->n_in = (int)n;
    c->n_out = c->op.n_results > 0 ? (int)c->op.n_results : 1;
    if (c->n_out > 1 && more == NULL) {
        adzi_pass_null(c->op.name, "more, which gets the further results,");
        return false;
    }
    memcpy(c->in, inputs, n * sizeof *inputs);
    return adzi_enter(&c->call, given, adzi_input_names, c->in, c->n_in, c->op.optional_inputs) &&
           find_leading(c) && check_dtypes(c) && check_kernel(c);
}

/* ---- the results ---------------------------------------------------------------------------- */

static bool run_shape_rule(void *state)
{
    operator_call *c = state;
    const adz_status status = c->op.shape_rule(c->results, c->in, attributes_of(c));
    return !adzi_callback_failed(c->op.name, status, "the shape rule refused the inputs");
}

/* Asks the shape rule, and checks its answer. */
static bool find_shapes(operator_call *c)
{
    const adzi_door door = { .op = c->op.name };
    bool floats = false;
    for (int k = 0; k < c->n_out; ++k) {
        c->results[k] = (adz_result){ adz_tensor_shape(c->leading), (adz_dtype)c->leading->dtype };
    }
    if (c->op.shape_rule != NULL && !adzi_through_door(&door, run_shape_rule, c)) {
        return false;
    }
    for (int k = 0; k < c->n_out; ++k) {
        const adz_result *r = &c->results[k];
        int64_t numel;
        if (adzi_check_sizes(c->op.name, r->shape.rank, r->shape.sizes, r->dtype, &numel) !=
            ADZ_OK) {
            return false;
        }
        floats = floats || adzi_is_float(r->dtype);
    }
    c->call.record = c->call.record && floats;
    if (c->call.record && c->op.backward == NULL && c->op.expression == NULL) {
        adzi_error(c->op.name, ADZ_ERR_GRAPH,
            "an input wants a gradient, but the operator has neither a backward nor an expression; set one of them, or call it inside ADZ_NO_GRAD");
        return false;
    }
    return true;
}

/* ---- by a kernel ---------------------------------------------------------------------------- */

/* The arguments of a launch. The inputs come last, so that a launch is no longer than its call. */
typedef struct {
    adz_kernel_function kernel;
    size_t n_inputs, n_results, attributes_size;
    _Alignas(max_align_t) unsigned char attributes[MOST_ATTRIBUTES];
    adz_array results[MOST_RESULTS];
    adz_const_array inputs[MOST_INPUTS];
} launch_args;

/* The kernel of every launch: calls the user's. */
static void run_kernel(const void *block, int64_t begin, int64_t end)
{
    const launch_args *args = block;
    const adz_kernel_call call = { .inputs = args->inputs,
        .results = args->results,
        .attributes = args->attributes_size > 0 ? args->attributes : NULL,
        .n_inputs = args->n_inputs,
        .n_results = args->n_results };
    args->kernel(&call, begin, end);
}

/* How many units the kernel counts, and how many of them are worth a thread. */
static int64_t count_units(const operator_call *c, int64_t *grain)
{
    const adz_tensor *y = c->out[0];
    const int64_t last = y->rank > 0 ? y->sizes[y->rank - 1] : 1;
    const bool rows = c->op.units == ADZ_UNITS_ROWS;
    *grain = rows && last > 1 ? 1 + (GRAIN_ELEMENTS - 1) / last : GRAIN_ELEMENTS;
    *grain = c->op.grain > 0 ? c->op.grain : *grain;
    if (c->op.units == ADZ_UNITS_CALL) {
        *grain = 1;
        return 1;
    }
    return !rows ? y->numel : last > 0 ? y->numel / last : 0;
}

/* Tells the capture of a plan what distinguishes this call from others of the launch below, which
 * all users' operators share: the kernel and the attributes. */
static void tell_capture(const operator_call *c)
{
    if (adzi_capture_of(adzi_self()) == NULL) {
        return;
    }
    adzi_capture_number((double)(uintptr_t)c->op.kernels[c->leading->dtype]);
    for (size_t at = 0; at < c->op.attributes_size; ++at) {
        adzi_capture_number((double)((const unsigned char *)c->attributes)[at]);
    }
}

static void launch(const operator_call *c, adz_tensor *const *compact)
{
    const size_t bytes = offsetof(launch_args, inputs) + (size_t)c->n_in * sizeof(adz_const_array);
    launch_args args;
    memset(&args, 0, bytes);
    args.kernel = c->op.kernels[c->leading->dtype];
    args.n_inputs = (size_t)c->n_in;
    args.n_results = (size_t)c->n_out;
    args.attributes_size = c->op.attributes_size;
    memcpy(args.attributes, c->attributes, sizeof args.attributes);
    int64_t elements = 0, grain;
    for (int k = 0; k < c->n_out; ++k) {
        const adz_tensor *t = c->out[k];
        adz_array *a = &args.results[k];
        *a = (adz_array){
            .data = t->data, .numel = t->numel, .rank = t->rank, .dtype = (adz_dtype)t->dtype
        };
        memcpy(a->sizes, t->sizes, (size_t)t->rank * sizeof *a->sizes);
        elements += t->numel;
    }
    for (int i = 0; i < c->n_in; ++i) {
        const adz_tensor *t = compact[i];
        adz_const_array *a = &args.inputs[i];
        if (!adzi_is_none(t)) {
            *a = (adz_const_array){
                .data = t->data, .numel = t->numel, .rank = t->rank, .dtype = (adz_dtype)t->dtype
            };
            memcpy(a->sizes, t->sizes, (size_t)t->rank * sizeof *a->sizes);
        }
    }
    const int64_t units = count_units(c, &grain);
    if (elements > 0 && units > 0) {
        tell_capture(c);
        adzi_launch_part(run_kernel, &args, bytes, units, grain);
    }
}

static bool record(operator_call *c)
{
    if (!adzi_record_extra(&c->call, c->n_out, c->out, 0, c->attributes, c->op.attributes_size)) {
        return false;
    }
    for (int i = 0; i < c->n_in; ++i) {
        if ((c->op.backward == NULL || c->op.saved_inputs & (1u << i)) && !adzi_is_none(c->in[i])) {
            adzi_save_input(&c->call, i);
        }
    }
    for (int k = 0; k < c->n_out; ++k) {
        if (c->op.saved_results & (1u << k)) {
            adzi_save_result(&c->call, k, c->out[k]);
        }
    }
    return true;
}

static bool compute_by_kernel(operator_call *c)
{
    adz_tensor *compact[MOST_INPUTS];
    for (int i = 0; i < c->n_in; ++i) {
        compact[i] = adzi_compact(c->op.name, c->in[i]);
        if (compact[i] == NULL) {
            return false;
        }
    }
    for (int k = 0; k < c->n_out; ++k) {
        const adz_result *r = &c->results[k];
        c->out[k] = adzi_new(&c->call, r->dtype, r->shape.rank, r->shape.sizes);
        if (c->out[k] == NULL) {
            return false;
        }
    }
    if (!record(c)) {
        return false;
    }
    launch(c, compact);
    return true;
}

/* ---- by the expression ---------------------------------------------------------------------- */

bool adzi_call_expression(
    const adz_operator *op, adz_tensor **results, adz_tensor *const *in, const void *attributes)
{
    const adz_status status = op->expression(results, in, attributes);
    return !adzi_callback_failed(op->name, status, "the expression failed");
}

/* Whether a tensor can be a result of the node: the scope got it after it had `mark` tensors, and
 * nothing else has its elements. */
static bool is_new(const operator_call *c, const adz_tensor *t, int k, size_t mark)
{
    const adzi_thread *thread = c->call.thread;
    bool ours = false;
    for (size_t i = mark; i < thread->n_temporaries && !ours; ++i) {
        ours = thread->temporaries[i] == t;
    }
    for (int i = 0; i < k && ours; ++i) {
        ours = c->out[i]->storage != t->storage;
    }
    return ours && !t->is_view && !adzi_requires_grad(t) && adzi_is_contiguous(t) &&
           t->data == t->storage->data;
}

/* Computes the values without a graph, and makes them results of the call. A trace gets the calls
 * of the expression. */
static bool call_expression(const operator_call *c, adz_tensor **made)
{
    if (!adzi_call_expression(&c->op, made, c->in, attributes_of(c))) {
        return false;
    }
    for (int k = 0; k < c->n_out; ++k) {
        const adz_result *r = &c->results[k];
        const adz_tensor *t = made[k];
        if (!adzi_check_tensor(c->op.name, "a result of the expression", t)) {
            return false;
        }
        if (t->dtype != r->dtype || t->rank != r->shape.rank ||
            memcmp(t->sizes, r->shape.sizes, (size_t)t->rank * sizeof *t->sizes) != 0) {
            adzi_error(c->op.name, ADZ_ERR_SHAPE,
                "result %d is %s%s by the operator's shape rule, but %s%s by its expression", k,
                adz_dtype_name(r->dtype), adzi_text_sizes(r->shape.rank, r->shape.sizes),
                adz_dtype_name((adz_dtype)t->dtype), adzi_text_shape(t));
            return false;
        }
    }
    return true;
}

static bool compute_values(void *state)
{
    operator_call *c = state;
    adz_tensor *made[MOST_RESULTS] = { NULL };
    const size_t mark = c->call.thread->n_temporaries;
    if (!call_expression(c, made)) {
        return false;
    }
    for (int k = 0; k < c->n_out; ++k) {
        c->out[k] = is_new(c, made[k], k, mark) ? made[k] : adz_clone(made[k]);
        if (c->out[k] == NULL) {
            return false;
        }
    }
    return true;
}

/* In the trace of a training step: the results have the graph of the expression, so that a backward
 * computes nothing again. */
static bool compute_with_graph(operator_call *c)
{
    adz_tensor *made[MOST_RESULTS] = { NULL };
    bool good = call_expression(c, made);
    for (int k = 0; k < c->n_out && good; ++k) {
        c->out[k] = adz_clone(made[k]); /* it may be an input, or a result twice */
        good = c->out[k] != NULL;
    }
    return good;
}

static bool compute_by_expression(operator_call *c)
{
    const adzi_door door = { .op = c->op.name, .mode = ADZI_DOOR_RECORDS_NOTHING };
    adzi_settle(c->call.thread);
    if (c->call.record && c->op.backward == NULL && adzi_trace_is_step()) {
        return compute_with_graph(c);
    }
    if (!adzi_through_door(&door, compute_values, c)) {
        return false;
    }
    adzi_thread *thread = c->call.thread;
    adzi_tracer *tracer = thread->tracer;
    thread->tracer = NULL; /* it has the calls of the expression instead of this one */
    const bool good = record(c);
    thread->tracer = tracer;
    return good;
}

/* ---- the call ------------------------------------------------------------------------------- */

adz_tensor *adz_operator_call(const adz_operator *op, adz_tensor *const *inputs, size_t n_inputs,
    const void *attributes, adz_tensor **more)
{
    operator_call c;
    if (!adzi_read_operator("operator_call", op, &c.op) || !take_attributes(&c, op, attributes) ||
        !take_inputs(&c, op, inputs, n_inputs, more) || !find_shapes(&c)) {
        return NULL;
    }
    const bool kernel = c.op.kernels[c.leading->dtype] != NULL;
    if (!(kernel ? compute_by_kernel(&c) : compute_by_expression(&c))) {
        return NULL;
    }
    for (int k = 0; k < c.n_out; ++k) {
        if (adzi_leave(&c.call, c.out[k]) == NULL) {
            return NULL;
        }
    }
    for (int k = 1; k < c.n_out; ++k) {
        more[k - 1] = c.out[k];
    }
    return c.out[0];
}
