/* Calls of users' operators: adz_operator_call checks the inputs, makes the results, launches the
 * user's kernel and records the call. What the user gives instead of a kernel, or leaves out, comes
 * from the operator's expression. */
#include <string.h>

#include "adze/operator.h"
#include "autograd/operator_call.h"
#include "base/door.h"

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
    const size_t n_results = op->n_results > 0 ? op->n_results : 1;
    if (op->n_inputs > ADZI_OPERATOR_INPUTS || n_results > ADZI_OPERATOR_RESULTS ||
        op->n_kept > ADZI_OPERATOR_RESULTS - n_results ||
        op->attributes_size > ADZI_OPERATOR_ATTRIBUTES) {
        adzi_error(op->name, ADZ_ERR_ARGUMENT,
            "the operator says %zu inputs, %zu results, %zu values to keep and %zu bytes of attributes; there can be %d inputs, %d results with the values to keep, and %d bytes",
            op->n_inputs, op->n_results, op->n_kept, op->attributes_size, (int)ADZI_OPERATOR_INPUTS,
            (int)ADZI_OPERATOR_RESULTS, (int)ADZI_OPERATOR_ATTRIBUTES);
        return false;
    }
    const bool counted = op->units >= ADZ_UNITS_ELEMENTS && op->units <= ADZ_UNITS_SLICES;
    if ((has_kernel(op) && !counted) || op->grain < 0) {
        adzi_error(op->name, ADZ_ERR_ARGUMENT,
            "the operator says units %d and grain %lld; set .units to what its kernels count, ADZ_UNITS_ELEMENTS, ADZ_UNITS_ROWS, ADZ_UNITS_SLICES or ADZ_UNITS_CALL, and .grain to 0 or more",
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
    if (op->view &&
        (has_kernel(op) || op->shape_rule == NULL || op->saved_results != 0 || op->n_kept != 0)) {
        adzi_error(op->name, ADZ_ERR_ARGUMENT,
            "the results are views: the shape rule says where they are, no kernel computes them, and the backward cannot read them; set .shape_rule, and leave out .kernels, .saved_results and .n_kept");
        return false;
    }
    if (!op->view && !has_kernel(op) && op->expression == NULL) {
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
static bool take_attributes(
    adzi_operator_call *c, const adz_operator *given, const void *attributes)
{
    const size_t size = c->op.attributes_size;
    size_t n;
    const adz_field *fields = adzi_attr_fields(given, &n);
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
    if (fields == NULL) {
        adzi_error(c->op.name, ADZ_ERR_ARGUMENT,
            "the attributes have %zu bytes, but no table of fields says what they are; set .fields and .n_fields",
            size);
        return false;
    }
    if (!adzi_check_attributes(given, attributes, size) ||
        !adz_fields_check(given->name, fields, n, attributes)) {
        return false;
    }
    adzi_attr_copy(given, c->attributes, attributes, size);
    return true;
}

/* Finds the input that decides the dtype: the first that is not left out and has to have the dtype
 * of the others, or the first that is not left out. */
static bool find_leading(adzi_operator_call *c)
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

static bool check_dtypes(const adzi_operator_call *c)
{
    if (c->op.dtypes != 0 && (c->op.dtypes >> c->leading->dtype & 1) == 0) {
        adzi_text dtypes = { 0 };
        adzi_error(c->op.name, ADZ_ERR_DTYPE,
            "the first input%s is %s, and the operator takes %s; convert it with adz_to",
            adzi_text_shape(c->leading), adz_dtype_name((adz_dtype)c->leading->dtype),
            adzi_text_dtypes(&dtypes, c->op.dtypes, ", "));
        adzi_text_free(&dtypes);
        return false;
    }
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
static bool check_kernel(const adzi_operator_call *c)
{
    const adz_operator *op = &c->op;
    if (!op->view && op->kernels[c->leading->dtype] == NULL && op->expression == NULL) {
        adzi_text dtypes = { 0 };
        uint32_t have = 0;
        for (int i = 0; i < ADZ_KERNEL_DTYPES; ++i) {
            have |= op->kernels[i] != NULL ? ADZ_DTYPE_BIT(i) : 0;
        }
        adzi_error(op->name, ADZ_ERR_DTYPE,
            "the first input%s is %s, and the operator has kernels for %s; convert it with adz_to, or give the operator a kernel for %s or an expression",
            adzi_text_shape(c->leading), adz_dtype_name((adz_dtype)c->leading->dtype),
            adzi_text_dtypes(&dtypes, have, ", "), adz_dtype_name((adz_dtype)c->leading->dtype));
        adzi_text_free(&dtypes);
        return false;
    }
    return true;
}

/* Counts the slices of the leading input along the attribute `dim`, which becomes 0 or more. */
static bool find_slices(adzi_operator_call *c)
{
    size_t n, at = 0;
    const adz_field *fields = adzi_attr_fields(c->call.op, &n);
    while (at < n && (fields[at].kind != ADZ_FIELD_INT || fields[at].count > 0 ||
                         strcmp(fields[at].name, "dim") != 0)) {
        ++at;
    }
    if (at == n) {
        adzi_error(c->op.name, ADZ_ERR_ARGUMENT,
            "the units are slices, but no attribute says along which dimension; give the operator a field `dim`, an int");
        return false;
    }
    const adz_tensor *x = c->leading;
    int dim;
    memcpy(&dim, c->attributes + fields[at].offset, sizeof dim);
    dim = adzi_dim(c->op.name, x, dim);
    if (dim < 0) {
        return false;
    }
    memcpy(c->attributes + fields[at].offset, &dim, sizeof dim);
    c->slice_size = x->rank > 0 ? x->sizes[dim] : 1;
    c->slice_stride = x->rank > 0 ? adzi_numel(x->rank - dim - 1, x->sizes + dim + 1) : 1;
    c->slices = c->slice_size > 0 ? x->numel / c->slice_size : 0;
    return true;
}

/* Brings the inputs to one dtype, or demands that they have one. Finds what computes it. */
static bool take_dtypes(adzi_operator_call *c)
{
    if (c->op.promotion != ADZ_PROMOTION_NONE) {
        if (!adzi_promote_inputs(&c->call, c->op.other_dtypes, c->op.promotion)) {
            return false;
        }
        memmove(c->in, c->call.in, (size_t)c->n_in * sizeof *c->in);
    }
    return find_leading(c) && check_dtypes(c) && check_kernel(c) &&
           (c->op.units != ADZ_UNITS_SLICES || find_slices(c));
}

/* Prepares a call that changes its first input. */
static bool begin_inplace(adzi_operator_call *c)
{
    const adz_operator *op = &c->op;
    if (adzi_is_none(c->in[0]) || op->view || c->n_out > 1 ||
        op->kernels[c->in[0]->dtype] == NULL) {
        adzi_error(op->name, ADZ_ERR_ARGUMENT,
            "a call in place needs a first input, one result that is no view, and a kernel for the dtype of the input; use adz_operator_call and adz_copy_");
        return false;
    }
    const uint32_t saved = op->saved_inputs | adzi_form_wanted(&c->call, op, c->n_in);
    const bool reads = op->backward == NULL || saved & 1u;
    if (!adzi_begin_inplace(&c->call, reads)) {
        return false;
    }
    memmove(c->in, c->call.in, (size_t)c->n_in * sizeof *c->in);
    return true;
}

/* How many inputs and results the call has. */
static bool count_operands(adzi_operator_call *c, adz_tensor *const *inputs, size_t n_inputs)
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
    return true;
}

static bool take_inputs(adzi_operator_call *c, const adz_operator *given, adz_tensor *const *inputs)
{
    memcpy(c->in, inputs, (size_t)c->n_in * sizeof *inputs);
    return adzi_enter(&c->call, given, adzi_input_names, c->in, c->n_in, c->op.optional_inputs) &&
           (!c->inplace || begin_inplace(c)) && take_dtypes(c);
}

/* ---- the results ---------------------------------------------------------------------------- */

/* Whether all elements of a view lie in the storage of its base. */
static bool is_inside(const adz_tensor *base, const adz_result *view)
{
    const int64_t item = (int64_t)adzi_item_size(base);
    int64_t last = view->offset, numel = 1;
    bool inside = last >= 0 && view->dtype == base->dtype;
    for (int i = 0; i < view->shape.rank && inside; ++i) {
        const int64_t steps = view->shape.sizes[i] > 0 ? view->shape.sizes[i] - 1 : 0;
        int64_t reach;
        inside = view->strides[i] >= 0 && adzi_multiply(steps, view->strides[i], &reach) &&
                 !__builtin_add_overflow(last, reach, &last);
        numel *= view->shape.sizes[i] > 0;
    }
    const int64_t before = base->data - (char *)base->storage->data;
    return inside && adzi_multiply(last, item, &last) &&
           (numel == 0 ? view->offset == 0 : last <= (int64_t)base->storage->bytes - before - item);
}

/* Checks what the shape rule has said of result k. */
static bool check_rule(const adzi_operator_call *c, int k)
{
    const adz_result *r = &c->results[k];
    int64_t numel;
    if (adzi_check_sizes(c->op.name, r->shape.rank, r->shape.sizes, r->dtype, &numel) != ADZ_OK) {
        return false;
    }
    if (c->op.view && !is_inside(c->in[0], r)) {
        adzi_error(c->op.name, ADZ_ERR_SHAPE,
            "by the shape rule result %d%s is no view of the first input%s: it needs the dtype of the input, strides and an offset of 0 or more, and elements inside of its storage",
            k, adzi_text_sizes(r->shape.rank, r->shape.sizes), adzi_text_shape(c->in[0]));
        return false;
    }
    return true;
}

static bool run_shape_rule(void *state)
{
    adzi_operator_call *c = state;
    const adz_status status =
        adzi_form_results(&c->call, &c->op, c->leading, c->results, adzi_operator_attributes(c));
    return !adzi_callback_failed(c->op.name, status, "the shape rule refused the inputs");
}

/* Asks the shape rule, and checks its answer. */
static bool find_shapes(adzi_operator_call *c)
{
    const adzi_door door = { .op = c->op.name };
    if (!adzi_form_shape(&c->call, &c->op, c->leading, &c->shape)) {
        return false;
    }
    c->results[0].shape = c->shape;
    if (!(c->op.shape_rule != NULL ? adzi_through_door(&door, run_shape_rule, c)
                                   : run_shape_rule(c))) {
        return false;
    }
    for (int k = 0; k < adzi_form_made(&c->op) && !adzi_form_is_like_input(&c->op); ++k) {
        if (!check_rule(c, k)) {
            return false;
        }
    }
    if (c->call.record && c->op.backward == NULL && c->op.expression == NULL) {
        adzi_error(c->op.name, ADZ_ERR_GRAPH,
            "an input wants a gradient, but the operator has neither a backward nor an expression; set one of them, or call it inside ADZ_NO_GRAD");
        return false;
    }
    return true;
}

/* ---- the call ------------------------------------------------------------------------------- */

static bool call_check(void *state)
{
    adzi_operator_call *c = state;
    const adz_status status = c->op.check(c->in, adzi_operator_attributes(c));
    return !adzi_callback_failed(c->op.name, status, "the check refused the inputs");
}

/* Asks the operator about the elements of its inputs. What the check has made ends with it. */
static bool run_check(adzi_operator_call *c)
{
    const adzi_door door = { .op = c->op.name, .mode = ADZI_DOOR_RECORDS_NOTHING };
    if (c->op.check == NULL) {
        return true;
    }
    const size_t mark = c->call.thread->n_temporaries;
    adzi_settle(c->call.thread);
    const bool good = adzi_through_door(&door, call_check, c);
    adzi_scope_unwind(c->call.thread, mark);
    return good;
}

static bool make_views(adzi_operator_call *c)
{
    return adzi_form_make(&c->call, &c->op, c->results, c->out) && adzi_record_operator(c);
}

/* Whether the call is computed by the expression. A trace of a step knows no value that is kept, so
 * the backward goes through the expression there (adzi_compute_by_expression). */
static bool is_expressed(const adzi_operator_call *c)
{
    return c->op.kernels[c->leading->dtype] == NULL || adzi_is_traced_without_kept(c);
}

static bool compute(adzi_operator_call *c)
{
    return c->op.view        ? make_views(c)
           : is_expressed(c) ? adzi_compute_by_expression(c)
                             : adzi_compute_by_kernel(c);
}

static bool leave(adzi_operator_call *c)
{
    bool good = true;
    for (int k = 0; k < c->n_out && good && !c->op.view; ++k) {
        good = (c->op.saved_results & 1u ? adzi_leave_saving(&c->call, c->out[k])
                                         : adzi_leave(&c->call, c->out[k])) != NULL;
    }
    return good;
}

/* Calls the operator. The results are in c->out then. */
static bool run(adzi_operator_call *c, const adz_operator *op, adz_tensor *const *inputs,
    const void *attributes)
{
    c->slices = c->slice_size = c->slice_stride = 0;
    return take_attributes(c, op, attributes) && take_inputs(c, op, inputs) && find_shapes(c) &&
           run_check(c) && compute(c) && leave(c);
}

adz_tensor *adz_operator_call(const adz_operator *op, adz_tensor *const *inputs, size_t n_inputs,
    const void *attributes, adz_tensor **more)
{
    adzi_operator_call c;
    c.inplace = false;
    if (!adzi_read_operator("operator_call", op, &c.op) || !count_operands(&c, inputs, n_inputs)) {
        return NULL;
    }
    if (c.n_out > 1 && more == NULL) {
        return adzi_fail_null(c.op.name, "more, which gets the further results,");
    }
    if (!run(&c, op, inputs, attributes)) {
        return NULL;
    }
    for (int k = 1; k < c.n_out; ++k) {
        more[k - 1] = c.out[k];
    }
    return c.out[0];
}

adz_tensor *adz_operator_call_(
    const adz_operator *op, adz_tensor *const *inputs, size_t n_inputs, const void *attributes)
{
    adzi_operator_call c;
    c.inplace = true;
    const bool good = adzi_read_operator("operator_call_", op, &c.op) &&
                      count_operands(&c, inputs, n_inputs) && run(&c, op, inputs, attributes);
    return good ? c.out[0] : NULL;
}
