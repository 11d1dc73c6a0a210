/* Averages of weights, and the statistics of batch norms for them, as torch.optim.swa_utils. */
#include "adze/optim/averaged_model.h"

#include <math.h>

#include "adze/nn/type.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/compare.h"
#include "adze/ops/convert.h"
#include "adze/options.h"
#include "base/door.h"
#include "base/error.h"
#include "nn/batch_norm.h"
#include "nn/module.h"

/* ---- the module ----------------------------------------------------------------------------- */

static const adz_field fields[] = {
    ADZ_FIELD(adz_averaged_model_options, decay, .value = ADZ_MEAN_OF_ALL, ADZ_CLOSED(0, 1),
        .none = ADZ_MEAN_OF_ALL, .none_name = "ADZ_MEAN_OF_ALL"),
    ADZ_FIELD(adz_averaged_model_options, use_buffers, .value = false),
};

ADZ_OPTIONS_TABLE(adz_averaged_model_options, ADZ_AVERAGED_MODEL_OPTIONS, fields)

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    return adz_module_forward(adzi_child_at(self, 0), x);
}

static adz_status call(adz_module *self, const adz_values *in, adz_values *out)
{
    return adz_module_call(adzi_child_at(self, 0), in, out);
}

static const adz_module_type averaged_type = {
    .size = sizeof(adz_module_type),
    .name = "AveragedModel",
    .forward = forward,
    .call = call,
};

adz_module *adz_averaged_model_new(adz_module *model, const adz_averaged_model_options *options)
{
    static const char op[] = "adz_averaged_model_new";
    adz_averaged_model_options o;
    if (model == NULL) {
        return adzi_fail_null(op, "model");
    }
    if (!adz_options_take(op, &adz_averaged_model_options_table, &o, options)) {
        return NULL;
    }
    adz_module *copy = adz_module_copy(model);
    adz_module *self = copy != NULL ? adz_module_new(&averaged_type, sizeof o) : NULL;
    if (self == NULL) {
        adz_module_release(&copy);
        return NULL;
    }
    *(adz_averaged_model_options *)adz_module_data(self) = o;
    adz_scope *scope = adz_scope_open();
    const bool good = adz_module_add_child(self, "module", copy) != NULL && scope != NULL &&
                      adz_module_add_buffer(self, "n_averaged", adz_scalar(0, ADZ_I64), true);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    if (good) {
        adz_module_train(self, adz_module_is_training(model));
    } else {
        adz_module_release(&self);
    }
    return self;
}

/* ---- updates -------------------------------------------------------------------------------- */

typedef struct {
    adz_module *averaged, *model;
    const adz_averaged_model_options *o;
    adz_tensor *n, *first; /* the number of updates before this one, and whether it is 0 */
} update;

/* Takes w into the average a. */
static bool average(const update *u, adz_tensor *a, adz_tensor *w)
{
    adz_tensor *mixed;
    if (u->o->decay == ADZ_MEAN_OF_ALL) {
        mixed = adz_add(a, adz_div(adz_sub(w, a), adz_add_number(u->n, 1)));
    } else {
        mixed = adz_add(adz_mul_number(a, u->o->decay), adz_mul_number(w, 1 - u->o->decay));
    }
    return mixed != NULL && adz_copy_(a, adz_where(u->first, w, mixed)) != NULL;
}

/* Averages, or copies, tensors of the model. Those that are ADZ_NONE are left out. */
static bool take_all(const update *u, adz_named_list to, adz_named_list from, bool averages)
{
    bool good = true;
    for (size_t i = 0; i < to.count && good; ++i) {
        adz_tensor *a = to.items[i].tensor, *w = from.items[i].tensor;
        if (adzi_is_none(a) || adzi_is_none(w)) {
            continue;
        }
        good = averages ? average(u, a, w) : adz_copy_(a, w) != NULL;
    }
    return good;
}

static bool check_counts(const char *what, size_t ours, size_t theirs)
{
    if (ours != theirs) {
        adzi_error("adz_averaged_model_update", ADZ_ERR_ARGUMENT,
            "the averaged model has %zu %s, and the model %zu; give the model that was copied",
            ours, what, theirs);
    }
    return ours == theirs;
}

static bool run_update(void *state)
{
    update *u = state;
    adz_module *copy = adzi_child_at(u->averaged, 0);
    const adz_named_list to = adz_module_named_parameters(copy);
    const adz_named_list from = adz_module_named_parameters(u->model);
    const adz_named_list buffers = adz_module_named_buffers(copy);
    const adz_named_list their_buffers = adz_module_named_buffers(u->model);
    adz_tensor *count = adz_module_buffer_at(u->averaged, 0);
    if (adzi_pending() != ADZ_OK || !check_counts("parameters", to.count, from.count) ||
        !check_counts("buffers", buffers.count, their_buffers.count)) {
        return false;
    }
    u->n = adz_to(count, ADZ_F32);
    u->first = adz_eq_number(count, 0);
    return u->n != NULL && u->first != NULL && take_all(u, to, from, true) &&
           take_all(u, buffers, their_buffers, u->o->use_buffers) &&
           adz_add_number_(count, 1) != NULL;
}

/* Runs a function in a scope of its own, in which nothing is recorded. */
static adz_status run_unrecorded(const char *op, bool (*run)(void *), void *state)
{
    const adzi_door door = { .op = op, .mode = ADZI_DOOR_RECORDS_NOTHING };
    adz_scope *scope = adz_scope_open();
    const bool good = scope != NULL && adzi_through_door(&door, run, state);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good ? ADZ_OK : adz_error_code();
}

adz_status adz_averaged_model_update(adz_module *averaged, adz_module *model)
{
    static const char op[] = "adz_averaged_model_update";
    if (averaged == NULL || model == NULL) {
        return adzi_error_null(op, averaged == NULL ? "averaged" : "model");
    }
    if (averaged->identity != &averaged_type) {
        return adzi_error(op, ADZ_ERR_ARGUMENT,
            "averaged is a %s; it has to be made by adz_averaged_model_new",
            adz_module_name(averaged));
    }
    update u = { .averaged = averaged, .model = model, .o = adz_module_data(averaged) };
    return run_unrecorded(op, run_update, &u);
}

/* ---- statistics of batch norms --------------------------------------------------------------- */

/* The momenta of all batch norms, which are replaced while batches are averaged. */
typedef struct {
    adz_module *model;
    adz_batch_source next;
    void *user;
    double *momenta;
    size_t n, at;
} statistics;

static adz_status count_norms(adz_module *module, void *user)
{
    ((statistics *)user)->n += adzi_batch_norm_momentum(module) != NULL ? 1 : 0;
    return ADZ_OK;
}

/* Forgets the statistics, and lets those of all batches count alike. */
static adz_status begin_norms(adz_module *module, void *user)
{
    statistics *s = user;
    double *momentum = adzi_batch_norm_momentum(module);
    if (momentum != NULL) {
        s->momenta[s->at++] = *momentum;
        *momentum = ADZ_CUMULATIVE_MOMENTUM;
        return adzi_batch_norm_reset(module);
    }
    return ADZ_OK;
}

/* Puts the momenta back. A module in two parents is visited twice, and then the second momentum
 * that was kept is the one of begin_norms. */
static adz_status end_norms(adz_module *module, void *user)
{
    statistics *s = user;
    double *momentum = adzi_batch_norm_momentum(module);
    if (momentum != NULL && s->at < s->n) {
        const double kept = s->momenta[s->at++];
        *momentum = kept != ADZ_CUMULATIVE_MOMENTUM ? kept : *momentum;
    }
    return ADZ_OK;
}

static bool run_batches(void *state)
{
    const statistics *s = state;
    adz_tensor *x = NULL;
    do {
        adz_scope *scope = adz_scope_open();
        x = scope != NULL ? s->next(s->user) : NULL;
        const bool good = x == NULL || adz_module_forward(s->model, x) != NULL;
        if (scope != NULL) {
            adz_scope_close(scope);
        }
        if (!good || adzi_pending() != ADZ_OK) {
            return false;
        }
    } while (x != NULL);
    return true;
}

adz_status adz_update_bn(adz_module *model, adz_batch_source next, void *user)
{
    static const char op[] = "adz_update_bn";
    if (model == NULL || next == NULL) {
        return adzi_error_null(op, model == NULL ? "model" : "next");
    }
    if (adzi_is_captured(op, "it calls the model on batches of the host")) {
        return adz_error_code();
    }
    statistics s = { .model = model, .next = next, .user = user };
    adz_status status = adz_module_apply(model, count_norms, &s);
    if (status != ADZ_OK || s.n == 0) {
        return status;
    }
    s.momenta = adzi_alloc(s.n * sizeof *s.momenta);
    if (s.momenta == NULL) {
        adzi_fail_memory(op, s.n * sizeof *s.momenta);
        return ADZ_ERR_MEMORY;
    }
    const bool training = adz_module_is_training(model);
    status = adz_module_apply(model, begin_norms, &s);
    const size_t begun = s.at;
    if (status == ADZ_OK) {
        status = adz_module_train(model, true);
    }
    if (status == ADZ_OK) {
        status = run_unrecorded(op, run_batches, &s);
    }
    const size_t all = s.n;
    s.at = 0;
    s.n = begun;
    adz_module_apply(model, end_norms, &s);
    adz_module_train(model, training);
    adzi_free(s.momenta, all * sizeof *s.momenta);
    return status;
}
