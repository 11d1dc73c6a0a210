/* Activation checkpoints. The forward calls the module without recording and makes one node for the
 * whole call. The backward of the node calls the module again, this time with a graph, and the
 * running backward continues through that graph. */
#include "adze/nn/activation_checkpoint.h"

#include <string.h>

#include "autograd/engine.h"
#include "ops/op.h"
#include "nn/checkpoint_buffers.h"
#include "nn/module.h"
#include "base/alloc.h"
#include "base/random_generator.h"

static const char name[] = "ActivationCheckpoint";

/* An argument of the call. */
typedef struct argument {
    int input; /* the index among the inputs of the node; -1 for ADZ_NONE, which is no input */
    char name[ADZ_VALUE_NAME + 1];
} argument;

/* Everything that the backward needs to repeat the call. The inputs of the node are the arguments
 * followed by the parameters that want a gradient. */
typedef struct saved_call {
    adz_module *module;
    adzi_draws draws;
    adz_generator_state
        later[ADZI_MOST_DRAWN]; /* of the drawn generators, before the second call */
    adzi_masks *masks;          /* the masks of a replay, or NULL */
    size_t next_mask;           /* masks->next before the first call */
    argument *arguments;
    adzi_noted_buffers buffers;
    size_t n_arguments, arguments_capacity;
    size_t n_results; /* results of the first call that are not ADZ_NONE */
    int n_inputs;
    bool training;
    bool single; /* repeat adz_module_forward, not adz_module_call: their results may differ */
} saved_call;

/* Calls the module through adz_module_forward if `single`, else through adz_module_call. */
static adz_status call_module(
    adz_module *module, bool single, const adz_values *in, adz_values *out)
{
    if (!single) {
        return adz_module_call(module, in, out);
    }
    adz_tensor *y = adz_module_forward(module, in->items[0].tensor);
    return y != NULL ? adz_values_add(out, "", y) : adz_error_code();
}

static void saved_call_free(saved_call *r)
{
    adzi_noted_buffers_free(&r->buffers);
    adzi_free(r->arguments, r->arguments_capacity * sizeof *r->arguments);
    adz_module_release(&r->module);
    adzi_free(r, sizeof *r);
}

static void attributes_free(void *attributes)
{
    saved_call_free(*(saved_call **)attributes);
}

/* ---- the conditions of the first call ------------------------------------------------------- */

static bool note_arguments(saved_call *r, const adz_values *in)
{
    if (!adzi_grow(&r->arguments, &r->arguments_capacity, in->count, sizeof *r->arguments)) {
        adzi_fail_memory(name, in->count * sizeof *r->arguments);
        return false;
    }
    for (size_t i = 0; i < in->count; ++i) {
        argument *a = &r->arguments[r->n_arguments++];
        memcpy(a->name, in->items[i].name, sizeof a->name);
        a->input = adzi_is_none(in->items[i].tensor) ? -1 : r->n_inputs++;
    }
    return true;
}

/* What is saved of a call that is about to begin; NULL with the error recorded. */
static saved_call *saved_call_new(adz_module *self, bool single, const adz_values *in)
{
    saved_call *r =
        adzi_alloc_for_kernels(sizeof *r); /* kernels write states of generators to it */
    if (r == NULL) {
        return adzi_fail_memory(name, sizeof *r);
    }
    memset(r, 0, sizeof *r);
    r->module = adz_module_keep(adzi_child_at(self, 0));
    r->single = single;
    r->training = r->module->training;
    r->masks = self->masks;
    r->next_mask = self->masks != NULL ? self->masks->next : 0;
    r->buffers.op = name;
    if (!note_arguments(r, in) || adzi_note_buffers(&r->buffers, r->module) != ADZ_OK) {
        saved_call_free(r);
        return NULL;
    }
    return r;
}

/* ---- the second call ------------------------------------------------------------------------ */

/* Gives the generators the states that they had before the first call. The states are copied in
 * launches, so that a replayed step uses the states of its own forward. */
static void set_back_generators(saved_call *r)
{
    for (size_t i = 0; i < r->draws.count; ++i) {
        adz_generator *generator = r->draws.drawn[i].generator;
        if (generator != NULL) { /* one that the module made and freed is made again */
            adzi_generator_copy_state(&r->later[i], &generator->state);
            adzi_generator_copy_state(&generator->state, &r->draws.drawn[i].before);
        }
    }
}

/* Gives the generators the states that they had before set_back_generators. */
static void restore_generators(const saved_call *r)
{
    for (size_t i = 0; i < r->draws.count; ++i) {
        if (r->draws.drawn[i].generator != NULL) {
            adzi_generator_copy_state(&r->draws.drawn[i].generator->state, &r->later[i]);
        }
    }
}

/* Calls the module a second time, with recording, under the conditions of the first call.
 * Generators, the replay of masks and buffers are then as they were before this function. */
static adz_status call_again(saved_call *r, const adz_values *in, adz_values *out)
{
    adzi_buffer_exchange e = { 0 };
    adzi_masks *masks = r->masks;
    size_t next = masks != NULL ? masks->next : 0;
    adz_status status = ADZ_OK;
    if (r->module->training != r->training) {
        status = adzi_error(name, ADZ_ERR_STATE,
            "the forward was called in %s mode; change modes after the backward",
            r->training ? "training" : "evaluation");
    } else if (r->module->masks != r->masks) {
        status = adzi_error(name, ADZ_ERR_STATE, "the forward replayed other masks");
    } else {
        status = adzi_buffers_exchange(&e, &r->buffers, r->module);
    }
    if (status == ADZ_OK) {
        set_back_generators(r);
        if (masks != NULL) {
            masks->next = r->next_mask;
        }
        bool before = adz_set_grad_enabled(true);
        status = call_module(r->module, r->single, in, out);
        adz_set_grad_enabled(before);
        if (masks != NULL) {
            masks->next = next;
        }
        restore_generators(r);
    }
    adzi_buffers_put_back(&e);
    return status;
}

/* Continues the running backward through the graph of the second call. It starts at the results
 * that received a gradient and depend on a tensor that wants one. False with the error recorded. */
static bool go_on(adzi_node *node, adz_tensor *const *dy, const adz_values *out)
{
    const saved_call *r = *adzi_attr(node, saved_call *);
    size_t n = 0, k = 0, bytes = 2 * r->n_results * sizeof(adz_tensor *);
    adz_tensor **outputs = adzi_alloc(bytes);
    if (outputs == NULL) {
        adzi_fail_memory(name, bytes);
        return false;
    }
    adz_tensor **gradients = outputs + r->n_results;
    for (size_t i = 0; i < out->count; ++i) {
        adz_tensor *y = out->items[i].tensor;
        if (adzi_is_none(y)) {
            continue;
        }
        if (k < r->n_results && dy[k] != NULL && adzi_requires_grad(y)) {
            outputs[n] = y;
            gradients[n++] = dy[k];
        }
        ++k;
    }
    bool good = k == r->n_results && (n == 0 || adzi_run_within(node, outputs, gradients, n));
    if (k != r->n_results) {
        adzi_error(name, ADZ_ERR_STATE, "the second call gave %zu results, the first %zu", k,
            r->n_results);
    }
    adzi_free(outputs, bytes);
    return good;
}

/* Leaves dx empty: the gradients reach the arguments and parameters through the graph of the second
 * call. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)dx;
    saved_call *r = *(saved_call *const *)node->attr;
    for (int i = 0; i < r->n_inputs; ++i) {
        if (adzi_saved_input(node, i) == NULL) {
            return adz_error_code();
        }
    }
    adz_values in, out;
    adzi_values_begin(&in);
    adzi_values_begin(&out);
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < r->n_arguments && status == ADZ_OK; ++i) {
        const argument *a = &r->arguments[i];
        adz_tensor *t = a->input < 0 ? ADZ_NONE : adzi_saved_input(node, a->input);
        status = adz_values_add(&in, a->name, t);
    }
    if (status == ADZ_OK) {
        status = call_again(r, &in, &out);
    }
    if (status == ADZ_OK && !go_on(node, dy, &out)) {
        status = adz_error_code();
    }
    adzi_values_end(&in);
    adzi_values_end(&out);
    return status;
}

static const adzi_op checkpoint_op = {
    .size = sizeof(adzi_op), .name = name, .backward = backward, .attributes_free = attributes_free
};

/* ---- the first call ------------------------------------------------------------------------- */

/* The inputs of the node: the arguments, then the parameters that want a gradient. */
typedef struct inputs {
    adz_tensor **items;
    size_t count, capacity;
    bool wants; /* at least one input wants a gradient */
} inputs;

static bool collect_inputs(inputs *all, const adz_values *in, adz_module *module)
{
    adz_tensor_list parameters = adz_module_parameters(module);
    if (parameters.items == NULL && adzi_pending() != ADZ_OK) {
        return false;
    }
    if (!adzi_grow(
            &all->items, &all->capacity, in->count + parameters.count + 1, sizeof *all->items)) {
        adzi_fail_memory(name, (in->count + parameters.count) * sizeof *all->items);
        return false;
    }
    for (size_t i = 0; i < in->count; ++i) {
        if (!adzi_is_none(in->items[i].tensor)) {
            all->items[all->count++] = in->items[i].tensor;
            all->wants = all->wants || adzi_requires_grad(in->items[i].tensor);
        }
    }
    for (size_t i = 0; i < parameters.count; ++i) {
        if (adzi_requires_grad(parameters.items[i])) {
            all->items[all->count++] = parameters.items[i];
            all->wants = true;
        }
    }
    return true;
}

/* Appends the module's results to `out` and to `results`. A result that has other owners, wants a
 * gradient or occurs twice is replaced by a clone, because record() makes it a result of the node.
 * `floats` becomes true if one of them can have a gradient. */
static adz_status own_results(
    const adz_values *from, adz_values *out, adz_tensor **results, size_t *count, bool *floats)
{
    for (size_t i = 0; i < from->count; ++i) {
        adz_tensor *y = from->items[i].tensor;
        if (!adzi_is_none(y)) {
            bool ours = adzi_is_exclusive(y) && !adzi_requires_grad(y);
            for (size_t k = 0; k < *count && ours; ++k) {
                ours = results[k] != y;
            }
            y = ours ? y : adz_clone(y);
            results[(*count)++] = y;
            *floats = *floats || (y != NULL && adzi_is_float((adz_dtype)y->dtype));
        }
        if (y == NULL || adz_values_add(out, from->items[i].name, y) != ADZ_OK) {
            return adz_error_code();
        }
    }
    return ADZ_OK;
}

/* Makes the node of the call, which takes over what was saved. After a failure that is freed. */
static adz_status record(saved_call *r, inputs *all, adz_tensor **results)
{
    adzi_call call;
    r->n_inputs = (int)all->count;
    if (!adzi_enter(&call, &checkpoint_op, "input", all->items, r->n_inputs, 0) ||
        !adzi_record_extra(&call, (int)r->n_results, results, 0, &r, sizeof(saved_call *))) {
        saved_call_free(r);
        return adz_error_code();
    }
    for (int i = 0; i < r->n_inputs; ++i) {
        adzi_save_input(&call, i);
    }
    return ADZ_OK;
}

/* Calls the module without recording, then makes one node for the whole call. */
static adz_status call_recorded(
    adz_module *self, bool single, inputs *all, const adz_values *in, adz_values *out)
{
    saved_call *r = saved_call_new(self, single, in);
    if (r == NULL) {
        return adz_error_code();
    }
    adz_values made;
    adzi_values_begin(&made);
    bool before = adz_set_grad_enabled(false), floats = false;
    adzi_draws_begin(&r->draws);
    adz_status status = call_module(r->module, single, in, &made);
    adzi_draws_end(&r->draws);
    if (status == ADZ_OK && r->draws.count > ADZI_MOST_DRAWN) {
        status = adzi_error(name, ADZ_ERR_UNSUPPORTED,
            "the module draws from more than %d generators", ADZI_MOST_DRAWN);
    }
    size_t bytes = (made.count + 1) * sizeof(adz_tensor *);
    adz_tensor **results = adzi_alloc(bytes);
    if (results == NULL) {
        adzi_fail_memory(name, bytes);
        status = ADZ_ERR_MEMORY;
    }
    if (status == ADZ_OK) {
        status = own_results(&made, out, results, &r->n_results, &floats);
    }
    adz_set_grad_enabled(before);
    if (status == ADZ_OK && floats) {
        status = record(r, all, results);
    } else {
        saved_call_free(r);
    }
    adzi_free(results, bytes);
    adzi_values_end(&made);
    return status;
}

/* Calls the module: with a checkpoint if a gradient can be wanted, else directly. */
static adz_status run(adz_module *self, bool single, const adz_values *in, adz_values *out)
{
    adz_module *module = adzi_child_at(self, 0);
    inputs all = { NULL, 0, 0, false };
    if (!adz_is_grad_enabled() || adzi_self()->tracer != NULL) {
        return call_module(module, single, in, out);
    }
    adz_status status = ADZ_OK;
    if (!collect_inputs(&all, in, module)) {
        status = adz_error_code();
    } else if (all.wants) {
        status = call_recorded(self, single, &all, in, out);
    } else {
        status = call_module(module, single, in, out);
    }
    adzi_free(all.items, all.capacity * sizeof *all.items);
    return status;
}

static adz_status checkpoint_call(adz_module *self, const adz_values *in, adz_values *out)
{
    adzi_read_all(in); /* the module that is called looks at them */
    return run(self, false, in, out);
}

static adz_tensor *checkpoint_forward(adz_module *self, adz_tensor *x)
{
    adz_values in, out;
    adzi_values_begin(&in);
    adzi_values_begin(&out);
    bool good = adz_values_add(&in, "", x) == ADZ_OK && run(self, true, &in, &out) == ADZ_OK;
    adz_tensor *y = good ? out.items[0].tensor : NULL;
    adzi_values_end(&in);
    adzi_values_end(&out);
    return y;
}

/* A checkpoint of a recurrent cell is one, too. */
static size_t checkpoint_cell_states(adz_module *self, adz_cell_state *states)
{
    adz_module *module = adzi_child_at(self, 0);
    return module->type.cell_states != NULL ? module->type.cell_states(module, states) : 0;
}

static const adz_module_type checkpoint_type = {
    .size = sizeof(adz_module_type),
    .name = name,
    .forward = checkpoint_forward,
    .call = checkpoint_call,
    .cell_states = checkpoint_cell_states,
};

adz_module *adz_activation_checkpoint_new(adz_module *module)
{
    if (!adzi_check_module("adz_activation_checkpoint_new", "module", module)) {
        return NULL;
    }
    adz_module *self = adz_module_new(&checkpoint_type, 0);
    if (adz_module_add_child(self, "module", module) == NULL) {
        adz_module_release(&self);
    }
    return self;
}
