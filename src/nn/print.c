/* Prints a tree of modules in the format of PyTorch's repr. */
#include "nn/parametrize.h"
#include "base/capture.h"

#include <string.h>

#include "nn/containers.h"
#include "base/error.h"
#include "tensor/fields.h"

static void print_tree(adzi_text *text, adz_module *module, size_t indent);

static void new_line(adzi_text *text, size_t indent)
{
    adzi_text_add(text, "\n");
    for (size_t i = 0; i < indent; ++i) {
        adzi_text_add(text, " ");
    }
}

/* Each line of a text on a line of its own; nothing for an empty text. */
static void print_lines(adzi_text *text, const char *lines, size_t indent)
{
    while (*lines != '\0') {
        const size_t n = strcspn(lines, "\n");
        new_line(text, indent);
        adzi_text_add_n(text, lines, n);
        lines += n + (lines[n] == '\n');
    }
}

static void print_own(adzi_text *text, adz_module *module)
{
    if (module->type.extra_repr == NULL) {
        adzi_fields_print(
            text, module->type.fields, module->type.n_fields, module->state, ADZI_PYTHON);
        return;
    }
    size_t n = module->type.extra_repr(module, NULL, 0);
    char *extra = adzi_alloc(n + 1);
    if (extra == NULL) {
        text->failed = true;
        return;
    }
    module->type.extra_repr(module, extra, n + 1);
    adzi_text_add_n(text, extra, n);
    adzi_free(extra, n + 1);
}

/* What stands between the parentheses. A type may read shapes of parameters. */
static void print_extra(adzi_text *text, adz_module *module)
{
    if (module->n_parametrized == 0) {
        print_own(text, module);
        return;
    }
    adz_scope *scope = adz_scope_open();
    if (scope != NULL && adzi_parametrized_stand_in(module)) {
        print_own(text, module);
    } else {
        text->failed = true;
    }
    adzi_parametrized_end(SIZE_MAX);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
}

/* Returns `end` such that the children k .. end-1 have equal texts. Child k is printed already,
 * from `start` to the end of `text`. Other children are printed behind it, and the caller cuts them
 * off. */
static size_t end_of_likes(
    adzi_text *text, const adz_module *module, size_t k, size_t start, size_t indent)
{
    size_t length = text->length - start, end = k + 1;
    for (bool alike = true; end < module->n_children && alike && !text->failed; end += alike) {
        size_t other = text->length;
        print_tree(text, module->children[end].module, indent);
        alike = !text->failed && text->length - other == length &&
                memcmp(text->data + start, text->data + other, length) == 0;
    }
    return end;
}

/* Prints child k as "(0): Linear(...)" and returns k + 1. In a ModuleList, children with equal
 * texts are printed once, as "(0-2): 3 x Linear(...)", and the result is the child after them. */
static size_t print_child(adzi_text *text, adz_module *module, size_t k, size_t indent)
{
    size_t end = k + 1;
    if (module->identity == &adzi_module_list_type ||
        module->identity == &adzi_parametrization_list_type) {
        size_t start = text->length;
        print_tree(text, module->children[k].module, indent);
        end = end_of_likes(text, module, k, start, indent);
        adzi_text_cut(text, start);
    }
    if (end > k + 1) {
        adzi_text_format(text, "(%s-%s): %zu x ", module->children[k].name,
            module->children[end - 1].name, end - k);
    } else {
        adzi_text_format(text, "(%s): ", module->children[k].name);
    }
    print_tree(text, module->children[k].module, indent);
    return end;
}

static void print_tree(adzi_text *text, adz_module *module, size_t indent)
{
    adzi_text extra = { 0 };
    adzi_text_add(text, module->type.name);
    adzi_text_add(text, "(");
    print_extra(&extra, module);
    text->failed = text->failed || extra.failed;
    if (module->n_children == 0 && strchr(adzi_text_get(&extra), '\n') == NULL) {
        adzi_text_add(text, adzi_text_get(&extra));
    } else {
        print_lines(text, adzi_text_get(&extra), indent + 2);
        for (size_t k = 0; k < module->n_children && !text->failed;) {
            new_line(text, indent + 2);
            k = print_child(text, module, k, indent + 2);
        }
        new_line(text, indent);
    }
    adzi_text_add(text, ")");
    adzi_text_free(&extra);
}

/* Makes the text of the tree, which the caller frees with adzi_text_free. After an error there is
 * nothing to free. */
static adz_status make_text(const char *op, adz_module *module, adzi_text *text)
{
    *text = (adzi_text){ 0 };
    if (!adzi_check_module(op, "module", module)) {
        return adz_error_code();
    }
    print_tree(text, module, 0);
    if (text->failed) {
        adzi_text_free(text);
        return adzi_error(op, ADZ_ERR_MEMORY, "no memory for the text");
    }
    return ADZ_OK;
}

adz_status adz_module_print(adz_module *module, FILE *stream)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_module_print";
    if (stream == NULL) {
        return adzi_error_null(op, "stream");
    }
    adzi_text text;
    adz_status status = make_text(op, module, &text);
    if (status == ADZ_OK) {
        adzi_text_add(&text, "\n");
        if (text.failed) {
            status = adzi_error(op, ADZ_ERR_MEMORY, "no memory for the text");
        } else if (fwrite(text.data, 1, text.length, stream) != text.length) {
            status = adzi_error(op, ADZ_ERR_IO, "the stream took no more");
        }
        adzi_text_free(&text);
    }
    return status;
}

size_t adz_module_to_string(adz_module *module, char *buffer, size_t size)
{
    adzi_text text;
    if (make_text("adz_module_to_string", module, &text) != ADZ_OK) {
        return 0;
    }
    size_t length = text.length;
    if (buffer != NULL && size > 0) {
        size_t n = length < size ? length : size - 1;
        memcpy(buffer, text.data, n);
        buffer[n] = '\0';
    }
    adzi_text_free(&text);
    return length;
}
