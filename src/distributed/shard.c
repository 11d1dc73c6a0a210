/* Divides the states of an optimizer among the ranks of a group: each rank keeps and updates a part
 * of the parameters. */
#include "distributed/shard.h"
#include "base/capture.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "distributed/agreement.h"
#include "tensor/tensor.h"

/* ---- slices --------------------------------------------------------------------------------- */

static size_t bytes_of(const adz_tensor *t)
{
    return (size_t)t->numel * adzi_item_size(t);
}

/* Finds the parameter in the flat values: the group and the byte where it begins. False if it is
 * not laid out. */
static bool find(const adz_flat_parameters *flat, const adz_tensor *t, int *group, size_t *begin)
{
    for (*group = 0; *group < adz_flat_parameters_group_count(flat); ++*group) {
        const adz_tensor *values = adz_flat_parameters_values(flat, *group);
        const uintptr_t base = (uintptr_t)values->data, at = (uintptr_t)t->data;
        if (at >= base && at - base < bytes_of(values) && t->dtype == values->dtype) {
            *begin = (size_t)(at - base);
            return true;
        }
    }
    return false;
}

static size_t *slices_of(const adzi_sharding *s, int group)
{
    return s->bytes + (size_t)group * (size_t)(s->parallel->group->size + 1);
}

/* Cuts the values of each group, whose bytes are a multiple of 64. */
static void cut(adzi_sharding *s)
{
    const size_t ranks = (size_t)s->parallel->group->size;
    for (int g = 0; g < adz_flat_parameters_group_count(s->parallel->flat); ++g) {
        const size_t units =
            bytes_of(adz_flat_parameters_values(s->parallel->flat, g)) / ADZI_ALIGNMENT;
        size_t *begin = slices_of(s, g);
        for (size_t r = 0; r <= ranks; ++r) { /* units * r / ranks, without overflow */
            begin[r] = (units / ranks * r + units % ranks * r / ranks) * ADZI_ALIGNMENT;
        }
    }
}

static size_t clamp(size_t x, size_t low, size_t high)
{
    return x < low ? low : x > high ? high : x;
}

adzi_part adzi_sharding_part(const adzi_sharding *s, const adz_tensor *t, int rank)
{
    int group;
    size_t begin;
    if (!find(s->parallel->flat, t, &group, &begin)) {
        return (adzi_part){ 0, t->numel };
    }
    const size_t *slice = slices_of(s, group) + rank, item = adzi_item_size(t);
    const size_t end = begin + bytes_of(t);
    const size_t from = clamp(slice[0], begin, end), to = clamp(slice[1], begin, end);
    return (adzi_part){ (int64_t)((from - begin) / item), (int64_t)((to - from) / item) };
}

bool adzi_sharding_divides(const adzi_sharding *s, const adz_tensor *t)
{
    int group;
    size_t begin;
    return s->parallel->group->size > 1 && find(s->parallel->flat, t, &group, &begin);
}

/* ---- the optimizer's side ------------------------------------------------------------------- */

/* Whether the parameter is the module's. False with an error recorded if memory was refused. */
static bool is_of_module(const adzi_sharding *s, const adz_tensor *t)
{
    int group;
    size_t begin;
    if (find(s->parallel->flat, t, &group, &begin)) {
        return true;
    }
    const adz_tensor_list all = adz_module_parameters(s->parallel->module);
    for (size_t i = 0; i < all.count; ++i) {
        if (all.items[i] == t) {
            return true;
        }
    }
    return false;
}

static bool part_here(
    const adzi_shard *shard, const char *op, const adz_tensor *t, size_t i, adzi_part *part)
{
    const adzi_sharding *s = (const adzi_sharding *)(const void *)shard;
    if (!is_of_module(s, t)) {
        if (adzi_pending() == ADZ_OK) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "parameter %zu%s is not one of the module that trains data-parallel", i,
                adzi_text_shape(t));
        }
        return false;
    }
    *part = adzi_sharding_part(s, t, s->parallel->group->rank);
    return true;
}

static bool no_part(
    const adzi_shard *shard, const char *op, const adz_tensor *t, size_t i, adzi_part *part)
{
    (void)shard, (void)t, (void)i, (void)part;
    adzi_error(op, ADZ_ERR_STATE,
        "adz_data_parallel_free has ended the training that divided this optimizer's state; make a new optimizer");
    return false;
}

static const adzi_shard ended = { no_part };

adzi_sharding *adzi_sharding_of(const adz_optimizer *optimizer)
{
    const adzi_shard *shard = optimizer->shard;
    return shard != NULL && shard->part == part_here ? (adzi_sharding *)(uintptr_t)shard : NULL;
}

/* ---- what the ranks compare ----------------------------------------------------------------- */

static void say_group(adzi_group_call *call, const adz_optimizer *o, const adzi_group *group)
{
    for (int k = 0; k < o->n_settings; ++k) {
        adzi_group_call_say(call, "%s %s %s", k == 0 ? ";" : ",", o->type->settings[k].name,
            adzi_text_number(group->settings[k]));
    }
    adzi_group_call_add(call, group->settings, (size_t)o->n_settings * sizeof *group->settings);
}

/* Which parameters have a gradient, and where they lie. */
static void say_parameters(adzi_group_call *call, const adzi_sharding *s, const adz_optimizer *o)
{
    size_t all = 0, gradients = 0;
    for (size_t g = 0; g < o->n_groups; ++g) {
        for (size_t i = 0; i < o->groups[g]->count; ++i) {
            const adz_tensor *t = o->groups[g]->parameters[i];
            struct {
                size_t begin;
                int64_t numel;
                int32_t group, has;
            } position = { 0, t->numel, -1, t->gradient != NULL && t->gradient->grad != NULL };
            int group;
            if (find(s->parallel->flat, t, &group, &position.begin)) {
                position.group = group;
            }
            adzi_group_call_add(call, &position, sizeof position);
            all += 1;
            gradients += (size_t)position.has;
        }
    }
    adzi_group_call_say(call, "%zu of %zu parameters with a gradient", gradients, all);
}

static void describe(adzi_group_call *call, const adzi_sharding *s, const adz_optimizer *o)
{
    snprintf(call->what, sizeof call->what, "the optimizer");
    adzi_group_call_say(call, "%s, ", o->type->name);
    say_parameters(call, s, o);
    for (size_t g = 0; g < o->n_groups; ++g) {
        say_group(call, o, o->groups[g]);
    }
}

/* ---- dividing ------------------------------------------------------------------------------- */

static void end(adzi_sharding *s)
{
    adzi_free(s->bytes, s->n_bytes);
    adzi_free(s, sizeof *s);
}

/* The slices of a layout, not yet those of an optimizer. NULL with the error recorded. */
static adzi_sharding *sharding_new(const char *op, adz_data_parallel *parallel)
{
    const size_t groups = (size_t)adz_flat_parameters_group_count(parallel->flat);
    adzi_sharding *s = adzi_alloc_zero(sizeof *s);
    if (s == NULL) {
        return adzi_fail_memory(op, sizeof *s);
    }
    *s = (adzi_sharding){ .shard = { part_here }, .parallel = parallel };
    s->n_bytes = groups * ((size_t)parallel->group->size + 1) * sizeof *s->bytes;
    s->bytes = adzi_alloc(s->n_bytes);
    if (s->bytes == NULL) {
        adzi_fail_memory(op, s->n_bytes);
        end(s);
        return NULL;
    }
    cut(s);
    return s;
}

/* Whether the optimizer can be divided. False with the error recorded. */
static bool check_optimizer(const char *op, const adzi_sharding *s, adz_optimizer *optimizer)
{
    adzi_optimizer_settle(optimizer);
    if (optimizer->shard != NULL) {
        adzi_error(op, ADZ_ERR_STATE, "the state of this %s is divided among ranks already",
            optimizer->type->name);
        return false;
    }
    if (optimizer->search != NULL) {
        adzi_error(op, ADZ_ERR_UNSUPPORTED,
            "%s treats all parameters as one vector, so ranks cannot divide its state; call adz_optimizer_step_closure on every rank instead of adz_data_parallel_shard",
            optimizer->type->name);
        return false;
    }
    if (optimizer->type->whole) {
        adzi_error(op, ADZ_ERR_UNSUPPORTED,
            "an update of %s depends on all elements of a parameter (`whole`), so ranks cannot divide its state; call adz_optimizer_step on every rank instead of adz_data_parallel_shard",
            optimizer->type->name);
        return false;
    }
    for (size_t g = 0; g < optimizer->n_groups; ++g) {
        const adzi_group *group = optimizer->groups[g];
        for (size_t i = 0; i < group->count; ++i) {
            adzi_part part;
            bool made = group->kept[i].steps > 0;
            for (int k = 0; k < optimizer->n_states; ++k) {
                made = made || group->kept[i].state[k] != NULL;
            }
            if (made) {
                adzi_error(op, ADZ_ERR_STATE,
                    "this %s has made a step, or was loaded; call adz_data_parallel_shard first",
                    optimizer->type->name);
                return false;
            }
            if (!part_here(&s->shard, op, group->parameters[i], i, &part)) {
                return false;
            }
        }
    }
    return true;
}

/* Divides the optimizer, which was checked. */
static void divide(adzi_sharding *s, adz_optimizer *optimizer)
{
    for (size_t g = 0; g < optimizer->n_groups; ++g) {
        const adzi_group *group = optimizer->groups[g];
        for (size_t i = 0; i < group->count; ++i) {
            group->kept[i].part =
                adzi_sharding_part(s, group->parameters[i], s->parallel->group->rank);
        }
    }
    optimizer->shard = &s->shard;
    s->optimizer = adz_optimizer_keep(optimizer);
    s->next = s->parallel->sharded;
    s->parallel->sharded = s;
}

adz_status adz_data_parallel_shard(adz_data_parallel *parallel, adz_optimizer *optimizer)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_data_parallel_shard";
    if (parallel == NULL) {
        return adzi_error_null(op, "parallel");
    }
    if (!adzi_may_agree(op, parallel->group)) {
        return adzi_pending();
    }
    adzi_group_call call = { .operation = ADZI_GROUP_CALL_SHARD };
    adzi_sharding *s = NULL;
    if (adzi_pending() == ADZ_OK && optimizer == NULL) {
        adzi_error_null(op, "optimizer");
    } else if (adzi_pending() == ADZ_OK) {
        s = sharding_new(op, parallel);
        if (s != NULL && check_optimizer(op, s, optimizer)) {
            describe(&call, s, optimizer);
        }
    }
    const adz_status status = adzi_agree(op, parallel->group, &call);
    if (status == ADZ_OK) {
        divide(s, optimizer);
    } else if (s != NULL) {
        end(s);
    }
    return status;
}

void adzi_shardings_end(adz_data_parallel *parallel)
{
    while (parallel->sharded != NULL) {
        adzi_sharding *s = parallel->sharded;
        parallel->sharded = s->next;
        s->optimizer->shard = &ended;
        adz_optimizer_release(&s->optimizer);
        end(s);
    }
}

/* ---- the step ------------------------------------------------------------------------------- */

/* Whether all ranks have the gradient of the whole batch. False with the error recorded. */
static bool check_stage(const char *op, const adz_data_parallel *parallel)
{
    if (parallel->stage != ADZI_BETWEEN_STEPS || parallel->keeps) {
        adzi_error(op, ADZ_ERR_STATE, "the gradients of the ranks are not added up; %s",
            parallel->keeps ? "switch adz_data_parallel_no_sync off before the last batch"
                            : "call adz_data_parallel_end first");
        return false;
    }
    return true;
}

/* Whether the optimizer was divided by this training. False with the error recorded. */
static bool check_division(
    const char *op, const adz_data_parallel *parallel, const adz_optimizer *optimizer)
{
    if (optimizer == NULL) {
        adzi_error_null(op, "optimizer");
        return false;
    }
    const adzi_sharding *s = adzi_sharding_of(optimizer);
    if (s != NULL && s->parallel == parallel) {
        return true;
    }
    if (s != NULL) {
        adzi_error(op, ADZ_ERR_STATE,
            "this %s was given to adz_data_parallel_shard with another module",
            optimizer->type->name);
        return false;
    }
    adzi_part unused;
    return no_part(NULL, op, NULL, 0, &unused);
}

/* Sends this rank's slices and receives those of the other ranks. adzi_optimizer_update has raised
 * the versions of all parameters that change on some rank: the ranks have equal gradients. */
static adz_status gather(const char *op, const adzi_sharding *s)
{
    adz_data_parallel *parallel = s->parallel;
    adz_status status = ADZ_OK;
    for (int g = 0; g < adz_flat_parameters_group_count(parallel->flat) && status == ADZ_OK; ++g) {
        status = adzi_gather_slices(op, parallel->group,
            adz_flat_parameters_values(parallel->flat, g)->data, slices_of(s, g), ADZI_TAG_DATA);
    }
    return status;
}

adz_status adz_data_parallel_step(adz_data_parallel *parallel, adz_optimizer *optimizer)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_data_parallel_step";
    if (parallel == NULL) {
        return adzi_error_null(op, "parallel");
    }
    if (optimizer != NULL && optimizer->shard == NULL) {
        const bool ready = adzi_pending() == ADZ_OK && check_stage(op, parallel);
        return ready ? adz_optimizer_step(optimizer) : adzi_pending();
    }
    if (!adzi_may_agree(op, parallel->group)) {
        return adzi_pending();
    }
    adzi_group_call call = { .operation = ADZI_GROUP_CALL_STEP };
    const bool prepared = adzi_pending() == ADZ_OK && check_stage(op, parallel) &&
                          check_division(op, parallel, optimizer) &&
                          adzi_optimizer_prepare(op, optimizer) == ADZ_OK;
    if (prepared) {
        describe(&call, adzi_sharding_of(optimizer), optimizer);
    }
    const adz_status status = adzi_agree(op, parallel->group, &call);
    if (status != ADZ_OK) {
        if (prepared) {
            adzi_optimizer_undo(optimizer);
        }
        return status;
    }
    const adz_status updated = adzi_optimizer_update(op, optimizer);
    const adz_status gathered = gather(op, adzi_sharding_of(optimizer)); /* no rank waits */
    return updated != ADZ_OK ? updated : gathered;
}
