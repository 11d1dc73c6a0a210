/* Training steps in files of doubles: every optimizer, both kinds of state, and what a device has
 * learnt on its way to the library and back. */
#include "../learnt.h"
#include "batch.h"

/* ---- every optimizer ------------------------------------------------------------------------- */

enum { MOST_OPTIMIZERS = 80 };

static void file_name(char name[40], int i, const char *ending)
{
    snprintf(name, 40, "device%d%s", i, ending);
}

/* Twelve steps of the device and of the library, then files from each of them to the other. */
static void check_device(void *library, learner l[3], int i)
{
    char name[40];
    adz_scope *scope = adz_scope_open();
    file_name(name, i, "");
    device d = device_named(functions_of(library, name), name, "");
    step_both(&d, &l[0], 12, "after twelve steps");
    check_both_ways(&d, l);
    adz_scope_close(scope);
}

/* All files are compiled together, which is much quicker than one by one. */
static void every_optimizer(void **state)
{
    (void)state;
    static learner learners[MOST_OPTIMIZERS][3];
    const adz_c_options o = ADZ_C_OPTIONS;
    adz_scope *scope = adz_scope_open();
    assert_true(n_cases <= MOST_OPTIMIZERS);
    for (int i = 0; i < n_cases; ++i) {
        char name[40];
        file_name(name, i, ".c");
        adz_manual_seed(16);
        begin_learners(learners[i], cases[i].make, ADZ_F64);
        assert_false(write_learner(&learners[i][0], name, &o)); /* none needs libm */
    }
    void *library = compile_batch();
    for (int i = 0; i < n_cases; ++i) {
        check_device(library, learners[i], i);
        end_learners(learners[i]);
    }
    dlclose(library);
    adz_scope_close(scope);
    temporary_files(true);
}

/* ---- the caller's state ---------------------------------------------------------------------- */

typedef struct {
    int (*init)(void *state, unsigned long bytes);
    int (*step)(void *state, const void *x, const void *target, double *loss);
    int (*get)(void *state, unsigned char *file);
    int (*set)(void *state, const unsigned char *file, unsigned long bytes);
    unsigned long (*bytes)(void);
    void *first, *second;
} instances;

static instances instances_of(void *library)
{
    instances s;
    *(void **)(void *)&s.init = dlsym(library, "caller_init");
    *(void **)(void *)&s.step = dlsym(library, "caller_step");
    *(void **)(void *)&s.get = dlsym(library, "caller_weights_get");
    *(void **)(void *)&s.set = dlsym(library, "caller_weights_set");
    *(void **)(void *)&s.bytes = dlsym(library, "caller_state_bytes");
    s.first = malloc(s.bytes());
    s.second = malloc(s.bytes());
    assert_int_equal(s.init(s.first, s.bytes() - 1), -2);
    assert_int_equal(s.init(s.first, s.bytes()), 0);
    assert_int_equal(s.init(s.second, s.bytes()), 0);
    return s;
}

static learner law(void)
{
    adz_manual_seed(3);
    adz_module *net = ADZ_SEQUENTIAL(
        adz_linear_new(FEATURES, 5, NULL), adz_tanh_new(), adz_linear_new(5, 2, NULL));
    assert_int_equal(adz_module_to(net, ADZ_F64), ADZ_OK);
    return learner_of(net, adz_adamw_new(adz_module_parameters(net), 0.02, NULL));
}

static double loss_here(learner *l)
{
    adz_scope *scope = adz_scope_open();
    training_step step = { &l->network, &l->training, l->target };
    const double loss = adz_item(step_of(&step));
    adz_scope_close(scope);
    return loss;
}

/* The second instance goes on from the file of the first one, which begins again. */
static void hand_over(const instances *s, const device *d, const learner *l, double last)
{
    double loss = 0;
    assert_int_equal(s->set(s->second, d->file, d->bytes - 1), 1);
    assert_int_equal(s->set(s->second, d->file, d->bytes), 0);
    assert_int_equal(s->init(s->first, s->bytes()), 0);
    assert_int_equal(
        s->step(s->first, adz_tensor_data(l->network.in[0]), adz_tensor_data(l->target), &loss), 0);
    assert_true(loss > last);
}

/* A step of the file with a static state, of an instance and of the library. Returns the loss. */
static double step_three(const instances *s, void *instance, device *d, learner *l)
{
    static unsigned char file[MOST_BYTES];
    const void *x = adz_tensor_data(l->network.in[0]), *target = adz_tensor_data(l->target);
    double loss, plain;
    d->c.step(x, target, &plain);
    assert_int_equal(s->step(instance, x, target, &loss), 0);
    assert_true(loss == plain);
    const double theirs = loss_here(l);
    assert_true(fabs(loss - theirs) <= 1e-13 * theirs);
    assert_int_equal(s->get(instance, file), 0);
    d->get(d->file);
    assert_memory_equal(file, d->file, d->bytes);
    return loss;
}

/* A file whose caller holds the state computes what a file with a static state does, bit by bit,
 * and both agree with the library. */
static void states_of_the_caller(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    learner l = law();
    adz_c_options o = ADZ_C_OPTIONS;
    write_learner(&l, "sent.c", &o);
    o.state = ADZ_C_STATE_CALLER;
    write_learner(&l, "caller.c", &o);
    assert_non_null(strstr(text_of("caller.h"), "double learning_rate[1];"));
    void *library = compile_batch();
    device d = device_of(functions_of(library, "sent"), "");
    instances s = instances_of(library);
    for (int i = 0; i < 12; ++i) {
        const double loss = step_three(&s, i < 6 ? s.first : s.second, &d, &l);
        if (i == 5) {
            hand_over(&s, &d, &l, loss);
        }
    }
    expect_same(&d, &l, "after twelve steps");
    free(s.first);
    free(s.second);
    dlclose(library);
    temporary_files(true);
    end_learner(&l);
    adz_scope_close(scope);
}

/* ---- other files ----------------------------------------------------------------------------- */

/* Weights of a separate file that steps change are doubles. */
static void separate_weights(void **state)
{
    (void)state;
    char path[512];
    double weights[64];
    adz_scope *scope = adz_scope_open();
    learner l = law();
    adz_c_options o = ADZ_C_OPTIONS;
    snprintf(path, sizeof path, "%s", temporary_path("sent.bin"));
    o.weights = path;
    write_learner(&l, "sent.c", &o);
    void *library = compile_batch();
    const device d = device_of(functions_of(library, "sent"), "");
    void (*take)(const double *weights);
    *(void **)(void *)&take = dlsym(library, "sent_load");
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(weights, sizeof *weights, 64, file), FEATURES * 5 + 5 + 5 * 2 + 2);
    fclose(file);
    take(weights);
    step_both(&d, &l, 5, "with separate weights");
    dlclose(library);
    temporary_files(true);
    end_learner(&l);
    adz_scope_close(scope);
}

static adz_tensor *sum_of_squares(adz_module *module, adz_tensor *y, adz_tensor *target)
{
    (void)module;
    return adz_sum(adz_square(adz_sub(y, target)), ADZ_ALL_DIMS, ADZ_DROPDIM);
}

/* A module of f32 whose tensors have no names, because the plan has no module, trains in double as
 * if it had been converted. */
static void a_module_of_f32(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    learner l = law();
    l.training.loss = OWN_LOSS;
    l.training.own = sum_of_squares;
    assert_int_equal(adz_module_to(l.network.module, ADZ_F32), ADZ_OK);
    learner narrow = learner_of(l.network.module, l.training.optimizer);
    narrow.training = l.training;
    training_step step = { &narrow.network, &narrow.training, narrow.target };
    adz_tensor *const inputs[] = { narrow.network.in[0], narrow.target };
    const adzi_export what = { .function = step_of, .user = &step, .inputs = { inputs, 2 } };
    adz_c_options o = ADZ_C_OPTIONS;
    o.precision = ADZ_F64;
    assert_int_equal(adzi_write_c("test", temporary_path("net.c"), &what, 1, &o), ADZ_OK);
    void *library = compile_batch();
    void (*run)(const double *x, const double *target, double *loss);
    *(void **)(void *)&run = dlsym(library, "net_run");
    assert_int_equal(adz_module_to(l.network.module, ADZ_F64), ADZ_OK);
    for (int i = 0; i < 5; ++i) {
        double loss;
        run(adz_tensor_data_f64(l.network.in[0]), adz_tensor_data_f64(l.target), &loss);
        const double theirs = loss_here(&l);
        assert_true(fabs(loss - theirs) <= 1e-13 * theirs);
    }
    dlclose(library);
    temporary_files(true);
    end_learner(&l);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_optimizer),
        cmocka_unit_test(states_of_the_caller),
        cmocka_unit_test(separate_weights),
        cmocka_unit_test(a_module_of_f32),
    };
    return cmocka_run_group_tests_name("c99: steps in f64", tests, temporary_begin, temporary_end);
}
