/* One training: the model, the steps, and the validation. */
#include "experiment.h"

#include <adze/zoo.h>
#include <math.h>
#include <stdlib.h>

#include "../shared/interrupt.h"
#include "../shared/progress.h"
#include "../shared/steps.h"
#include "resume.h"

bool is_gated(const char *variant)
{
    return variant != variant_names[0] && variant != variant_names[1];
}

bool is_finished(const options *o, const training *t)
{
    return t->points == o->evaluations;
}

/* Makes the model. The table of the embedding begins with the small deviation of Vaswani et al.
 * (2017). The model multiplies its rows by the square root of their width, and larger rows would
 * hide the encodings of positions in a short training. */
static adz_module *new_model(const options *o, const corpus *text, const training *t)
{
    adz_labml_character_model_options m = ADZ_LABML_CHARACTER_MODEL_OPTIONS;
    m.d_model = o->d_model;
    m.n_layers = o->layers;
    m.n_heads = o->heads;
    m.d_ff = t->d_ff;
    m.dropout = o->dropout;
    m.glu_variant = t->variant;
    m.max_len = o->length;
    adz_module *model = adz_labml_character_model_new(text->vocabulary, &m);
    adz_tensor *table = adz_module_get_parameter(model, "src_embed.linear.weight");
    adz_init_normal_(table, 0, 1 / sqrt((double)o->d_model), NULL);
    return model;
}

static int64_t count_parameters(adz_module *model)
{
    adz_tensor_list all = adz_module_parameters(model);
    int64_t n = 0;
    for (size_t i = 0; i < all.count; ++i) {
        n += adz_tensor_numel(all.items[i]);
    }
    return n;
}

/* Windows of the text as ids[T, B], and what follows each character as target[T, B]. */
typedef struct windows {
    adz_tensor *ids, *target;
} windows;

static windows take_windows(
    const corpus *text, const int64_t *starts, int64_t length, int64_t count)
{
    windows w = { adz_empty(ADZ_SHAPE(length, count), ADZ_I64),
        adz_empty(ADZ_SHAPE(length, count), ADZ_I64) };
    int64_t *ids = adz_tensor_data_i64(w.ids), *target = adz_tensor_data_i64(w.target);
    for (int64_t t = 0; t < length; ++t) {
        for (int64_t b = 0; b < count; ++b) {
            ids[t * count + b] = text->ids[starts[b] + t];
            target[t * count + b] = text->ids[starts[b] + t + 1];
        }
    }
    return w;
}

static adz_tensor *loss_of(adz_module *model, windows w)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "ids", w.ids);
    adz_values_add(in, "target", w.target);
    adz_module_call(model, in, out);
    adz_tensor *loss = adz_values_get(out, "loss");
    adz_values_free(&in);
    adz_values_free(&out);
    return loss;
}

/* ---- validation ----------------------------------------------------------------------------- */

/* The sum of the losses of `count` windows that follow each other from `start` on. */
static double sum_losses(adz_module *model, const corpus *text, int64_t start, int64_t length,
    int64_t count, int64_t *starts)
{
    adz_scope *scope = adz_scope_open();
    for (int64_t b = 0; b < count; ++b) {
        starts[b] = start + b * length;
    }
    double loss = adz_item(loss_of(model, take_windows(text, starts, length, count)));
    adz_scope_close(scope);
    return loss * (double)(length * count);
}

/* The mean loss over the validation part. Every character except the first is predicted once, from
 * at most `length` characters. Windows follow each other; the rest is a shorter window. */
static double validate(const options *o, const corpus *text, adz_module *model)
{
    int64_t left = text->characters - text->train_count - 1, at = text->train_count;
    int64_t *starts = allocate((size_t)o->batch * sizeof *starts);
    double sum = 0, all = (double)left;
    adz_module_eval(model);
    ADZ_NO_GRAD
    {
        while (left >= o->length) {
            int64_t count = left / o->length < o->batch ? left / o->length : o->batch;
            sum += sum_losses(model, text, at, o->length, count, starts);
            at += count * o->length;
            left -= count * o->length;
        }
        if (left > 0) {
            sum += sum_losses(model, text, at, left, 1, starts);
        }
    }
    adz_module_train(model, true);
    free(starts);
    return sum / all;
}

/* ---- training ------------------------------------------------------------------------------- */

/* A training that is running. */
typedef struct run {
    const options *o;
    adz_module *model;
    adz_optimizer *noam;
    adz_generator *windows_of_seed;
    steps *each;
    int64_t steps; /* done */
} run;

/* A step on windows and what follows them. */
static adz_tensor *step(adz_tensor *const *batch, void *user)
{
    const run *r = user;
    adz_tensor *loss = loss_of(r->model, (windows){ batch[0], batch[1] });
    adz_backward(loss);
    adz_clip_grads(adz_module_parameters(r->model), r->o->clip, 2);
    adz_optimizer_step(r->noam);
    adz_optimizer_zero_grad(r->noam);
    return loss;
}

/* One step on windows that are drawn from the training part. Returns its loss. */
static double draw_and_step(const run *r, const corpus *text)
{
    const options *o = r->o;
    adz_scope *scope = adz_scope_open();
    adz_tensor *starts = adz_generator_randint(
        r->windows_of_seed, 0, text->train_count - o->length, ADZ_SHAPE(o->batch), ADZ_I64);
    windows w = take_windows(text, adz_tensor_data_i64(starts), o->length, o->batch);
    double value = adz_item(make_step(r->each, (adz_tensor *[]){ w.ids, w.target }));
    adz_scope_close(scope);
    return value;
}

static run begin_run(const options *o, const corpus *text, training *t)
{
    run r = { .o = o, .windows_of_seed = adz_generator_new(t->seed) };
    adz_manual_seed(t->seed);
    t->d_ff = is_gated(t->variant) ? (2 * o->d_ff + 1) / 3 : o->d_ff;
    r.model = new_model(o, text, t);
    t->parameters = count_parameters(r.model);
    r.noam = adz_labml_noam_new(
        adz_module_parameters(r.model), o->lr, (double)o->warmup, (double)o->d_model, NULL);
    return r;
}

static void end_run(run *r)
{
    free_steps(r->each);
    adz_optimizer_release(&r->noam);
    adz_module_release(&r->model);
    adz_generator_free(&r->windows_of_seed);
}

/* What a training needs to go on: dropout draws from the default generator of the thread. */
static adz_checkpoint checkpoint_of(const run *r, adz_generator *generators[2])
{
    adz_checkpoint c = ADZ_CHECKPOINT;
    generators[0] = NULL;
    generators[1] = r->windows_of_seed;
    c.model = r->model;
    c.optimizer = r->noam;
    c.generators = generators;
    c.n_generators = 2;
    c.step = r->steps;
    c.allow_nonfinite = true; /* a diverged training is a result, too */
    return c;
}

int64_t step_of_point(const options *o, int64_t i)
{
    return o->steps * (i + 1) / o->evaluations;
}

static void add_point(const options *o, const corpus *text, training *t, const run *r)
{
    const int64_t last = t->points > 0 ? step_of_point(o, t->points - 1) : 0;
    const double mean = t->loss_sum / (double)(r->steps - last);
    t->curve[t->points++] = (curve_point){ r->steps, mean, validate(o, text, r->model) };
    t->loss_sum = 0;
}

void train_variant(
    const options *o, const corpus *text, training *t, training_watch watch, void *user)
{
    const double began = seconds_now() - t->seconds;
    run r = begin_run(o, text, t);
    adz_generator *generators[2];
    adz_checkpoint c = checkpoint_of(&r, generators);
    if (t->state != NULL) {
        resume_training(o, t, &c);
        r.steps = c.step;
    }
    r.each = new_steps(step, &r, 2, !o->no_capture);
    while (r.steps < o->steps && !is_interrupted()) {
        t->loss_sum += draw_and_step(&r, text);
        ++r.steps;
        const bool due = r.steps == step_of_point(o, t->points);
        if (due) {
            add_point(o, text, t, &r);
        }
        t->seconds = seconds_now() - began;
        if (due) {
            watch(t, user);
        }
    }
    free(t->state);
    t->state = NULL;
    if (!is_finished(o, t)) {
        c = checkpoint_of(&r, generators);
        pause_training(o, t, &c);
    }
    end_run(&r);
}
