/* Putting back what the first call of a plan's function has changed: the option `restore`.
 *
 * Note [What a plan puts back]
 * While the function runs, the capture keeps what is about to change (snapshot.h). It learns of
 * each change before it happens: of operators in place and running statistics (`changes`), of
 * gradients
 * (`gradient`), of optimizers (`steps`), of random numbers (adzi_draws), and of buffers that are
 * replaced (`replaced`). Whatever writes to a tensor in another way also says so, but after it
 * (`written`). A tensor that is older than the call and has not been kept by then is an error, so
 * nothing is changed without a word. */
#include "plan/plan.h"

#include <string.h>

#include "tensor/tensor.h"

static adz_plan *plan_of(adzi_capture *capture)
{
    return (adz_plan *)(void *)capture;
}

/* Whether the captured call has made the memory of `t`. */
static bool is_new(const adz_plan *plan, const adz_tensor *t)
{
    return adzi_plan_blocks_find(&plan->current->blocks, t->storage->data) != SIZE_MAX;
}

/* ---- while the function runs ---------------------------------------------------------------- */

static void changes(adzi_capture *capture, adz_tensor *t)
{
    const adz_plan *plan = plan_of(capture);
    if (!is_new(plan, t)) {
        adzi_capture *paused = adzi_capture_pause();
        adzi_kept_add_contents(plan->kept, t);
        adzi_capture_resume(paused);
    }
}

static void gradient(adzi_capture *capture, adzi_gradient *g)
{
    const adz_plan *plan = plan_of(capture);
    adzi_capture *paused = adzi_capture_pause();
    adzi_kept_add_gradient(plan->kept, g, false);
    adzi_capture_resume(paused);
    plan->ordinary.gradient(capture, g);
}

/* Keeps the counts and the states of an optimizer, and the parameters that it updates. */
static void steps(adzi_capture *capture, adz_optimizer *optimizer)
{
    const adz_plan *plan = plan_of(capture);
    adzi_capture *paused = adzi_capture_pause();
    bool good = adzi_kept_add_optimizer(plan->kept, optimizer) != NULL;
    for (size_t g = 0; g < optimizer->n_groups && good; ++g) {
        const adzi_group *group = optimizer->groups[g];
        for (size_t i = 0; i < group->count && good; ++i) {
            good = adzi_kept_add_contents(plan->kept, group->parameters[i]);
            for (int k = 0; k < ADZ_OPTIMIZER_STATES && good; ++k) {
                adz_tensor *state = group->kept[i].state[k];
                good = state == NULL || adzi_kept_add_contents(plan->kept, state);
            }
        }
    }
    adzi_capture_resume(paused);
}

static void replaced(adzi_capture *capture, adz_module *module, const char *name, adz_tensor *old)
{
    const adz_plan *plan = plan_of(capture);
    adzi_capture *paused = adzi_capture_pause();
    for (size_t i = 0; i < module->n_buffers; ++i) {
        if (strcmp(module->buffers[i].name, name) == 0) {
            adzi_kept_add_buffer(plan->kept, module, i, old);
        }
    }
    adzi_capture_resume(paused);
    plan->ordinary.replaced(capture, module, name, old);
}

static void written(adzi_capture *capture, adz_tensor *t)
{
    adz_plan *plan = plan_of(capture);
    if (plan->unkept == NULL && !is_new(plan, t) && !adzi_kept_has(plan->kept, t)) {
        plan->unkept = t->storage->writer;
    }
    plan->ordinary.written(capture, t);
}

/* ---- beginning and ending ------------------------------------------------------------------- */

void adzi_plan_restore(adz_plan *plan)
{
    adzi_draws_end(&plan->kept->draws);
    adzi_kept_restore(plan->kept);
    plan->kept = NULL;
    plan->capture.changes = NULL;
    plan->capture.steps = NULL;
    plan->capture.gradient = plan->ordinary.gradient;
    plan->capture.replaced = plan->ordinary.replaced;
    plan->capture.written = plan->ordinary.written;
}

bool adzi_plan_restore_begin(const char *op, adz_plan *plan)
{
    plan->kept = adzi_kept_new(op, plan->module);
    if (plan->kept == NULL) {
        return false;
    }
    plan->ordinary = plan->capture;
    plan->capture.changes = changes;
    plan->capture.steps = steps;
    plan->capture.gradient = gradient;
    plan->capture.replaced = replaced;
    plan->capture.written = written;
    adzi_draws_begin(&plan->kept->draws);
    return true;
}

/* The captured call has used what has been put back since, so the next run captures again. */
bool adzi_plan_restore_end(const char *op, adz_plan *plan, bool good)
{
    const bool drawn = plan->kept->draws.count > ADZI_MOST_DRAWN;
    adzi_plan_restore(plan);
    atomic_store(&plan->stale, true);
    if (adzi_pending() != ADZ_OK) {
        return false;
    }
    if (drawn) {
        adzi_error(op, ADZ_ERR_STATE,
            "the function draws from more than %d generators, which the option restore does not put back; leave the option out",
            ADZI_MOST_DRAWN);
    } else if (plan->unkept != NULL) {
        adzi_error(op, ADZ_ERR_STATE,
            "%s has changed a tensor that the option restore does not put back; call it outside of the function, or leave the option out",
            plan->unkept);
    }
    return good && adzi_pending() == ADZ_OK;
}
