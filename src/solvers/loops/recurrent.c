/* A layer that calls a recurrent cell for each step of a sequence (adze/recurrence.h).
 *
 * Inside, x is [T, B, ...]. With lengths, a step gets a row of the padding, bool [B], beside its x.
 * Truncated backpropagation is a scan over pieces, whose body is the scan over the steps of a
 * piece, and detaches the states. The piece that comes last may have fewer steps, and its states
 * keep their graph, because the call returns them. */
#include <stdio.h>

#include "adze/loops.h"
#include "adze/options.h"
#include "adze/ops.h"
#include "adze/recurrence.h"
#include "base/error.h"
#include "nn/module.h"
#include "ops/recurrent/lengths.h"
#include "tensor/tensor.h"

enum { MOST_STEPS = 65535 }; /* of a scan */

static const adz_field fields[] = {
    ADZ_FIELD(adz_recurrent_options, batch_first, .value = false, .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD(adz_recurrent_options, reverse, .value = false, .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD(adz_recurrent_options, truncated_bptt_steps, .value = 0, ADZ_CLOSED(0, MOST_STEPS),
        .shown = ADZ_SHOWN_CHANGED),
};

ADZ_OPTIONS_TABLE(adz_recurrent_options, ADZ_RECURRENT_OPTIONS, fields)

/* A call of the layer. */
typedef struct sequence {
    const char *name; /* of the layer's type, for messages */
    adz_module *cell;
    adz_recurrent_options o;
    size_t n; /* states */
    adz_cell_state states[ADZ_CELL_STATES];
    adz_tensor *carries[ADZ_CELL_STATES]; /* the initial states, later the last ones */
    adz_tensor *x;                        /* [T, B, ...] */
    adz_tensor *padding;                  /* bool [T, B], or NULL */
} sequence;

/* ---- a step ---------------------------------------------------------------------------------- */

/* Calls the cell. The results are the next states and y, as a scan takes them. */
static adz_status call_cell(const sequence *s, const adz_values *in, adz_tensor **results)
{
    adz_values out;
    adzi_values_begin(&out);
    adz_status status = adz_module_call(s->cell, in, &out);
    const size_t separate = adz_values_count(&out) - s->n; /* 1 if y is no state */
    if (status == ADZ_OK && separate > 1) {
        status = adzi_error(s->name, ADZ_ERR_ARGUMENT,
            "the cell has %zu states, and gave %zu results; it gives the states, or an output and the states",
            s->n, adz_values_count(&out));
    }
    for (size_t i = 0; i <= s->n && status == ADZ_OK; ++i) {
        results[i] = adz_values_at(&out, i < s->n ? i + separate : 0);
    }
    adzi_values_end(&out);
    return status;
}

/* t, or `other` where the row of the batch has ended. */
static adz_tensor *unless_ended(adz_tensor *ended, adz_tensor *t, adz_tensor *other)
{
    for (int d = 1; d < t->rank && ended != NULL; ++d) {
        ended = adz_unsqueeze(ended, d);
    }
    return other != NULL ? adz_where(ended, other, t) : adz_masked_fill(t, ended, 0);
}

/* The body of the scan over steps. */
static adz_status step(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const sequence *s = user;
    adz_values in;
    adzi_values_begin(&in);
    adz_status status = adz_values_add(&in, "", inputs[s->n]);
    for (size_t i = 0; i < s->n && status == ADZ_OK; ++i) {
        status = adz_values_add(&in, "", inputs[i]);
    }
    status = status == ADZ_OK ? call_cell(s, &in, results) : status;
    adzi_values_end(&in);
    for (size_t i = 0; i <= s->n && status == ADZ_OK && s->padding != NULL; ++i) {
        if (!adzi_check_tensor(s->name, "a result of the cell", results[i])) {
            return adz_error_code();
        }
        results[i] = unless_ended(inputs[s->n + 1], results[i], i < s->n ? inputs[i] : NULL);
        status = results[i] != NULL ? ADZ_OK : adz_error_code();
    }
    return status;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The steps of x[T, B, ...] with their padding. The states become those after them. */
static adz_tensor *run_steps(
    const sequence *s, adz_tensor **states, adz_tensor *x, adz_tensor *padding)
{
    adz_tensor *inputs[] = { x, padding }, *results[ADZ_CELL_STATES + 1];
    adz_scan_options o = ADZ_SCAN_OPTIONS;
    o.reverse = s->o.reverse;
    if (adz_scan(step, (void *)(uintptr_t)s, states, s->n, inputs, padding != NULL ? 2 : 1, 1, &o,
            results) != ADZ_OK) {
        return NULL;
    }
    memcpy(states, results, s->n * sizeof *states);
    return results[s->n];
}

/* The body of the scan over pieces, whose states go on without their graph. */
static adz_status piece(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const sequence *s = user;
    memcpy(results, inputs, s->n * sizeof *results);
    results[s->n] =
        run_steps(s, results, inputs[s->n], s->padding != NULL ? inputs[s->n + 1] : NULL);
    bool good = results[s->n] != NULL;
    for (size_t i = 0; i < s->n && good; ++i) {
        results[i] = adz_detach(results[i]);
        good = results[i] != NULL;
    }
    return good ? ADZ_OK : adz_error_code();
}

/* `pieces` pieces of t[T, ...] from step `start` on: [pieces, steps, ...]. */
static adz_tensor *pieces_of(adz_tensor *t, int64_t start, int64_t pieces, int64_t steps)
{
    adz_tensor *part = adz_narrow(t, 0, start, pieces * steps);
    adz_shape shape = { .rank = t->rank + 1, .sizes = { pieces, steps } };
    memcpy(shape.sizes + 2, t->sizes + 1, (size_t)(t->rank - 1) * sizeof *t->sizes);
    return adz_reshape(part, shape);
}

/* All steps in pieces. */
static adz_tensor *run_pieces(sequence *s)
{
    const int64_t length = s->x->sizes[0], steps = s->o.truncated_bptt_steps;
    const int64_t pieces = (length - 1) / steps, rest = length - pieces * steps;
    const int64_t start = s->o.reverse ? rest : 0, last = s->o.reverse ? 0 : pieces * steps;
    if (s->x->rank == ADZ_MAX_RANK) {
        return adzi_fail(s->name, ADZ_ERR_SHAPE,
            "x%s has %d dimensions, so there is none for the pieces of truncated_bptt_steps",
            adzi_text_shape(s->x), ADZ_MAX_RANK);
    }
    adz_tensor *inputs[2] = { pieces_of(s->x, start, pieces, steps), NULL };
    adz_tensor *padding = NULL, *results[ADZ_CELL_STATES + 1];
    if (s->padding != NULL) {
        inputs[1] = pieces_of(s->padding, start, pieces, steps);
        padding = adz_narrow(s->padding, 0, last, rest);
    }
    adz_scan_options o = ADZ_SCAN_OPTIONS;
    o.reverse = s->o.reverse;
    if (adz_scan(piece, s, s->carries, s->n, inputs, padding != NULL ? 2 : 1, 1, &o, results) !=
        ADZ_OK) {
        return NULL;
    }
    memcpy(s->carries, results, s->n * sizeof *s->carries);
    adz_tensor *y[2] = { adz_flatten(results[s->n], 0, 1),
        run_steps(s, s->carries, adz_narrow(s->x, 0, last, rest), padding) };
    return adz_cat(s->o.reverse ? (adz_tensor *[]){ y[1], y[0] } : y, 2, 0);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool check_x(const sequence *s)
{
    const adz_tensor *x = s->x;
    if (!adzi_check_tensor(s->name, "x", x)) {
        return false;
    }
    if (x->rank < 2 || x->sizes[s->o.batch_first ? 1 : 0] == 0) {
        adzi_error(s->name, ADZ_ERR_SHAPE,
            x->rank < 2 ? "x%s must be [%s, ...]; a sequence without a batch has a batch of 1"
                        : "x%s has no time steps; it is [%s, ...]",
            adzi_text_shape(x), s->o.batch_first ? "B, T" : "T, B");
        return false;
    }
    return true;
}

/* Checks an initial state, or makes zeros. */
static bool check_state(sequence *s, size_t i, adz_tensor *given)
{
    const adz_shape *own = &s->states[i].shape;
    adz_shape shape = { .rank = own->rank + 1, .sizes = { s->x->sizes[1] } };
    memcpy(shape.sizes + 1, own->sizes, (size_t)own->rank * sizeof *own->sizes);
    if (adzi_is_none(given)) {
        s->carries[i] = adz_zeros(shape, (adz_dtype)s->x->dtype);
        return s->carries[i] != NULL;
    }
    s->carries[i] = given;
    if (!adzi_check_tensor(s->name, s->states[i].name, given)) {
        return false;
    }
    if (given->rank != shape.rank ||
        memcmp(given->sizes, shape.sizes, (size_t)shape.rank * sizeof *shape.sizes) != 0) {
        adzi_error(s->name, ADZ_ERR_SHAPE,
            "%s0%s must be %s: the batch of x%s, and the cell's state", s->states[i].name,
            adzi_text_shape(given), adzi_text_sizes(shape.rank, shape.sizes),
            adzi_text_shape(s->x));
        return false;
    }
    return true;
}

/* Takes the initial states: all or none. */
static bool take_states(sequence *s, const adz_values *in)
{
    adz_tensor *given[ADZ_CELL_STATES];
    size_t count = 0, absent = 0;
    for (size_t i = 0; i < s->n; ++i) {
        char name[ADZ_VALUE_NAME + 1];
        snprintf(name, sizeof name, "%s0", s->states[i].name);
        given[i] = adz_values_argument(in, 1 + i, name);
        count += !adzi_is_none(given[i]);
        absent = adzi_is_none(given[i]) ? i : absent;
    }
    if (count > 0 && count < s->n) {
        adzi_error(s->name, ADZ_ERR_ARGUMENT, "%s0 is missing; give all %zu initial states or none",
            s->states[absent].name, s->n);
        return false;
    }
    bool good = true;
    for (size_t i = 0; i < s->n && good; ++i) {
        good = check_state(s, i, given[i]);
    }
    return good;
}

/* Fills x with 0 in the padding, which it finds. */
static bool take_lengths(sequence *s, adz_tensor *lengths)
{
    if (adzi_is_none(lengths)) {
        return true;
    }
    if (!adzi_check_tensor(s->name, "lengths", lengths) ||
        !adzi_lengths_check(s->name, lengths, s->x)) {
        return false;
    }
    s->padding = adzi_lengths_padding(s->x, lengths);
    s->x = adzi_lengths_fill(s->x, s->padding);
    return s->x != NULL;
}

static adz_status call(adz_module *self, const adz_values *in, adz_values *out)
{
    sequence s = { .name = self->type.name,
        .cell = adzi_child_at(self, 0),
        .o = *(const adz_recurrent_options *)self->state };
    s.n = s.cell->type.cell_states(s.cell, s.states);
    s.x = adz_values_argument(in, 0, "x");
    adz_tensor *lengths = adz_values_argument(in, 1 + s.n, "lengths");
    if (!check_x(&s)) {
        return adz_error_code();
    }
    s.x = s.o.batch_first ? adz_transpose(s.x, 0, 1) : s.x;
    if (s.x == NULL || !take_states(&s, in) || !take_lengths(&s, lengths)) {
        return adz_error_code();
    }
    const int64_t steps = s.o.truncated_bptt_steps;
    adz_tensor *y = steps > 0 && s.x->sizes[0] > steps ? run_pieces(&s)
                                                       : run_steps(&s, s.carries, s.x, s.padding);
    y = s.o.batch_first && y != NULL ? adz_transpose(y, 0, 1) : y;
    adz_status status = adz_values_add(out, "", y);
    for (size_t i = 0; i < s.n && status == ADZ_OK; ++i) {
        status = adz_values_add(out, s.states[i].name, s.carries[i]);
    }
    return status;
}

/* ---- making ---------------------------------------------------------------------------------- */

static const adz_module_type recurrent_type = {
    .size = sizeof(adz_module_type),
    .name = "Recurrent",
    .call = call,
    ADZI_MODULE_FIELDS(fields),
};

/* Whether the type of the module declares states that a layer can carry. */
static bool check_cell(const char *op, adz_module *cell)
{
    adz_cell_state states[ADZ_CELL_STATES] = { 0 };
    const size_t n = cell->type.cell_states != NULL ? cell->type.cell_states(cell, states) : 0;
    if (n == 0 || n > ADZ_CELL_STATES) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            n == 0 ? "%s is no recurrent cell: its type declares no states (cell_states)"
                   : "%s declares more than 8 states",
            cell->type.name);
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        const adz_cell_state *s = &states[i];
        if (s->name == NULL || s->name[0] == '\0' || strlen(s->name) >= ADZ_VALUE_NAME ||
            s->shape.rank < 0 || s->shape.rank >= ADZ_MAX_RANK) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "state %zu of %s has no name of 1 to %d characters, or a shape of %d dimensions", i,
                cell->type.name, ADZ_VALUE_NAME - 1, s->shape.rank);
            return false;
        }
    }
    return true;
}

adz_module *adz_recurrent_new(adz_module *cell, const adz_recurrent_options *options)
{
    static const char op[] = "adz_recurrent_new";
    adz_recurrent_options o;
    if (!adzi_check_module(op, "cell", cell)) {
        return NULL;
    }
    if (!adz_options_take(op, &adz_recurrent_options_table, &o, options) || !check_cell(op, cell)) {
        adzi_module_give_back(cell);
        return NULL;
    }
    adz_module *self = adzi_module_of(&recurrent_type, &o, sizeof o);
    if (adz_module_add_child(self, "cell", cell) == NULL) {
        adz_module_release(&self);
    }
    return self;
}
