/* Comparing two captured calls. Only a function that does the same in two calls in a row is
 * replayed.
 *
 * Launches are equal if their kernels, units and arguments are. An address in a block of the call
 * is equal to one in the nth block as well. All other bytes have to be the same ones, so a number
 * that the program computes again in each call is noticed here.
 *
 * A compiler that cannot clear padding leaves bytes without meaning between the fields. There,
 * addresses are compared, and numbers by what operators say of them. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "plan/plan.h"
#include "tensor/tensor.h"

/* What a message says, and where. */
typedef struct report {
    char *text;
    size_t size;
} report;

/* Writes the name of the call that made a launch to `buffer`, with its source line if that is
 * known. */
static const char *name_of(
    const adzi_captured_call *c, size_t launch, const char *op, char *buffer, size_t size)
{
    const adzi_plan_launch *l = launch < c->n_launches ? &c->launches[launch] : NULL;
    if (l != NULL && l->file != NULL) {
        snprintf(buffer, size, "%s at %s:%d", op, l->file, l->line);
    } else {
        snprintf(buffer, size, "%s", op);
    }
    return buffer;
}

static const char advice[] =
    "put a value that changes into a tensor, and write the tensor before each run";

static bool same_name(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* ---- numbers and elements of the host ------------------------------------------------------- */

static bool same_numbers(
    const adzi_captured_call *a, const adzi_captured_call *b, const report *out)
{
    char name[ADZI_TEXT_SIZE];
    for (size_t i = 0; i < a->n_numbers && i < b->n_numbers; ++i) {
        const struct adzi_plan_number *x = &a->numbers[i], *y = &b->numbers[i];
        if (!same_name(x->op, y->op)) {
            return true; /* other operators, which the comparison of launches reports */
        }
        if (memcmp(&x->value, &y->value, sizeof x->value) != 0) {
            snprintf(out->text, out->size, "a number of %s was %g and is %g now; %s",
                name_of(b, y->launch, y->op, name, sizeof name), x->value, y->value, advice);
            return false;
        }
    }
    if (a->stretches.numbers != b->stretches.numbers) {
        snprintf(
            out->text, out->size, "a number in a step of a loop is another one now; %s", advice);
        return false;
    }
    return true;
}

static bool same_constants(
    const adzi_captured_call *a, const adzi_captured_call *b, const report *out)
{
    for (size_t i = 0; i < a->n_constants && i < b->n_constants; ++i) {
        const adz_tensor *x = a->constants[i], *y = b->constants[i];
        const size_t bytes = (size_t)y->numel * adzi_item_size(y);
        if (x->numel == y->numel && x->dtype == y->dtype && memcmp(x->data, y->data, bytes) != 0) {
            snprintf(out->text, out->size,
                "the elements of a tensor%s that the function makes (adz_tensor_from, or a pointer to the elements) differ; %s",
                adzi_text_shape(y), advice);
            return false;
        }
    }
    return true;
}

/* ---- launches ------------------------------------------------------------------------------- */

static bool same_kernel(const adzi_plan_launch *a, const adzi_plan_launch *b)
{
    return a->kernel == b->kernel && a->function == b->function && a->size == b->size &&
           a->units == b->units && a->grain == b->grain && same_name(a->op, b->op);
}

static bool same_block(const adzi_captured_call *a, const adzi_plan_reference *x,
    const adzi_captured_call *b, const adzi_plan_reference *y)
{
    return x->offset == y->offset &&
           a->blocks.all[x->block].number == b->blocks.all[y->block].number;
}

/* Whether two launches of one kernel have equal words at an offset of their arguments. */
static bool same_word(const adzi_captured_call *a, const adzi_plan_launch *la,
    const adzi_captured_call *b, const adzi_plan_launch *lb, size_t at)
{
    const adzi_plan_reference *x = adzi_reference_at(a, la, at), *y = adzi_reference_at(b, lb, at);
    return x != NULL && y != NULL ? same_block(a, x, b, y)
                                  : memcmp(la->args + at, lb->args + at, sizeof(uintptr_t)) == 0;
}

static bool same_addresses(const adzi_captured_call *a, const adzi_plan_launch *la,
    const adzi_captured_call *b, const adzi_plan_launch *lb)
{
    adzi_address_cursor all = adzi_addresses_of(lb);
    bool same = true;
    for (size_t at; same && adzi_next_address(&all, &at);) {
        same = same_word(a, la, b, lb, at);
    }
    return same;
}

/* Whether two launches of one kernel have equal arguments, addresses and numbers. */
static bool same_args(const adzi_captured_call *a, const adzi_plan_launch *la,
    const adzi_captured_call *b, const adzi_plan_launch *lb)
{
    size_t at = 0;
    for (; at + sizeof(uintptr_t) <= la->size; at += sizeof(uintptr_t)) {
        if (!same_word(a, la, b, lb, at)) {
            return false;
        }
    }
    return memcmp(la->args + at, lb->args + at, la->size - at) == 0;
}

static bool same_kernels(
    const adzi_captured_call *a, const adzi_captured_call *b, const report *out)
{
    char name[ADZI_TEXT_SIZE];
    for (size_t i = 0; i < a->n_launches && i < b->n_launches; ++i) {
        const adzi_plan_launch *x = &a->launches[i], *y = &b->launches[i];
        if (!same_kernel(x, y)) {
            name_of(b, i, y->op, name, sizeof name);
            snprintf(out->text, out->size,
                same_name(x->op, y->op) ? "%s computes something else now, such as other sizes"
                                        : "it computes %s now where it computed %s before",
                name, x->op);
            return false;
        }
    }
    if (a->n_launches != b->n_launches) {
        snprintf(out->text, out->size, "one call launched %zu kernels, and the next one %zu",
            a->n_launches, b->n_launches);
    }
    return a->n_launches == b->n_launches;
}

static bool same_loops(const adzi_captured_call *a, const adzi_captured_call *b, const report *out)
{
    const bool same = adzi_plan_same_loops(a, b);
    if (!same) {
        snprintf(out->text, out->size, "the loops of the two calls are not equal");
    }
    return same;
}

static bool same_launches(
    const adzi_captured_call *a, const adzi_captured_call *b, const report *out)
{
    char name[ADZI_TEXT_SIZE];
    bool (*const same)(const adzi_captured_call *, const adzi_plan_launch *,
        const adzi_captured_call *, const adzi_plan_launch *) =
        a->masked && b->masked ? same_args : same_addresses;
    for (size_t i = 0; i < b->n_launches; ++i) {
        if (!same(a, &a->launches[i], b, &b->launches[i])) {
            snprintf(out->text, out->size, "a number or an address that %s uses is another one; %s",
                name_of(b, i, b->launches[i].op, name, sizeof name), advice);
            return false;
        }
    }
    return true;
}

/* The arguments before the results. */
static size_t n_arguments(const adzi_captured_call *c)
{
    return c->n_results > 0 ? c->results_at : c->n_arguments;
}

/* Whether the operators had equal arguments. If not, the operator is named whose argument lies in
 * other memory. */
static bool same_arguments(
    const adzi_captured_call *a, const adzi_captured_call *b, const report *out)
{
    for (size_t i = 0; i < n_arguments(a) && i < n_arguments(b); ++i) {
        const adzi_plan_argument *x = &a->arguments[i], *y = &b->arguments[i];
        if (x->what != y->what || x->layout != y->layout) {
            snprintf(out->text, out->size,
                x->what != y->what ? "an argument of %s is another tensor each time"
                                   : "an argument of %s has another shape or layout each time",
                y->op);
            return false;
        }
    }
    if (a->stretches.arguments != b->stretches.arguments) {
        snprintf(out->text, out->size,
            "an argument in a step of a loop is another tensor each time, or has another shape");
        return false;
    }
    return true; /* another number of launches is noticed, and views compute nothing */
}

/* Whether the function returned the same tensors. Calls that make views may differ in number. */
static bool same_results(
    const adzi_captured_call *a, const adzi_captured_call *b, const report *out)
{
    for (size_t k = 0; k < a->n_results && k < b->n_results; ++k) {
        const adzi_plan_argument *x = &a->arguments[a->results_at + k];
        const adzi_plan_argument *y = &b->arguments[b->results_at + k];
        if (x->what != y->what || x->layout != y->layout) {
            snprintf(out->text, out->size,
                x->what != y->what
                    ? "result %zu of the function is another tensor each time"
                    : "result %zu of the function has another shape or layout each time",
                k);
            return false;
        }
    }
    return true;
}

bool adzi_captured_calls_agree(
    const adzi_captured_call *a, const adzi_captured_call *b, char *text, size_t size)
{
    const report out = { text, size };
    if (b->why != NULL) {
        snprintf(text, size, "%s: %s", b->why_op, b->why);
        return false;
    }
    if (a == NULL) {
        snprintf(text, size, "there was one call only");
        return false;
    }
    return same_numbers(a, b, &out) && same_constants(a, b, &out) && same_kernels(a, b, &out) &&
           same_loops(a, b, &out) && same_arguments(a, b, &out) && same_launches(a, b, &out) &&
           same_results(a, b, &out);
}

void adzi_captured_call_drop_compared(adzi_captured_call *c)
{
    adzi_free(c->arguments, c->arguments_capacity * sizeof *c->arguments);
    adzi_free(c->numbers, c->numbers_capacity * sizeof *c->numbers);
    c->arguments = NULL;
    c->numbers = NULL;
    c->n_arguments = c->arguments_capacity = c->n_numbers = c->numbers_capacity = 0;
    c->results_at = c->n_results = 0;
}
