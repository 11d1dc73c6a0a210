/* Saving a checkpoint. All parts are collected in memory as named tensors and metadata, and written
 * as one safetensors file. Note [Saving from many ranks] says how several ranks do it. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/capture.h"
#include "distributed/agreement.h"
#include "io/checkpoint.h"
#include "io/finite.h"
#include "io/module.h"
#include "io/safetensors.h"
#include "io/scattered.h"
#include "optim/optimizer.h"
#include "tensor/copy.h"
#include "adze/options.h"

ADZ_OPTIONS_INIT(adz_checkpoint_init, adz_checkpoint, ADZ_CHECKPOINT)

/* Whether the state of a divided optimizer can be found. */
static adz_status check_division(const char *which, const adz_checkpoint *c)
{
    const adzi_sharding *s = adzi_sharding_of(c->optimizer);
    if (c->optimizer->shard == NULL || (s != NULL && s->parallel == c->parallel)) {
        return ADZ_OK;
    }
    return adzi_error(which, ADZ_ERR_STATE,
        s == NULL
            ? "adz_data_parallel_free has ended the training that divided the state of this %s among ranks"
            : "the state of this %s is divided among ranks; set `parallel` to the adz_data_parallel that adz_data_parallel_shard was called with",
        adz_optimizer_name(c->optimizer));
}

adz_status adzi_checkpoint_check(const char *which, const adz_checkpoint *c)
{
    if ((c->schedulers == NULL && c->n_schedulers > 0) ||
        (c->generators == NULL && c->n_generators > 0)) {
        return adzi_error_null(which, c->n_schedulers > 0 ? "schedulers" : "generators");
    }
    for (size_t i = 0; i < c->n_schedulers; ++i) {
        if (c->schedulers[i] == NULL) {
            return adzi_error_null(which, "a scheduler");
        }
    }
    if (c->parallel != NULL && c->parallel->stage != ADZI_BETWEEN_STEPS) {
        return adzi_error(which, ADZ_ERR_STATE,
            "a step of data-parallel training has begun; call adz_data_parallel_end first");
    }
    if (c->optimizer == NULL) {
        return ADZ_OK;
    }
    adzi_optimizer_settle(c->optimizer);
    return check_division(which, c);
}

/* Whether weights and the states of the optimizer may be saved. Records an error if not. */
static adz_status check_finite(const char *op, const adz_checkpoint *c)
{
    adz_status status = ADZ_OK;
    if (c->allow_nonfinite) {
        return status;
    }
    if (c->model != NULL) {
        status = adzi_module_check_finite(op, c->model);
    }
    size_t index = 0;
    for (size_t g = 0; c->optimizer != NULL && g < c->optimizer->n_groups; ++g) {
        const adzi_group *group = c->optimizer->groups[g];
        for (size_t i = 0; i < group->count; ++i, ++index) {
            for (int k = 0; k < c->optimizer->n_states && status == ADZ_OK; ++k) {
                char name[96];
                const adz_tensor *state = group->kept[i].state[k];
                snprintf(
                    name, sizeof name, "state.%zu.%s", index, c->optimizer->type->states[k].name);
                status = state != NULL ? adzi_check_finite(op, name, state, true) : ADZ_OK;
            }
        }
    }
    return status;
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* Sets a number as metadata. */
static adz_status set_number(const char *op, adz_safetensors *file, const char *key, int64_t value)
{
    char text[24];
    if (value < 0) {
        return adzi_error(op, ADZ_ERR_ARGUMENT, "%s is %lld, below 0", key, (long long)value);
    }
    snprintf(text, sizeof text, "%lld", (long long)value);
    return adz_safetensors_set_metadata(file, key, text);
}

/* Adds a tensor [n] of numbers of 8 bytes each. */
static adz_status add_numbers(const char *op, adz_safetensors *file, const char *name,
    adz_dtype dtype, const void *numbers, size_t n)
{
    const int64_t sizes[] = { (int64_t)n };
    adz_tensor *t = adzi_tensor_new(adzi_self(), op, dtype, 1, sizes);
    if (t == NULL) {
        return ADZ_ERR_MEMORY;
    }
    memcpy(t->data, numbers, n * 8);
    adz_status status = adz_safetensors_add(file, name, t);
    adzi_drop(t);
    return status;
}

/* ---- parts ---------------------------------------------------------------------------------- */

/* Sets JSON as metadata, as text. */
static adz_status set_json(
    const char *op, adz_safetensors *file, const char *key, const json_t *json)
{
    size_t size = json_dumpb(json, NULL, 0, JSON_COMPACT);
    char *text = size > 0 ? adzi_alloc(size + 1) : NULL;
    adz_status status = ADZ_ERR_MEMORY;
    if (text != NULL && json_dumpb(json, text, size, JSON_COMPACT) == size) {
        text[size] = '\0';
        status = adz_safetensors_set_metadata(file, key, text);
    } else {
        adzi_fail_memory(op, size);
    }
    adzi_free(text, size + 1);
    return status;
}

/* Adds the optimizer's kind and groups. */
adz_status adzi_checkpoint_add_groups(
    const char *op, adz_safetensors *file, const adz_optimizer *optimizer)
{
    json_t *json = json_pack("{s:s, s:o}", "name", adz_optimizer_name(optimizer), "param_groups",
        adzi_optimizer_groups(optimizer));
    adz_status status = ADZ_ERR_MEMORY;
    if (json != NULL) {
        status = set_json(op, file, ADZI_CHECKPOINT_OPTIMIZER, json);
    } else {
        adzi_fail_memory(op, 0);
    }
    json_decref(json);
    return status;
}

static adz_status add_optimizer(
    const char *op, adz_safetensors *file, const adz_optimizer *optimizer)
{
    adz_state_dict *state = adz_state_dict_new();
    adz_status status = state != NULL ? adzi_optimizer_collect(optimizer, state) : adz_error_code();
    for (size_t i = 0; status == ADZ_OK && i < adz_state_dict_count(state); ++i) {
        status = adz_safetensors_add(
            file, adz_state_dict_name_at(state, i), adz_state_dict_at(state, i));
    }
    adz_state_dict_free(&state);
    return status == ADZ_OK ? adzi_checkpoint_add_groups(op, file, optimizer) : status;
}

static adz_status add_scheduler(
    const char *op, adz_safetensors *file, size_t index, adz_scheduler *scheduler)
{
    char name[ADZI_CHECKPOINT_NAME];
    snprintf(name, sizeof name, ADZI_CHECKPOINT_SCHEDULER, index);
    size_t n = adz_scheduler_get_state(scheduler, NULL, 0);
    double *values = adzi_alloc(n * sizeof *values);
    if (values == NULL) {
        adzi_fail_memory(op, n * sizeof *values);
        return ADZ_ERR_MEMORY;
    }
    adz_scheduler_get_state(scheduler, values, n);
    adz_status status = add_numbers(op, file, name, ADZ_F64, values, n);
    adzi_free(values, n * sizeof *values);
    return status == ADZ_OK
               ? adz_safetensors_set_metadata(file, name, adz_scheduler_name(scheduler))
               : status;
}

static adz_status add_generator(
    const char *op, adz_safetensors *file, size_t index, const adz_generator *generator)
{
    char name[ADZI_CHECKPOINT_NAME];
    snprintf(name, sizeof name, ADZI_CHECKPOINT_GENERATOR, index);
    adz_generator_state state = adz_generator_get_state(generator);
    const uint64_t numbers[] = { state.seed, state.offset };
    return add_numbers(op, file, name, ADZ_I64, numbers, 2);
}

static adz_status add_loader(const char *op, adz_safetensors *file, adz_loader *loader)
{
    adz_loader_position p;
    adz_status status = adz_loader_get_position(loader, &p);
    const uint64_t numbers[ADZI_LOADER_NUMBERS] = { p.seed, p.epoch, (uint64_t)p.consumed,
        (uint64_t)p.rows };
    return status == ADZ_OK ? add_numbers(op, file, ADZI_CHECKPOINT_LOADER, ADZ_I64, numbers,
                                  ADZI_LOADER_NUMBERS)
                            : status;
}

/* ---- the whole checkpoint ------------------------------------------------------------------- */

adz_status adzi_checkpoint_collect(const char *op, const adz_checkpoint *c, adz_safetensors *file)
{
    adz_status status =
        adz_safetensors_set_metadata(file, ADZI_CHECKPOINT_MARK, ADZI_CHECKPOINT_VERSION);
    status = status == ADZ_OK ? set_number(op, file, "epoch", c->epoch) : status;
    status = status == ADZ_OK ? set_number(op, file, "step", c->step) : status;
    if (status == ADZ_OK && c->model != NULL) {
        status = adzi_module_collect(op, c->model, ADZI_CHECKPOINT_MODEL, true, file);
    }
    if (status == ADZ_OK && c->optimizer != NULL) {
        status = add_optimizer(op, file, c->optimizer);
    }
    for (size_t i = 0; i < c->n_schedulers && status == ADZ_OK; ++i) {
        status = add_scheduler(op, file, i, c->schedulers[i]);
    }
    for (size_t i = 0; i < c->n_generators && status == ADZ_OK; ++i) {
        status = add_generator(op, file, i, c->generators[i]);
    }
    if (status == ADZ_OK && c->loader != NULL) {
        status = add_loader(op, file, c->loader);
    }
    return status;
}

/* ---- many ranks ----------------------------------------------------------------------------- */

static const char op[] = "adz_checkpoint_save";

static adz_status add_parallel(adz_safetensors *file, const adz_data_parallel *parallel)
{
    char seed[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)parallel->seed);
    adz_status status =
        set_number(op, file, ADZI_CHECKPOINT_MICRO_BATCHES, parallel->micro_batches);
    return status == ADZ_OK ? adz_safetensors_set_metadata(file, ADZI_CHECKPOINT_SEED, seed)
                            : status;
}

/* Says which file is written, and from which parts. */
static void describe(adzi_group_call *call, const adz_checkpoint *c, const char *path)
{
    snprintf(call->what, sizeof call->what, "the checkpoint");
    adzi_group_call_say(
        call, "%s, epoch %lld, step %lld, ", path, (long long)c->epoch, (long long)c->step);
    adzi_group_call_say(call, "%s, %s%s, %zu schedulers, %zu generators, %s",
        c->model != NULL ? "a model" : "no model",
        c->optimizer != NULL ? adz_optimizer_name(c->optimizer) : "no optimizer",
        c->optimizer != NULL && c->optimizer->shard != NULL ? " (divided)" : "", c->n_schedulers,
        c->n_generators, c->loader != NULL ? "a loader" : "no loader");
    adzi_group_call_add(call, path, strlen(path));
    for (size_t g = 0; c->optimizer != NULL && g < c->optimizer->n_groups; ++g) {
        const adzi_group *group = c->optimizer->groups[g];
        for (size_t i = 0; i < group->count; ++i) {
            int64_t facts[2] = { group->kept[i].steps, 0 };
            for (int k = 0; k < ADZ_OPTIMIZER_STATES; ++k) {
                facts[1] |= (int64_t)(group->kept[i].state[k] != NULL) << k;
            }
            adzi_group_call_add(call, facts, sizeof facts);
        }
    }
}

/* Agrees on one more part of the protocol. All ranks have compared their calls before. */
static adz_status agree(const adzi_gathering *g)
{
    adzi_group_call call = { .operation = ADZI_GROUP_CALL_SAVE };
    return adzi_agree(op, g->parallel->group, &call);
}

/* Writes the file on rank 0. Afterwards every rank has sent or received all that it has to. */
static void write_gathered(adzi_gathering *g, adz_safetensors *file, const char *path)
{
    if (g->parallel->group->rank == 0) {
        adzi_safetensors_save(file, path, &g->later);
    }
    adzi_gathering_finish(g);
}

/* What rank 0 writes. NULL or incomplete with the error recorded. */
static adz_safetensors *collect_parallel(adzi_gathering *g, const adz_checkpoint *c)
{
    adz_safetensors *file = adz_safetensors_new();
    adz_status status = file != NULL ? adzi_checkpoint_collect(op, c, file) : ADZ_ERR_MEMORY;
    status = status == ADZ_OK ? add_parallel(file, c->parallel) : status;
    if (status == ADZ_OK) {
        adzi_gathering_add(g, file);
    }
    return file;
}

/* All ranks agree on the memory, and later on the result. */
static adz_status save_gathered(adzi_gathering *g, const adz_checkpoint *c, const char *path)
{
    adz_safetensors *file = NULL;
    adz_status status = adzi_gathering_shapes(g);
    if (status == ADZ_OK) {
        adzi_gathering_list(g);
        file = g->parallel->group->rank == 0 ? collect_parallel(g, c) : NULL;
    }
    status = agree(g);
    if (status == ADZ_OK) {
        write_gathered(g, file, path);
        status = agree(g);
    }
    adz_safetensors_free(&file);
    return status;
}

static adz_status save_parallel(const adz_checkpoint *c, const char *path)
{
    adzi_gathering g = { .parallel = NULL };
    adzi_group_call call = { .operation = ADZI_GROUP_CALL_SAVE };
    if (!adzi_may_agree(op, c->parallel->group)) {
        return adzi_pending();
    }
    if (adzi_pending() == ADZ_OK && path == NULL) {
        adzi_error_null(op, "path");
    } else if (adzi_pending() == ADZ_OK && adzi_checkpoint_check(op, c) == ADZ_OK &&
               check_finite(op, c) == ADZ_OK) {
        describe(&call, c, path);
        adzi_gathering_begin(op, &g, c);
    }
    adz_status status = adzi_agree(op, c->parallel->group, &call);
    if (status == ADZ_OK) {
        status = save_gathered(&g, c, path);
    }
    adzi_gathering_end(&g);
    return status;
}

static adz_status save_alone(const adz_checkpoint *c, const char *path)
{
    if (path == NULL) {
        return adzi_error_null(op, "path");
    }
    adz_status status = adzi_refused(op);
    status = status == ADZ_OK ? adzi_checkpoint_check(op, c) : status;
    status = status == ADZ_OK ? check_finite(op, c) : status;
    if (status != ADZ_OK) {
        return status;
    }
    adz_safetensors *file = adz_safetensors_new();
    status = file != NULL ? adzi_checkpoint_collect(op, c, file) : adz_error_code();
    if (status == ADZ_OK) {
        status = adz_safetensors_save(file, path);
    }
    adz_safetensors_free(&file);
    return status;
}

/* ---- in memory ------------------------------------------------------------------------------ */

/* Replaces the tensors of a collection by copies, because later steps of the run change them. */
static adz_status copy_all(adz_safetensors *file)
{
    for (size_t i = 0; i < file->n_tensors; ++i) {
        adz_tensor **at = &file->tensors[i].tensor, *old = *at;
        adz_tensor *copy = adzi_tensor_new(
            adzi_self(), "adz_checkpoint_snapshot", (adz_dtype)old->dtype, old->rank, old->sizes);
        if (copy == NULL) {
            return adz_error_code();
        }
        adzi_copy(copy, old);
        *at = copy;
        adzi_drop(old);
    }
    return ADZ_OK;
}

adz_safetensors *adz_checkpoint_snapshot(const adz_checkpoint *checkpoint)
{
    static const char name[] = "adz_checkpoint_snapshot";
    ADZI_NOT_CAPTURED(ADZI_ACTS, NULL);
    adz_checkpoint c = ADZ_CHECKPOINT;
    if (checkpoint == NULL) {
        return adzi_fail_null(name, "checkpoint");
    }
    if (adzi_refused(name) != ADZ_OK || !ADZ_OPTIONS_READ(name, ADZ_CHECKPOINT, &c, checkpoint)) {
        return NULL;
    }
    if (c.parallel != NULL) {
        return adzi_fail(
            name, ADZ_ERR_UNSUPPORTED, "`parallel` is set; %s", ADZI_CHECKPOINT_BY_FILES);
    }
    if (adzi_checkpoint_check(name, &c) != ADZ_OK || check_finite(name, &c) != ADZ_OK) {
        return NULL;
    }
    adz_safetensors *file = adz_safetensors_new();
    if (file != NULL &&
        (adzi_checkpoint_collect(name, &c, file) != ADZ_OK || copy_all(file) != ADZ_OK)) {
        adz_safetensors_free(&file);
    }
    return file;
}

/* ---- saving --------------------------------------------------------------------------------- */

adz_status adz_checkpoint_save(const adz_checkpoint *checkpoint, const char *path)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    adz_checkpoint c = ADZ_CHECKPOINT;
    if (checkpoint == NULL) {
        return adzi_error_null(op, "checkpoint");
    }
    if (!ADZ_OPTIONS_READ(op, ADZ_CHECKPOINT, &c, checkpoint)) {
        return adz_error_code();
    }
    return c.parallel != NULL ? save_parallel(&c, path) : save_alone(&c, path);
}
