#include "ops/attention/attention.h"

#include "autograd/operator.h"
#include "ops/attention/attention.kernel.h"
#include "base/alloc.h"
#include "ops/options.h"
#include "tensor/random/random.h"
#include "base/random_generator.h"

/* Scaled dot-product attention, torch.nn.functional.scaled_dot_product_attention.
 *
 *     p  = softmax(scale * q k^T + mask) over the keys,   d = dropout(p)
 *     y  = d v
 *
 *     dv = d^T dy
 *     dp = dropout(dy v^T)
 *     ds = p * (dp - sum of p * dp over the keys)
 *     dq = scale * ds k,   dk = scale * ds^T q,   dmask = ds
 *
 * q[..., L, E], k[..., S, E], v[..., S, Ev], mask bool or float [..., L, S], y[..., L, Ev]; leading
 * dimensions broadcast. q, k, v and a float mask are differentiable.
 *
 * The kernels compute blocks of p in scratch memory, with a running maximum and sum (Dao et al.,
 * FlashAttention, 2022). So p[L, S] never exists as a whole. The node saves the inputs, y, and two
 * numbers per query (STATS), with which the backward computes a block of p again. A drawn dropout
 * mask is not saved either, but the state of the generator that draws it again. */

KERNEL_TABLE_FLOAT(attention);
KERNEL_TABLE_FLOAT(attention_backward);

static const char name[] = "scaled_dot_product_attention";

/* The extra values of a node. STATS[batch_size, 2, L] holds the largest score of each query and the
 * reciprocal of its sum of exponentials. Y is the result, which the backward needs for the sum of
 * p * dp: it equals the sum of dy * y. KEPT is a given dropout mask, STATE the state of the
 * generator that draws one. A call has one of these two or none. */
enum { STATS, Y, KEPT, STATE, EXTRAS };
enum { WORK_PER_THREAD = 1 << 18 }; /* multiply-adds worth a thread */

static const adz_field options_rows[] = {
    ADZ_FIELD(adz_attention_options, is_causal, .value = false),
    ADZ_FIELD(
        adz_attention_options, scale, .value = 0, ADZ_FINITE, .hint = "0 stands for 1 / sqrt(E)"),
    ADZ_FIELD(adz_attention_options, dropout_p, .value = 0, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_attention_options, training, .value = false),
    ADZ_FIELD(adz_attention_options, enable_gqa, .value = false),
    ADZ_FIELD(adz_attention_options, sliding_window, .value = 0, ADZ_SIZE_FROM(0)),
};

ADZ_OPTIONS_TABLE(adz_attention_options, ADZ_ATTENTION_OPTIONS, options_rows)

/* ---- what the kernels are told -------------------------------------------------------------- */

/* The state of a generator in an i64 tensor of two elements. A tensor keeps it alive for a
 * replay. */
static adz_generator_state *state_in(const adz_tensor *t)
{
    return (adz_generator_state *)(void *)t->data;
}

/* Returns `t` if the elements of its rows are contiguous, which the kernels need, else a copy. Rows
 * may have any stride, so the views of split heads are not copied. NULL stays NULL. */
static adz_tensor *with_whole_rows(adz_tensor *t)
{
    return t == NULL || t->sizes[t->rank - 1] <= 1 || t->strides[t->rank - 1] == 1
               ? t
               : adzi_compact_copy(name, t);
}

/* The strides of t by leading dimension, row and column. Dimensions of size 1 get stride 0, which
 * broadcasts them. Leading dimensions are aligned at the last one; those that t lacks keep stride
 * 0. */
static adzi_attention_operand operand_of(const adzi_attention *at, const adz_tensor *t)
{
    adzi_attention_operand operand = { .data = NULL };
    if (adzi_is_none(t)) {
        return operand;
    }
    operand.data = t->data;
    for (int i = 1; i <= t->rank; ++i) {
        int64_t stride = t->sizes[t->rank - i] == 1 ? 0 : t->strides[t->rank - i];
        *(i == 1     ? &operand.column
            : i == 2 ? &operand.row
                     : &operand.batch[at->batch_rank + 2 - i]) = stride;
    }
    return operand;
}

/* Fills the arguments that forward and backward share. The struct has no pointer to this stack,
 * because a launch may be replayed. Kernels read the state of the generator through a pointer, so
 * that a replayed step draws with the state of its own time. */
static adzi_attention_args arguments(const adzi_attention *at, adz_tensor *const *in,
    const adz_tensor *kept, const adz_tensor *state)
{
    adzi_attention_args args = { .batch_rank = at->batch_rank,
        .batch_size = at->batch_size,
        .l = at->l,
        .s = at->s,
        .e = at->e,
        .ev = at->ev,
        .scale = at->scale,
        .state = adzi_is_none(state) ? &adzi_nothing_drawn : state_in(state),
        .causal = at->causal,
        .q = operand_of(at, in[ADZI_QUERY]),
        .k = operand_of(at, in[ADZI_KEY]),
        .v = operand_of(at, in[ADZI_VALUE]),
        .mask = operand_of(at, in[ADZI_MASK]),
        .mask_is_bool = !adzi_is_none(in[ADZI_MASK]) && in[ADZI_MASK]->dtype == ADZ_BOOL,
        .drops = at->drops,
        .kept = operand_of(at, kept),
        .row_words = adzi_attention_row_words(at),
        .keep = 1 - at->dropout_p };
    for (int i = 0; i < at->batch_rank; ++i) {
        args.batch[i] = at->batch[i];
    }
    return args;
}

/* Makes one query of each of several heads that share keys and values the queries of one item.
 * Scores are computed for 16 queries at a time, so each head alone would take as long as all of
 * them. A single query sees all keys under is_causal, too. Drawn dropout and the statistics for the
 * backward lie by item, so such calls stay as they are. The bits are those of separate items. */
static void join_heads(adzi_attention_args *g)
{
    const int last = g->batch_rank - 1;
    if (g->l != 1 || g->drops || g->stats != NULL || last < 0 || g->batch[last] < 2 ||
        g->k.batch[last] != 0 || g->v.batch[last] != 0) {
        return;
    }
    adzi_attention_operand *const of_queries[] = { &g->q, &g->y, &g->mask };
    for (int i = 0; i < 3; ++i) {
        of_queries[i]->row = of_queries[i]->batch[last];
    }
    g->l = g->batch[last];
    g->batch_size /= g->l;
    g->batch_rank = last;
    g->causal = false;
}

/* Elements of scratch memory that each worker of the forward has: q[GROUP, E], y[GROUP, Ev], a
 * block of v and a block of scores. See KERNEL(forward) in attention.kernel.c. */
static int64_t forward_scratch(const adzi_attention_args *g)
{
    enum { B = ADZI_ATTENTION_BLOCK, G = ADZI_ATTENTION_GROUP };
    return G * g->e + (G + B) * adzi_attention_padded(g->ev) + B * B;
}

/* Elements of scratch memory that each worker of the backward has. q, dq and dy have all L queries
 * of a matrix, because each block of keys meets all of them. Five more arrays are blocks of k, v
 * and their gradients; two are blocks of scores. See KERNEL(backward). */
static int64_t backward_scratch(const adzi_attention_args *g)
{
    enum { B = ADZI_ATTENTION_BLOCK };
    int64_t e = adzi_attention_padded(g->e), ev = adzi_attention_padded(g->ev);
    return (2 * g->l + 3 * B) * e + (g->l + 2 * B) * ev + 2 * B * B + adzi_attention_padded(g->l);
}

/* The number of workers: at most one per thread and per task, and at least WORK_PER_THREAD
 * multiply-adds for each. Workers fetch tasks from a shared counter, so none is idle while tasks
 * are left. A call inside another launch gets one worker, because it runs on the thread that
 * calls. */
static int64_t workers_of(const adzi_attention_args *args)
{
    /* In f64, because the product of the sizes may exceed 64 bits. */
    double work = (double)args->batch_size * (double)args->l * (double)args->s *
                  (double)(args->e + args->ev) / WORK_PER_THREAD;
    int64_t most = adzi_inside_launch() ? 1 : adzi_num_threads();
    most = most < args->tasks ? most : args->tasks;
    most = work < (double)most ? (int64_t)work : most;
    return most < 1 ? 1 : most;
}

/* Allocates one block: the counter of tasks, then the scratch memory of each worker, in multiples
 * of 64 bytes (a cache line). args->scratch is NULL if memory was refused. Returns the size of the
 * block for run, which frees it and cannot fail. */
static size_t take_scratch(adzi_attention_args *args, adz_dtype dtype, int64_t elements)
{
    int64_t bytes = (elements * (dtype == ADZ_F32 ? 4 : 8) + 63) / 64 * 64 + 64;
    args->scratch_size = bytes;
    args->workers = workers_of(args);
    size_t all = ADZI_ALIGNMENT + (size_t)(bytes * args->workers);
    char *block = adzi_alloc_for_kernels(all);
    if (block == NULL) {
        args->scratch = adzi_fail_memory(name, all);
        return 0;
    }
    args->next_task = (_Atomic(int64_t) *)(void *)block;
    args->scratch = block + ADZI_ALIGNMENT;
    return all;
}

/* The block begins with the counter, in front of args->scratch. */
static void free_scratch(const adzi_attention_args *args, size_t scratch)
{
    adzi_free(args->scratch - ADZI_ALIGNMENT, scratch);
}

/* Sets the counter of tasks to 0. It is a separate launch, so that a replay sets it again. The
 * launch has one unit; the test leaves out parts without units. */
static void begin_tasks(const void *args, int64_t begin, int64_t end)
{
    const adzi_attention_args *g = args;
    if (begin < end) {
        atomic_store_explicit(g->next_task, 0, memory_order_relaxed);
    }
}

/* Two launches: one unit for the counter, then one unit per worker. A launch returns when all its
 * units are done, so the scratch memory can be freed at once. */
static void run(adzi_kernel kernel, const adzi_attention_args *args, size_t scratch)
{
    adzi_launch(begin_tasks, adzi_attention_args, args, 1, 1);
    adzi_launch(kernel, adzi_attention_args, args, args->workers, 1);
    free_scratch(args, scratch);
}

/* ---- backward ------------------------------------------------------------------------------- */

/* Reads the saved inputs, mask and state. Returns false with the error recorded if one has changed
 * since the forward. What the call did not have becomes ADZ_NONE. */
static bool saved(adzi_node *node, adz_tensor **in, adz_tensor **kept, adz_tensor **state)
{
    const adzi_attention *at = adzi_attr(node, adzi_attention);
    for (int i = 0; i < ADZI_ATTENTION_INPUTS; ++i) {
        in[i] = i < ADZI_MASK || at->masked ? adzi_saved_input(node, i) : ADZ_NONE;
        if (in[i] == NULL) {
            return false;
        }
    }
    *kept = at->replays ? adzi_saved_extra(node, KEPT) : ADZ_NONE;
    *state = adzi_attention_draws(at) ? adzi_saved_extra(node, STATE) : ADZ_NONE;
    return *kept != NULL && *state != NULL;
}

/* ---- results -------------------------------------------------------------------------------- */

/* Allocates a tensor [..., rows, columns]. Its dimensions have the order in memory of those of
 * `like`. Queries [B, T, H, E] seen as [B, H, T, E] give such a result, whose heads are then joined
 * without a copy. `plain` asks for a contiguous tensor. `like` of another rank than the result
 * gives one, too. */
static adz_tensor *new_like(
    const adzi_attention *at, int64_t rows, int64_t columns, const adz_tensor *like, bool plain)
{
    int rank = at->batch_rank + 2, order[ADZ_MAX_RANK], position[ADZ_MAX_RANK];
    int64_t sizes[ADZ_MAX_RANK], ordered[ADZ_MAX_RANK], numel;
    bool same = true;
    for (int i = 0; i < rank; ++i) {
        sizes[i] = i < rank - 2 ? at->batch[i] : i < rank - 1 ? rows : columns;
        order[i] = i;
    }
    /* An insertion sort by stride, largest first. Columns stay last. */
    for (int i = 1; !plain && like->rank == rank && i < rank - 1; ++i) {
        for (int k = i; k > 0 && like->strides[order[k - 1]] < like->strides[order[k]]; --k) {
            int other = order[k];
            order[k] = order[k - 1];
            order[k - 1] = other;
        }
    }
    for (int i = 0; i < rank; ++i) {
        ordered[i] = sizes[order[i]];
        position[order[i]] = i;
        same = same && order[i] == i;
    }
    adz_dtype dtype = (adz_dtype)like->dtype;
    if (adzi_check_sizes(name, rank, ordered, dtype, &numel) != ADZ_OK) {
        return NULL;
    }
    adz_tensor *t = adzi_scratch(name, dtype, rank, ordered);
    adzi_trace_constant(t); /* a permutation of it becomes the result of the call */
    return same || t == NULL ? t : adz_permute(t, adz_dims_of(rank, position));
}

/* Allocates the gradient of input i if it is wanted. It has the broadcast leading dimensions; the
 * engine sums over them. Keys and values have S rows, queries and masks L. The gradient of a mask
 * is contiguous [..., L, S], as its kernel writes it. The operand of a gradient that nobody wants
 * keeps a NULL pointer, which tells the kernel to skip it. */
static bool new_gradient(
    adzi_node *node, int i, adz_tensor *const *in, adz_tensor **dx, adzi_attention_operand *operand)
{
    const adzi_attention *at = adzi_attr(node, adzi_attention);
    int64_t rows = i == ADZI_KEY || i == ADZI_VALUE ? at->s : at->l;
    int64_t columns = i == ADZI_MASK ? at->s : i == ADZI_VALUE ? at->ev : at->e;
    if (!adzi_needs(node, i)) {
        return true;
    }
    dx[i] = new_like(at, rows, columns, in[i], i == ADZI_MASK);
    if (dx[i] != NULL) {
        *operand = operand_of(at, dx[i]);
    }
    return dx[i] != NULL;
}

/* All gradients in one pass over the blocks of p. A task is one matrix of the batch, because dk and
 * dv sum over all its queries. Inputs without contiguous rows are copied again; the copies of the
 * forward were not saved. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adzi_attention *at = adzi_attr(node, adzi_attention);
    adz_tensor *in[ADZI_ATTENTION_INPUTS], *kept, *state, *g = with_whole_rows(dy[0]);
    adz_tensor *stats = adzi_saved_extra(node, STATS), *y = adzi_saved_extra(node, Y);
    if (g == NULL || stats == NULL || y == NULL || !saved(node, in, &kept, &state)) {
        return adzi_status(NULL);
    }
    for (int i = 0; i < ADZI_MASK; ++i) {
        if ((in[i] = with_whole_rows(in[i])) == NULL) {
            return adzi_status(NULL);
        }
    }
    adz_dtype dtype = (adz_dtype)y->dtype;
    adzi_attention_args args = arguments(at, in, kept, state);
    args.dy = operand_of(at, g);
    args.y = operand_of(at, y);
    args.stats = stats->data;
    args.tasks = at->batch_size;
    adzi_attention_operand *dx_of[] = { &args.dq, &args.dk, &args.dv, &args.dmask };
    for (int i = 0; i < ADZI_ATTENTION_INPUTS; ++i) {
        if (!new_gradient(node, i, in, dx, dx_of[i])) {
            return adzi_status(NULL);
        }
    }
    size_t scratch = take_scratch(&args, dtype, backward_scratch(&args));
    if (args.scratch == NULL) {
        return adzi_status(NULL);
    }
    run(KERNEL_FOR(attention_backward, dtype), &args, scratch);
    return ADZ_OK;
}

/* The forward as an expression, which holds all probabilities. Dropout has one for the derived
 * backward only: its mask is drawn, or is no input of the node. A mask that was drawn is drawn
 * again from the saved state. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const adzi_attention *at = attr;
    const bool draws = adzi_attention_draws(at);
    adz_tensor *kept = at->replays ? adzi_derived_extra(attr, KEPT) : NULL;
    adz_tensor *state = draws ? adzi_derived_extra(attr, STATE) : NULL;
    if (kept == ADZ_NONE || state == ADZ_NONE) {
        return adzi_error(name, ADZ_ERR_UNSUPPORTED,
            "dropout of attention in training has no expression; call adz_module_eval");
    }
    if ((at->replays && kept == NULL) || (draws && state == NULL)) {
        return adzi_status(NULL);
    }
    adz_tensor *p = adzi_attention_probabilities(at, in[ADZI_QUERY], in[ADZI_KEY], in[ADZI_MASK]);
    kept = at->replays ? kept : ADZ_NONE;
    y[0] = adz_matmul(adzi_attention_dropout(at, p, kept, state), in[ADZI_VALUE]);
    return adzi_status(y[0]);
}

static const adz_field fields[] = { ADZI_FIELD(adzi_attention, dropout_p),
    ADZI_FIELD_NAMED(adzi_attention, causal, "is_causal"), ADZI_FIELD(adzi_attention, scale),
    ADZI_FIELD_HIDDEN_LIST(adzi_attention, batch_rank, batch),
    ADZI_FIELD_HIDDEN(adzi_attention, batch_size), ADZI_FIELD_HIDDEN(adzi_attention, l),
    ADZI_FIELD_HIDDEN(adzi_attention, s), ADZI_FIELD_HIDDEN(adzi_attention, e),
    ADZI_FIELD_HIDDEN(adzi_attention, ev), ADZI_FIELD_HIDDEN(adzi_attention, masked),
    ADZI_FIELD_HIDDEN(adzi_attention, drops), ADZI_FIELD_HIDDEN(adzi_attention, replays) };

const adzi_op adzi_op_scaled_dot_product_attention = {
    .name = name, .fused = fused, ADZI_FIELDS(fields), .expression = expression
};

/* ---- the call ------------------------------------------------------------------------------- */

/* An optional tensor. NULL means that it is left out, unless an error is pending: then it is the
 * result of a failed call. */
static adz_tensor *given(adz_tensor *t)
{
    return t == NULL && adzi_pending() == ADZ_OK ? ADZ_NONE : t;
}

/* The dropout mask as bool: kept where it is not 0. It is detached, because no gradient flows to
 * it. */
static adz_tensor *as_bool(adz_tensor *kept)
{
    if (adzi_is_none(kept) || kept->dtype == ADZ_BOOL) {
        return kept;
    }
    return adz_ne_number(adz_detach(kept), 0);
}

/* Saves what the backward reads: the inputs, and of the extras those that the call has. */
static void save(adzi_call *call, const adzi_attention *at, adz_tensor *const *extras)
{
    for (int i = 0; i < ADZI_MASK + at->masked; ++i) {
        adzi_save_input(call, i);
    }
    for (int i = 0; i < EXTRAS; ++i) {
        if (!adzi_is_none(extras[i])) {
            adzi_save_extra(call, i, extras[i]);
        }
    }
}

/* The call is written out, because the result lies in memory as the queries do, which the form does
 * not make. Makes the result, records the node and launches. A task is ADZI_ATTENTION_GROUP queries
 * of one matrix. Statistics are written for the backward only. All memory is taken before the
 * recording, because it may be refused; scratch memory is no tensor of the scope and is freed by
 * hand. Without a recording `stats` and `result` stand for y, and nothing is saved. */
static adz_tensor *attend(
    adzi_call *call, const adzi_attention *at, adz_tensor *kept, const adz_generator *generator)
{
    adz_tensor *in[ADZI_ATTENTION_INPUTS];
    for (int i = 0; i < ADZI_ATTENTION_INPUTS; ++i) {
        in[i] = i < ADZI_MASK ? with_whole_rows(call->in[i]) : call->in[i];
        if (in[i] == NULL) {
            return NULL;
        }
    }
    adz_dtype dtype = (adz_dtype)in[ADZI_QUERY]->dtype;
    int64_t stats_sizes[] = { at->batch_size, 2, at->l };
    adz_tensor *y = new_like(at, at->l, at->ev, in[ADZI_QUERY], false), *stats = y, *result = y;
    if (y != NULL && call->record) {
        stats = adzi_scratch(name, dtype, 3, stats_sizes);
        result = adz_detach(y); /* the header of y itself would close a cycle with the node */
    }
    adz_tensor *state = ADZ_NONE;
    if (generator != NULL) { /* the backward draws the same mask again */
        state = call->second = adzi_scratch(name, ADZ_I64, 1, &(int64_t){ 2 });
    }
    if (stats == NULL || result == NULL || state == NULL) {
        return NULL;
    }
    adzi_attention_args args = arguments(at, in, kept, state);
    args.y = operand_of(at, y);
    args.stats = call->record ? stats->data : NULL;
    join_heads(&args);
    args.tasks = args.batch_size * ((args.l + ADZI_ATTENTION_GROUP - 1) / ADZI_ATTENTION_GROUP);
    size_t scratch = take_scratch(&args, dtype, forward_scratch(&args));
    if (args.scratch == NULL) {
        return NULL;
    }
    if (!adzi_record_extra(call, 1, &y, EXTRAS, at, sizeof *at)) {
        free_scratch(&args, scratch);
        return NULL;
    }
    save(call, at, (adz_tensor *[EXTRAS]){ stats, result, kept, state });
    if (generator != NULL) {
        adzi_generator_copy_state(state_in(state), &generator->state);
    }
    run(KERNEL_FOR(attention, dtype), &args, scratch);
    return adzi_leave(call, y);
}

/* Checks the call, computes it and then advances the generator by the random numbers of all rows.
 * The generator advances only after success, so a call that failed can be repeated. */
adz_tensor *adz_scaled_dot_product_attention(
    adz_tensor *query, adz_tensor *key, adz_tensor *value, const adz_attention_options *options)
{
    adz_attention_options o;
    if (!ADZI_OPTIONS_TAKE(name, adz_attention_options, ADZ_ATTENTION_OPTIONS, &o, options)) {
        return NULL;
    }
    if (o.enable_gqa || o.sliding_window > 0) {
        return adzi_attention_narrowed(query, key, value, &o);
    }
    adz_tensor *attn_mask = given(o.attn_mask), *kept = given(o.dropout_mask);
    adzi_call call;
    adzi_attention at;
    if (!ADZI_ENTER_OPTIONAL(&call, scaled_dot_product_attention, ADZI_OPTIONAL(ADZI_MASK), query,
            key, value, attn_mask) ||
        (kept != ADZ_NONE && !adzi_check_tensor(name, "dropout_mask", kept)) ||
        !adzi_attention_check(&at, &o, call.in, kept)) {
        return NULL;
    }
    /* A dropout mask is no input of the node, so a trace would lose it. */
    if (at.replays && !adzi_may_draw("dropout of scaled_dot_product_attention")) {
        return NULL;
    }
    kept = at.replays ? as_bool(kept) : ADZ_NONE;
    /* Without dropout no generator is touched, not even the default one. */
    const bool draws = adzi_attention_draws(&at);
    adz_generator *generator = draws ? adzi_generator_or_default(o.generator) : NULL;
    if (kept == NULL || (draws && generator == NULL)) {
        return NULL;
    }
    adz_tensor *y = attend(&call, &at, kept, generator);
    if (y != NULL && draws) { /* only now: a call that failed has drawn nothing */
        int64_t words = at.batch_size * at.l * adzi_attention_row_words(&at);
        adzi_generator_advance(generator, adzi_philox_counters(words, ADZI_DRAW_WORD));
    }
    return y;
}
