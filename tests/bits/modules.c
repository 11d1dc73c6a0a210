/* Trains every sample of every module, with the optimizers of the tests in turn. */
#include "bits.h"

#include "nn/case.h"
#include "optim/optimizers/cases.h"

enum { MODULE_STEPS = 3, OPTIMIZER_STEPS = 6 };

typedef struct trainee {
    adz_generator *generator;
    adz_module *module;
    adz_optimizer *optimizer;
    adz_tensor *inputs[MODULE_INPUTS];
    const char *names[MODULE_INPUTS];
    size_t n;
} trainee;

void note_types(adz_module *module)
{
    covered("module", adz_module_name(module));
    for (size_t i = 0; i < adz_module_child_count(module); ++i) {
        note_types(adz_module_child_at(module, i));
    }
}

/* Draws all weights again, in the order of their names. A sample may make two modules in one call,
 * and the compiler chooses which of them draws first. */
static void draw_weights(adz_module *module)
{
    const adz_tensor_list parameters = adz_module_parameters(module);
    adz_manual_seed(8);
    for (size_t i = 0; i < parameters.count; ++i) {
        must(adz_init_normal_(parameters.items[i], 0, 0.3, NULL) != NULL, "a weight");
    }
}

/* Modules are trained by the first optimizers of the table, so that a further one changes no row.
 */
enum { TRAINERS = 24 };

static void begin(trainee *t, const module_sample *sample, adz_dtype dtype, int optimizer)
{
    adz_manual_seed(7);
    t->generator = adz_generator_new(5);
    t->module = sample->build(t->generator);
    must(t->module != NULL && adz_module_to(t->module, dtype) == ADZ_OK, "a module");
    note_types(t->module);
    draw_weights(t->module);
    for (t->n = 0; t->n < MODULE_INPUTS && sample->in[t->n].rank > 0; ++t->n) {
        const module_input *in = &sample->in[t->n];
        const adz_shape shape = adz_shape_of(in->rank, in->sizes);
        t->names[t->n] = in->name;
        t->inputs[t->n] = in->range > 0 ? adz_randint(0, (int64_t)in->range, shape, ADZ_I64)
                                        : adz_requires_grad_(adz_randn(shape, dtype), true);
    }
    const adz_tensor_list parameters = adz_module_parameters(t->module);
    t->optimizer = parameters.count > 0 ? cases[optimizer % TRAINERS].make(parameters)
                                        : adz_sgd_new(adz_tensor_list_of(t->inputs, 1), 0.01, NULL);
    must(t->optimizer != NULL, "an optimizer");
}

static void take_step(hash *h, trainee *t)
{
    adz_scope *scope = adz_scope_open();
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_tensor *loss = NULL;
    adz_optimizer_zero_grad(t->optimizer);
    for (size_t i = 0; i < t->n; ++i) {
        adz_values_add(in, t->names[i], t->inputs[i]);
    }
    must(adz_module_call(t->module, in, out) == ADZ_OK, adz_module_name(t->module));
    for (size_t i = 0; i < adz_values_count(out); ++i) {
        adz_tensor *y = adz_values_at(out, i);
        hash_tensor(h, y);
        if (adz_tensor_requires_grad(y)) {
            y = adz_mean(adz_square(y), ADZ_ALL_DIMS, ADZ_DROPDIM);
            loss = loss != NULL ? adz_add(loss, y) : y;
        }
    }
    adz_values_free(&in);
    adz_values_free(&out);
    must(adz_backward(loss) == ADZ_OK && adz_optimizer_step(t->optimizer) == ADZ_OK, "a step");
    adz_scope_close(scope);
}

static void end(hash *h, trainee *t)
{
    adz_state_dict *state = adz_module_state_dict(t->module);
    for (size_t i = 0; i < adz_state_dict_count(state); ++i) {
        hash_tensor(h, adz_state_dict_at(state, i));
    }
    for (size_t i = 0; i < t->n; ++i) {
        hash_tensor(h, t->inputs[i]);
    }
    adz_state_dict_free(&state);
    adz_optimizer_release(&t->optimizer);
    adz_module_release(&t->module);
    adz_generator_free(&t->generator);
}

static void train(hash *h, adz_dtype dtype, const void *user)
{
    const module_case *c = user;
    for (int s = 0; s < MODULE_SAMPLES && c->samples[s].build != NULL; ++s) {
        adz_scope *scope = adz_scope_open();
        trainee t;
        begin(&t, &c->samples[s], dtype, s);
        for (int i = 0; i < MODULE_STEPS; ++i) {
            take_step(h, &t);
        }
        end(h, &t);
        adz_scope_close(scope);
    }
}

void module_rows(void)
{
    for (int i = 0; i < n_module_cases; ++i) {
        row("modules", module_cases[i]->name, train, module_cases[i]);
    }
}

/* ---- optimizers ------------------------------------------------------------------------------ */

static adz_optimizer *muon_make(adz_tensor_list list)
{
    return adz_muon_new(list, 0.02, NULL);
}

/* The optimizer that takes matrices only. */
static const optimizer_case muon = { .name = "muon", .make = muon_make };

/* Steps down (w^4 + w sin of a fixed angle), summed over many elements. */
static void optimize(hash *h, adz_dtype dtype, const void *user)
{
    const optimizer_case *c = user;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(9);
    adz_tensor *ws[] = { adz_requires_grad_(adz_randn(ADZ_SHAPE(37, 31), dtype), true),
        adz_requires_grad_(adz_randn(c == &muon ? ADZ_SHAPE(5, 9) : ADZ_SHAPE(5), dtype), true) };
    adz_optimizer *optimizer = c->make(adz_tensor_list_of(ws, 2));
    must(optimizer != NULL, c->name);
    covered("optimizer", adz_optimizer_name(optimizer));
    for (int t = 0; t < OPTIMIZER_STEPS; ++t) {
        adz_tensor *loss = NULL;
        adz_optimizer_zero_grad(optimizer);
        for (int i = 0; i < 2; ++i) {
            adz_tensor *y = adz_add(adz_square(adz_square(ws[i])), adz_sin(ws[i]));
            y = adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM);
            loss = loss != NULL ? adz_add(loss, y) : y;
        }
        must(adz_backward(loss) == ADZ_OK && adz_optimizer_step(optimizer) == ADZ_OK, c->name);
    }
    hash_tensor(h, ws[0]);
    hash_tensor(h, ws[1]);
    adz_optimizer_release(&optimizer);
    adz_scope_close(scope);
}

void optimizer_rows(void)
{
    for (int i = 0; i < n_cases; ++i) {
        row("optimizers", cases[i].name, optimize, &cases[i]);
    }
    row("optimizers", muon.name, optimize, &muon);
}
