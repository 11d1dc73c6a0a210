/* The attributes of every recorded call against their table of fields. */
#include <stdio.h>
#include <stdlib.h>

#include "autograd/attr.h"
#include "autograd/node.h"
#include "base/alloc.h"
#include "ops/sweep.h"

enum { MOST_NODES = 4096 };

/* Nodes that were found, so that each is checked once. */
typedef struct {
    adzi_node *all[MOST_NODES];
    int n;
} found_nodes;

static void find(found_nodes *found, adzi_node *node)
{
    for (int i = 0; node != NULL && i < found->n; ++i) {
        node = found->all[i] == node ? NULL : node;
    }
    if (node != NULL && found->n < MOST_NODES) {
        found->all[found->n++] = node;
    }
}

static size_t size_of(const adzi_node *node)
{
    return node->bytes - (size_t)((const char *)node->attr - (const char *)node);
}

/* Bytes of the struct that belong to no field can only be padding: fewer than what the next field,
 * or the end of the struct, must be aligned to. */
static bool covers(const adzi_node *node, const adz_field *fields, size_t n)
{
    const size_t size = size_of(node);
    char *owner = calloc(size, 1), *align = calloc(size + 1, 1);
    bool ok = owner != NULL && align != NULL;
    for (size_t i = 0; ok && i < n; ++i) {
        size_t element = adzi_field_size(fields[i].kind), count = fields[i].count;
        if (count == SIZE_MAX) {
            int used;
            memcpy(&used, (const char *)node->attr + fields[i - 1].offset, sizeof used);
            count = (size_t)used;
        }
        const size_t bytes = element * (count > 0 ? count : 1);
        ok = fields[i].offset + bytes <= size;
        align[fields[i].offset] = (char)element;
        for (size_t k = 0; ok && k < bytes; ++k) {
            ok = owner[fields[i].offset + k]++ == 0; /* false if two fields overlap */
        }
    }
    for (size_t at = 0, gap = 0; ok && at <= size; ++at) {
        const bool owned = at == size || owner[at] != 0;
        const int next = at == size ? 8 : align[at];
        ok = !owned || gap == 0 || gap < (size_t)next;
        gap = owned ? 0 : gap + 1;
    }
    free(owner);
    free(align);
    return ok;
}

/* A copy is equal to the attributes until a field is changed. */
static bool copies_and_compares(const adzi_node *node, const adz_field *fields, size_t n)
{
    char *copy = malloc(size_of(node));
    assert_non_null(copy);
    adzi_attr_copy(node->op, copy, node->attr, size_of(node));
    bool ok = adzi_attr_equal(node->op, copy, node->attr);
    for (size_t i = 0; ok && i < n; ++i) {
        const bool unused = fields[i].counted && copy[fields[i - 1].offset] == 0;
        copy[fields[i].offset] ^= 1;
        ok = adzi_attr_equal(node->op, copy, node->attr) == unused;
        copy[fields[i].offset] ^= 1;
    }
    free(copy);
    return ok;
}

/* Checks the printed form, such as "softmax(dim=1)": the name, and every field that is shown. */
static bool prints(const adzi_node *node, const adz_field *fields, size_t n, adzi_text *text)
{
    bool shown = false;
    adzi_attr_print(text, node->op, node->attr);
    const char *printed = adzi_text_get(text);
    bool ok = !text->failed && strncmp(printed, node->op->name, strlen(node->op->name)) == 0;
    for (size_t i = 0; ok && i < n; ++i) {
        char part[64];
        snprintf(part, sizeof part, "%s%s=", shown ? ", " : "(", fields[i].name);
        ok = fields[i].shown == ADZ_SHOWN_NEVER || strstr(printed, part) != NULL;
        shown = shown || fields[i].shown != ADZ_SHOWN_NEVER;
    }
    return ok && (printed[strlen(printed) - 1] == ')') == shown;
}

static void check_node(const op_case *c, const adzi_node *node)
{
    size_t n;
    const adz_field *fields = adzi_attr_fields(node->op, &n);
    adzi_text text = { 0 };
    if ((size_of(node) > 0) != (n > 0)) {
        fail_msg("%s: a node of %s has %zu bytes of attributes, but %zu fields", c->name,
            node->op->name, size_of(node), n);
    }
    if (adzi_attr_beyond(node->op, node->attr, size_of(node)) != NULL || !covers(node, fields, n)) {
        fail_msg("%s: the fields of %s leave out a part of its attributes, or overlap", c->name,
            node->op->name);
    }
    if (!copies_and_compares(node, fields, n)) {
        fail_msg("%s: the attributes of %s differ from a copy, or equal a changed copy", c->name,
            node->op->name);
    }
    if (!prints(node, fields, n, &text)) {
        fail_msg("%s: %s is printed as '%s'", c->name, node->op->name, adzi_text_get(&text));
    }
    adzi_text_free(&text);
}

void check_attributes(const op_case *c, const outcome *o)
{
    found_nodes *found = calloc(1, sizeof *found);
    assert_non_null(found);
    for (int k = 0; k < o->n_results; ++k) {
        find(found, o->results[k]->node);
    }
    for (int i = 0; i < CASE_INPUTS; ++i) {
        find(found, o->gradients[i] != NULL ? o->gradients[i]->node : NULL);
    }
    for (int i = 0; i < found->n; ++i) {
        check_node(c, found->all[i]);
        for (int k = 0; k < found->all[i]->n_inputs; ++k) {
            find(found, found->all[i]->inputs[k].node);
        }
    }
    free(found);
}
