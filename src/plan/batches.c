/* An epoch of batches in one call: adz_plan_run_batches.
 *
 * Each batch is copied into the inputs of the plan, which then runs as adz_plan_run runs it, so the
 * bits are those of separate calls. Everything that can be refused is refused before the first
 * batch: the checks look at the data and at the order of rows. */
#include <stdio.h>
#include <string.h>

#include "adze/ops.h"
#include "adze/options.h"
#include "autograd/op.h"
#include "base/door.h"
#include "base/threads/parallel.h"
#include "plan/plan.h"
#include "tensor/tensor.h"

static const char op[] = "adz_plan_run_batches";

static const adz_field fields[] = {
    ADZ_FIELD(adz_plan_batches_options, drop_last, .value = false),
};

ADZ_OPTIONS_TABLE(adz_plan_batches_options, ADZ_PLAN_BATCHES_OPTIONS, fields)

/* Where the batches of an input come from. */
typedef struct source {
    adz_tensor *input;
    const adz_tensor *data; /* contiguous; NULL if the input stays as it is */
    int64_t rows;           /* of a batch; 1 for an input that is a scalar */
    const int64_t *order;   /* of the rows; NULL for an input that is a scalar, and without order */
    size_t bytes;           /* of a row */
} source;

typedef struct epoch {
    adz_plan *plan;
    adz_plan_batches_options o;
    source *sources; /* one for each input */
    const int64_t *order;
    int64_t n_order; /* rows in the order */
    int64_t steps;   /* -1 until data has told it */
    adz_tensor **all;
} epoch;

/* ---- checks ---------------------------------------------------------------------------------- */

/* Whether a row of the data has the shape and the dtype of a row of the input. */
static bool check_rows(const adz_tensor *input, const adz_tensor *data, size_t i)
{
    const int skipped = input->rank > 0;
    bool fits = data->rank == input->rank + !skipped;
    for (int d = skipped; d < input->rank && fits; ++d) {
        fits = data->sizes[d + !skipped] == input->sizes[d];
    }
    if (!fits) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "data[%zu]%s gives no batches for input %zu of the plan, which is %s: all dimensions but the first are those of the input%s",
            i, adzi_text_shape(data), i, adzi_text_shape(input),
            skipped ? "" : ", and a scalar gets an element for each batch");
    } else if (data->dtype != input->dtype) {
        fits = false;
        adzi_error(op, ADZ_ERR_DTYPE, "data[%zu] is %s, and input %zu of the plan is %s", i,
            adz_dtype_name((adz_dtype)data->dtype), i, adz_dtype_name((adz_dtype)input->dtype));
    } else if (!adzi_is_contiguous(input)) {
        fits = false;
        adzi_error(op, ADZ_ERR_SHAPE,
            "input %zu of the plan, %s, is not contiguous; make the plan with a contiguous tensor (adz_contiguous)",
            i, adzi_text_shape(input));
    }
    return fits;
}

/* Checks that no batch overwrites a tensor that batches are taken from: data i, or the order if i
 * is SIZE_MAX. */
static bool check_apart(const epoch *e, adz_tensor *const *data, const adz_tensor *from, size_t i)
{
    for (size_t k = 0; k < e->plan->n_inputs; ++k) {
        if (adzi_is_none(data[k]) || e->plan->inputs[k]->storage != from->storage) {
            continue;
        }
        char name[32] = "the order";
        if (i != SIZE_MAX) {
            snprintf(name, sizeof name, "data[%zu]", i);
        }
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "%s and input %zu of the plan share memory, and each batch overwrites the input; give a copy (adz_clone)",
            name, k);
        return false;
    }
    return true;
}

/* Checks that `rows` rows are whole batches of the source, as many as others have. */
static bool count_steps(epoch *e, const source *s, int64_t rows, size_t i)
{
    const int64_t steps = s->rows > 0 ? rows / s->rows : 0;
    if (s->rows == 0 || (rows % s->rows != 0 && !e->o.drop_last)) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "the %lld rows for input %zu make no whole batches of %lld; set drop_last to leave the last %lld out, or hand them to a plan of their own",
            (long long)rows, i, (long long)s->rows, (long long)(s->rows > 0 ? rows % s->rows : 0));
        return false;
    }
    if (e->steps >= 0 && steps != e->steps) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "data[%zu]%s has %lld batches of %lld rows, and the data before it %lld", i,
            adzi_text_shape(s->data), (long long)steps, (long long)s->rows, (long long)e->steps);
        return false;
    }
    e->steps = steps;
    return true;
}

/* Checks that the order has rows of the source alone. */
static bool check_order(const epoch *e, const source *s, size_t i)
{
    for (int64_t k = 0; k < e->n_order && s->order != NULL; ++k) {
        if (s->order[k] < 0 || s->order[k] >= s->data->sizes[0]) {
            adzi_error(op, ADZ_ERR_INDEX, "order[%lld] is %lld, and data[%zu]%s has rows 0 to %lld",
                (long long)k, (long long)s->order[k], i, adzi_text_shape(s->data),
                (long long)s->data->sizes[0] - 1);
            return false;
        }
    }
    return true;
}

static bool take_order(epoch *e, adz_tensor *const *data)
{
    adz_tensor *order = e->o.order;
    if (order == NULL || adzi_is_none(order)) {
        return true;
    }
    if (!adzi_check_tensor(op, "order", order)) {
        return false;
    }
    if (order->rank != 1 || (adz_dtype)order->dtype != ADZ_I64) {
        adzi_error(op, order->rank != 1 ? ADZ_ERR_SHAPE : ADZ_ERR_DTYPE,
            "order is %s%s, and must be int64 with one dimension",
            adz_dtype_name((adz_dtype)order->dtype), adzi_text_shape(order));
        return false;
    }
    if (!check_apart(e, data, order, SIZE_MAX)) {
        return false;
    }
    const adz_tensor *compact = adzi_compact(op, order);
    e->order = compact != NULL ? (const int64_t *)(const void *)compact->data : NULL;
    e->n_order = compact != NULL ? compact->numel : 0;
    return compact != NULL;
}

static bool take_source(epoch *e, adz_tensor *const *all, size_t i)
{
    adz_tensor *data = all[i];
    source *s = &e->sources[i];
    s->input = e->plan->inputs[i];
    if (adzi_is_none(data)) {
        return true;
    }
    if (!adzi_check_tensor(op, "data", data) || !check_rows(s->input, data, i) ||
        !check_apart(e, all, data, i)) {
        return false;
    }
    s->data = adzi_compact(op, data);
    s->rows = s->input->rank > 0 ? s->input->sizes[0] : 1;
    s->order = s->input->rank > 0 ? e->order : NULL;
    s->bytes = adzi_item_size(data);
    for (int d = 1; d < data->rank; ++d) {
        s->bytes *= (size_t)data->sizes[d];
    }
    return s->data != NULL && check_order(e, s, i) &&
           count_steps(e, s, s->order != NULL ? e->n_order : data->sizes[0], i);
}

static bool check(epoch *e, adz_tensor *const *data, size_t n)
{
    const adz_plan *plan = e->plan;
    if (n != plan->n_inputs || n == 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "%zu data are given, and the plan has %zu inputs (adz_plan_options.inputs); give one for each",
            n, plan->n_inputs);
        return false;
    }
    bool good = take_order(e, data);
    for (size_t i = 0; i < n && good; ++i) {
        good = take_source(e, data, i);
    }
    if (good && e->steps < 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "all data are ADZ_NONE, so there is no number of batches");
        good = false;
    }
    return good;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Copies rows; a unit is a row of the batch. */
typedef struct copying {
    const char *from;
    char *to;
    size_t bytes;
    const int64_t *order; /* of the batch, or NULL */
} copying;

ADZI_ADDRESSES(copying, from, to, order);

static void copy_rows(const void *args, int64_t begin, int64_t end)
{
    const copying *c = args;
    for (int64_t i = begin; i < end && c->order != NULL; ++i) {
        memcpy(c->to + (size_t)i * c->bytes, c->from + (size_t)c->order[i] * c->bytes, c->bytes);
    }
    if (c->order == NULL) {
        const size_t at = (size_t)begin * c->bytes;
        memcpy(c->to + at, c->from + at, (size_t)(end - begin) * c->bytes);
    }
}

static void write_input(const source *s, int64_t step)
{
    const int64_t first = step * s->rows;
    const bool ordered = s->order != NULL;
    const copying c = { s->data->data + (ordered ? 0 : (size_t)first * s->bytes), s->input->data,
        s->bytes, ordered ? s->order + first : NULL };
    if (s->bytes > 0) {
        adzi_launch(
            copy_rows, copying, &c, s->rows, s->bytes < 65536 ? (int64_t)(65536 / s->bytes) : 1);
    }
    adzi_written(s->input, op);
}

/* Copies result k of a run to its position among all. */
static bool keep_result(const epoch *e, size_t k, int64_t step)
{
    const adz_tensor *y = e->plan->outputs[k];
    adz_tensor *all = e->all[k], one = *all;
    --one.rank;
    memmove(one.sizes, all->sizes + 1, (size_t)one.rank * sizeof *one.sizes);
    memmove(one.strides, all->strides + 1, (size_t)one.rank * sizeof *one.strides);
    if (y->rank != one.rank || y->dtype != one.dtype ||
        memcmp(y->sizes, one.sizes, (size_t)one.rank * sizeof *one.sizes) != 0) {
        adzi_error(op, ADZ_ERR_STATE, "result %zu is %s in batch %lld, and was %s before", k,
            adzi_text_shape(y), (long long)step, adzi_text_sizes(one.rank, one.sizes));
        return false;
    }
    one.numel = y->numel;
    one.data += step * y->numel * (int64_t)adzi_item_size(all);
    if (y->numel == 1) {
        memcpy(one.data, y->data, adzi_item_size(y));
    } else {
        adzi_copy(&one, y);
    }
    return true;
}

static adz_status run_batch(const epoch *e, int64_t step)
{
    for (size_t i = 0; i < e->plan->n_inputs; ++i) {
        if (e->sources[i].data != NULL) {
            write_input(&e->sources[i], step);
        }
    }
    adz_status status = adz_plan_run(e->plan);
    for (size_t k = 0; k < e->plan->function.n_results && e->all != NULL && status == ADZ_OK; ++k) {
        status = keep_result(e, k, step) ? ADZ_OK : adz_error_code();
    }
    return status;
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Room for the results of all batches, as the plan has shown them in its last run. */
static bool make_room(epoch *e)
{
    bool good = true;
    for (size_t k = 0; k < e->plan->function.n_results && good; ++k) {
        const adz_tensor *y = e->plan->outputs[k];
        adz_shape shape = { .rank = y->rank + 1, .sizes = { e->steps } };
        if (y->rank == ADZ_MAX_RANK) {
            adzi_error(op, ADZ_ERR_SHAPE,
                "result %zu%s has %d dimensions; there is none for the batches", k,
                adzi_text_shape(y), ADZ_MAX_RANK);
            return false;
        }
        memcpy(shape.sizes + 1, y->sizes, (size_t)y->rank * sizeof *y->sizes);
        e->all[k] = adz_empty(shape, (adz_dtype)y->dtype);
        good = e->all[k] != NULL;
    }
    return good;
}

enum { PATH_BYTES = 80 };

typedef struct running {
    epoch *e;
    size_t frame; /* of the door, whose path names the batch */
} running;

static bool run_all(void *state)
{
    const running *r = state;
    for (int64_t step = 0; step < r->e->steps; ++step) {
        char *path = adzi_self()->frames[r->frame].text;
        snprintf(path, PATH_BYTES, "batch %lld of %s", (long long)step, op);
        if (run_batch(r->e, step) != ADZ_OK) {
            return false;
        }
    }
    return true;
}

static adz_status run(epoch *e, adz_tensor *const *data, size_t n, adz_tensor **results)
{
    const size_t count = e->plan->function.n_results;
    if (!check(e, data, n) || (results != NULL && !make_room(e))) {
        return adz_error_code();
    }
    char path[PATH_BYTES];
    const adzi_door door = { .op = op, .path = path };
    running r = { e, adzi_self()->n_frames };
    memset(path, ' ', sizeof path - 1); /* room for the number of the batch */
    path[sizeof path - 1] = '\0';
    if (!adzi_through_door(&door, run_all, &r)) {
        return adz_error_code();
    }
    for (size_t k = 0; k < count && results != NULL; ++k) {
        results[k] = e->all[k];
    }
    return ADZ_OK;
}

adz_status adz_plan_run_batches(adz_plan *plan, adz_tensor *const *data, size_t n_data,
    const adz_plan_batches_options *options, adz_tensor **results)
{
    epoch e = { .plan = plan, .steps = -1 };
    if (plan == NULL || data == NULL) {
        return adzi_error_null(op, plan == NULL ? "plan" : "data");
    }
    adzi_settle(adzi_self());
    if (!adzi_check_handle(op, "plan", &plan->handle) || adzi_refused(op) != ADZ_OK) {
        return adzi_pending();
    }
    if (adzi_is_captured(op, "a plan runs no other plan") ||
        !adz_options_take(op, &adz_plan_batches_options_table, &e.o, options)) {
        return adz_error_code();
    }
    /* Lists in the memory of tensors end with the scope, also if the function of the plan jumps. */
    const int64_t bytes[2] = { (int64_t)(plan->n_inputs * sizeof *e.sources),
        (int64_t)(plan->function.n_results * sizeof *e.all) };
    adz_tensor *sources = adz_zeros(ADZ_SHAPE(bytes[0]), ADZ_BOOL);
    adz_tensor *all = results != NULL ? adz_zeros(ADZ_SHAPE(bytes[1]), ADZ_BOOL) : NULL;
    if (sources == NULL || (results != NULL && all == NULL)) {
        return adz_error_code();
    }
    e.sources = (source *)(void *)sources->data;
    e.all = all != NULL ? (adz_tensor **)(void *)all->data : NULL;
    return run(&e, data, n_data, results);
}
