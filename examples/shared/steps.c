#include "steps.h"

#include <stdlib.h>

#include "command_line.h"

/* Of steps on few shapes. */
enum { FEW_PLANS = 2 };
/* Of steps on many shapes: how many are captured, how many are counted, and the step on a shape
 * that captures it. A plan takes memory, and longer to make than an ordinary step, which does not
 * pay for a shape that comes once. */
enum { MANY_PLANS = 64, MOST_SHAPES = 1024, CAPTURED_AT = 2 };
#define MANY_BYTES ((size_t)64 << 20)

/* Batches of one shape. Their plan reads the tensors here, into which each batch is copied. */
typedef struct captured {
    const steps *all;
    adz_shape shape[MOST_BATCH_TENSORS];
    int64_t seen; /* how many steps it has made */
    adz_tensor *batch[MOST_BATCH_TENSORS];
    adz_plan *plan; /* NULL if there is none yet */
} captured;

struct steps {
    step_function step;
    void *user;
    size_t tensors;
    captured *shapes; /* room for most_shapes, which stay where they are */
    size_t n_shapes, most_shapes, n_plans, most_plans;
    size_t bytes, most_bytes; /* of all plans */
    int64_t captured_at;      /* the step on a shape, from 1, that makes its plan */
};

static steps *make_steps(step_function step, void *user, size_t tensors, size_t most_shapes)
{
    steps *s = allocate(sizeof *s);
    *s = (steps){ .step = step, .user = user, .tensors = tensors, .most_shapes = most_shapes };
    s->shapes = allocate((most_shapes + 1) * sizeof *s->shapes);
    return s;
}

steps *new_steps(step_function step, void *user, size_t tensors, bool capture)
{
    steps *s = make_steps(step, user, tensors, capture ? FEW_PLANS : 0);
    s->most_plans = FEW_PLANS;
    s->most_bytes = SIZE_MAX;
    s->captured_at = 1;
    return s;
}

steps *new_steps_of_many_shapes(step_function step, void *user, size_t tensors, bool capture)
{
    steps *s = make_steps(step, user, tensors, capture ? MOST_SHAPES : 0);
    s->most_plans = MANY_PLANS;
    s->most_bytes = MANY_BYTES;
    s->captured_at = CAPTURED_AT;
    return s;
}

static adz_tensor *call(void *user)
{
    const captured *c = user;
    return c->all->step(c->batch, c->all->user);
}

static bool has_shape(adz_tensor *a, adz_shape shape)
{
    bool same = adz_tensor_rank(a) == shape.rank;
    for (int i = 0; same && i < shape.rank; ++i) {
        same = adz_tensor_size(a, i) == shape.sizes[i];
    }
    return same;
}

/* The steps on batches of this shape, which are counted from now on; NULL if there is no room. */
static captured *find(steps *s, adz_tensor *const *batch)
{
    for (size_t k = 0; k < s->n_shapes; ++k) {
        bool same = true;
        for (size_t i = 0; i < s->tensors; ++i) {
            same = same && has_shape(batch[i], s->shapes[k].shape[i]);
        }
        if (same) {
            return &s->shapes[k];
        }
    }
    if (s->n_shapes == s->most_shapes) {
        return NULL;
    }
    captured *c = &s->shapes[s->n_shapes++];
    *c = (captured){ .all = s };
    for (size_t i = 0; i < s->tensors; ++i) {
        c->shape[i] = adz_tensor_shape(batch[i]);
    }
    return c;
}

static void drop_plan(captured *c)
{
    adz_plan_free(&c->plan);
    for (size_t i = 0; i < c->all->tensors; ++i) {
        adz_release(&c->batch[i]);
    }
}

/* Makes a step and a plan of the following ones. If plans then take too much memory, this one ends,
 * and no others are made. */
static adz_tensor *begin(steps *s, captured *c, adz_tensor *const *batch)
{
    for (size_t i = 0; i < s->tensors; ++i) {
        c->batch[i] = adz_keep(adz_clone(batch[i]));
    }
    c->plan = adz_plan_new(call, c, NULL);
    adz_plan_info info;
    adz_plan_get_info(c->plan, &info, sizeof info);
    if (info.memory_bytes > s->most_bytes - s->bytes) {
        adz_tensor *loss = adz_clone(adz_plan_output(c->plan));
        drop_plan(c);
        s->most_plans = s->n_plans;
        return loss;
    }
    s->n_plans += 1;
    s->bytes += info.memory_bytes;
    return adz_plan_output(c->plan);
}

adz_tensor *make_step(steps *s, adz_tensor *const *batch)
{
    captured *c = find(s, batch);
    if (c == NULL) {
        return s->step(batch, s->user);
    }
    c->seen += 1;
    if (c->plan == NULL) {
        const bool due = c->seen >= s->captured_at && s->n_plans < s->most_plans;
        return due ? begin(s, c, batch) : s->step(batch, s->user);
    }
    for (size_t i = 0; i < s->tensors; ++i) {
        adz_copy_(c->batch[i], batch[i]);
    }
    adz_plan_run(c->plan);
    return adz_plan_output(c->plan);
}

void free_steps(steps *s)
{
    for (size_t k = 0; s != NULL && k < s->n_shapes; ++k) {
        drop_plan(&s->shapes[k]);
    }
    if (s != NULL) {
        free(s->shapes);
    }
    free(s);
}
