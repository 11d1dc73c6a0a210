/* The numbers of an update, such as its rate: computed in launches, so that a replayed step has its
 * own. */
#include <math.h>
#include <string.h>

#include "optim/optimizer.h"
#include "tensor/kernel/real.h"
#include "tensor/copy.h"

double adz_moment_power(const adz_step_context *at, int i, double base)
{
    if (at == NULL || i < 0 || i >= ADZ_MOMENT_POWERS) {
        return NAN;
    }
    adzi_power *p = &((const adzi_moment *)(const void *)at)->powers[i];
    if (p->step != at->step || p->base != base) {
        *p = (adzi_power){ base, adzi_real_pow(base, (double)at->step), at->step };
    }
    return p->power;
}

/* The arguments of the launches that compute the numbers of an update. */
typedef struct {
    adz_optimizer *optimizer;
    const double *settings;
    adzi_kept *kept;
    void *scalars; /* where compute_numbers writes them in the dtype of the parameter */
    adz_dtype dtype;
} numbers_args;

ADZI_ADDRESSES(numbers_args, optimizer, settings, kept, scalars);

static adzi_moment moment_at(const adz_optimizer *o, const double *settings, int64_t step,
    uint32_t fresh, adzi_power *powers)
{
    return (adzi_moment){
        .seen = { settings, o->type->uncounted ? 0 : step, fresh }, .optimizer = o, .powers = powers
    };
}

adzi_moment adzi_next_moment(
    adz_optimizer *optimizer, const double *settings, const adzi_kept *kept)
{
    return moment_at(optimizer, settings, kept->steps + 1, kept->fresh, optimizer->powers);
}

static void numbers_at(const adz_optimizer *o, const adzi_moment *moment, double *numbers)
{
    if (o->type->numbers != NULL) {
        o->type->numbers(numbers, &moment->seen);
    } else {
        memcpy(numbers, moment->seen.settings, (size_t)o->n_numbers * sizeof *numbers);
    }
}

void adzi_update_numbers(const adz_optimizer *optimizer, const double *settings, int64_t step,
    uint32_t fresh, double *numbers)
{
    adzi_power powers[ADZ_MOMENT_POWERS] = { { 0 } };
    const adzi_moment moment = moment_at(optimizer, settings, step, fresh, powers);
    numbers_at(optimizer, &moment, numbers);
}

/* Computes the numbers of the step that follows kept->steps. */
static void write_numbers(const numbers_args *args)
{
    const adzi_moment moment = adzi_next_moment(args->optimizer, args->settings, args->kept);
    numbers_at(args->optimizer, &moment, args->kept->numbers);
}

/* Kernel of one unit: computes the numbers, in f64 and in the dtype of the parameter. */
static void compute_numbers(const void *block, int64_t begin, int64_t end)
{
    const numbers_args *args = block;
    const size_t item = args->dtype == ADZ_F32 ? sizeof(float) : sizeof(double);
    if (begin < end) {
        write_numbers(args);
        for (int k = 0; k < args->optimizer->n_numbers; ++k) {
            adzi_encode(
                args->dtype, args->kept->numbers[k], (char *)args->scalars + (size_t)k * item);
        }
    }
}

/* Kernel of one unit: counts the step. */
static void count_step(const void *block, int64_t begin, int64_t end)
{
    const numbers_args *args = block;
    if (begin < end) {
        ++args->kept->steps;
        args->kept->fresh = 0;
    }
}

/* Kernel of one unit: computes the numbers of a step and counts it. */
static void begin_step(const void *block, int64_t begin, int64_t end)
{
    if (begin < end) {
        write_numbers(block);
        count_step(block, begin, end);
    }
}

void adzi_compute_numbers(
    adz_optimizer *o, const double *settings, adzi_kept *kept, void *scalars, adz_dtype dtype)
{
    const numbers_args args = { o, settings, kept, scalars, dtype };
    adzi_launch(compute_numbers, numbers_args, &args, 1, 1);
}

void adzi_begin_step(adz_optimizer *o, const double *settings, adzi_kept *kept)
{
    const numbers_args args = { o, settings, kept, NULL, ADZ_F64 };
    adzi_launch(begin_step, numbers_args, &args, 1, 1);
}

void adzi_count_step(adz_optimizer *o, const double *settings, adzi_kept *kept)
{
    const numbers_args args = { o, settings, kept, NULL, ADZ_F64 };
    adzi_launch(count_step, numbers_args, &args, 1, 1);
}
