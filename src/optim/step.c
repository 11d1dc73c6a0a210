/* The step of an optimizer: what can fail first, then the changes. */
#include "autograd/leaf.h"
#include "base/error.h"
#include "base/tracer.h"
#include "optim/closure.h"
#include "tensor/copy.h"
#include "tensor/shape.h"

/* ---- what can fail -------------------------------------------------------------------------- */

bool adzi_check_gradient(const char *op, const adz_tensor *t, size_t i)
{
    const adz_tensor *grad = adzi_update_gradient(t);
    if (t->gradient->spoiled) {
        adzi_error(op, ADZ_ERR_STATE,
            "a backward failed after it had written the gradient of parameter %zu%s; call adz_optimizer_zero_grad or adz_module_zero_grad and compute the batch again",
            i, adzi_text_shape(t));
        return false;
    }
    if (grad->dtype != t->dtype || !adzi_same_sizes(t, grad) || !adzi_is_contiguous(grad) ||
        !adzi_is_contiguous(t)) {
        adzi_error(op, ADZ_ERR_STATE,
            "parameter %zu%s and its gradient%s must be contiguous and have one shape and dtype", i,
            adzi_text_shape(t), adzi_text_shape(grad));
        return false;
    }
    return true;
}

adz_tensor *adzi_state_new(const char *op, const adz_optimizer *optimizer, const adz_tensor *t,
    int k, const adzi_part *part)
{
    const bool divided = part->count != t->numel && !adzi_state_is_undivided(optimizer, t, k);
    const adz_shape whole = adzi_state_shape(optimizer, t, k);
    return adzi_tensor_new(adzi_self(), op, (adz_dtype)t->dtype, divided ? 1 : whole.rank,
        divided ? &part->count : whole.sizes);
}

double adzi_state_initial(const adz_optimizer *optimizer, const adzi_group *group, int state)
{
    const int setting = optimizer->type->states[state].initial;
    return setting == ADZ_INITIAL_ONE  ? 1
           : setting == ADZ_INITIAL_LR ? group->settings[0]
           : setting > 0               ? group->settings[setting]
                                       : 0;
}

/* Makes the states that parameter i needs and does not have. Their bits in `fresh` stay set until
 * the step is counted, so that undo can find them. */
static bool make_states(
    const char *op, const adz_optimizer *optimizer, adzi_group *group, size_t i, uint32_t needs)
{
    const adz_tensor *t = group->parameters[i];
    adzi_kept *kept = &group->kept[i];
    for (int k = 0; k < optimizer->n_states; ++k) {
        if (!(needs & (1u << k))) {
            continue;
        }
        if (kept->state[k] == NULL) {
            adzi_capture *paused = adzi_capture_pause(); /* a replay must not fill it again */
            const bool open = adzi_trace_open(true);
            kept->state[k] = adzi_state_new(op, optimizer, t, k, &kept->part);
            if (kept->state[k] != NULL) {
                adzi_fill(kept->state[k], adzi_state_initial(optimizer, group, k));
                kept->fresh |= 1u << k;
                adzi_trace_constant(kept->state[k]);
            }
            adzi_trace_open(open);
            adzi_capture_resume(paused);
            if (kept->state[k] == NULL) {
                return false;
            }
        } else if (kept->state[k]->dtype != t->dtype) {
            adzi_error(op, ADZ_ERR_DTYPE,
                "parameter %zu%s is %s, its %s %s; make the optimizer after adz_module_to", i,
                adzi_text_shape(t), adz_dtype_name((adz_dtype)t->dtype),
                optimizer->type->states[k].name, adz_dtype_name((adz_dtype)kept->state[k]->dtype));
            return false;
        }
    }
    return true;
}

void adzi_optimizer_undo(adz_optimizer *optimizer)
{
    for (size_t g = 0; g < optimizer->n_groups; ++g) {
        for (size_t i = 0; i < optimizer->groups[g]->count; ++i) {
            adzi_kept *kept = &optimizer->groups[g]->kept[i];
            for (int k = 0; k < optimizer->n_states; ++k) {
                if (kept->fresh & (1u << k)) {
                    adzi_drop(kept->state[k]);
                    kept->state[k] = NULL;
                }
            }
            for (int k = 0; k <= optimizer->n_states; ++k) {
                adzi_drop(kept->next[k]);
                kept->next[k] = NULL;
            }
            kept->fresh = 0;
        }
    }
    optimizer->prepared = false;
    ++optimizer->preparations;
}

void adzi_optimizer_settle(adz_optimizer *optimizer)
{
    if (optimizer->prepared) {
        adzi_optimizer_undo(optimizer);
    }
    if (optimizer->working != NULL) {
        adzi_search_undo(optimizer);
    }
}

/* Prepares the update of parameter i of a group. False with the error recorded. */
static bool prepare_one(
    const char *op, adz_optimizer *optimizer, adzi_group *group, size_t i, uint32_t needs)
{
    const adz_tensor *t = group->parameters[i];
    return adzi_check_gradient(op, t, i) && make_states(op, optimizer, group, i, needs) &&
           (!adzi_update_is_expressed(optimizer, t, &group->kept[i]) ||
               adzi_update_express(op, optimizer, group, i, needs));
}

adz_status adzi_optimizer_prepare(const char *op, adz_optimizer *optimizer)
{
    adzi_settle(adzi_self()); /* a backward that was left by a jump may spoil gradients */
    if (adzi_refused(op) != ADZ_OK) {
        return adzi_pending();
    }
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture != NULL && capture->steps != NULL) {
        capture->steps(capture, optimizer);
    }
    adzi_optimizer_settle(optimizer);
    ++optimizer->preparations;
    optimizer->prepared = true;
    bool good = true;
    size_t updated = 0;
    for (size_t g = 0; g < optimizer->n_groups && good; ++g) {
        adzi_group *group = optimizer->groups[g];
        const uint32_t needs = adzi_optimizer_needs(optimizer, group->settings);
        for (size_t i = 0; i < group->count && good; ++i) {
            const adz_tensor *t = group->parameters[i];
            const bool wanted = adzi_update_gradient(t) != NULL;
            const uint32_t its = needs & adzi_optimizer_states_of(optimizer, t);
            good = !wanted || prepare_one(op, optimizer, group, i, its);
            updated += wanted;
        }
    }
    if (!good) {
        adzi_optimizer_undo(optimizer);
        return adz_error_code();
    }
    if (updated == 0) {
        adzi_warn(op,
            "no parameter of this %s has a gradient, so the step changes nothing: call adz_backward, with a loss that depends on them, between zeroing gradients and the step",
            optimizer->type->name);
    }
    return ADZ_OK;
}

/* ---- what changes --------------------------------------------------------------------------- */

adz_status adzi_optimizer_update(const char *op, adz_optimizer *optimizer)
{
    bool good = true;
    for (size_t g = 0; g < optimizer->n_groups && good; ++g) {
        adzi_group *group = optimizer->groups[g];
        const uint32_t needs = adzi_optimizer_needs(optimizer, group->settings);
        for (size_t i = 0; i < group->count && good; ++i) {
            const adz_tensor *t = group->parameters[i];
            if (adzi_update_gradient(t) != NULL) {
                const uint32_t its = needs & adzi_optimizer_states_of(optimizer, t);
                good = adzi_update_apply(op, optimizer, group, i, its);
            }
        }
    }
    if (!good) {
        adzi_optimizer_undo(optimizer);
        return adz_error_code();
    }
    optimizer->prepared = false;
    return ADZ_OK;
}

/* Whether nothing but the optimizer has its parameters, so that nobody can use what it computes. */
static bool is_alone(const adz_optimizer *optimizer)
{
    for (size_t g = 0; g < optimizer->n_groups; ++g) {
        for (size_t i = 0; i < optimizer->groups[g]->count; ++i) {
            const adz_tensor *t = optimizer->groups[g]->parameters[i];
            if (atomic_load_explicit(&t->refs, memory_order_relaxed) > 1) {
                return false;
            }
        }
    }
    return true;
}

adz_status adz_optimizer_step(adz_optimizer *optimizer)
{
    static const char op[] = "adz_optimizer_step";
    if (!adzi_check_handle(op, "optimizer", optimizer)) {
        return adz_error_code();
    }
    if (optimizer->shard != NULL && adzi_pending() == ADZ_OK) {
        return adzi_error(op, ADZ_ERR_STATE,
            "the state of this %s is divided among ranks; call adz_data_parallel_step",
            optimizer->type->name);
    }
    if (optimizer->search != NULL && adzi_pending() == ADZ_OK) {
        return adzi_error(op, ADZ_ERR_STATE,
            "%s evaluates the loss several times in a step; call adz_optimizer_step_closure with a function that computes it",
            optimizer->type->name);
    }
    if (adzi_pending() == ADZ_OK && is_alone(optimizer)) {
        return adzi_error(op, ADZ_ERR_OWNERSHIP,
            "the module of this %s was freed, so the optimizer alone has its parameters and nobody uses them; free the optimizer before its module, or take a reference with adz_module_keep or adz_keep",
            optimizer->type->name);
    }
    adzi_tracer *tracer = adzi_self()->tracer;
    if (tracer != NULL && tracer->step != NULL && tracer->step(tracer, optimizer) != ADZ_OK) {
        return adz_error_code();
    }
    adz_status status = adzi_optimizer_prepare(op, optimizer);
    if (status == ADZ_OK) {
        status = adzi_optimizer_update(op, optimizer);
    }
    return status == ADZ_OK && tracer != NULL ? adzi_pending() : status;
}
