/* The optimizer and the two schedules of its learning rate. */
#include "optimizer.h"

#include <math.h>
#include <stdlib.h>

/* Weight decay applies to matrices and tables only, which are group 0. */
adz_optimizer *new_adamw(const options *o, adz_module *network)
{
    adz_tensor_list all = adz_module_parameters(network);
    adz_tensor **sorted = allocate(all.count * sizeof *sorted);
    size_t matrices = 0, others = 0;
    for (size_t i = 0; i < all.count; ++i) {
        if (adz_tensor_rank(all.items[i]) >= 2) {
            sorted[matrices++] = all.items[i];
        } else {
            sorted[all.count - ++others] = all.items[i];
        }
    }
    adz_adamw_options a = ADZ_ADAMW_OPTIONS;
    a.beta1 = o->beta1;
    a.beta2 = o->beta2;
    a.weight_decay = o->decay;
    adz_optimizer *adamw = adz_adamw_new(adz_tensor_list_of(sorted, matrices), o->lr, &a);
    int group = adz_optimizer_add_param_group(adamw, adz_tensor_list_of(sorted + matrices, others));
    adz_optimizer_set(adamw, group, "weight_decay", 0);
    free(sorted);
    return adamw;
}

/* The first rate is 1/25 of the highest. */
adz_scheduler *new_cycle(const options *o, adz_optimizer *adamw)
{
    adz_one_cycle_lr_options c = ADZ_ONE_CYCLE_LR_OPTIONS;
    c.pct_start = (double)o->warmup / (double)o->steps;
    c.final_div_factor = o->min_lr > 0 ? o->lr / c.div_factor / o->min_lr : INFINITY;
    c.base_momentum = o->beta1;
    c.max_momentum = o->max_beta1;
    return o->schedule == SCHEDULE_ONE_CYCLE ? adz_one_cycle_lr_new(adamw, o->lr, o->steps, &c)
                                             : NULL;
}

/* The rate rises in a line and then falls in half a cosine, to the smallest rate at the last step.
 */
static double rate(const options *o, int64_t step)
{
    const double pi = 3.14159265358979323846;
    if (step < o->warmup) {
        return o->lr * (double)(step + 1) / (double)(o->warmup + 1);
    }
    double part = (double)(step - o->warmup) / (double)(o->steps - o->warmup);
    return o->min_lr + 0.5 * (1 + cos(pi * part)) * (o->lr - o->min_lr);
}

void set_rate(const options *o, adz_optimizer *adamw, adz_scheduler *cycle, int64_t step)
{
    for (int group = 0; group < 2 && cycle == NULL; ++group) {
        adz_optimizer_set(adamw, group, "lr", rate(o, step));
    }
    if (cycle != NULL && step > 0) { /* a new schedule has the rate of the first step */
        adz_scheduler_step(cycle);
    }
}
