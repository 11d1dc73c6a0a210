/* The update of one parameter: by a kernel of the optimizer's type, or by its expression.
 *
 * Note [Updates by blocks]
 * The expression of most optimizers is a dozen elementwise operators. On a large parameter each of
 * them would read and write tensors that no cache holds. So the expression of a type that is
 * `elementwise` is called once per block, with slices of the parameter, of its gradient and of the
 * states. The results of one block stay in the caches and are copied over the slices. No bit
 * changes, because an elementwise operator gives the same bits however its elements are cut.
 *
 * The first block is computed when the step is prepared, so that an error there changes nothing.
 * The others are computed when the parameter may change. They cannot fail either: they need the
 * memory that the first block has given back, and neither the memory limit nor a test refuses it.
 * What a plan captures, a trace records or a file in C computes is not cut into blocks. */
#include <string.h>

#include "adze/ops/convert.h"
#include "autograd/leaf.h"
#include "base/door.h"
#include "base/error.h"
#include "base/tracer.h"
#include "optim/optimizer.h"
#include "tensor/copy.h"
#include "tensor/shape.h"

enum {
    GRAIN = 16384, /* of the kernels, in elements */
    BLOCK = 65536  /* elements, or GRAIN for each thread if those are more */
};

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
    adzi_begin_step(o, group->settings, kept);
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
    adzi_part block;    /* the elements of the part that are computed now */
    adz_tensor *w, *dw; /* views of the block of the parameter and of its gradient */
    adz_tensor *states[ADZ_OPTIMIZER_STATES], *numbers[ADZ_OPTIMIZER_NUMBERS];
    size_t mark;       /* what the scope holds before the type's `update` */
    uint32_t versions; /* of w, dw and the states, summed up, before the type's `update` */
} expression;

/* Whether blocks cut the new parameter, for k = 0, or state k - 1: it has an element for each one
 * of the part. */
static bool is_cut(const expression *e, int k)
{
    return k == 0 || !adzi_state_is_undivided(e->optimizer, e->t, k - 1);
}

/* A view of a tensor, borrowed from the scope: of the block if `part`, where the elements of the
 * part begin, is not NULL. NULL with the error recorded. */
static adz_tensor *view(const expression *e, adz_tensor *t, char *part)
{
    static const int64_t stride = 1;
    const adzi_part *block = &e->block;
    const bool whole = part == NULL || block->count == t->numel;
    adzi_thread *thread = adzi_self();
    if (thread->tracer != NULL) {
        return t; /* a trace knows tensors; an optimizer whose state is divided is not traced */
    }
    if (!adzi_scope_reserve(thread, 1)) {
        return adzi_fail_memory(e->op, sizeof t);
    }
    adz_tensor *v = whole
                        ? adzi_tensor_view(thread, e->op, t, t->rank, t->sizes, t->strides, t->data)
                        : adzi_tensor_view(thread, e->op, t, 1, &block->count, &stride,
                              part + (size_t)block->begin * adzi_item_size(t));
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
    const bool open = adzi_trace_open(true);
    adzi_compute_numbers(e->optimizer, e->group->settings, e->kept, all->data, dtype);
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
    adz_tensor *grad = adzi_update_gradient(e->t);
    const size_t before = bytes_before(e->t, e->kept);
    e->w = view(e, e->t, e->t->data + before);
    e->dw = view(e, grad, grad->data + before);
    if (e->w == NULL || e->dw == NULL || !make_numbers(e)) {
        return false;
    }
    for (int k = 0; k < ADZ_OPTIMIZER_STATES; ++k) {
        const bool needed = e->needs & (1u << k);
        adz_tensor *state = e->kept->state[k];
        e->states[k] = needed ? view(e, state, is_cut(e, 1 + k) ? state->data : NULL) : ADZ_NONE;
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
    if (result == old || (e->block.begin > 0 && !is_cut(e, k))) {
        return true; /* it stays as it is, or the first block has given it */
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

/* Stores the new elements of the block, or those of the states that are not cut into blocks. */
static void store(const expression *e, bool of_block)
{
    for (int k = 0; k <= e->optimizer->n_states; ++k) {
        adz_tensor *from = e->kept->next[k];
        if (from != NULL && is_cut(e, k) == of_block) {
            const size_t item = adzi_item_size(from);
            char *to =
                k == 0 ? e->t->data + bytes_before(e->t, e->kept) : e->kept->state[k - 1]->data;
            adzi_copy_bytes_to(to + (of_block ? (size_t)e->block.begin * item : 0), from->data,
                (size_t)from->numel * item);
            adzi_drop(from);
            e->kept->next[k] = NULL;
        }
    }
}

static bool call_expression(void *state)
{
    expression *e = state;
    adz_tensor *results[1 + ADZ_OPTIMIZER_STATES] = { NULL };
    adzi_self()->cache.granted = e->block.begin > 0; /* the door takes it back */
    if (!make_inputs(e)) {
        return false;
    }
    const adzi_moment moment = adzi_next_moment(e->optimizer, e->group->settings, e->kept);
    const adz_update update = { .parameter = e->w,
        .gradient = e->dw,
        .states = e->states,
        .numbers = e->numbers,
        .at = &moment };
    const uint64_t preparations = e->optimizer->preparations;
    const adz_status status = e->optimizer->type->update(results, &update);
    if (e->optimizer->preparations != preparations) { /* a step, or its end, has spoilt this one */
        adzi_error(e->op, ADZ_ERR_STATE,
            "the update of %s uses the optimizer whose step calls it; it may use the tensors that it gets, and no more",
            e->optimizer->type->name);
        return false;
    }
    const bool good =
        !adzi_callback_failed(e->op, status, "the update of %s failed for parameter %zu%s",
            e->optimizer->type->name, e->i, adzi_text_shape(e->t)) &&
        adzi_pending() == ADZ_OK && take_results(e, results);
    if (good && e->block.begin > 0) {
        store(e, true); /* while the results are in the caches */
    }
    return good;
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

/* The elements of a part that one call of the type's `update` gets. */
static int64_t block_of(const adz_optimizer *optimizer, const adzi_part *part)
{
    const adzi_thread *thread = adzi_self();
    const int64_t shared = (int64_t)GRAIN * adzi_num_threads();
    const int64_t most = shared > BLOCK ? shared : BLOCK;
    const bool cut = optimizer->type->elementwise && part->count > most &&
                     thread->capture == NULL && thread->tracer == NULL;
    return cut ? most : part->count;
}

static expression expression_of(
    const char *op, adz_optimizer *optimizer, adzi_group *group, size_t i, uint32_t needs)
{
    adzi_kept *kept = &group->kept[i];
    return (expression){ .op = op,
        .optimizer = optimizer,
        .group = group,
        .number = number_of(optimizer, group),
        .i = i,
        .needs = needs,
        .t = group->parameters[i],
        .kept = kept,
        .block = { 0, kept->block } };
}

bool adzi_update_express(
    const char *op, adz_optimizer *optimizer, adzi_group *group, size_t i, uint32_t needs)
{
    group->kept[i].block = block_of(optimizer, &group->kept[i].part);
    expression e = expression_of(op, optimizer, group, i, needs);
    adzi_settle(adzi_self());
    return express_in_scope(&e);
}

/* Stores all of kept->next by traced calls, and counts the step. */
static void apply_traced(adz_optimizer *o, const adzi_group *group, adz_tensor *t, adzi_kept *kept)
{
    adzi_thread *thread = adzi_self();
    const bool records = thread->grad_enabled, open = adzi_trace_open(true);
    adzi_count_step(o, group->settings, kept);
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

/* Stores the first block, and lets the others be computed and stored. */
static bool apply_expression(expression *e)
{
    const int64_t count = e->kept->part.count, most = e->block.count;
    bool good = true;
    store(e, true);
    for (int64_t at = most; good && at < count; at += most) {
        e->block = (adzi_part){ at, count - at < most ? count - at : most };
        good = express_in_scope(e);
    }
    if (!good) {
        adzi_warn(e->op,
            "the step of %s has changed a part of parameter %zu%s before it failed; load a checkpoint",
            e->optimizer->type->name, e->i, adzi_text_shape(e->t));
        return false;
    }
    store(e, false);
    adzi_count_step(e->optimizer, e->group->settings, e->kept);
    return true;
}

bool adzi_update_apply(
    const char *op, adz_optimizer *optimizer, adzi_group *group, size_t i, uint32_t needs)
{
    adz_tensor *t = group->parameters[i];
    bool good = true;
    if (adzi_self()->tracer != NULL) {
        apply_traced(optimizer, group, t, &group->kept[i]);
        return true;
    }
    if (optimizer->type->kernels[t->dtype] != NULL) {
        apply_kernel(optimizer, group, t, &group->kept[i], needs);
    } else {
        expression e = expression_of(op, optimizer, group, i, needs);
        good = apply_expression(&e);
    }
    adzi_written(t, op);
    return good;
}
