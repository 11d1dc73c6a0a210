/* A step of data-parallel training: micro-batch by micro-batch. */
#include <string.h>

#include "adze/data/loader.h"
#include "adze/ops/arithmetic.h"
#include "autograd/engine.h"
#include "base/error.h"
#include "base/capture.h"
#include "distributed/data_parallel.h"
#include "nn/module.h"
#include "tensor/random/philox.h"
#include "tensor/tensor.h"

/* ---- generators ----------------------------------------------------------------------------- */

/* The state of generator k before a micro-batch: a seed made of (seed, step, micro-batch, k). */
static adz_generator_state state_of(const adz_data_parallel *p, int micro, size_t k)
{
    const uint64_t step = (uint64_t)p->step;
    const uint32_t key[2] = { (uint32_t)p->seed, (uint32_t)(p->seed >> 32) };
    const uint32_t counter[4] = { (uint32_t)step, (uint32_t)(step >> 32), (uint32_t)micro,
        (uint32_t)k };
    uint32_t words[4];
    adzi_philox(words, counter, key);
    return (adz_generator_state){ (uint64_t)words[1] << 32 | words[0], 0 };
}

static void restore_generators(adz_data_parallel *p)
{
    for (size_t k = 0; k < p->n_generators; ++k) {
        adz_generator_set_state(p->generators[k], p->before[k]);
    }
}

/* ---- watching a backward --------------------------------------------------------------------- */

/* Lets messages go on while a backward runs. */
static void watch(adz_data_parallel *p)
{
    p->watched_before = adzi_watch_nodes((adzi_node_watch){ adzi_sender_progress, p });
    p->watches = true;
}

static void stop_watching(adz_data_parallel *p)
{
    if (p->watches) {
        adzi_watch_nodes(p->watched_before);
        p->watches = false;
    }
}

/* ---- leaving -------------------------------------------------------------------------------- */

/* Leaves the micro-batch that is entered, if there is one. */
static void leave_micro(adz_data_parallel *p)
{
    if (p->stage == ADZI_IN_MICRO || p->stage == ADZI_AFTER_MICRO) {
        adzi_micro_state_leave(p->state, adzi_parallel_numbers(p, p->first + p->micro));
        p->stage = ADZI_IN_STEP;
    }
}

/* Ends the step, whether it went well or not. */
void adzi_parallel_leave(adz_data_parallel *p)
{
    stop_watching(p); /* a jump may have left the backward */
    leave_micro(p);
    if (p->stage != ADZI_BETWEEN_STEPS) {
        restore_generators(p);
    }
    p->stage = ADZI_BETWEEN_STEPS;
}

adz_status adz_data_parallel_leave(adz_data_parallel *p)
{
    static const char op[] = "adz_data_parallel_leave";
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    if (p == NULL) {
        return adzi_error_null(op, "parallel");
    }
    if (p->group->size > 1) {
        return adzi_error(op, ADZ_ERR_STATE,
            "the group has %d ranks, and each of them needs the others' gradients; call adz_data_parallel_end",
            p->group->size);
    }
    adzi_parallel_leave(p);
    return adzi_pending();
}

/* ---- beginning ------------------------------------------------------------------------------ */

/* Whether the module has the parameters that were laid out. Only a module that was changed since
 * the last check is looked through. */
static adz_status check_model(const char *op, adz_data_parallel *p)
{
    const adzi_listing *listing = adzi_module_listing(op, p->module);
    if (listing == NULL || listing->stamp == p->checked) {
        return listing != NULL ? ADZ_OK : adz_error_code();
    }
    const adz_status status = adz_flat_parameters_check(p->flat, adz_module_parameters(p->module));
    p->checked = status == ADZ_OK ? listing->stamp : 0;
    return status;
}

static adz_status check_begin(const char *op, adz_data_parallel *p, int64_t step, int64_t rows)
{
    if (step < 0) {
        return adzi_error(
            op, ADZ_ERR_ARGUMENT, "step is %lld, but must be 0 or more", (long long)step);
    }
    if (rows < p->micro_batches) {
        return adzi_error(op, ADZ_ERR_ARGUMENT,
            "a batch of %lld row%s cannot be cut into %d micro-batches; take larger batches, fewer micro-batches, or leave out the last batch of an epoch (drop_last)",
            (long long)rows, rows == 1 ? "" : "s", p->micro_batches);
    }
    return check_model(op, p);
}

/* Why a plan captures no part of a data-parallel step. */
static const char sends[] = "its numbers and messages belong to one step";

adz_status adz_data_parallel_begin(adz_data_parallel *p, int64_t step, int64_t rows)
{
    static const char op[] = "adz_data_parallel_begin";
    if (p == NULL) {
        return adzi_error_null(op, "parallel");
    }
    if (adzi_is_captured(op, sends)) {
        return ADZ_ERR_STATE;
    }
    if (p->stage != ADZI_BETWEEN_STEPS && p->group->size > 1) {
        return adzi_error(op, ADZ_ERR_STATE,
            "the step before has not ended; all ranks call adz_data_parallel_end, also after an error");
    }
    adzi_parallel_leave(p);
    p->step = step;
    p->rows = rows;
    p->micro = -1;
    p->n_nodes = 0;
    p->sender.has_begun = false;
    p->sender.n_started = p->sender.n_ended = p->sender.n_buckets;
    memset(p->records, 0, p->record_bytes * (size_t)p->micro_batches);
    for (size_t k = 0; k < p->n_generators; ++k) {
        p->before[k] = adz_generator_get_state(p->generators[k]);
    }
    p->stage = ADZI_IN_STEP;
    if (adzi_refused(op) != ADZ_OK) {
        return adzi_pending();
    }
    const adz_status status = check_begin(op, p, step, rows);
    return status == ADZ_OK && !p->keeps ? adz_module_zero_grad(p->module) : status;
}

/* ---- micro-batches -------------------------------------------------------------------------- */

static adz_micro_batch micro_at(const adz_data_parallel *p, int index)
{
    const int64_t begin = adz_loader_cut(p->rows, p->micro_batches, index);
    const int64_t count = adz_loader_cut(p->rows, p->micro_batches, index + 1) - begin;
    return (adz_micro_batch){ .index = index,
        .begin = begin,
        .first = begin - adz_loader_cut(p->rows, p->micro_batches, p->first),
        .count = count,
        .weight = (double)count / (double)p->rows };
}

bool adz_data_parallel_next(adz_data_parallel *p, adz_micro_batch *micro)
{
    static const char op[] = "adz_data_parallel_next";
    if (p == NULL || micro == NULL) {
        adzi_error_null(op, p == NULL ? "parallel" : "micro");
        return false;
    }
    if (adzi_is_captured(op, sends)) {
        return false;
    }
    if (adzi_refused(op) != ADZ_OK) {
        return false;
    }
    if (p->stage == ADZI_BETWEEN_STEPS) {
        adzi_error(op, ADZ_ERR_STATE, "no step has begun; call adz_data_parallel_begin first");
        return false;
    }
    if (p->stage == ADZI_IN_MICRO) {
        adzi_error(op, ADZ_ERR_STATE,
            "micro-batch %d has no gradient; call adz_data_parallel_backward for each one",
            p->first + p->micro);
        return false;
    }
    leave_micro(p);
    if (p->micro + 1 >= p->count) {
        return false;
    }
    const int index = p->first + p->micro + 1;
    if (adzi_micro_state_enter(op, p->state, index) != ADZ_OK) {
        return false;
    }
    ++p->micro;
    p->stage = ADZI_IN_MICRO;
    for (size_t k = 0; k < p->n_generators; ++k) {
        adz_generator_set_state(p->generators[k], state_of(p, index, k));
    }
    *micro = micro_at(p, index);
    return true;
}

/* ---- backward ------------------------------------------------------------------------------- */

/* A parameter's gradient is complete. */
adz_status adzi_parallel_ready(adz_tensor *leaf, void *user)
{
    const adzi_parallel_parameter *parameter = user;
    adz_data_parallel *p = parameter->parallel;
    if (p->stage != ADZI_IN_MICRO) {
        return ADZ_OK; /* a backward of the program's own */
    }
    uint64_t *word = adzi_parallel_mask(p, p->first + p->micro) + parameter->index / 64;
    const uint64_t bit = (uint64_t)1 << parameter->index % 64;
    if ((*word & bit) != 0) {
        return adzi_error("adz_data_parallel_backward", ADZ_ERR_STATE,
            "parameter %zu%s got a second gradient in one backward, when the first may have been sent: it is used inside and outside of an activation checkpoint; use it on one side alone",
            parameter->index, adzi_text_shape(leaf));
    }
    *word |= bit;
    adzi_sender_count(p, parameter->bucket);
    adzi_sender_go_on(p);
    return ADZ_OK;
}

/* Computes the gradients. In the last micro-batch the buckets travel meanwhile. */
static adz_status run_backward(adz_data_parallel *p, adz_tensor *loss, double weight)
{
    const bool last = p->micro + 1 == p->count && !p->no_sync;
    if (last) {
        adzi_sender_begin(p);
    }
    if (last && p->group->size > 1) {
        watch(p);
    }
    const adz_status status = adz_backward(weight == 1 ? loss : adz_mul_number(loss, weight));
    stop_watching(p);
    if (status == ADZ_OK && !last) {
        adzi_parallel_push(p);
    }
    return status;
}

adz_status adz_data_parallel_backward(adz_data_parallel *p, adz_tensor *loss, double weight)
{
    static const char op[] = "adz_data_parallel_backward";
    if (p == NULL) {
        return adzi_error_null(op, "parallel");
    }
    if (adzi_is_captured(op, sends)) {
        return ADZ_ERR_STATE;
    }
    if (adzi_refused(op) != ADZ_OK) {
        return adzi_pending();
    }
    if (p->stage != ADZI_IN_MICRO) {
        return adzi_error(op, ADZ_ERR_STATE,
            p->stage == ADZI_AFTER_MICRO ? "the micro-batch has its gradient already"
                                         : "there is no micro-batch; call adz_data_parallel_next");
    }
    if (!adzi_check_tensor(op, "loss", loss)) {
        return adz_error_code();
    }
    const adz_status hooked = adzi_parallel_hook(p);
    const adz_status status = hooked == ADZ_OK ? run_backward(p, loss, weight) : hooked;
    if (status == ADZ_OK) {
        adzi_micro_record *record = adzi_parallel_record(p, p->first + p->micro);
        record->loss = adz_item(loss) * weight;
        p->stage = ADZI_AFTER_MICRO;
    }
    return adzi_pending();
}
