/* The schedules of torch.optim.lr_scheduler that depend on the epoch only. Each function `rate`
 * returns the rate of s->last_epoch, given the rate `lr` of the epoch before. */
#include "optim/schedules/scheduler.h"

#include <math.h>

#include "base/door.h"
#include "base/error.h"
#include "tensor/kernel/real.h"

static const double pi = 3.14159265358979323846;

/* ---- StepLR, MultiStepLR, ExponentialLR ----------------------------------------------------- */

enum { GAMMA, STEP_SIZE }; /* numbers */

static const adz_field step_numbers[] = {
    ADZI_REAL("gamma", .value = 0.1),
    ADZI_WHOLE("step_size", ADZ_AT_LEAST(1)),
};

static double step_rate(const adz_scheduler *s, int group, double lr)
{
    (void)group;
    bool now = s->last_epoch > 0 && fmod((double)s->last_epoch, s->numbers[STEP_SIZE]) == 0;
    return now ? lr * s->numbers[GAMMA] : lr;
}

static double multi_step_rate(const adz_scheduler *s, int group, double lr)
{
    (void)group;
    int times = 0;
    for (size_t i = 0; i < s->n_list; ++i) {
        times += s->list[i] == (double)s->last_epoch;
    }
    return times > 0 ? lr * adzi_real_pow(s->numbers[GAMMA], times) : lr;
}

static double exponential_rate(const adz_scheduler *s, int group, double lr)
{
    (void)group;
    return s->last_epoch == 0 ? lr : lr * s->numbers[GAMMA];
}

static const adzi_schedule_type step_type = {
    .name = "StepLR", .rate = step_rate, ADZI_NUMBERS(step_numbers)
};
static const adzi_schedule_type multi_step_type = { .name = "MultiStepLR",
    .rate = multi_step_rate };
static const adzi_schedule_type exponential_type = { .name = "ExponentialLR",
    .rate = exponential_rate };

adz_scheduler *adz_step_lr_new(adz_optimizer *optimizer, int64_t step_size, double gamma)
{
    adz_scheduler plan = { .type = &step_type, .numbers = { gamma, (double)step_size } };
    return adzi_scheduler_new("adz_step_lr_new", optimizer, &plan, NULL, 0);
}

adz_scheduler *adz_multi_step_lr_new(
    adz_optimizer *optimizer, const int64_t *milestones, size_t n_milestones, double gamma)
{
    static const char op[] = "adz_multi_step_lr_new";
    if (milestones == NULL && n_milestones > 0) {
        return adzi_fail_null(op, "milestones");
    }
    double *list = n_milestones > 0 ? adzi_alloc(n_milestones * sizeof *list) : NULL;
    if (n_milestones > 0 && list == NULL) {
        return adzi_fail_memory(op, n_milestones * sizeof *list);
    }
    for (size_t i = 0; i < n_milestones; ++i) {
        list[i] = (double)milestones[i];
    }
    adz_scheduler plan = { .type = &multi_step_type, .numbers = { gamma } };
    adz_scheduler *s = adzi_scheduler_new(op, optimizer, &plan, list, n_milestones);
    adzi_free(list, n_milestones * sizeof *list);
    return s;
}

adz_scheduler *adz_exponential_lr_new(adz_optimizer *optimizer, double gamma)
{
    adz_scheduler plan = { .type = &exponential_type, .numbers = { gamma } };
    return adzi_scheduler_new("adz_exponential_lr_new", optimizer, &plan, NULL, 0);
}

/* ---- LinearLR ------------------------------------------------------------------------------- */

enum { START_FACTOR, END_FACTOR, TOTAL_ITERS };

static const adz_field linear_numbers[] = {
    ADZI_REAL("start_factor", .value = 1.0 / 3, ADZ_ABOVE_TO(0, 1)),
    ADZI_REAL("end_factor", .value = 1, ADZ_CLOSED(0, 1)),
    ADZI_WHOLE("total_iters", .value = 5, ADZ_AT_LEAST(0)),
};

/* Multiplies lr by the ratio of the line's values at this epoch and at the one before. fmax()
 * removes a negative rounding error where the line ends at 0. */
static double linear_rate(const adz_scheduler *s, int group, double lr)
{
    (void)group;
    double start = s->numbers[START_FACTOR], rise = s->numbers[END_FACTOR] - start;
    double epoch = (double)s->last_epoch, total = s->numbers[TOTAL_ITERS];
    if (s->last_epoch == 0) {
        return lr * start;
    }
    return epoch > total ? lr : fmax(0, lr * (1 + rise / (total * start + (epoch - 1) * rise)));
}

static const adzi_schedule_type linear_type = {
    .name = "LinearLR", .rate = linear_rate, ADZI_NUMBERS(linear_numbers)
};

adz_scheduler *adz_linear_lr_new(
    adz_optimizer *optimizer, double start_factor, double end_factor, int64_t total_iters)
{
    adz_scheduler plan = { .type = &linear_type,
        .numbers = { start_factor, end_factor, (double)total_iters } };
    return adzi_scheduler_new("adz_linear_lr_new", optimizer, &plan, NULL, 0);
}

/* ---- ConstantLR, PolynomialLR --------------------------------------------------------------- */

enum { FACTOR, CONSTANT_ITERS };

static const adz_field constant_numbers[] = {
    ADZI_REAL("factor", .value = 1.0 / 3, ADZ_ABOVE_TO(0, 1)),
    ADZI_WHOLE("total_iters", .value = 5, ADZ_AT_LEAST(1)),
};

static double constant_rate(const adz_scheduler *s, int group, double lr)
{
    (void)group;
    const double factor = s->numbers[FACTOR];
    if (s->last_epoch == 0) {
        return lr * factor;
    }
    return (double)s->last_epoch == s->numbers[CONSTANT_ITERS] ? lr * (1 / factor) : lr;
}

static const adzi_schedule_type constant_type = {
    .name = "ConstantLR", .rate = constant_rate, ADZI_NUMBERS(constant_numbers)
};

adz_scheduler *adz_constant_lr_new(adz_optimizer *optimizer, double factor, int64_t total_iters)
{
    adz_scheduler plan = { .type = &constant_type, .numbers = { factor, (double)total_iters } };
    return adzi_scheduler_new("adz_constant_lr_new", optimizer, &plan, NULL, 0);
}

enum { POWER, POLYNOMIAL_ITERS };

static const adz_field polynomial_numbers[] = {
    ADZI_REAL("power", .value = 1, ADZ_FINITE_FROM(0)),
    ADZI_WHOLE("total_iters", .value = 5, ADZ_AT_LEAST(1)),
};

/* Multiplies lr by the ratio of the polynomial's values at this epoch and at the one before. */
static double polynomial_rate(const adz_scheduler *s, int group, double lr)
{
    (void)group;
    const double epoch = (double)s->last_epoch, total = s->numbers[POLYNOMIAL_ITERS];
    if (s->last_epoch == 0 || epoch > total) {
        return lr;
    }
    return lr * adzi_real_pow((1 - epoch / total) / (1 - (epoch - 1) / total), s->numbers[POWER]);
}

static const adzi_schedule_type polynomial_type = {
    .name = "PolynomialLR", .rate = polynomial_rate, ADZI_NUMBERS(polynomial_numbers)
};

adz_scheduler *adz_polynomial_lr_new(adz_optimizer *optimizer, int64_t total_iters, double power)
{
    adz_scheduler plan = { .type = &polynomial_type, .numbers = { power, (double)total_iters } };
    return adzi_scheduler_new("adz_polynomial_lr_new", optimizer, &plan, NULL, 0);
}

/* ---- CosineAnnealingLR, CosineAnnealingWarmRestarts ----------------------------------------- */

enum { ETA_MIN, T_MAX };

static const adz_field cosine_numbers[] = {
    ADZI_REAL("eta_min", .value = 0),
    ADZI_WHOLE("t_max", ADZ_AT_LEAST(1)),
};

/* Multiplies lr - eta_min by the ratio of the cosine's values at this epoch and at the one before.
 * Where the value before is 0, the difference of the two values is added instead. */
static double cosine_rate(const adz_scheduler *s, int group, double lr)
{
    double t_max = s->numbers[T_MAX], eta_min = s->numbers[ETA_MIN];
    if (s->last_epoch == 0) {
        return lr;
    }
    if (fmod((double)(s->last_epoch - 1) - t_max, 2 * t_max) == 0) {
        return lr + (s->base_lrs[group] - eta_min) * (1 - adzi_real_cos(pi / t_max)) / 2;
    }
    double now = 1 + adzi_real_cos(pi * (double)s->last_epoch / t_max);
    double before = 1 + adzi_real_cos(pi * (double)(s->last_epoch - 1) / t_max);
    double rate = now / before * (lr - eta_min) + eta_min;
    return eta_min >= 0 ? fmax(rate, 0) : rate; /* rounding can give -2e-19 instead of 0 */
}

static const adzi_schedule_type cosine_type = {
    .name = "CosineAnnealingLR", .rate = cosine_rate, ADZI_NUMBERS(cosine_numbers)
};

adz_scheduler *adz_cosine_annealing_lr_new(adz_optimizer *optimizer, int64_t t_max, double eta_min)
{
    adz_scheduler plan = { .type = &cosine_type, .numbers = { eta_min, (double)t_max } };
    return adzi_scheduler_new("adz_cosine_annealing_lr_new", optimizer, &plan, NULL, 0);
}

enum { T_0 = 1, T_MULT }; /* numbers after ETA_MIN */
enum { T_CUR, T_I };      /* moving: epochs since the last restart, epochs between restarts */

static const adz_field restarts_numbers[] = {
    ADZI_REAL("eta_min", .value = 0),
    ADZI_WHOLE("t_0", ADZ_AT_LEAST(1)),
    ADZI_WHOLE("t_mult", .value = 1, ADZ_AT_LEAST(1)),
};

static double restarts_rate(const adz_scheduler *s, int group, double lr)
{
    (void)lr;
    double eta_min = s->numbers[ETA_MIN];
    return eta_min + (s->base_lrs[group] - eta_min) *
                         (1 + adzi_real_cos(pi * s->moving[T_CUR] / s->moving[T_I])) / 2;
}

static void restarts_advance(adz_scheduler *s)
{
    s->moving[T_CUR] += 1;
    if (s->moving[T_CUR] >= s->moving[T_I]) {
        s->moving[T_CUR] -= s->moving[T_I];
        s->moving[T_I] *= s->numbers[T_MULT];
    }
}

/* Computes T_CUR and T_I of any epoch, which may have a fraction. */
static void restarts_move(adz_scheduler *s, double epoch)
{
    double t_0 = s->numbers[T_0], mult = s->numbers[T_MULT];
    s->last_epoch = (int64_t)floor(epoch);
    if (mult == 1) {
        s->moving[T_CUR] = fmod(epoch, t_0);
        s->moving[T_I] = t_0;
        return;
    }
    s->moving[T_CUR] = epoch;
    s->moving[T_I] = t_0;
    while (s->moving[T_CUR] >= s->moving[T_I]) {
        s->moving[T_CUR] -= s->moving[T_I];
        s->moving[T_I] *= mult;
    }
}

static bool restarts_are_sound(const adz_scheduler *s, const double *moving)
{
    return moving[T_CUR] >= 0 && moving[T_CUR] < moving[T_I] && moving[T_I] >= s->numbers[T_0] &&
           isfinite(moving[T_I]);
}

static const adzi_schedule_type restarts_type = {
    .name = "CosineAnnealingWarmRestarts",
    .n_moving = 2,
    .rate = restarts_rate,
    .advance = restarts_advance,
    .is_sound = restarts_are_sound,
    .move = restarts_move,
    ADZI_NUMBERS(restarts_numbers),
};

adz_scheduler *adz_cosine_annealing_warm_restarts_new(
    adz_optimizer *optimizer, int64_t t_0, int64_t t_mult, double eta_min)
{
    adz_scheduler plan = { .type = &restarts_type,
        .numbers = { eta_min, (double)t_0, (double)t_mult },
        .moving = { 0, (double)t_0 } };
    return adzi_scheduler_new("adz_cosine_annealing_warm_restarts_new", optimizer, &plan, NULL, 0);
}

/* ---- LambdaLR, MultiplicativeLR -------------------------------------------------------------- */

typedef struct factor_call {
    const adz_scheduler *scheduler;
    int group;
    double factor; /* NaN, which no rate can be, unless the door opens */
} factor_call;

static bool run_lambda(void *state)
{
    factor_call *call = state;
    const adz_scheduler *s = call->scheduler;
    call->factor = s->lambda(s->last_epoch, call->group, s->user);
    return true;
}

static double factor_of(const adz_scheduler *s, int group, const char *op)
{
    const adzi_door door = { .op = op };
    factor_call call = { s, group, NAN };
    adzi_through_door(&door, run_lambda, &call);
    return call.factor;
}

static double lambda_rate(const adz_scheduler *s, int group, double lr)
{
    (void)lr;
    return s->base_lrs[group] * factor_of(s, group, "adz_lambda_lr_new");
}

static const adzi_schedule_type lambda_type = { .name = "LambdaLR", .rate = lambda_rate };

adz_scheduler *adz_lambda_lr_new(adz_optimizer *optimizer, adz_lr_lambda lambda, void *user)
{
    static const char op[] = "adz_lambda_lr_new";
    if (lambda == NULL) {
        return adzi_fail_null(op, "lambda");
    }
    adz_scheduler plan = { .type = &lambda_type, .lambda = lambda, .user = user };
    return adzi_scheduler_new(op, optimizer, &plan, NULL, 0);
}

static double multiplied(const adz_scheduler *s, int group, double lr)
{
    return lr * factor_of(s, group, "adz_multiplicative_lr_new");
}

static double multiplicative_rate(const adz_scheduler *s, int group, double lr)
{
    return s->last_epoch == 0 ? lr : multiplied(s, group, lr);
}

static const adzi_schedule_type multiplicative_type = {
    .name = "MultiplicativeLR", .rate = multiplicative_rate, .restart = multiplied
};

adz_scheduler *adz_multiplicative_lr_new(adz_optimizer *optimizer, adz_lr_lambda lambda, void *user)
{
    static const char op[] = "adz_multiplicative_lr_new";
    if (lambda == NULL) {
        return adzi_fail_null(op, "lambda");
    }
    adz_scheduler plan = { .type = &multiplicative_type, .lambda = lambda, .user = user };
    return adzi_scheduler_new(op, optimizer, &plan, NULL, 0);
}

/* Reads the adz_lr_warmup that the caller passed as `user`; false with the error recorded if it is
 * NULL. The numbers are doubles, so that sums of them cannot overflow. */
static bool warmup_of(const char *op, const void *user, double *warmup, double *total)
{
    const adz_lr_warmup *w = user;
    if (w == NULL) {
        adzi_error_null(op, "user");
        return false;
    }
    *warmup = (double)w->warmup;
    *total = (double)w->total;
    return true;
}

double adz_lr_warmup_constant(int64_t epoch, int group, void *user)
{
    double warmup, total;
    (void)group;
    return warmup_of("adz_lr_warmup_constant", user, &warmup, &total)
               ? fmin(1, ((double)epoch + 1) / warmup)
               : NAN;
}

double adz_lr_warmup_inverse_sqrt(int64_t epoch, int group, void *user)
{
    double t = (double)epoch + 1, warmup, total;
    (void)group;
    return warmup_of("adz_lr_warmup_inverse_sqrt", user, &warmup, &total)
               ? fmin(t / warmup, sqrt(warmup / t))
               : NAN;
}

double adz_lr_warmup_linear(int64_t epoch, int group, void *user)
{
    double t = (double)epoch, warmup, total;
    (void)group;
    if (!warmup_of("adz_lr_warmup_linear", user, &warmup, &total)) {
        return NAN;
    }
    return t < warmup ? t / warmup : t < total ? (total - t) / (total - warmup) : 0;
}
