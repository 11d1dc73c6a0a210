#include "nn/sweep.h"

module_counts module_totals;

static const adz_generator_state start = { 5, 0 };

enum { MOST_PARAMETERS = 64 };

/* A module, its generator and its arguments. */
typedef struct subject {
    adz_module *module;
    adz_generator *generator;
    adz_tensor *inputs[MODULE_INPUTS + MOST_PARAMETERS]; /* the arguments, then the parameters */
    const char *names[MODULE_INPUTS];
    size_t n;
} subject;

static void make_inputs(subject *s, const module_sample *sample, adz_dtype dtype)
{
    adz_manual_seed(11);
    for (s->n = 0; s->n < MODULE_INPUTS && sample->in[s->n].rank > 0; ++s->n) {
        const module_input *in = &sample->in[s->n];
        adz_shape shape = adz_shape_of(in->rank, in->sizes);
        s->names[s->n] = in->name;
        s->inputs[s->n] = in->range > 0 ? adz_randint(0, (int64_t)in->range, shape, ADZ_I64)
                                        : adz_requires_grad_(adz_randn(shape, dtype), true);
    }
}

static bool make(subject *s, const module_sample *sample, adz_dtype dtype)
{
    s->generator = adz_generator_new(start.seed);
    s->module = s->generator != NULL ? sample->build(s->generator) : NULL;
    return s->module != NULL && adz_module_to(s->module, dtype) == ADZ_OK;
}

static void end(subject *s)
{
    adz_module_release(&s->module);
    adz_generator_free(&s->generator);
}

/* Resets the generator, calls the module and stores all results. Returns their number, 0 for a
 * failure. */
static int call(adz_tensor *const *inputs, size_t n, adz_tensor **outputs, void *user)
{
    const subject *s = user;
    (void)n;
    adz_generator_set_state(s->generator, start);
    adz_values *in = adz_values_new(), *out = adz_values_new();
    bool good = in != NULL && out != NULL && adz_module_reset(s->module) == ADZ_OK;
    for (size_t i = 0; i < s->n && good; ++i) {
        good = adz_values_add(in, s->names[i], inputs[i]) == ADZ_OK;
    }
    good = good && adz_module_call(s->module, in, out) == ADZ_OK;
    int count = good ? (int)adz_values_count(out) : 0;
    for (int i = 0; i < count; ++i) {
        outputs[i] = adz_values_at(out, (size_t)i);
    }
    adz_values_free(&in);
    adz_values_free(&out);
    return count;
}

#define EACH_SAMPLE(c, sample)                       \
    for (const module_sample *sample = (c)->samples; \
         sample < (c)->samples + MODULE_SAMPLES && sample->build != NULL; ++sample)

/* ---- printing and names --------------------------------------------------------------------- */

static void prints_and_names(void **state)
{
    EACH_SAMPLE((const module_case *)*state, sample)
    {
        subject s;
        char text[8000] = "";
        assert_true(make(&s, sample, ADZ_F32));
        adz_module_to_string(s.module, text, sizeof text);
        assert_string_equal(text, sample->prints);
        adz_state_dict *names = adz_module_state_dict(s.module);
        size_t n = 0;
        text[0] = '\0';
        for (size_t i = 0; i < adz_state_dict_count(names); ++i) {
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i > 0 ? " " : "",
                adz_state_dict_name_at(names, i));
        }
        assert_string_equal(text, sample->names);
        adz_state_dict_free(&names);
        end(&s);
        ++module_totals.samples;
    }
}

/* ---- gradients ------------------------------------------------------------------------------ */

/* Compares the gradients of every input and every parameter with central differences in f64. */
static void gradients(void **state)
{
    EACH_SAMPLE((const module_case *)*state, sample)
    {
        adz_scope *scope = adz_scope_open();
        subject s;
        assert_true(make(&s, sample, ADZ_F64));
        make_inputs(&s, sample, ADZ_F64);
        adz_tensor_list parameters = adz_module_parameters(s.module);
        assert_true(parameters.count <= MOST_PARAMETERS);
        size_t n = s.n;
        for (size_t i = 0; i < parameters.count; ++i) {
            s.inputs[n++] = parameters.items[i];
        }
        adz_gradcheck_function function = { call, &s };
        adz_gradcheck_report report = { 0 };
        if (adz_gradcheck(&function, s.inputs, n, NULL, &report) != ADZ_OK) {
            fail_msg("%s: %s", adz_module_name(s.module), adz_error_message());
        }
        assert_true(report.nonzero > 0);
        module_totals.derivatives += (int)report.elements;
        end(&s);
        adz_scope_close(scope);
    }
}

/* ---- copies and states ---------------------------------------------------------------------- */

static void expect_like(subject *s, adz_module *other, adz_tensor *const *expected, int count)
{
    adz_tensor *ys[16];
    adz_module *own = s->module;
    s->module = other;
    assert_int_equal(call(s->inputs, s->n, ys, s), count);
    s->module = own;
    for (int i = 0; i < count; ++i) {
        assert_true(adz_equal(ys[i], expected[i]));
    }
}

/* A copy, and another module that has loaded the state, give the bits of the module. */
static void copies_and_states(void **state)
{
    EACH_SAMPLE((const module_case *)*state, sample)
    {
        adz_scope *scope = adz_scope_open();
        subject s, other;
        adz_manual_seed(1);
        assert_true(make(&s, sample, ADZ_F32));
        adz_manual_seed(2);
        assert_true(make(&other, sample, ADZ_F32));
        make_inputs(&s, sample, ADZ_F32);
        adz_tensor *expected[16];
        int count = call(s.inputs, s.n, expected, &s);
        assert_true(count > 0);
        adz_module *copy = adz_module_copy(s.module);
        assert_non_null(copy);
        expect_like(&s, copy, expected, count);
        adz_state_dict *values = adz_module_state_dict(s.module);
        assert_int_equal(adz_module_load_state_dict(other.module, values, true), ADZ_OK);
        other.n = s.n;
        memcpy(other.inputs, s.inputs, sizeof s.inputs);
        memcpy(other.names, s.names, sizeof s.names);
        expect_like(&other, other.module, expected, count);
        adz_state_dict_free(&values);
        adz_module_release(&copy);
        end(&s);
        end(&other);
        adz_scope_close(scope);
    }
}

/* ---- captured steps ------------------------------------------------------------------------- */

enum { STEPS = 5 };

typedef struct trained {
    subject s;
    adz_optimizer *optimizer;
} trained;

/* A step of training. The module is not reset, so values that it carries go on. */
static adz_tensor *train(void *user)
{
    trained *t = user;
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_tensor *loss = NULL;
    adz_optimizer_zero_grad(t->optimizer);
    for (size_t i = 0; i < t->s.n; ++i) {
        adz_values_add(in, t->s.names[i], t->s.inputs[i]);
    }
    adz_module_call(t->s.module, in, out);
    for (size_t i = 0; i < adz_values_count(out); ++i) {
        adz_tensor *y = adz_values_at(out, i);
        if (adz_tensor_requires_grad(y)) {
            y = adz_mean(adz_square(y), ADZ_ALL_DIMS, ADZ_DROPDIM);
            loss = loss != NULL ? adz_add(loss, y) : y;
        }
    }
    adz_values_free(&in);
    adz_values_free(&out);
    return adz_backward(loss) == ADZ_OK && adz_optimizer_step(t->optimizer) == ADZ_OK ? loss : NULL;
}

static void begin_training(trained *t, const module_sample *sample)
{
    adz_manual_seed(1);
    assert_true(make(&t->s, sample, ADZ_F32));
    make_inputs(&t->s, sample, ADZ_F32);
    adz_tensor_list all = adz_module_parameters(t->s.module);
    t->optimizer = all.count > 0 ? adz_sgd_new(all, 0.01, NULL)
                                 : adz_sgd_new((adz_tensor_list){ t->s.inputs, 1 }, 0, NULL);
    assert_non_null(t->optimizer);
}

/* Writes other contents to the arguments: the elements, in another order. */
static void turn_inputs(const subject *s)
{
    for (size_t i = 0; i < s->n; ++i) {
        const size_t bytes =
            (size_t)adz_tensor_numel(s->inputs[i]) * adz_dtype_size(adz_tensor_dtype(s->inputs[i]));
        const size_t item = adz_dtype_size(adz_tensor_dtype(s->inputs[i]));
        char first[8], *data = adz_tensor_data(s->inputs[i]);
        memcpy(first, data, item);
        memmove(data, data + item, bytes - item);
        memcpy(data + bytes - item, first, item);
    }
}

static void compare_training(trained *planned, trained *ordinary, int step)
{
    adz_scope *scope = adz_scope_open();
    adz_state_dict *a = adz_module_state_dict(planned->s.module);
    adz_state_dict *b = adz_module_state_dict(ordinary->s.module);
    for (size_t i = 0; i < adz_state_dict_count(a); ++i) {
        if (!adz_equal(adz_state_dict_at(a, i), adz_state_dict_at(b, i))) {
            fail_msg("%s, step %d: %s differs", adz_module_name(planned->s.module), step,
                adz_state_dict_name_at(a, i));
        }
    }
    adz_state_dict_free(&a);
    adz_state_dict_free(&b);
    adz_scope_close(scope);
}

/* Steps of a plan have the bits of ordinary steps, and the last ones are replays. */
static void captured_steps(void **state)
{
    EACH_SAMPLE((const module_case *)*state, sample)
    {
        adz_scope *scope = adz_scope_open();
        trained planned, ordinary;
        adz_plan *plan = NULL;
        adz_plan_info info;
        begin_training(&planned, sample);
        begin_training(&ordinary, sample);
        for (int step = 0; step < STEPS; ++step) {
            plan = plan != NULL ? plan : adz_plan_new(train, &planned, NULL);
            if (plan == NULL || (step > 0 && adz_plan_run(plan) != ADZ_OK)) {
                fail_msg("%s, step %d: %s", adz_module_name(planned.s.module), step,
                    adz_error_message());
            }
            adz_scope *inner = adz_scope_open();
            assert_true(adz_equal(train(&ordinary), adz_plan_output(plan)));
            adz_scope_close(inner);
            compare_training(&planned, &ordinary, step);
            turn_inputs(&planned.s);
            turn_inputs(&ordinary.s);
        }
        adz_plan_get_info(plan, &info, sizeof info);
        if (!info.captured) {
            fail_msg("%s was not captured", adz_module_name(planned.s.module));
        }
        adz_plan_free(&plan);
        adz_optimizer_release(&planned.optimizer);
        adz_optimizer_release(&ordinary.optimizer);
        end(&planned.s);
        end(&ordinary.s);
        adz_scope_close(scope);
    }
}

/* ---- refused memory ------------------------------------------------------------------------- */

static const module_sample *exercised;

static bool exercise(void)
{
    adz_scope *scope = adz_scope_open();
    subject s = { .n = 0 };
    adz_tensor *ys[16];
    bool good = scope != NULL && make(&s, exercised, ADZ_F32);
    if (good) {
        make_inputs(&s, exercised, ADZ_F32);
        int count = call(s.inputs, s.n, ys, &s);
        good = count > 0 && adz_backward(adz_sum(ys[0], ADZ_ALL_DIMS, ADZ_DROPDIM)) == ADZ_OK;
    }
    end(&s);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good;
}

static void refused_memory(void **state)
{
    EACH_SAMPLE((const module_case *)*state, sample)
    {
        exercised = sample;
        module_totals.failure_points += refuse_each_request(exercise);
    }
}

static int clean(void **state)
{
    (void)state;
    adz_error_clear();
    return 0;
}

size_t module_sweep_tests(const module_case *c, struct CMUnitTest *tests)
{
    static const struct {
        const char *name;
        CMUnitTestFunction test;
    } all[MODULE_SWEEP_TESTS] = { { "prints and names", prints_and_names },
        { "gradients", gradients }, { "copies and states", copies_and_states },
        { "captured steps", captured_steps }, { "refused memory", refused_memory } };
    for (size_t i = 0; i < MODULE_SWEEP_TESTS; ++i) {
        tests[i] =
            (struct CMUnitTest){ all[i].name, all[i].test, clean, NULL, (void *)(uintptr_t)c };
    }
    return MODULE_SWEEP_TESTS;
}
