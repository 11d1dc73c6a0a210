/* Operators of users: adz_record, which puts a call on the tape, and the functions by which their
 * backward reads the node. */
#include "adze/operator.h"

#include <string.h>

#include "autograd/attr.h"
#include "autograd/op.h"
#include "autograd/operator.h"
#include "adze/options.h"

enum { MOST = 32 }; /* inputs or results of one call: the bits of a mask */

void adz_record_options_init(adz_record_options *options, size_t size)
{
    adz_record_options all = ADZ_RECORD_OPTIONS;
    adz_options_fill(__func__, options, size, &all, sizeof all);
}

const char adzi_input_names[] =
    "input 0, input 1, input 2, input 3, input 4, input 5, input 6, input 7, input 8, input 9, "
    "input 10, input 11, input 12, input 13, input 14, input 15, input 16, input 17, input 18, "
    "input 19, input 20, input 21, input 22, input 23, input 24, input 25, input 26, input 27, "
    "input 28, input 29, input 30, input 31";

bool adzi_check_operator(const char *function, const adz_operator *op)
{
    if (op == NULL || op->name == NULL) {
        adzi_error_null(function, op == NULL ? "op" : "op's name");
        return false;
    }
    if (op->name[0] == '\0') {
        adzi_error(function, ADZ_ERR_ARGUMENT, "op's name is empty, but messages begin with it");
        return false;
    }
    if (op->size <
        offsetof(adz_operator, fields)) { /* what callers knew before there were fields */
        adzi_error(function, ADZ_ERR_ARGUMENT, "op's size is %zu; set it to sizeof(adz_operator)",
            op->size);
        return false;
    }
    return true;
}

/* Checks result k. A saved result is read back from its storage alone, so it must be contiguous and
 * begin where the storage begins. */
static bool check_result(const adz_operator *op, adz_tensor *t, size_t k, bool saved)
{
    if (!adzi_check_tensor(op->name, "result", t)) {
        return false;
    }
    if (adzi_requires_grad(t)) {
        adzi_error(op->name, ADZ_ERR_GRAPH,
            "result %zu%s has a position in the graph already; compute it inside ADZ_NO_GRAD, or "
            "into "
            "adz_empty",
            k, adzi_text_shape(t));
        return false;
    }
    if (saved && (!adzi_is_contiguous(t) || t->data != t->storage->data)) {
        adzi_error(op->name, ADZ_ERR_ARGUMENT, "result %zu%s is saved but is a view; adz_clone it",
            k, adzi_text_shape(t));
        return false;
    }
    return true;
}

/* While a plan captures: whether result k comes from launches, which a replay repeats. */
static bool check_captured(const adz_operator *op, const adz_tensor *t, size_t k)
{
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture == NULL || capture->computed(capture, t)) {
        return true;
    }
    adzi_error(op->name, ADZ_ERR_STATE,
        "cannot be captured, because the program has computed result %zu%s itself, and each run of "
        "the plan would repeat these values; give the operator a kernel and call it by "
        "adz_operator_call",
        k, adzi_text_shape(t));
    return false;
}

static bool check_extras(const adz_operator *op, const adz_record_options *o)
{
    if (o->extras == NULL && o->n_extras > 0) {
        adzi_error_null(op->name, "extras");
        return false;
    }
    for (size_t i = 0; i < o->n_extras; ++i) {
        if (!adzi_check_tensor(op->name, "extra", o->extras[i])) {
            return false;
        }
    }
    return true;
}

bool adzi_check_attributes(const adz_operator *op, const void *attributes, size_t size)
{
    if (attributes == NULL && size > 0) {
        adzi_error_null(op->name, "attributes");
        return false;
    }
    size_t n;
    const adz_field *fields = adzi_attr_fields(op, &n);
    for (size_t i = 0; i < n; ++i) {
        const bool first = i == 0 || fields[i - 1].kind != ADZ_FIELD_INT || fields[i - 1].count > 0;
        if (fields[i].name == NULL || fields[i].kind < ADZ_FIELD_BOOL ||
            fields[i].kind > ADZ_FIELD_ENUM || (fields[i].counted && first)) {
            adzi_error(op->name, ADZ_ERR_ARGUMENT,
                "field %zu of the operator has no name, an unknown kind, or is counted but does "
                "not follow the int that counts it",
                i);
            return false;
        }
    }
    const adz_field *field = adzi_attr_beyond(op, attributes, size);
    if (field != NULL) {
        adzi_error(op->name, ADZ_ERR_ARGUMENT,
            "field %s at byte %zu does not fit the attributes, which have %zu bytes", field->name,
            field->offset, size);
    }
    return field == NULL;
}

/* Saves the inputs, results and extras that the options ask for. */
static void save(
    adzi_call *call, adz_tensor *const *results, size_t n_results, const adz_record_options *o)
{
    for (int i = 0; i < call->n_in; ++i) {
        if (o->saved_inputs & (1u << i)) {
            adzi_save_input(call, i);
        }
    }
    for (size_t k = 0; k < n_results; ++k) {
        if (o->saved_results & (1u << k)) {
            adzi_save_result(call, (int)k, results[k]);
        }
    }
    for (size_t i = 0; i < o->n_extras; ++i) {
        adzi_save_extra(call, (int)i, o->extras[i]);
    }
}

adz_status adz_record(const adz_operator *op, adz_tensor *const *inputs, size_t n_inputs,
    adz_tensor *const *results, size_t n_results, const adz_record_options *options)
{
    adz_record_options o = ADZ_RECORD_OPTIONS;
    if (!adzi_check_operator("record", op) ||
        !adz_options_read(op->name, "ADZ_RECORD_OPTIONS", &o, sizeof o, options)) {
        return adz_error_code();
    }
    if (op->backward == NULL) {
        return adzi_error_null("record", "op's backward");
    }
    if (inputs == NULL || results == NULL || n_inputs < 1 || n_inputs > MOST || n_results < 1 ||
        n_results > MOST) {
        return adzi_error(op->name, ADZ_ERR_ARGUMENT,
            "%zu inputs and %zu results; there can be 1 to %d of each", n_inputs, n_results, MOST);
    }
    adz_tensor *in[MOST], *out[MOST];
    memcpy(in, inputs, n_inputs * sizeof *in);
    memcpy(out, results, n_results * sizeof *out);
    adzi_call call;
    if (!adzi_enter(&call, op, adzi_input_names, in, (int)n_inputs, ~0u) || !check_extras(op, &o) ||
        !adzi_check_attributes(op, o.attributes, o.attributes_size)) {
        return adzi_status(NULL);
    }
    bool floats = false;
    for (size_t k = 0; k < n_results; ++k) {
        if (!check_result(op, out[k], k, (o.saved_results & (1u << k)) != 0) ||
            !check_captured(op, out[k], k)) {
            return adz_error_code();
        }
        floats = floats || adzi_is_float((adz_dtype)out[k]->dtype);
    }
    call.record = call.record && floats;
    if (!adzi_record_extra(
            &call, (int)n_results, out, (int)o.n_extras, o.attributes, o.attributes_size)) {
        return adz_error_code();
    }
    save(&call, results, n_results, &o);
    for (size_t k = 0; k < n_results; ++k) {
        if (adzi_leave(&call, out[k]) == NULL) {
            return adz_error_code();
        }
    }
    return ADZ_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

bool adz_node_needs_input_grad(const adz_node *node, size_t i)
{
    return node != NULL && i < node->n_inputs && adzi_needs(node, (int)i);
}

static adz_tensor *out_of_range(const adz_node *node, const char *what, size_t i)
{
    return node == NULL ? adzi_fail_null("adz_node", "node")
                        : adzi_fail(node->op->name, ADZ_ERR_GRAPH, "there is no %s %zu", what, i);
}

adz_tensor *adz_node_input_at(adz_node *node, size_t i)
{
    return node != NULL && i < node->n_inputs ? adzi_saved_input(node, (int)i)
                                              : out_of_range(node, "input", i);
}

adz_tensor *adz_node_result_at(adz_node *node, size_t k)
{
    return node != NULL && k < node->n_results ? adzi_saved_result(node, (int)k)
                                               : out_of_range(node, "result", k);
}

adz_tensor *adz_node_extra_at(adz_node *node, size_t i)
{
    return node != NULL && i < node->n_extras ? adzi_saved_extra(node, (int)i)
                                              : out_of_range(node, "extra", i);
}

const void *adz_node_attributes(const adz_node *node)
{
    return node != NULL && (char *)node->attr < (char *)node + node->bytes ? node->attr : NULL;
}

/* ---- exports --------------------------------------------------------------------------------- */

bool adz_is_exporting(void)
{
    return adzi_self()->tracer != NULL;
}
