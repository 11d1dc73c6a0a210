/* The update of one parameter: by a kernel of the optimizer's type, or by its expression. */
#include <math.h>
#include <string.h>

#include "adze/ops/convert.h"
#include "autograd/leaf.h"
#include "base/door.h"
#include "base/error.h"
#include "base/tracer.h"
#include "optim/fused/fused.h"
#include "optim/optimizer.h"
#include "tensor/kernel/real.h"
#include "tensor/copy.h"
#include "tensor/shape.h"

enum { GRAIN = 16384 /* of the kernels, in elements */ };

/* ---- numbers -------------------------------------------------------------------------------- */

double adz_moment_power(const adz_step_context *at, int i, double base)
{
    if (at == NULL || i < 0 || i >= ADZ_MOMENT_POWERS) {
        return NAN;
    }
    adzi_power *p = &((const adzi_moment *)(const void *)at)->powers[i];
    if (p->step != at->step || p->base != base) {
        *p = (adzi_power){ base, adzi_real_pow(base, (double)at->step), at->step };
    }
    return p->power;
}

/* The arguments of the launches that compute the numbers of an update. */
typedef struct {
    adz_optimizer *optimizer;
    const double *settings;
    adzi_kept *kept;
    void *scalars; /* where compute_numbers writes them in the dtype of the parameter */
    adz_dtype dtype;
} numbers_args;

ADZI_ADDRESSES(numbers_args, optimizer, settings, kept, scalars);

static adzi_moment moment_at(const adz_optimizer *o, const double *settings, int64_t step,
    uint32_t fresh, adzi_power *powers)
{
    return (adzi_moment){
        .seen = { settings, o->type->uncounted ? 0 : step, fresh }, .optimizer = o, .powers = powers
    };
}

static adzi_moment moment_of(const numbers_args *args)
{
    return moment_at(args->optimizer, args->settings, args->kept->steps + 1, args->kept->fresh,
        args->optimizer->powers);
}

static void numbers_at(const adz_optimizer *o, const adzi_moment *moment, double *numbers)
{
    if (o->type->numbers != NULL) {
        o->type->numbers(numbers, &moment->seen);
    } else {
        memcpy(numbers, moment->seen.settings, (size_t)o->n_numbers * sizeof *numbers);
    }
}

void adzi_update_numbers(const adz_optimizer *optimizer, const double *settings, int64_t step,
    uint32_t fresh, double *numbers)
{
    adzi_power powers[ADZ_MOMENT_POWERS] = { { 0 } };
    const adzi_moment moment = moment_at(optimizer, settings, step, fresh, powers);
    numbers_at(optimizer, &moment, numbers);
}

/* Computes the numbers of the step that follows kept->steps. */
static void write_numbers(const numbers_args *args)
{
    const adzi_moment moment = moment_of(args);
    numbers_at(args->optimizer, &moment, args->kept->numbers);
}

/* Kernel of one unit: computes the numbers, in f64 and in the dtype of the parameter. */
static void compute_numbers(const void *block, int64_t begin, int64_t end)
{
    const numbers_args *args = block;
    const size_t item = args->dtype == ADZ_F32 ? sizeof(float) : sizeof(double);
    if (begin < end) {
        write_numbers(args);
        for (int k = 0; k < args->optimizer->n_numbers; ++k) {
            adzi_encode(
                args->dtype, args->kept->numbers[k], (char *)args->scalars + (size_t)k * item);
        }
    }
}

/* Kernel of one unit: counts the step. */
static void count_step(const void *block, int64_t begin, int64_t end)
{
    const numbers_args *args = block;
    if (begin < end) {
        ++args->kept->steps;
        args->kept->fresh = 0;
    }
}

/* Kernel of one unit: computes the numbers of a step and counts it. */
static void begin_step(const void *block, int64_t begin, int64_t end)
{
    if (begin < end) {
        write_numbers(block);
        count_step(block, begin, end);
    }
}

/* ---- by a kernel ---------------------------------------------------------------------------- */

/* The arguments of a launch. */
typedef struct {
    adz_update_kernel kernel;
    void *parameter;
    const void *gradient;
    const double *numbers;
    void *states[ADZ_OPTIMIZER_STATES];
} kernel_args;

ADZI_ADDRESSES(kernel_args, parameter, gradient, numbers, states);

static void run_kernel(const void *block, int64_t begin, int64_t end)
{
    const kernel_args *args = block;
    const adz_update_call call = { .parameter = args->parameter,
        .gradient = args->gradient,
        .states = args->states,
        .numbers = args->numbers };
    args->kernel(&call, begin, end);
}

/* Tells the capture of the thread, if there is one, which tensors an update uses. */
static void tell_capture(
    adzi_capture *capture, adz_tensor *t, const adzi_kept *kept, uint32_t needs)
{
    adz_tensor *tensors[2 + ADZ_OPTIMIZER_STATES] = { t, adzi_update_gradient(t) };
    int n = 2;
    for (int k = 0; k < ADZ_OPTIMIZER_STATES; ++k) {
        if (needs & (1u << k)) {
            tensors[n++] = kept->state[k];
        }
    }
    capture->updates(capture, tensors, n);
}

static size_t bytes_before(const adz_tensor *t, const adzi_kept *kept)
{
    return (size_t)kept->part.begin * adzi_item_size(t);
}

static void apply_kernel(
    adz_optimizer *o, const adzi_group *group, adz_tensor *t, adzi_kept *kept, uint32_t needs)
{
    const size_t before = bytes_before(t, kept);
    const numbers_args step = { o, group->settings, kept, NULL, (adz_dtype)t->dtype };
    kernel_args args = { .kernel = o->type->kernels[t->dtype],
        .parameter = t->data + before,
        .gradient = adzi_update_gradient(t)->data + before,
        .numbers = kept->numbers };
    for (int k = 0; k < o->n_states; ++k) {
        args.states[k] = needs & (1u << k) ? kept->state[k]->data : NULL;
    }
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture != NULL) {
        tell_capture(capture, t, kept, needs);
    }
    adzi_launch(begin_step, numbers_args, &step, 1, 1);
    adzi_launch(run_kernel, kernel_args, &args, kept->part.count, GRAIN);
    if (capture != NULL) {
        capture->updates(capture, NULL, 0);
    }
}

/* ---- by the expression ---------------------------------------------------------------------- */

/* The tensors of one update. */
typedef struct {
    const char *op;
    adz_optimizer *optimizer;
    adzi_group *group;
    size_t number, i; /* of the group, and of the parameter in it */
    uint32_t needs;
    adz_tensor *t;
    adzi_kept *kept;
    adz_tensor *w, *dw; /* views of the part of the parameter and of its gradient */
    adz_tensor *states[ADZ_OPTIMIZER_STATES], *numbers[ADZ_OPTIMIZER_NUMBERS];
    size_t mark;       /* what the scope holds before the type's `update` */
    uint32_t versions; /* of w, dw and the states, summed up, before the type's `update` */
} expression;

/* A view of a tensor or of its part, borrowed from the scope. NULL with the error recorded. */
static adz_tensor *view(const expression *e, adz_tensor *t, bool of_part)
{
    static const int64_t stride = 1;
    const adzi_part *part = &e->kept->part;
    const bool whole = !of_part || part->count == t->numel;
    adzi_thread *thread = adzi_self();
    if (thread->tracer != NULL) {
        return t; /* a trace knows tensors; an optimizer whose state is divided is not traced */
    }
    if (!adzi_scope_reserve(thread, 1)) {
        return adzi_fail_memory(e->op, sizeof t);
    }
    adz_tensor *v = whole
                        ? adzi_tensor_view(thread, e->op, t, t->rank, t->sizes, t->strides, t->data)
                        : adzi_tensor_view(thread, e->op, t, 1, &part->count, &stride,
                              t->data + bytes_before(t, e->kept));
    return v != NULL ? adzi_borrow(thread, v) : NULL;
}

/* Tells a trace that `t` is state k, or number -1 - k. */
static bool tell_trace(const expression *e, adz_tensor *t, int k)
{
    adzi_tracer *tracer = adzi_self()->tracer;
    const adzi_parameter_position position = { e->optimizer, e->number, e->i };
    return tracer == NULL || tracer->updates == NULL || tracer->updates(tracer, t, &position, k);
}

/* Makes scalars of the numbers, whose elements a launch computes. */
static bool make_numbers(expression *e)
{
    const int64_t n = e->optimizer->n_numbers;
    adzi_thread *thread = adzi_self();
    const adz_dtype dtype = (adz_dtype)e->t->dtype;
    adz_tensor *all = adzi_tensor_borrowed(thread, e->op, dtype, 1, &n);
    if (all == NULL || !adzi_scope_reserve(thread, (size_t)n)) {
        adzi_fail_memory(e->op, (size_t)n * sizeof *e->numbers);
        return false;
    }
    const numbers_args args = { e->optimizer, e->group->settings, e->kept, all->data, dtype };
    const bool open = adzi_trace_open(true);
    adzi_launch(compute_numbers, numbers_args, &args, 1, 1);
    adzi_trace_open(open);
    for (int64_t k = 0; k < n; ++k) {
        adz_tensor *one = adzi_tensor_view(
            thread, e->op, all, 0, NULL, NULL, all->data + (size_t)k * adzi_item_size(all));
        if (one == NULL) {
            return false;
        }
        e->numbers[k] = adzi_borrow(thread, one);
        if (!tell_trace(e, one, -1 - (int)k)) {
            return false;
        }
    }
    return true;
}

static uint32_t versions_of(const expression *e)
{
    uint32_t sum = e->w->storage->version + e->dw->storage->version;
    for (int k = 0; k < e->optimizer->n_states; ++k) {
        sum += adzi_is_none(e->states[k]) ? 0 : e->states[k]->storage->version;
    }
    return sum;
}

static bool make_inputs(expression *e)
{
    e->w = view(e, e->t, true);
    e->dw = view(e, adzi_update_gradient(e->t), true);
    if (e->w == NULL || e->dw == NULL || !make_numbers(e)) {
        return false;
    }
    for (int k = 0; k < ADZ_OPTIMIZER_STATES; ++k) {
        const bool needed = e->needs & (1u << k);
        e->states[k] = needed ? view(e, e->kept->state[k], false) : ADZ_NONE;
        if (e->states[k] == NULL || (needed && !tell_trace(e, e->states[k], k))) {
            return false;
        }
    }
    e->versions = versions_of(e);
    e->mark = adzi_self()->n_temporaries;
    return true;
}

/* "the new parameter" or the name of a state, for messages. */
static const char *name_of(const expression *e, int k)
{
    return k == 0 ? "the new parameter" : e->optimizer->type->states[k - 1].name;
}

/* Whether the update has made the result: the scope got it after it had `mark` tensors. Another
 * tensor may be changed before the result is stored. */
static bool is_new(const expression *e, const adz_tensor *result)
{
    const adzi_thread *thread = adzi_self();
    bool ours = false;
    for (size_t i = e->mark; i < thread->n_temporaries && !ours; ++i) {
        ours = thread->temporaries[i] == result;
    }
    return ours && !result->is_view && adzi_is_contiguous(result);
}

/* Takes result k, which becomes next[k]. */
static bool take_result(const expression *e, adz_tensor *result, int k)
{
    const adz_tensor *old = k == 0 ? e->w : e->states[k - 1];
    const adz_optimizer_type *type = e->optimizer->type;
    if (result == NULL) {
        if (adzi_pending() == ADZ_OK) {
            adzi_error(e->op, ADZ_ERR_STATE,
                "the update of %s gives no result %d, %s, of parameter %zu%s; a value that stays is update->%s",
                type->name, k, name_of(e, k), e->i, adzi_text_shape(e->t),
                k == 0 ? "parameter" : "states[...]");
        }
        return false;
    }
    if (!adzi_check_tensor(e->op, name_of(e, k), result)) {
        return false;
    }
    if (result->dtype != old->dtype || !adzi_same_sizes(result, old)) {
        adzi_error(e->op, ADZ_ERR_SHAPE,
            "the update of %s gives result %d, %s, as %s%s; the %s is %s%s", type->name, k,
            name_of(e, k), adz_dtype_name((adz_dtype)result->dtype), adzi_text_shape(result),
            adzi_same_sizes(old, e->w) ? "parameter" : "state",
            adz_dtype_name((adz_dtype)old->dtype), adzi_text_shape(old));
        return false;
    }
    if (result == old || (e->kept->fused != NULL && adzi_fused_stores(e->w, old))) {
        return true; /* it stays as it is, or is computed when it is stored */
    }
    adz_tensor *next = is_new(e, result) ? result : adz_clone(result);
    if (next == NULL) {
        return false;
    }
    e->kept->next[k] = adzi_retain(next);
    return true;
}

static bool take_results(const expression *e, adz_tensor *const *results)
{
    bool good = true;
    if (versions_of(e) != e->versions) {
        adzi_error(e->op, ADZ_ERR_STATE,
            "the update of %s has changed parameter %zu%s, its gradient or a state in place; give the new values as results",
            e->optimizer->type->name, e->i, adzi_text_shape(e->t));
        return false;
    }
    for (int k = 0; k <= e->optimizer->n_states && good; ++k) {
        good = (k > 0 && adzi_is_none(e->states[k - 1])) || take_result(e, results[k], k);
    }
    return good;
}

/* Calls the type's `update`. The launches of a type whose elements are independent may be put off.
 */
static adz_status call_update(expression *e, const adz_update *update, adz_tensor **results)
{
    const adz_optimizer *o = e->optimizer;
    const adzi_fused_inputs inputs = { e->w, e->dw, e->states, o->n_states };
    e->kept->fused = o->type->whole ? NULL : adzi_fused_begin(&inputs);
    const adz_status status = o->type->update(results, update);
    if (e->kept->fused != NULL && !adzi_fused_end(e->kept->fused, &inputs, results, e->mark)) {
        adzi_fused_free(e->kept->fused);
        e->kept->fused = NULL;
    }
    return status;
}

static bool call_expression(void *state)
{
    expression *e = state;
    adz_tensor *results[1 + ADZ_OPTIMIZER_STATES] = { NULL };
    if (!make_inputs(e)) {
        return false;
    }
    const numbers_args args = { e->optimizer, e->group->settings, e->kept, NULL, ADZ_F64 };
    const adzi_moment moment = moment_of(&args);
    const adz_update update = { .parameter = e->w,
        .gradient = e->dw,
        .states = e->states,
        .numbers = e->numbers,
        .at = &moment };
    const uint64_t preparations = e->optimizer->preparations;
    const adz_status status = call_update(e, &update, results);
    if (e->optimizer->preparations != preparations) { /* a step, or its end, has spoilt this one */
        adzi_error(e->op, ADZ_ERR_STATE,
            "the update of %s uses the optimizer whose step calls it; it may use the tensors that it gets, and no more",
            e->optimizer->type->name);
        return false;
    }
    return !adzi_callback_failed(e->op, status, "the update of %s failed for parameter %zu%s",
               e->optimizer->type->name, e->i, adzi_text_shape(e->t)) &&
           adzi_pending() == ADZ_OK && take_results(e, results);
}

static bool express_in_scope(expression *e)
{
    const adzi_door door = { .op = e->op, .mode = ADZI_DOOR_RECORDS_NOTHING };
    adz_scope *scope = adz_scope_open();
    const bool good = scope != NULL && adzi_through_door(&door, call_expression, e);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good;
}

/* The number of a group of the optimizer. */
static size_t number_of(const adz_optimizer *optimizer, const adzi_group *group)
{
    size_t number = 0;
    while (optimizer->groups[number] != group) {
        ++number;
    }
    return number;
}

bool adzi_update_express(
    const char *op, adz_optimizer *optimizer, adzi_group *group, size_t i, uint32_t needs)
{
    expression e = { .op = op,
        .optimizer = optimizer,
        .group = group,
        .number = number_of(optimizer, group),
        .i = i,
        .needs = needs,
        .t = group->parameters[i],
        .kept = &group->kept[i] };
    adzi_settle(adzi_self());
    return express_in_scope(&e);
}

/* Stores next[k] in the elements `to` of the part. */
static void store(adzi_kept *kept, int k, void *to)
{
    adz_tensor *from = kept->next[k];
    if (from != NULL) {
        adzi_copy_bytes_to(to, from->data, (size_t)from->numel * adzi_item_size(from));
        adzi_drop(from);
        kept->next[k] = NULL;
    }
}

/* Stores all of kept->next by traced calls, and counts the step. */
static void apply_traced(adz_optimizer *o, const adzi_group *group, adz_tensor *t, adzi_kept *kept)
{
    const numbers_args step = { o, group->settings, kept, NULL, (adz_dtype)t->dtype };
    adzi_thread *thread = adzi_self();
    const bool records = thread->grad_enabled, open = adzi_trace_open(true);
    adzi_launch(count_step, numbers_args, &step, 1, 1);
    adzi_trace_open(open);
    thread->grad_enabled = false;
    for (int k = 0; k <= o->n_states; ++k) {
        adz_tensor *from = kept->next[k];
        kept->next[k] = NULL;
        if (from != NULL) {
            adz_copy_(k == 0 ? t : kept->state[k - 1], from);
            adzi_drop(from);
        }
    }
    thread->grad_enabled = records;
}

static void apply_expression(
    adz_optimizer *o, const adzi_group *group, adz_tensor *t, adzi_kept *kept)
{
    const numbers_args step = { o, group->settings, kept, NULL, (adz_dtype)t->dtype };
    adzi_launch(count_step, numbers_args, &step, 1, 1);
    if (kept->fused != NULL) {
        adzi_fused_apply(kept->fused);
        adzi_fused_free(kept->fused);
        kept->fused = NULL;
    }
    store(kept, 0, t->data + bytes_before(t, kept));
    for (int k = 0; k < o->n_states; ++k) {
        store(kept, 1 + k, kept->state[k] != NULL ? kept->state[k]->data : NULL);
    }
}

void adzi_update_apply(
    const char *op, adz_optimizer *optimizer, adzi_group *group, size_t i, uint32_t needs)
{
    adz_tensor *t = group->parameters[i];
    if (adzi_self()->tracer != NULL) {
        apply_traced(optimizer, group, t, &group->kept[i]);
        return;
    }
    if (optimizer->type->kernels[t->dtype] != NULL) {
        apply_kernel(optimizer, group, t, &group->kept[i], needs);
    } else {
        apply_expression(optimizer, group, t, &group->kept[i]);
    }
    adzi_written(t, op);
}
