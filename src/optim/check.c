/* adz_optimizer_check: compares what a type says twice of an optimizer. The kernels are compared
 * with the expression, and the update of a whole parameter with those of its halves. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "base/tracer.h"
#include "optim/optimizer.h"
#include "tensor/kernel/real.h"
#include "tensor/copy.h"

enum {
    ODD = 37,      /* elements of the parameter with special values */
    LARGE = 40003, /* elements that several threads update */
    STEPS = 8,     /* with each choice of settings: more than a rectified optimizer waits */
    FEW_STEPS = 3  /* of large parameters */
};

static const char function[] = "adz_optimizer_check";

/* The expression of the whole parameter, the kernel, and the expression of two halves. */
enum { EXPRESSED, BY_KERNEL, HALVES, VARIANTS };

typedef struct {
    const adz_optimizer_type *type;
    adz_optimizer_type expressed; /* the type without its kernels */
    double ulps;
    /* the sample */
    double settings[ADZ_OPTIMIZER_SETTINGS];
    adz_dtype dtype;
    int64_t n, half; /* elements of the parameter, and of its first half */
    int step;
    adz_optimizer *optimizers[VARIANTS];       /* NULL for a variant that the type does not have */
    adz_tensor *w[VARIANTS], *second;          /* `second` is the second half */
    adz_tensor *old[1 + ADZ_OPTIMIZER_STATES]; /* values before the step; NULL: there were none */
} check;

/* ---- values --------------------------------------------------------------------------------- */

static const double special[] = { 0, -0.0, 4.94065645841246544e-324, 1e-42, FLT_MIN, 1e-30, 1e19,
    FLT_MAX, 1e300, INFINITY, -INFINITY, NAN };
enum { N_SPECIAL = sizeof special / sizeof *special };

/* The first elements stay ordinary. Others start from a special value, or get one as gradient in
 * one of the steps. */
static double start_at(int64_t i)
{
    return i % ODD >= 30 ? special[i % N_SPECIAL] : adzi_real_cos(1.3 * (double)i) + 0.2;
}

static double gradient_at(int64_t i, int step)
{
    const bool is_special = i % ODD >= 12 && i % ODD < 30 && step == (int)(i % 3);
    return is_special
               ? special[i % N_SPECIAL]
               : adzi_real_sin(0.7 * (double)i + 1.9 * step) * (1 + 0.5 * (double)(i % 3)) + 0.1;
}

/* Elements first .. first + n - 1 of the parameter, or of its gradient in a step of 0 or more.
 * Borrowed from the scope. NULL with the error recorded. */
static adz_tensor *values(const check *c, int64_t first, int64_t n, int step)
{
    adz_tensor *t = adzi_tensor_borrowed(adzi_self(), function, c->dtype, 1, &n);
    for (int64_t i = 0; t != NULL && i < n; ++i) {
        adzi_encode(c->dtype, step < 0 ? start_at(first + i) : gradient_at(first + i, step),
            t->data + (size_t)i * adzi_item_size(t));
    }
    return t;
}

/* ---- comparing ------------------------------------------------------------------------------ */

static double element(adz_dtype dtype, const char *data, int64_t i)
{
    if (dtype == ADZ_F32) {
        return (double)((const float *)(const void *)data)[i];
    }
    return ((const double *)(const void *)data)[i];
}

/* One unit in the last place of a finite number. */
static double unit(adz_dtype dtype, double x)
{
    if (dtype == ADZ_F32) {
        const float size = fabsf((float)x);
        return size < FLT_MAX ? (double)(nextafterf(size, INFINITY) - size) : 0x1p104;
    }
    const double size = fabs(x);
    return size < DBL_MAX ? nextafter(size, INFINITY) - size : 0x1p970;
}

static bool is_close(const check *c, double x, double y, double old, double ulps)
{
    if (x == y || (isnan(x) && isnan(y))) {
        return true;
    }
    if (!isfinite(x) || !isfinite(y) || ulps == 0) {
        return false;
    }
    const double scale = isfinite(old) ? fmax(fabs(old), fabs(y)) : fabs(y);
    return fabs(x - y) <= ulps * unit(c->dtype, scale);
}

/* "the parameter" or the name of state k - 1. */
static const char *name_of(const check *c, int k)
{
    return k == 0 ? "the parameter" : c->type->states[k - 1].name;
}

/* Elements of a value that were computed otherwise than by the expression. */
typedef struct part {
    const char *variant; /* for messages */
    int k;               /* 0 for the parameter, else state k - 1 */
    const adz_tensor *elements;
    int64_t first; /* the position of the first of them in the value */
    double ulps;   /* how far they may be off, in units in the last place */
} part;

/* Records that element i of the value is x by the part, and y by the expression. */
static void report(const check *c, const part *p, int64_t i, double x, double y)
{
    adzi_text settings = { 0 };
    const adz_optimizer *o = c->optimizers[EXPRESSED];
    for (int s = 0; s < o->n_settings; ++s) {
        adzi_text_format(&settings, "%s%s=%s", s > 0 ? ", " : "", o->type->settings[s].name,
            adzi_text_number(c->settings[s]));
    }
    adzi_error(function, ADZ_ERR_NUMERIC,
        "%s: in step %d of a %s parameter of %lld elements, with %s, element %lld of %s is %s by %s, but %s by its `update`",
        c->type->name, c->step + 1, adz_dtype_name(c->dtype), (long long)c->n,
        adzi_text_get(&settings), (long long)i, name_of(c, p->k), adzi_text_number(x), p->variant,
        adzi_text_number(y));
    adzi_text_free(&settings);
}

/* Compares a part with the whole value that the expression has computed. */
static bool agree(const check *c, const part *p, const adz_tensor *whole)
{
    const adz_tensor *before = c->old[p->k];
    if (p->elements == NULL || p->first + p->elements->numel > whole->numel) {
        adzi_error(function, ADZ_ERR_ARGUMENT,
            "%s: %s has another shape by %s; set `whole` if `state_shape` depends on the parameter's size",
            c->type->name, name_of(c, p->k), p->variant);
        return false;
    }
    for (int64_t i = 0; i < p->elements->numel; ++i) {
        const double x = element(c->dtype, p->elements->data, i);
        const double y = element(c->dtype, whole->data, p->first + i);
        const double old = before != NULL ? element(c->dtype, before->data, p->first + i) : 0;
        if (!is_close(c, x, y, old, p->ulps)) {
            report(c, p, p->first + i, x, y);
            return false;
        }
    }
    return true;
}

/* The parameter, or state k - 1, of parameter i of an optimizer. NULL if there is no such state. */
static adz_tensor *value_of(const adz_optimizer *o, size_t i, int k)
{
    const adzi_group *group = o->groups[0];
    return k == 0 ? group->parameters[i] : group->kept[i].state[k - 1];
}

/* ---- ranges of a kernel --------------------------------------------------------------------- */

/* Calls the kernel for two ranges of elements, the last one first, on the values before the step.
 * The results must be those of the step. */
static bool compare_ranges(const check *c, const adz_tensor *gradient)
{
    const adz_optimizer *o = c->optimizers[BY_KERNEL];
    adz_tensor *made[1 + ADZ_OPTIMIZER_STATES] = { NULL };
    void *states[ADZ_OPTIMIZER_STATES] = { NULL };
    for (int k = 0; k <= o->n_states; ++k) {
        if (value_of(o, 0, k) == NULL) {
            continue;
        }
        made[k] = adzi_tensor_borrowed(adzi_self(), function, c->dtype, 1, &c->n);
        if (made[k] == NULL) {
            return false;
        }
        if (c->old[k] != NULL) {
            adzi_copy(made[k], c->old[k]);
        } else {
            adzi_fill(made[k], adzi_state_initial(o, o->groups[0], k - 1));
        }
        if (k > 0) {
            states[k - 1] = made[k]->data;
        }
    }
    const adz_update_call call = { .parameter = made[0]->data,
        .gradient = gradient->data,
        .states = states,
        .numbers = o->groups[0]->kept[0].numbers };
    const adz_update_kernel kernel = o->type->kernels[c->dtype];
    const int64_t cut = c->n / 3;
    if (cut < c->n) {
        kernel(&call, cut, c->n);
    }
    if (cut > 0) {
        kernel(&call, 0, cut);
    }
    bool good = true;
    for (int k = 0; k <= o->n_states && good; ++k) {
        const part p = { "its kernel called for two ranges of elements", k, made[k], 0, 0 };
        good = made[k] == NULL || agree(c, &p, value_of(o, 0, k));
    }
    return good;
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* Keeps the values before the step. */
static bool keep_old(check *c)
{
    const adz_optimizer *o = c->optimizers[EXPRESSED];
    for (int k = 0; k <= o->n_states; ++k) {
        const adz_tensor *t = value_of(o, 0, k);
        c->old[k] = NULL;
        if (t != NULL) {
            c->old[k] = adzi_tensor_borrowed(adzi_self(), function, c->dtype, t->rank, t->sizes);
            if (c->old[k] == NULL) {
                return false;
            }
            adzi_copy(c->old[k], t);
        }
    }
    return true;
}

/* Gives the gradients of the step and makes it, for each variant. */
static bool make_step(const check *c, adz_tensor *gradient)
{
    bool good = true;
    for (int variant = 0; variant < VARIANTS && good; ++variant) {
        adz_optimizer *o = c->optimizers[variant];
        if (o == NULL) {
            continue;
        }
        adz_tensor *g = variant == HALVES ? values(c, 0, c->half, c->step) : gradient;
        good = g != NULL && adz_tensor_set_grad(c->w[variant], g) == ADZ_OK;
        if (good && variant == HALVES) {
            g = values(c, c->half, c->n - c->half, c->step);
            good = g != NULL && adz_tensor_set_grad(c->second, g) == ADZ_OK;
        }
        good = good && adz_optimizer_step(o) == ADZ_OK;
    }
    return good;
}

/* Compares the values after the step. The kernel goes on from those of the expression, so that
 * differences do not add up. */
static bool compare_values(const check *c)
{
    const adz_optimizer *o = c->optimizers[EXPRESSED];
    const adz_optimizer *by_kernel = c->optimizers[BY_KERNEL], *halves = c->optimizers[HALVES];
    const char *by_halves =
        "the update of one half (is an element's update that of every element by itself? If not, set `whole`)";
    bool good = true;
    for (int k = 0; k <= o->n_states && good; ++k) {
        const adz_tensor *t = value_of(o, 0, k);
        if (t == NULL) {
            continue;
        }
        if (by_kernel != NULL) {
            adz_tensor *ours = value_of(by_kernel, 0, k);
            good = agree(c, &(part){ "its kernel", k, ours, 0, c->ulps }, t);
            adzi_copy(ours, t);
        }
        if (good && halves != NULL) {
            const bool divided = k == 0 || !adzi_state_is_undivided(o, value_of(o, 0, 0), k - 1);
            const part first = { by_halves, k, value_of(halves, 0, k), 0, 0 };
            const part second = { by_halves, k, value_of(halves, 1, k), divided ? c->half : 0, 0 };
            good = agree(c, &first, t) && agree(c, &second, t);
        }
    }
    return good;
}

static bool compare_step(check *c)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *gradient = scope != NULL ? values(c, 0, c->n, c->step) : NULL;
    const bool good = gradient != NULL && keep_old(c) && make_step(c, gradient) &&
                      (c->optimizers[BY_KERNEL] == NULL || compare_ranges(c, gradient)) &&
                      compare_values(c);
    adz_scope_close(scope);
    return good;
}

/* ---- samples -------------------------------------------------------------------------------- */

static adz_tensor *leaf(const check *c, int64_t first, int64_t n)
{
    adz_tensor *t = values(c, first, n, -1);
    return t != NULL ? adz_requires_grad_(t, true) : NULL;
}

static bool make_optimizers(check *c, size_t n_settings)
{
    c->half = c->n / 2;
    const bool has[VARIANTS] = { true, c->type->kernels[c->dtype] != NULL,
        !c->expressed.whole && c->n > 1 };
    for (int variant = 0; variant < VARIANTS; ++variant) {
        c->optimizers[variant] = NULL;
    }
    for (int variant = 0; variant < VARIANTS; ++variant) {
        if (!has[variant]) {
            continue;
        }
        c->w[variant] = leaf(c, 0, variant == HALVES ? c->half : c->n);
        c->second = variant == HALVES ? leaf(c, c->half, c->n - c->half) : NULL;
        if (c->w[variant] == NULL || (variant == HALVES && c->second == NULL)) {
            return false;
        }
        adz_tensor *const list[] = { c->w[variant], c->second };
        c->optimizers[variant] =
            adzi_optimizer_make(function, variant == BY_KERNEL ? c->type : &c->expressed,
                adz_tensor_list_of(list, variant == HALVES ? 2 : 1), c->settings, n_settings);
        if (c->optimizers[variant] == NULL) {
            return false;
        }
    }
    return true;
}

/* Compares some steps with the settings of `c`. */
static bool compare_steps(check *c, size_t n_settings, adz_dtype dtype, int64_t n, int steps)
{
    c->dtype = dtype;
    c->n = n;
    adz_scope *scope = adz_scope_open();
    bool good = scope != NULL && make_optimizers(c, n_settings);
    for (c->step = 0; c->step < steps && good; ++c->step) {
        good = compare_step(c);
    }
    for (int variant = 0; variant < VARIANTS && scope != NULL; ++variant) {
        adz_optimizer_release(&c->optimizers[variant]);
    }
    adz_scope_close(scope);
    return good;
}

/* Another value of a setting: the other one of a flag, 0, or not 0. */
static double changed(const adz_field *s, double value)
{
    return s->kind == ADZ_FIELD_BOOL ? (value == 0 ? 1 : 0) : value != 0 ? 0 : 0.375;
}

/* Whether the type accepts the settings. An error that says otherwise is not reported. */
static bool accepts(const adz_optimizer *o, const double *settings)
{
    adzi_thread *thread = adzi_self();
    adzi_hold_reports();
    const adz_status held = thread->held_code;
    const bool good = adzi_check_settings(function, o, settings) == ADZ_OK;
    if (!good) {
        adz_error_clear();
        thread->held_code = held;
    }
    adzi_release_reports();
    return good;
}

/* Compares steps with each setting changed, alone (i == j) and together with each other one. */
static bool compare_settings(check *c, const adz_optimizer *o)
{
    bool good = true;
    for (int i = 0; i < o->n_settings && good; ++i) {
        for (int j = i; j < o->n_settings && good; ++j) {
            memcpy(c->settings, o->defaults, sizeof c->settings);
            c->settings[i] = changed(&o->type->settings[i], o->defaults[i]);
            c->settings[j] = changed(&o->type->settings[j], o->defaults[j]);
            for (int dtype = ADZ_F32; dtype <= ADZ_F64 && good && accepts(o, c->settings);
                 ++dtype) {
                good = compare_steps(c, (size_t)o->n_settings, (adz_dtype)dtype, ODD, STEPS);
            }
        }
    }
    memcpy(c->settings, o->defaults, sizeof c->settings);
    return good;
}

/* `o` has read the type and the settings. */
static bool compare(check *c, const adz_optimizer *o)
{
    static const int64_t sizes[] = { 0, 1, 2, ODD, LARGE };
    const size_t n = (size_t)o->n_settings;
    bool good = true;
    memcpy(c->settings, o->defaults, sizeof c->settings);
    for (int dtype = ADZ_F32; dtype <= ADZ_F64; ++dtype) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes && good; ++i) {
            good = compare_steps(
                c, n, (adz_dtype)dtype, sizes[i], sizes[i] == LARGE ? FEW_STEPS : STEPS);
        }
    }
    return good && compare_settings(c, o);
}

/* ---- the check ------------------------------------------------------------------------------ */

/* Makes an optimizer of one element, which says what is wrong with the type or the settings. */
static adz_status run(check *c, const adz_optimizer_type *type, const double *settings, size_t n)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *t = scope != NULL ? adz_zeros(ADZ_SHAPE(1), ADZ_F32) : NULL;
    adz_optimizer *o =
        t != NULL ? adzi_optimizer_make(function, type, adz_tensor_list_of(&t, 1), settings, n)
                  : NULL;
    bool good = o != NULL;
    if (good) {
        c->expressed = o->given;
        c->expressed.size = sizeof c->expressed;
        memset(c->expressed.kernels, 0, sizeof c->expressed.kernels);
        c->type = &o->given;
        o->given.size = sizeof o->given;
        good = compare(c, o);
    }
    adz_optimizer_release(&o);
    adz_scope_close(scope);
    return good ? ADZ_OK : adz_error_code();
}

adz_status adz_optimizer_check(
    const adz_optimizer_type *type, const double *settings, size_t n_settings, double ulps)
{
    ADZI_NOT_CAPTURED(ADZI_USES_ELEMENTS, ADZ_ERR_STATE);
    if (adzi_refused(function) != ADZ_OK) {
        return adzi_pending();
    }
    if (adzi_self()->tracer != NULL) {
        return adzi_error(function, ADZ_ERR_UNSUPPORTED,
            "it makes steps, which an export cannot trace; call it outside");
    }
    if (!(ulps >= 0)) {
        return adzi_error(function, ADZ_ERR_ARGUMENT, "ulps is %s; it has to be 0 or more",
            adzi_text_number(ulps));
    }
    check c = { .ulps = ulps };
    return run(&c, type, settings, n_settings);
}
