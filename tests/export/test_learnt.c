/* What the functions of a C file have learnt comes home: NAME_weights_get fills a file that adze
 * loads, with the state of the optimizer. NAME_weights_set goes on from it, and from what the
 * library has saved. */
#include "learnt.h"

/* ---- coming home ------------------------------------------------------------------------------
 */

typedef adz_optimizer *make_optimizer(adz_tensor_list parameters);

/* The library goes on as the device does, after no step, one and some. Then the device goes on from
 * what the library has saved: after steps, and before the first one. */
static void check_both_ways(make_optimizer *make)
{
    adz_scope *scope = adz_scope_open();
    adz_module *nets[3];
    learner l[3];
    for (int i = 0; i < 3; ++i) {
        nets[i] = adz_linear_new(FEATURES, 2, NULL);
        l[i] = learner_of(nets[i], make(adz_module_parameters(nets[i])));
    }
    device d = send(&l[0]);
    for (int round = 0; round < 3; ++round) {
        bring_home(&l[1], &d);
        step_both(&d, &l[1], 1 + round, "after a step at home");
    }
    step_here(&l[1]);
    step_here(&l[1]);
    assert_int_equal(send_file(&d, &l[1]), 0);
    step_both(&d, &l[1], 2, "after what the library has saved");
    assert_int_equal(send_file(&d, &l[2]), 0);
    step_both(&d, &l[2], 2, "after a file without steps");
    bring_home(&l[1], &d);
    dlclose(d.c.library);
    for (int i = 0; i < 3; ++i) {
        end_learner(&l[i]);
    }
    adz_scope_close(scope);
}

static void every_optimizer(void **state)
{
    (void)state;
    for (int i = 0; i < n_cases; ++i) {
        check_both_ways(cases[i].make);
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

/* A first step that is not like the others, and states that do not begin with zeros. */
static void first_steps(void **state)
{
    (void)state;
    check_both_ways(dampened);
    check_both_ways(filled);
}

/* A device goes on from its own file with all bits, and with its learning rate. */
static void a_device_goes_on_from_its_file(void **state)
{
    (void)state;
    static const float rates[] = { 0.1f, 0.02f, 1e-3f, 3e-5f, 1, 12.5f, 0, 1.17549435e-38f,
        3.4028235e38f, 1e-45f, 0.333333343f, 9.99999975e-05f, 123456.789f };
    adz_scope *scope = adz_scope_open();
    adz_module *net = new_network(1), *home = new_network(2);
    learner l = learner_of(net, adz_adam_new(adz_module_parameters(net), 0.02, NULL));
    learner other = learner_of(home, adz_adam_new(adz_module_parameters(home), 0.5, NULL));
    l.training.batch_statistics = other.training.batch_statistics = true;
    device before = send(&l), after = device_of(compile("sent", false), "");
    for (size_t i = 0; i < sizeof rates / sizeof *rates; ++i) {
        before.c.learning_rate[0] = 0.02f;
        step_there(&before, &l);
        before.c.learning_rate[0] = rates[i];
        before.get(before.file);
        assert_int_equal(after.set(before.file, before.bytes), 0);
        after.get(after.file);
        assert_memory_equal(before.file, after.file, before.bytes);
        assert_true(after.c.learning_rate[0] == rates[i]);
        bring_home(&other, &before);
        assert_true((float)adz_optimizer_get(other.training.optimizer, 0, "lr") == rates[i]);
    }
    before.c.learning_rate[0] = 0.1f;
    bring_home(&other, &before);
    assert_true(adz_optimizer_get(other.training.optimizer, 0, "lr") == 0.1);
    before.c.learning_rate[0] = -1;
    assert_int_equal(load_into(&other, &before), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "has no lr");
    dlclose(before.c.library);
    dlclose(after.c.library);
    end_learner(&l);
    end_learner(&other);
    adz_scope_close(scope);
}

/* ---- other files ------------------------------------------------------------------------------
 */

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
        adz_optimizer_free(&p[i].optimizers[0]);
        adz_optimizer_free(&p[i].optimizers[1]);
        adz_module_free(&p[i].net);
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

/* Running statistics alone come home; a file that learns nothing, or has no module, has no
 * functions for it. */
static void files_without_optimizers(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net = new_network(1), *home = new_network(2);
    learner l = learner_of(net, NULL), other = learner_of(home, NULL);
    static const char *const names[] = { "run" };
    adzi_export what = {
        .function = call_network, .user = &l.network, .inputs = { l.network.in, 1 }, .module = net
    };
    assert_int_equal(
        adzi_write_c("adz_c_write", temporary_path("sent.c"), &what, names, 1, NULL), ADZ_OK);
    assert_null(strstr(text_of("sent.h"), "weights_get"));
    adz_module_train(net, true);
    assert_int_equal(
        adzi_write_c("adz_c_write", temporary_path("sent.c"), &what, names, 1, NULL), ADZ_OK);
    device d = device_of(compile("sent", false), "");
    float y[BATCH * 2];
    for (int i = 0; i < 3; ++i) {
        call_run(&d.c, &l.network, y);
        assert_non_null(call_network(&l.network));
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
        adzi_write_c("adz_c_write", temporary_path("sent.c"), &what, names, 1, NULL), ADZ_OK);
    assert_null(strstr(text_of("sent.h"), "weights_get"));
    end_learner(&l);
    end_learner(&other);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_optimizer),
        cmocka_unit_test(first_steps),
        cmocka_unit_test(a_device_goes_on_from_its_file),
        cmocka_unit_test(two_optimizers),
        cmocka_unit_test(odd_tensors),
        cmocka_unit_test(files_without_optimizers),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
