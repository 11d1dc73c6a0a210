/* The table of operators, and the check of nodes against it. */
#include <string.h>

#include "host.h"
#include "run.h"

static const reader_operator *const parts[] = {
    adzi_reader_activations,
    adzi_reader_attention,
    adzi_reader_boxes,
    adzi_reader_control,
    adzi_reader_convolutions,
    adzi_reader_elementwise,
    adzi_reader_indices,
    adzi_reader_losses,
    adzi_reader_norms,
    adzi_reader_orders,
    adzi_reader_pads,
    adzi_reader_pools,
    adzi_reader_products,
    adzi_reader_quantized,
    adzi_reader_recurrent,
    adzi_reader_reductions,
    adzi_reader_resize,
    adzi_reader_sequences,
    adzi_reader_shapes,
    adzi_reader_signals,
    adzi_reader_various,
};
enum { N_PARTS = sizeof parts / sizeof *parts };

const reader_operator *adzi_reader_row(size_t i)
{
    for (size_t p = 0; p < N_PARTS; ++p) {
        for (const reader_operator *row = parts[p]; row->name != NULL; ++row) {
            if (i-- == 0) {
                return row;
            }
        }
    }
    return NULL;
}

/* The row of an operator; NULL if there is none for this opset, with `since` set to the first opset
 * that has it, or 0. */
static const reader_operator *find(const char *type, int64_t opset, int *since)
{
    const reader_operator *found = NULL;
    *since = 0;
    for (size_t p = 0; p < N_PARTS; ++p) {
        for (const reader_operator *row = parts[p]; row->name != NULL; ++row) {
            if (strcmp(row->name, type) != 0) {
                continue;
            }
            *since = *since == 0 || row->since < *since ? row->since : *since;
            if (row->since <= opset && (found == NULL || row->since > found->since)) {
                found = row;
            }
        }
    }
    return found != NULL && (found->until == 0 || opset <= found->until) ? found : NULL;
}

adz_status adzi_reader_refuse(const reader_node *node, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return adz_error_format(LOAD, ADZ_ERR_UNSUPPORTED, "node \"%.60s\" (%.60s, opset %lld): %s",
        node->name, node->type, (long long)node->opset, text);
}

/* ---- the check ------------------------------------------------------------------------------ */

/* The words that a row has for an attribute, after its name; NULL if it has none. */
static const char *words_of(const reader_operator *row, const char *name)
{
    const size_t length = strlen(name);
    const char *at = row->attributes;
    while (at != NULL && *at != '\0') {
        if (strcspn(at, ":") == length && strncmp(at, name, length) == 0) {
            return at + length + 1;
        }
        at = strchr(at, ' ');
        at = at != NULL ? at + 1 : NULL;
    }
    return NULL;
}

static int type_of(char letter)
{
    static const char letters[] = "?fistgFIS";
    const char *found = strchr(letters, letter);
    return found != NULL ? (int)(found - letters) : 0;
}

/* Whether a text is one of "linear|cubic", which ends at a space. */
static bool is_choice(const char *choices, const char *text)
{
    const size_t length = strlen(text);
    while (true) {
        const size_t n = strcspn(choices, "| ");
        if (n == length && strncmp(choices, text, n) == 0) {
            return true;
        }
        if (choices[n] != '|') {
            return false;
        }
        choices += n + 1;
    }
}

static adz_status check_attribute(const reader_node *node, const reader_attribute *a)
{
    const char *words = words_of(node->op, a->name);
    if (words == NULL) {
        return adzi_reader_refuse(node,
            "attribute \"%.60s\" is not supported; docs/onnx.md lists those that are", a->name);
    }
    if (adzi_reader_attribute(node, a->name) != a) {
        return adz_error_format(LOAD, ADZ_ERR_FORMAT,
            "node \"%.60s\" (%.60s, opset %lld): attribute \"%.60s\" is given twice", node->name,
            node->type, (long long)node->opset, a->name);
    }
    if (type_of(words[0]) != a->type) {
        return adz_error_format(LOAD, ADZ_ERR_FORMAT,
            "node \"%.60s\" (%.60s, opset %lld): attribute \"%.60s\" has the wrong type %d",
            node->name, node->type, (long long)node->opset, a->name, a->type);
    }
    if (words[1] == '=' && !is_choice(words + 2, a->s)) {
        return adzi_reader_refuse(node, "attribute \"%.60s\" is \"%.60s\"; supported: %.*s",
            a->name, a->s, (int)strcspn(words + 2, " "), words + 2);
    }
    return ADZ_OK;
}

/* A node computes something that has a name. */
static adz_status check_outputs(const reader_node *node)
{
    const size_t outputs = node->op->outputs > 0 ? node->op->outputs : 1;
    bool any = false;
    for (size_t i = 0; i < node->n_outputs; ++i) {
        any |= node->outputs[i] != NO_VALUE;
        if (i >= outputs && node->outputs[i] != NO_VALUE) {
            return adzi_reader_refuse(node, "output %zu is not supported", i);
        }
    }
    return any ? ADZ_OK
               : adz_error_format(LOAD, ADZ_ERR_FORMAT,
                     "node \"%.60s\" (%.60s, opset %lld) has no result", node->name, node->type,
                     (long long)node->opset);
}

static adz_status check_counts(const reader_node *node)
{
    const reader_operator *row = node->op;
    if (node->n_inputs < row->least || node->n_inputs > row->most) {
        return adz_error_format(LOAD, ADZ_ERR_FORMAT,
            "node \"%.60s\" (%.60s, opset %lld) has %zu inputs, but takes %zu to %zu", node->name,
            node->type, (long long)node->opset, node->n_inputs, row->least, row->most);
    }
    /* One of any number of inputs cannot be left out; Loop checks its own. */
    const bool all = row->most == MANY && row->least > 0;
    for (size_t i = 0; i < (all ? node->n_inputs : row->least); ++i) {
        if (node->inputs[i] == NO_VALUE) {
            return adz_error_format(LOAD, ADZ_ERR_FORMAT,
                "node \"%.60s\" (%.60s, opset %lld): input %zu is left out, but needed", node->name,
                node->type, (long long)node->opset, i);
        }
    }
    return check_outputs(node);
}

static adz_status find_row(reader_node *node)
{
    int since = 0;
    if (node->domain[0] != '\0' && strcmp(node->domain, "ai.onnx") != 0) {
        return adzi_reader_refuse(
            node, "operators of the domain \"%.60s\" are not supported", node->domain);
    }
    if (node->opset == 0) {
        return adzi_reader_refuse(node, "the file has no opset of the domain \"ai.onnx\"");
    }
    node->op = find(node->type, node->opset, &since);
    if (node->op == NULL && since == 0) {
        return adzi_reader_refuse(
            node, "this operator is not supported; docs/onnx.md lists those that are");
    }
    return node->op != NULL
               ? ADZ_OK
               : adzi_reader_refuse(node,
                     "this operator is not supported in this opset, but in others (from opset %d on)",
                     since);
}

adz_status adzi_reader_check(const reader_model *model, reader_node *node)
{
    adz_status status = find_row(node);
    if (status == ADZ_OK) {
        status = check_counts(node);
    }
    for (size_t i = 0; i < node->n_attributes && status == ADZ_OK; ++i) {
        status = check_attribute(node, &node->attributes[i]);
    }
    if (status == ADZ_OK && node->op->check != NULL) {
        status = node->op->check(model, node);
    }
    if (status == ADZ_OK) {
        node->host = adzi_reader_find_host(node->type);
    }
    return status;
}
