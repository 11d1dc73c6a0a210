#include "steps.h"

#include <stdlib.h>

#include "command_line.h"

enum { MOST_SHAPES = 2 };

/* Batches of one shape. Their plan reads the tensors here, into which each batch is copied. */
typedef struct captured {
    const steps *all;
    adz_tensor *batch[MOST_BATCH_TENSORS];
    adz_plan *plan;
} captured;

struct steps {
    step_function step;
    void *user;
    size_t tensors;
    captured shapes[MOST_SHAPES];
    size_t n_shapes, most_shapes;
};

steps *new_steps(step_function step, void *user, size_t tensors, bool capture)
{
    steps *s = allocate(sizeof *s);
    *s = (steps){
        .step = step, .user = user, .tensors = tensors, .most_shapes = capture ? MOST_SHAPES : 0
    };
    return s;
}

static adz_tensor *call(void *user)
{
    const captured *c = user;
    return c->all->step(c->batch, c->all->user);
}

static bool has_shape(adz_tensor *a, adz_tensor *b)
{
    bool same = adz_tensor_rank(a) == adz_tensor_rank(b);
    for (int i = 0; same && i < adz_tensor_rank(a); ++i) {
        same = adz_tensor_size(a, i) == adz_tensor_size(b, i);
    }
    return same;
}

/* The steps on batches of this shape; NULL if there are none. */
static captured *find(steps *s, adz_tensor *const *batch)
{
    for (size_t k = 0; k < s->n_shapes; ++k) {
        bool same = true;
        for (size_t i = 0; i < s->tensors; ++i) {
            same = same && has_shape(s->shapes[k].batch[i], batch[i]);
        }
        if (same) {
            return &s->shapes[k];
        }
    }
    return NULL;
}

/* Makes the first step on a batch of its shape. */
static adz_tensor *begin(steps *s, adz_tensor *const *batch)
{
    captured *c = &s->shapes[s->n_shapes++];
    c->all = s;
    for (size_t i = 0; i < s->tensors; ++i) {
        c->batch[i] = adz_keep(adz_clone(batch[i]));
    }
    c->plan = adz_plan_new(call, c, NULL);
    return adz_plan_output(c->plan);
}

adz_tensor *make_step(steps *s, adz_tensor *const *batch)
{
    const captured *c = find(s, batch);
    if (c == NULL) {
        return s->n_shapes < s->most_shapes ? begin(s, batch) : s->step(batch, s->user);
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
        adz_plan_free(&s->shapes[k].plan);
        for (size_t i = 0; i < s->tensors; ++i) {
            adz_release(&s->shapes[k].batch[i]);
        }
    }
    free(s);
}
