/* What the functions of a C file have learnt comes home: NAME_weights_get fills a file that adze
 * loads, with the state of the optimizer. NAME_weights_set goes on from it, and from what the
 * library has saved. */
#include "learnt.h"

/* ---- coming home ----------------------------------------------------------------------------- */

static void check_optimizer(make_optimizer *make)
{
    adz_scope *scope = adz_scope_open();
    learner l[3];
    begin_learners(l, make, ADZ_F32);
    device d = send(&l[0]);
    check_both_ways(&d, l);
    dlclose(d.c.library);
    end_learners(l);
    adz_scope_close(scope);
}

static void every_optimizer(void **state)
{
    (void)state;
    for (int i = 0; i < n_cases; ++i) {
        check_optimizer(cases[i].make);
    }
}

static adz_optimizer *dampened(adz_tensor_list parameters)
{
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.9;
    o.dampening = 0.5;
    return adz_sgd_new(parameters, 0.05, &o);
}

static adz_optimizer *filled(adz_tensor_list parameters)
{
    adz_adagrad_options o = ADZ_ADAGRAD_OPTIONS;
    o.initial_accumulator_value = 0.25;
    return adz_adagrad_new(parameters, 0.05, &o);
}

/* What Muon does not take is frozen, and equal on both sides. */
static adz_optimizer *muon(adz_tensor_list parameters)
{
    for (size_t i = 0; i < parameters.count; ++i) {
        if (adz_tensor_rank(parameters.items[i]) != 2) {
            adz_requires_grad_(parameters.items[i], false);
            fill_from(parameters.items[i], 3);
        }
    }
    return muon_of_matrices(parameters, 0.05);
}

static void matrices_alone(void **state)
{
    (void)state;
    check_optimizer(muon);
}

/* A first step that is not like the others, and states that do not begin with zeros. */
static void first_steps(void **state)
{
    (void)state;
    check_optimizer(dampened);
    check_optimizer(filled);
}

static void set_rate(const device *d, adz_dtype dtype, double rate)
{
    if (dtype == ADZ_F64) {
        *(double *)d->c.learning_rate = rate;
    } else {
        *(float *)d->c.learning_rate = (float)rate;
    }
}

static double rate_of(const device *d, adz_dtype dtype)
{
    return dtype == ADZ_F64 ? *(const double *)d->c.learning_rate
                            : (double)*(const float *)d->c.learning_rate;
}

/* States that begin with the rate of the first step, and not with that of the export: before the
 * first step, and after a file without steps has come to a device that had made some. */
static void check_first_rate(make_optimizer *make, adz_dtype dtype)
{
    adz_scope *scope = adz_scope_open();
    learner l[3];
    begin_learners(l, make, dtype);
    for (int written = 0; written < 2; ++written) {
        device d = send(&l[written]);
        assert_int_equal(send_file(&d, &l[2 * written]), 0);
        learner *here = &l[2 * written];
        set_rate(&d, dtype, 0.25);
        adz_optimizer_set(here->training.optimizer, -1, "lr", 0.25);
        step_both(&d, here, 2, "after a first step with another rate");
        step_here(&l[1]);
        dlclose(d.c.library);
    }
    end_learners(l);
    adz_scope_close(scope);
}

static adz_optimizer *asgd(adz_tensor_list parameters)
{
    return adz_asgd_new(parameters, 0.05, NULL);
}

static adz_optimizer *rprop(adz_tensor_list parameters)
{
    return adz_rprop_new(parameters, 0.05, NULL);
}

static void first_rates(void **state)
{
    (void)state;
    for (int i = 0; i < 2; ++i) {
        check_first_rate(asgd, i == 0 ? ADZ_F32 : ADZ_F64);
        check_first_rate(rprop, i == 0 ? ADZ_F32 : ADZ_F64);
    }
}

static const double rates_of_floats[] = { 0.1, 0.02, 1e-3, 3e-5, 1, 12.5, 0, 1.17549435e-38,
    3.4028235e38, 1e-45, 0.333333343, 9.99999975e-05, 123456.789, 16777216, 3e-39 };
static const double rates_of_doubles[] = { 0.1, 0.02, 1e-3, 3e-5, 1, 12.5, 0, 1.0 / 3, 0.1 + 0.2,
    4.9406564584124654e-324, 1.7976931348623157e308, 2.2250738585072014e-308,
    2.2250738585072009e-308, 9007199254740993e3, 1e23, 9.5e-5, 123456.789, 8.41e21, 5e-320,
    9.9999999999999989e-9, 0.99999999999999989, 6.0221407599999999e23 };

static learner batch_learner(int seed, double rate, adz_dtype dtype)
{
    adz_module *net = new_network(seed);
    assert_int_equal(adz_module_to(net, dtype), ADZ_OK);
    learner l = learner_of(net, adz_adam_new(adz_module_parameters(net), rate, NULL));
    l.training.batch_statistics = true;
    return l;
}

/* A device goes on from its own file with all bits, and with its learning rate. */
static void check_rates(adz_dtype dtype, const double *rates, size_t n)
{
    adz_scope *scope = adz_scope_open();
    learner l = batch_learner(1, 0.02, dtype), other = batch_learner(2, 0.5, dtype);
    device before = send(&l), after = device_of(compile("sent", false), "");
    for (size_t i = 0; i < n; ++i) {
        const double rate = dtype == ADZ_F64 ? rates[i] : (double)(float)rates[i];
        set_rate(&before, dtype, 0.02);
        step_there(&before, &l);
        set_rate(&before, dtype, rate);
        before.get(before.file);
        assert_int_equal(after.set(before.file, before.bytes), 0);
        after.get(after.file);
        assert_memory_equal(before.file, after.file, before.bytes);
        assert_true(rate_of(&after, dtype) == rate);
        bring_home(&other, &before);
        const double home = adz_optimizer_get(other.training.optimizer, 0, "lr");
        assert_true((dtype == ADZ_F64 ? home : (double)(float)home) == rate);
        assert_int_equal(send_file(&before, &other), 0);
        assert_true(rate_of(&before, dtype) == rate);
    }
    set_rate(&before, dtype, 0.1);
    bring_home(&other, &before);
    assert_true(adz_optimizer_get(other.training.optimizer, 0, "lr") == 0.1);
    static const double none[] = { -1, (double)NAN, (double)INFINITY };
    for (int i = 0; i < 3; ++i) {
        set_rate(&before, dtype, none[i]);
        assert_int_equal(load_into(&other, &before), ADZ_ERR_STATE);
        expect_error(ADZ_ERR_STATE, "has no lr");
    }
    dlclose(before.c.library);
    dlclose(after.c.library);
    end_learner(&l);
    end_learner(&other);
    adz_scope_close(scope);
}

static void a_device_goes_on_from_its_file(void **state)
{
    (void)state;
    check_rates(ADZ_F32, rates_of_floats, sizeof rates_of_floats / sizeof *rates_of_floats);
    check_rates(ADZ_F64, rates_of_doubles, sizeof rates_of_doubles / sizeof *rates_of_doubles);
}

/* ---- other files ----------------------------------------------------------------------------- */

/* Two optimizers have a file each, as in the library. */
typedef struct {
    adz_module *net;
    adz_tensor *x;
    adz_optimizer *optimizers[2];
} pair;

static adz_tensor *step_pair(void *user)
{
    pair *p = user;
    adz_module_zero_grad(p->net);
    adz_tensor *loss = adz_mean(adz_square(adz_module_forward(p->net, p->x)), ADZ_ALL_DIMS, 0);
    bool good = adz_backward(loss) == ADZ_OK;
    for (int i = 0; i < 2; ++i) {
        good = good && adz_optimizer_step(p->optimizers[i]) == ADZ_OK;
    }
    return good ? loss : NULL;
}

static pair new_pair(int seed)
{
    pair p = { .net = new_network(seed), .x = adz_zeros(ADZ_SHAPE(BATCH, FEATURES), ADZ_F32) };
    fill_from(p.x, 1);
    const adz_tensor_list all = adz_module_parameters(p.net);
    p.optimizers[0] = adz_adam_new(adz_tensor_list_of(all.items, 2), 0.02, NULL);
    p.optimizers[1] = dampened(adz_tensor_list_of(all.items + 2, all.count - 2));
    adz_module_eval(p.net);
    return p;
}

static void load_pair(pair *p, device *d, int which)
{
    FILE *file = fopen(temporary_path("home"), "wb");
    assert_non_null(file);
    d->get(d->file);
    assert_int_equal(fwrite(d->file, 1, d->bytes, file), d->bytes);
    fclose(file);
    adz_checkpoint run = ADZ_CHECKPOINT;
    run.model = which == 0 ? p->net : NULL;
    run.optimizer = p->optimizers[which];
    if (adz_checkpoint_load(&run, temporary_path("home")) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
}

static void two_optimizers(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    pair p[2] = { new_pair(1), new_pair(2) };
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs = adz_tensor_list_of(&p[0].x, 1);
    o.module = p[0].net;
    adz_plan *plan = adz_plan_new(step_pair, &p[0], &o);
    assert_non_null(plan);
    assert_int_equal(adz_plan_write_c(plan, temporary_path("sent.c"), NULL), ADZ_OK);
    const compiled c = compile("sent", false);
    device d[2] = { device_of(c, ""), device_of(c, "_1") };
    void (*step)(const float *, float *);
    *(void **)(void *)&step = *(void **)(void *)&d[0].c.run;
    for (int k = 0; k < 6; ++k) {
        float loss = 0;
        if (k % 3 == 0) {
            load_pair(&p[1], &d[0], 0);
            load_pair(&p[1], &d[1], 1);
        }
        step(adz_tensor_data_f32(p[1].x), &loss);
        const double theirs = adz_item(step_pair(&p[1]));
        assert_true(fabs((double)loss - theirs) <= 1e-5 * theirs);
    }
    dlclose(d[0].c.library);
    adz_plan_free(&plan);
    for (int i = 0; i < 2; ++i) {
        adz_optimizer_release(&p[i].optimizers[0]);
        adz_optimizer_release(&p[i].optimizers[1]);
        adz_module_release(&p[i].net);
    }
    adz_scope_close(scope);
}

/* A module with a parameter that is not contiguous, a buffer of integers that each call changes,
 * one that none does, and a buffer that no file has. */
static adz_tensor *odd_forward(adz_module *self, adz_tensor *x)
{
    adz_tensor *calls = adz_module_buffer_at(self, 0), *h = adz_module_buffer_at(self, 2);
    ADZ_NO_GRAD
    {
        adz_add_(calls, adz_module_buffer_at(self, 1));
        adz_add_(h, adz_mean(x, ADZ_ALL_DIMS, 0));
    }
    adz_tensor *y = adz_matmul(x, adz_module_parameter_at(self, 0));
    return adz_add(adz_mul(y, adz_to(adz_narrow(calls, 0, 0, 1), ADZ_F32)), h);
}

static adz_module *new_odd(int seed)
{
    static const adz_module_type type = {
        .size = sizeof(adz_module_type), .name = "Odd", .forward = odd_forward
    };
    static const int64_t calls[] = { 3, -70000 }, by[] = { 2, -5 };
    adz_scope *scope = adz_scope_open();
    adz_module *net = adz_module_new(&type, 0);
    adz_manual_seed((uint64_t)seed);
    adz_tensor *w = adz_randn(ADZ_SHAPE(FEATURES, 2), ADZ_F32);
    assert_non_null(adz_module_add_parameter(net, "*/ \"\xc3\xa4", w));
    adz_module_add_buffer(net, "calls", adz_tensor_from(calls, ADZ_SHAPE(2), ADZ_I64), true);
    adz_module_add_buffer(net, "by", adz_tensor_from(by, ADZ_SHAPE(2), ADZ_I64), true);
    adz_module_add_buffer(net, "carried", adz_zeros(ADZ_SHAPE_SCALAR, ADZ_F32), false);
    adz_scope_close(scope);
    return net;
}

/* Any dtype and name comes home, from separate weights, too. */
static void odd_tensors(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net = new_odd(1), *home = new_odd(2);
    learner l = learner_of(net, adz_rmsprop_new(adz_module_parameters(net), 0.02, NULL));
    learner other = learner_of(home, adz_rmsprop_new(adz_module_parameters(home), 0.5, NULL));
    adz_c_options o = ADZ_C_OPTIONS;
    o.weights = temporary_path("sent.bin");
    assert_int_equal(write_training(&l.network, &l.training, "sent.c", &o), ADZ_OK);
    assert_non_null(
        strstr(text_of("sent.h"), "are in no checkpoint, so they stay:\n *     carried"));
    device d = device_of(compile("sent", false), "");
    void (*take)(const float *) = NULL;
    *(void **)(void *)&take = dlsym(d.c.library, "sent_load");
    static float weights[64];
    FILE *file = fopen(temporary_path("sent.bin"), "rb");
    assert_true(fread(weights, sizeof *weights, 64, file) > 0);
    fclose(file);
    take(weights);
    for (int i = 0; i < 4; ++i) {
        step_there(&d, &l);
    }
    assert_int_equal(load_into(&other, &d), ADZ_OK);
    assert_true(adz_tensor_data_i64(adz_module_buffer_at(home, 0))[1] < -70000);
    static unsigned char bytes[MOST_BYTES];
    const unsigned long n = save_here(&other, bytes);
    assert_int_equal(d.set(bytes, n), 0);
    d.get(d.file);
    const unsigned long at = offset_of(&d, "model.calls");
    assert_int_equal(d.set(d.file, d.bytes), 0);
    d.file[at + 5] = 1; /* too large for an int32_t */
    unsigned char changed[MOST_BYTES];
    memcpy(changed, d.file, d.bytes);
    d.get(d.file);
    expect_refused(&d, changed, d.bytes, 2);
    dlclose(d.c.library);
    end_learner(&l);
    end_learner(&other);
    adz_scope_close(scope);
}

/* Moves running statistics. The gradients go nowhere, but say that the function is to train. */
static adz_tensor *adapt(void *user)
{
    c_network *n = user;
    adz_module_fill_grad_zero(n->module);
    adz_tensor *y = call_network(n);
    return adz_backward(adz_mean(y, ADZ_ALL_DIMS, ADZ_DROPDIM)) == ADZ_OK ? y : NULL;
}

/* Running statistics alone come home; a file that learns nothing, or has no module, has no
 * functions for it. */
static void files_without_optimizers(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net = new_network(1), *home = new_network(2);
    learner l = learner_of(net, NULL), other = learner_of(home, NULL);
    adzi_export what = {
        .function = call_network, .user = &l.network, .inputs = { l.network.in, 1 }, .module = net
    };
    assert_int_equal(
        adzi_write_c("adz_plan_write_c_many", temporary_path("sent.c"), &what, 1, NULL), ADZ_OK);
    assert_null(strstr(text_of("sent.h"), "weights_get"));
    adz_module_train(net, true);
    what.function = adapt;
    assert_non_null(adapt(&l.network)); /* makes the gradients */
    assert_int_equal(
        adzi_write_c("adz_plan_write_c_many", temporary_path("sent.c"), &what, 1, NULL), ADZ_OK);
    device d = device_of(compile("sent", false), "");
    float y[BATCH * 2];
    for (int i = 0; i < 3; ++i) {
        call_run(&d.c, &l.network, y);
        assert_non_null(adapt(&l.network));
    }
    assert_int_equal(load_into(&other, &d), ADZ_OK);
    adz_module_eval(net);
    adz_module_eval(home);
    assert_true(
        adz_allclose(call_network(&l.network), call_network(&other.network), 1e-5, 1e-6, false));
    assert_int_equal(send_file(&d, &other), 0);
    dlclose(d.c.library);
    adz_module_train(net, true);
    what.module = NULL;
    assert_int_equal(
        adzi_write_c("adz_plan_write_c_many", temporary_path("sent.c"), &what, 1, NULL), ADZ_OK);
    assert_null(strstr(text_of("sent.h"), "weights_get"));
    end_learner(&l);
    end_learner(&other);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_optimizer),
        cmocka_unit_test(matrices_alone),
        cmocka_unit_test(first_steps),
        cmocka_unit_test(first_rates),
        cmocka_unit_test(a_device_goes_on_from_its_file),
        cmocka_unit_test(two_optimizers),
        cmocka_unit_test(odd_tensors),
        cmocka_unit_test(files_without_optimizers),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
