/* Making and ending data-parallel training. Its other parts: startup.c compares the ranks, plan.c
 * lays out memory, step.c and step_end.c make a step, tree.c and sender.c add up gradients. */
#include "distributed/data_parallel.h"
#include "base/capture.h"

#include <string.h>

#include "base/error.h"
#include "base/handle.h"
#include "adze/options.h"
#include "distributed/shard.h"
#include "nn/module.h"
#include "tensor/tensor.h"

static const char op[] = "adz_data_parallel_new", op_free[] = "adz_data_parallel_free";

static const adz_field fields[] = {
    ADZ_FIELD(
        adz_data_parallel_options, micro_batches, .value = 8, ADZ_CLOSED(1, ADZI_TREE_LEAVES)),
    ADZ_FIELD(adz_data_parallel_options, seed, .value = 0),
    ADZ_FIELD(adz_data_parallel_options, bucket_bytes, .value = 25 << 20, ADZ_AT_LEAST(1)),
};

ADZ_OPTIONS_TABLE(adz_data_parallel_options, ADZ_DATA_PARALLEL_OPTIONS, fields)

/* ---- checking ------------------------------------------------------------------------------- */

/* Records what is wrong on this rank alone. */
static void check(
    const adz_group *group, const adz_module *module, const adz_data_parallel_options *o)
{
    if (adzi_refused(op) != ADZ_OK) {
        return;
    }
    if (!adzi_check_module(op, "module", module)) {
        return;
    }
    if (o->micro_batches < group->size) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "there are %d ranks and %d micro-batches; each rank needs at least one, so start fewer ranks or raise micro_batches",
            group->size, o->micro_batches);
    } else if (o->generators != NULL &&
               (o->n_generators < 1 || o->n_generators > ADZI_MOST_GENERATORS)) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "n_generators is %zu, but must be 1 to %d",
            o->n_generators, (int)ADZI_MOST_GENERATORS);
    }
}

/* ---- ending --------------------------------------------------------------------------------- */

static void remove_hooks(adz_data_parallel *p)
{
    for (size_t i = 0; i < p->n_parameters && p->parameters != NULL; ++i) {
        if (p->parameters[i].hook != 0) {
            adz_remove_hook(
                adz_flat_parameters_slice_at(p->flat, i).parameter, p->parameters[i].hook);
            p->parameters[i].hook = 0;
        }
    }
    p->hooked = false;
}

static void destroy(adz_data_parallel *p)
{
    remove_hooks(p);
    adzi_shardings_end(p);
    if (p->ranks > 1) {
        adzi_sender_abandon(op_free, p);
    }
    if (p->flat != NULL && p->state != NULL) {
        adzi_parallel_leave(p);
    }
    if (p->flat != NULL) {
        adzi_parallel_unprepare(p);
    }
    adzi_free(p->parameters, p->n_parameters * sizeof *p->parameters);
    adzi_micro_state_free(&p->state);
    adz_flat_parameters_free(&p->flat);
    adz_module_release(&p->module);
    adzi_handle_end(p, sizeof *p);
}

void adz_data_parallel_free(adz_data_parallel **parallel)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, );
    adz_data_parallel *gone = adzi_handle_take(op_free, "parallel", parallel);
    if (gone != NULL) {
        destroy(gone);
    }
}

/* ---- making --------------------------------------------------------------------------------- */

static bool add_parameters(adz_data_parallel *p)
{
    p->n_parameters = adz_flat_parameters_count(p->flat);
    p->parameters = adzi_alloc_zero(p->n_parameters * sizeof *p->parameters);
    if (p->parameters == NULL) {
        adzi_fail_memory(op, p->n_parameters * sizeof *p->parameters);
        return false;
    }
    for (size_t i = 0; i < p->n_parameters; ++i) {
        p->parameters[i] = (adzi_parallel_parameter){ .parallel = p, .index = i };
    }
    return true;
}

adz_status adzi_parallel_hook(adz_data_parallel *p)
{
    for (size_t i = 0; i < p->n_parameters && !p->hooked; ++i) {
        p->parameters[i].hook = adz_register_post_accumulate_grad_hook(
            adz_flat_parameters_slice_at(p->flat, i).parameter, adzi_parallel_ready,
            &p->parameters[i]);
        if (p->parameters[i].hook == 0) {
            const adz_status status = adz_error_code();
            remove_hooks(p);
            return status;
        }
    }
    p->hooked = true;
    return ADZ_OK;
}

/* True for one rank with one micro-batch. The program may then make whole steps by a plan, which
 * captures no backward that runs hooks. */
static bool is_alone(const adz_data_parallel *p)
{
    return p->ranks == 1 && p->micro_batches == 1;
}

/* Makes the struct. NULL with the error recorded, and the module as it was. */
static adz_data_parallel *make(
    adz_group *group, adz_module *module, const adz_data_parallel_options *o)
{
    adz_data_parallel *p = adzi_handle_new(sizeof *p);
    if (p == NULL) {
        return adzi_fail_memory(op, sizeof *p);
    }
    p->group = group;
    p->ranks = group->size;
    p->module = adz_module_keep(module);
    p->seed = o->seed;
    p->bucket_bytes = o->bucket_bytes;
    p->micro_batches = o->micro_batches;
    p->first = (int)adz_loader_cut(o->micro_batches, group->size, group->rank);
    p->count = (int)adz_loader_cut(o->micro_batches, group->size, group->rank + 1) - p->first;
    p->fast = o->fast;
    p->n_generators = o->generators != NULL ? o->n_generators : 1;
    for (size_t k = 0; k < p->n_generators && o->generators != NULL; ++k) {
        p->generators[k] = o->generators[k];
    }
    p->flat = adz_flat_parameters_new(adz_module_parameters(module));
    p->state = p->flat != NULL
                   ? adzi_micro_state_new(op, module, p->micro_batches, p->first, p->count)
                   : NULL;
    if (p->state == NULL || !add_parameters(p) ||
        (!is_alone(p) && adzi_parallel_hook(p) != ADZ_OK) || !adzi_parallel_prepare(op, p)) {
        destroy(p);
        return NULL;
    }
    return p;
}

adz_data_parallel *adz_data_parallel_new(
    adz_group *group, adz_module *module, const adz_data_parallel_options *options)
{
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    adz_data_parallel_options o;
    if (group == NULL) {
        return adzi_fail_null(op, "group");
    }
    if (adz_options_take(op, &adz_data_parallel_options_table, &o, options)) {
        check(group, module, &o);
    }
    if (adzi_parallel_compare(group, module, &o) != ADZ_OK) {
        return NULL;
    }
    /* A rank that could not make its part takes part in the barrier, and the others fail too. */
    adz_data_parallel *p = make(group, module, &o);
    if (adz_group_barrier(group) != ADZ_OK || adzi_parallel_broadcast(p) != ADZ_OK) {
        adz_data_parallel_free(&p);
    }
    return p;
}
