/* The step of an optimizer: what can fail first, then the changes. */
#include <math.h>

#include "autograd/leaf.h"
#include "base/error.h"
#include "base/tracer.h"
#include "optim/optimizer.h"
#include "tensor/copy.h"
#include "tensor/shape.h"

static adz_tensor *grad_of(const adz_tensor *t)
{
    adzi_recorder_gradient(t->gradient);
    return t->gradient != NULL ? t->gradient->grad : NULL;
}

/* ---- what can fail -------------------------------------------------------------------------- */

static bool check_gradient(const char *op, const adz_tensor *t, size_t i)
{
    const adz_tensor *grad = grad_of(t);
    if (t->gradient->spoiled) {
        adzi_error(op, ADZ_ERR_STATE,
            "a backward failed after it had written the gradient of parameter %zu%s; call "
            "adz_optimizer_zero_grad or adz_module_zero_grad and compute the batch again",
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

adz_tensor *adzi_state_new(const char *op, const adz_tensor *t, const adzi_part *part)
{
    const bool whole = part->count == t->numel;
    return adzi_tensor_new(
        adzi_self(), op, (adz_dtype)t->dtype, whole ? t->rank : 1, whole ? t->sizes : &part->count);
}

/* Makes the states that parameter i needs and does not have. Their bits in `fresh` stay set until
 * begin_update has run, so that undo can find them. */
static bool make_states(
    const char *op, const adz_optimizer *optimizer, adzi_group *group, size_t i, unsigned needs)
{
    const adz_tensor *t = group->parameters[i];
    adzi_kept *kept = &group->kept[i];
    for (int k = 0; k < optimizer->type->n_states; ++k) {
        if (!(needs & (1u << k))) {
            continue;
        }
        if (kept->state[k] == NULL) {
            adzi_recorder *paused = adzi_recorder_pause(); /* a replay must not fill it again */
            kept->state[k] = adzi_state_new(op, t, &kept->part);
            if (kept->state[k] != NULL) {
                adzi_fill(kept->state[k], 0);
                kept->fresh |= 1u << k;
            }
            adzi_recorder_resume(paused);
            if (kept->state[k] == NULL) {
                return false;
            }
        } else if (kept->state[k]->dtype != t->dtype) {
            adzi_error(op, ADZ_ERR_DTYPE,
                "parameter %zu%s is %s, its %s %s; make the optimizer after adz_module_to", i,
                adzi_text_shape(t), adz_dtype_name((adz_dtype)t->dtype), optimizer->type->states[k],
                adz_dtype_name((adz_dtype)kept->state[k]->dtype));
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
            for (int k = 0; k < ADZI_OPTIM_STATES; ++k) {
                if (kept->fresh & (1u << k)) {
                    adzi_drop(kept->state[k]);
                    kept->state[k] = NULL;
                }
            }
            kept->fresh = 0;
        }
    }
}

adz_status adzi_optimizer_prepare(const char *op, adz_optimizer *optimizer)
{
    adzi_settle(adzi_self()); /* a backward that was left by a jump may spoil gradients */
    if (adzi_pending() != ADZ_OK) {
        return adzi_pending();
    }
    for (size_t g = 0; g < optimizer->n_groups; ++g) {
        adzi_group *group = optimizer->groups[g];
        unsigned needs = optimizer->type->needs(group->settings);
        for (size_t i = 0; i < group->count; ++i) {
            const adz_tensor *t = group->parameters[i];
            if (grad_of(t) != NULL &&
                (!check_gradient(op, t, i) || !make_states(op, optimizer, group, i, needs))) {
                adzi_optimizer_undo(optimizer);
                return adz_error_code();
            }
        }
    }
    return ADZ_OK;
}

/* ---- what changes --------------------------------------------------------------------------- */

double adzi_moment_power(const adzi_moment *moment, int i, double base)
{
    adzi_power *p = &moment->powers[i];
    if (p->step != moment->step || p->base != base) {
        *p = (adzi_power){ base, pow(base, (double)moment->step), moment->step };
    }
    return p->power;
}

typedef struct {
    const adzi_optimizer_type *type;
    const double *settings;
    adzi_kept *kept;
    adzi_power *powers;
} begin_args;

/* Kernel of one unit: counts the step and computes the numbers of one parameter's update. */
static void begin_update(const void *block, int64_t begin, int64_t end)
{
    const begin_args *args = block;
    adzi_kept *kept = args->kept;
    if (begin < end) {
        const adzi_moment moment = { args->settings, kept->fresh, ++kept->steps, args->powers };
        args->type->numbers(&moment, kept->numbers);
        kept->fresh = 0;
    }
}

/* Tells the recorder of the thread, if there is one, which tensors an update uses. */
static void tell_recorder(adzi_recorder *recorder, adz_tensor *t, const adzi_update *u)
{
    adz_tensor *tensors[2 + ADZI_OPTIM_STATES] = { t, grad_of(t) };
    int n = 2;
    for (int k = 0; k < ADZI_OPTIM_STATES; ++k) {
        if (u->needs & (1u << k)) {
            tensors[n++] = u->state[k];
        }
    }
    recorder->updates(recorder, tensors, n);
}

/* Updates this process's part of parameter i of a group. */
static void update(
    const char *op, adz_optimizer *optimizer, adzi_group *group, size_t i, unsigned needs)
{
    adz_tensor *t = group->parameters[i];
    adzi_kept *kept = &group->kept[i];
    const size_t before = (size_t)kept->part.begin * adzi_item_size(t);
    const begin_args args = { optimizer->type, group->settings, kept, optimizer->powers };
    const adzi_update u = { .dtype = (adz_dtype)t->dtype,
        .count = kept->part.count,
        .parameter = t->data + before,
        .gradient = grad_of(t)->data + before,
        .state = kept->state,
        .needs = needs,
        .fresh = kept->fresh,
        .settings = group->settings,
        .numbers = kept->numbers };
    adzi_recorder *recorder = adzi_recorder_of(adzi_self());
    if (recorder != NULL) {
        tell_recorder(recorder, t, &u);
    }
    adzi_launch(begin_update, &args, 1, 1);
    optimizer->type->update(&u);
    if (recorder != NULL) {
        recorder->updates(recorder, NULL, 0);
    }
    adzi_written(t, op);
}

void adzi_optimizer_update(const char *op, adz_optimizer *optimizer)
{
    for (size_t g = 0; g < optimizer->n_groups; ++g) {
        adzi_group *group = optimizer->groups[g];
        const unsigned needs = optimizer->type->needs(group->settings);
        for (size_t i = 0; i < group->count; ++i) {
            if (grad_of(group->parameters[i]) != NULL) {
                update(op, optimizer, group, i, needs);
            }
        }
    }
}

adz_status adz_optimizer_step(adz_optimizer *optimizer)
{
    static const char op[] = "adz_optimizer_step";
    if (optimizer == NULL) {
        return adzi_error_null(op, "optimizer");
    }
    if (optimizer->shard != NULL && adzi_pending() == ADZ_OK) {
        return adzi_error(op, ADZ_ERR_STATE,
            "the state of this %s is divided among ranks; call adz_data_parallel_step",
            optimizer->type->name);
    }
    adzi_tracer *tracer = adzi_self()->tracer;
    if (tracer != NULL) {
        return tracer->step(tracer, optimizer);
    }
    const adz_status status = adzi_optimizer_prepare(op, optimizer);
    if (status == ADZ_OK) {
        adzi_optimizer_update(op, optimizer);
    }
    return status;
}
