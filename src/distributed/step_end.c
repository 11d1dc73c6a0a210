/* The end of a step: the sum is complete, and the ranks tell each other what they have computed.
 *
 * Note [Records]
 *
 * At the end of a step each rank has a record of each of its micro-batches: loss, step and rows,
 * which parameters have a gradient, batch norm's statistics. One all-gather gives all records to
 * all ranks. So every rank finds the same mistakes and reports the same error, and no rank waits
 * for another one's answer. If a record says that its rank has failed, the ranks compare their
 * calls once more (Note [Agreement]), which carries the reason to all of them. */
#include <string.h>

#include "base/capture.h"
#include "adze/data/loader.h"
#include "autograd/leaf.h"
#include "base/error.h"
#include "distributed/agreement.h"
#include "distributed/data_parallel.h"
#include "tensor/tensor.h"

static const char op[] = "adz_data_parallel_end";

/* ---- what the records say ------------------------------------------------------------------- */

static int rank_of(const adz_data_parallel *p, int micro)
{
    int rank = 0;
    while (adz_loader_cut(p->micro_batches, p->group->size, rank + 1) <= micro) {
        ++rank;
    }
    return rank;
}

static bool has_gradient(const adz_data_parallel *p, int micro, size_t parameter)
{
    return (adzi_parallel_mask(p, micro)[parameter / 64] >> parameter % 64 & 1) != 0;
}

static adz_status report_step(const adz_data_parallel *p, int micro)
{
    const adzi_micro_record *a = adzi_parallel_record(p, 0), *b = adzi_parallel_record(p, micro);
    return adzi_error(op, ADZ_ERR_STATE,
        "the ranks differ in their steps: rank 0 is in step %lld with %lld rows, rank %d in step %lld with %lld rows",
        (long long)a->step, (long long)a->rows, rank_of(p, micro), (long long)b->step,
        (long long)b->rows);
}

static adz_status report_gradient(const adz_data_parallel *p, int micro, size_t parameter)
{
    const adz_flat_slice s = adz_flat_parameters_slice_at(p->flat, parameter);
    const bool first = has_gradient(p, 0, parameter);
    const int with = first ? 0 : micro, without = first ? micro : 0;
    return adzi_error(op, ADZ_ERR_STATE,
        "parameter %zu%s has a gradient from micro-batch %d (rank %d) and none from micro-batch %d (rank %d); every micro-batch must use it, or none",
        parameter, adzi_text_shape(s.parameter), with, rank_of(p, with), without,
        rank_of(p, without));
}

/* Compares the records with that of micro-batch 0. */
static adz_status check_records(const adz_data_parallel *p)
{
    const adzi_micro_record *first = adzi_parallel_record(p, 0);
    for (int m = 1; m < p->micro_batches; ++m) {
        const adzi_micro_record *r = adzi_parallel_record(p, m);
        if (r->step != first->step || r->rows != first->rows) {
            return report_step(p, m);
        }
        for (size_t i = 0; i < p->n_parameters; ++i) {
            if (has_gradient(p, m, i) != has_gradient(p, 0, i)) {
                return report_gradient(p, m, i);
            }
        }
    }
    return ADZ_OK;
}

/* Whether a rank has failed. */
static bool has_failed(const adz_data_parallel *p)
{
    bool failed = false;
    for (int m = 0; m < p->micro_batches; ++m) {
        failed = failed || adzi_parallel_record(p, m)->status != ADZ_OK;
    }
    return failed;
}

/* Adds the losses along the tree of the gradients. */
static double sum_losses(const adz_data_parallel *p)
{
    adzi_tree_node list[ADZI_TREE_NODES];
    double sums[ADZI_TREE_NODES];
    int count = 0;
    for (int m = 0; m < p->micro_batches; ++m) {
        const int before = count;
        const int joins = adzi_tree_push(list, &count, (adzi_tree_node){ 0, m }, p->micro_batches);
        double sum = adzi_parallel_record(p, m)->loss;
        for (int k = 1; k <= joins; ++k) {
            sum = sums[before - k] + sum;
        }
        sums[count - 1] = sum;
    }
    return sums[0];
}

/* ---- ending --------------------------------------------------------------------------------- */

/* Records, before anything is sent, what is wrong on this rank alone. */
static void check_complete(adz_data_parallel *p)
{
    if (adzi_pending() != ADZ_OK) {
        return;
    }
    if (p->stage == ADZI_BETWEEN_STEPS) {
        adzi_error(op, ADZ_ERR_STATE, "no step has begun; call adz_data_parallel_begin first");
    } else if (p->stage == ADZI_IN_MICRO || p->micro + 1 < p->count) {
        adzi_error(op, ADZ_ERR_STATE,
            "micro-batch %d has no gradient; call adz_data_parallel_next until it returns false, and adz_data_parallel_backward for each micro-batch",
            p->first + p->micro + (p->stage == ADZI_IN_MICRO ? 0 : 1));
    }
}

static void fill_records(const adz_data_parallel *p)
{
    for (int k = 0; k < p->count; ++k) {
        adzi_micro_record *r = adzi_parallel_record(p, p->first + k);
        r->step = p->step;
        r->rows = p->rows;
        r->status = adzi_pending();
    }
}

/* Sends what has to be sent, with no error recorded: the messages are owed to the other ranks also
 * if this rank has failed. */
static adz_status exchange(adz_data_parallel *p)
{
    adzi_error_record *error = &adzi_self()->error;
    const adzi_error_record own = *error;
    fill_records(p);
    error->code = ADZ_OK;
    adz_status status = adzi_group_ready(op, p->group);
    if (status == ADZ_OK && !p->no_sync) {
        adzi_sender_begin_late(p);
        status = adzi_sender_finish(op, p);
    }
    if (status == ADZ_OK && p->group->size > 1) {
        status = adzi_gather_slices(op, p->group, p->records, p->records_begin, ADZI_TAG_RECORDS);
    }
    if (own.code != ADZ_OK) {
        *error = own;
        return status == ADZ_OK ? ADZ_OK : own.code;
    }
    return status;
}

/* Makes the sums the gradients of their parameters. */
static void attach(adz_data_parallel *p)
{
    for (size_t i = 0; i < p->n_parameters; ++i) {
        adzi_gradient *gradient = adz_flat_parameters_slice_at(p->flat, i).parameter->gradient;
        if (has_gradient(p, 0, i)) {
            adzi_gradient_placed(gradient, op);
        }
    }
}

static void apply_statistics(const adz_data_parallel *p)
{
    const size_t n = adzi_micro_state_numbers(p->state);
    for (int m = 0; m < p->micro_batches && n > 0; ++m) {
        memcpy(p->numbers + (size_t)m * n, adzi_parallel_numbers(p, m), n * sizeof(double));
    }
    adzi_micro_state_apply(p->state, p->numbers);
}

static adz_status finish(adz_data_parallel *p, double *loss)
{
    adz_status status = exchange(p);
    if (status == ADZ_OK && has_failed(p)) {
        adzi_group_call call = { .operation = ADZI_GROUP_CALL_STEP_END };
        status = adzi_agree(op, p->group, &call);
    }
    if (status == ADZ_OK) {
        status = check_records(p);
    }
    if (status != ADZ_OK) {
        return status;
    }
    if (!p->no_sync) {
        attach(p);
        status = adzi_sender_order(op, p);
    }
    apply_statistics(p);
    if (loss != NULL) {
        *loss = sum_losses(p);
    }
    return status;
}

/* Drops all gradients, those of parameters that the module has lost as well. */
static void drop_gradients(adz_data_parallel *p)
{
    for (size_t i = 0; i < p->n_parameters; ++i) {
        adzi_gradient_drop(adz_flat_parameters_slice_at(p->flat, i).parameter->gradient);
    }
    p->keeps = false;
}

adz_status adz_data_parallel_end(adz_data_parallel *p, double *loss)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    if (p == NULL) {
        return adzi_error_null(op, "parallel");
    }
    check_complete(p);
    adzi_parallel_leave(p);
    const adz_status status = finish(p, loss);
    if (status != ADZ_OK) {
        drop_gradients(p);
    } else {
        p->keeps = p->no_sync;
    }
    p->sender.has_begun = false;
    return status;
}

adz_status adz_data_parallel_no_sync(adz_data_parallel *p, bool no_sync)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char name[] = "adz_data_parallel_no_sync";
    if (p == NULL) {
        return adzi_error_null(name, "parallel");
    }
    if (!p->fast) {
        return adzi_error(name, ADZ_ERR_STATE,
            "it needs the option `fast`; without it take more micro-batches, which add up in the same way");
    }
    if (p->stage != ADZI_BETWEEN_STEPS) {
        return adzi_error(name, ADZ_ERR_STATE, "a step has begun; call it between two steps");
    }
    p->no_sync = no_sync;
    return ADZ_OK;
}

uint64_t adz_data_parallel_bytes_sent(const adz_data_parallel *p)
{
    ADZI_NOT_CAPTURED(ADZI_READS_SETTING, 0);
    if (p == NULL) {
        adzi_error_null("adz_data_parallel_bytes_sent", "parallel");
        return 0;
    }
    return p->sender.sent;
}
