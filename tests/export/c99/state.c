/* Files whose caller holds the state: several instances, threads, no memory of the file's that is
 * written, and states that are refused. */
#include "side_by_side.h"

static const char flags[] =
    "-pedantic -Wall -Wextra -Wdouble-promotion -Werror -O1 -ffp-contract=off";

/* Runs a command of the shell, and skips the test if the compiler cannot be run. */
static void expect_success(const char *command)
{
    const int status = system(command);
    if (status != 0 && system(C_COMPILER " --version > /dev/null 2>&1") != 0) {
        skip();
    }
    if (status != 0) {
        fail_msg("status %d: %s", status, command);
    }
}

static adz_module *network(unsigned long seed)
{
    adz_batch_norm1d_options o = ADZ_BATCH_NORM1D_OPTIONS;
    o.momentum = 0.3;
    adz_manual_seed(seed);
    return ADZ_SEQUENTIAL(adz_linear_new(4, 6, NULL), adz_batch_norm1d_new(6, &o), adz_tanh_new(),
        adz_linear_new(6, 2, NULL));
}

static const adz_c_options plain = ADZ_C_OPTIONS;
static const adz_c_options caller = {
    .size = sizeof(adz_c_options), .state = ADZ_C_STATE_CALLER, .precision = ADZ_F32
};

static adz_status write_learner(const char *name, unsigned long seed, const adz_c_options *options)
{
    adz_scope *scope = adz_scope_open();
    adz_module *net = network(seed);
    assert_int_equal(adz_module_to(net, options->precision), ADZ_OK);
    c_network n = of(net, adz_randn(ADZ_SHAPE(5, 4), options->precision));
    training t = { .optimizer = adz_adam_new(adz_module_parameters(net), 0.01, NULL),
        .loss = MSE,
        .batch_statistics = true };
    const adz_status status = write_training(&n, &t, name, options);
    adz_optimizer_release(&t.optimizer);
    adz_module_release(&net);
    adz_scope_close(scope);
    return status;
}

/* Every line that defines something static defines a constant or a function. */
static void expect_nothing_written(const char *name)
{
    char line[1024];
    FILE *file = fopen(temporary_path(name), "rb");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        const bool constant = strncmp(line, "static const ", 13) == 0 && strchr(line, '*') == NULL;
        const bool variable = strncmp(line, "static ", 7) == 0
                                  ? !constant && !strchr(line, '(')
                                  : line[0] == 'f' && strchr(line, '=');
        if (variable) {
            fail_msg("%s: %s", name, line);
        }
    }
    fclose(file);
}

static void instances_learn_apart(void **state)
{
    (void)state;
    static const char *const debug[] = { "", "-DNDEBUG" };
    char command[2000];
    assert_int_equal(write_learner("net.c", 1, &caller), ADZ_OK);
    assert_int_equal(write_learner("other.c", 2, &caller), ADZ_OK);
    assert_int_equal(write_learner("plain.c", 1, &plain), ADZ_OK);
    expect_nothing_written("net.c");
    for (int i = 0; i < 2; ++i) {
        snprintf(command, sizeof command,
            "%s -std=c99 %s %s -D_POSIX_C_SOURCE=200112L -I %s %s %s/net.c %s/other.c %s/plain.c -lpthread -o %s/program && ./%s/program",
            C_COMPILER, flags, debug[i], temporary_folder, USER_PROGRAM, temporary_folder,
            temporary_folder, temporary_folder, temporary_folder, temporary_folder);
        expect_success(command);
    }
    temporary_files(true);
}

/* ---- the state of a stream ------------------------------------------------------------------- */

enum { STREAM_INPUTS = 2, STREAM_STATES = 4, STREAM_STEPS = 5 };

typedef struct stream {
    adz_module *gru;
    adz_tensor *x, *state;
} stream;

/* One step, which moves the state on. No module has the state. */
static adz_tensor *next(void *user)
{
    stream *s = user;
    adz_values *all = adz_values_new();
    adz_tensor *y = ADZ_CALL_RESULTS(s->gru, all, { NULL, s->x }, { "h0", s->state });
    ADZ_NO_GRAD
    {
        adz_copy_(s->state, adz_values_get(all, "h"));
    }
    adz_values_free(&all);
    return y;
}

static void *open_stream(void)
{
    char command[2000], library[600];
    snprintf(library, sizeof library, "./%s/gru.so", temporary_folder);
    snprintf(command, sizeof command, "%s -std=c99 %s -fPIC -shared -o %s %s/gru.c", C_COMPILER,
        flags, library, temporary_folder);
    expect_success(command);
    return dlopen(library, RTLD_NOW | RTLD_LOCAL);
}

/* Each struct of the caller is a stream, which begins anew with the function `init`. */
static void streams_have_a_state(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(3);
    stream s = { adz_gru_new(STREAM_INPUTS, STREAM_STATES, NULL),
        adz_zeros(ADZ_SHAPE(1, 1, STREAM_INPUTS), ADZ_F32),
        adz_full(ADZ_SHAPE(1, 1, STREAM_STATES), 0.25, ADZ_F32) };
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs = adz_tensor_list_of(&s.x, 1);
    o.module = s.gru;
    o.restore = true;
    adz_plan *plan = adz_plan_new(next, &s, &o);
    assert_int_equal(adz_plan_write_c(plan, temporary_path("gru.c"), &caller), ADZ_OK);
    void *library = open_stream(), *streams[2];
    assert_non_null(library);
    int (*init)(void *state, size_t bytes);
    int (*run)(void *state, const float *x, float *y);
    unsigned long (*bytes)(void);
    *(void **)(void *)&init = dlsym(library, "gru_init");
    *(void **)(void *)&run = dlsym(library, "gru_run");
    *(void **)(void *)&bytes = dlsym(library, "gru_state_bytes");
    for (int k = 0; k < 2; ++k) {
        streams[k] = aligned_alloc(64, ((size_t)bytes() + 63) / 64 * 64);
    }
    for (int round = 0; round < 2; ++round) {
        assert_int_equal(init(streams[0], (size_t)bytes()), 0);
        adz_fill_(s.state, 0.25);
        for (int i = 0; i < STREAM_STEPS; ++i) {
            float x[STREAM_INPUTS] = { (float)i, 1 }, y[STREAM_STATES], other[STREAM_STATES];
            assert_int_equal(init(streams[1], (size_t)bytes()), 0);
            assert_int_equal(run(streams[1], x, other), 0); /* another stream, in between */
            assert_int_equal(run(streams[0], x, y), 0);
            adz_tensor_write(s.x, x, sizeof x);
            const float *ours = adz_tensor_data_f32(next(&s));
            for (int k = 0; k < STREAM_STATES; ++k) {
                assert_true(fabs((double)(y[k] - ours[k])) < 1e-6);
                assert_true(i == 0 || y[k] != other[k]);
            }
        }
    }
    for (int k = 0; k < 2; ++k) {
        free(streams[k]);
    }
    dlclose(library);
    temporary_files(true);
    adz_plan_free(&plan);
    adz_module_release(&s.gru);
    adz_scope_close(scope);
}

/* ---- the files ------------------------------------------------------------------------------- */

/* Files in C are C++ as well, with each kind of state and each precision. */
static void files_are_cpp(void **state)
{
    (void)state;
    static const char compiler[] = C_COMPILER " -x c++ -std=c++17 -fsyntax-only";
    char command[2000];
    adz_scope *scope = adz_scope_open();
    adz_module *net = network(1);
    c_network n = of(net, adz_randn(ADZ_SHAPE(5, 4), ADZ_F32));
    adz_c_options o = ADZ_C_OPTIONS;
    o.precision = ADZ_F64;
    adz_module_eval(net);
    snprintf(command, sizeof command, "%s /dev/null > /dev/null 2>&1", compiler);
    if (system(command) != 0) {
        skip();
    }
    assert_int_equal(write_network(&n, "wide.c", &o), ADZ_OK);
    assert_int_equal(write_learner("net.c", 1, &caller), ADZ_OK);
    assert_int_equal(write_learner("plain.c", 1, &plain), ADZ_OK);
    assert_int_equal(write_learner("wide_plain.c", 1, &o), ADZ_OK);
    o.state = ADZ_C_STATE_CALLER;
    assert_int_equal(write_learner("wide_net.c", 1, &o), ADZ_OK);
    snprintf(command, sizeof command, "%s %s %s/*.c", compiler, flags, temporary_folder);
    expect_success(command);
    temporary_files(true);
    adz_module_release(&net);
    adz_scope_close(scope);
}

static adz_tensor *predict(void *user)
{
    const c_network *n = user;
    return adz_module_forward(n->module, n->in[0]);
}

/* Weights that the caller hands over stay his: the state points to them. */
static void separate_weights(void **state)
{
    (void)state;
    char path[512], command[2000];
    snprintf(path, sizeof path, "%s", temporary_path("apart.bin"));
    adz_c_options apart = caller;
    apart.weights = path;
    assert_int_equal(write_learner("apart.c", 1, &apart), ADZ_OK);
    expect_nothing_written("apart.c");
    snprintf(command, sizeof command, "%s -std=c99 %s -c %s/apart.c -o %s/apart.o", C_COMPILER,
        flags, temporary_folder, temporary_folder);
    expect_success(command);
    temporary_files(true);

    adz_scope *scope = adz_scope_open();
    adz_module *net = adz_linear_new(4, 3, NULL);
    c_network n = of(net, adz_randn(ADZ_SHAPE(1, 4), ADZ_F32));
    const adzi_export what = {
        .function = predict, .user = &n, .inputs = { n.in, 1 }, .module = net
    };
    assert_int_equal(adzi_write_c("test", temporary_path("apart.c"), &what, 1, &apart), ADZ_OK);
    expect_nothing_written("apart.c");
    const compiled c = compile("apart", false);
    int (*init)(void *, unsigned long), (*load)(void *, const float *),
        (*run)(void *, const float *, float *);
    unsigned long (*bytes)(void);
    *(void **)(void *)&init = dlsym(c.library, "apart_init");
    *(void **)(void *)&load = dlsym(c.library, "apart_load");
    *(void **)(void *)&run = dlsym(c.library, "apart_run");
    *(void **)(void *)&bytes = dlsym(c.library, "apart_state_bytes");
    float weights[15], y[3];
    FILE *file = fopen(path, "rb");
    assert_int_equal(fread(weights, sizeof *weights, 15, file), 15);
    fclose(file);
    void *instance = malloc(bytes());
    assert_int_equal(init(instance, bytes()), 0);
    assert_int_equal(load(NULL, weights), -1);
    assert_int_equal(load(instance, weights), 0);
    assert_int_equal(run(instance, adz_tensor_data_f32(n.in[0]), y), 0);
    const float *right = adz_tensor_data_f32(predict(&n));
    for (int i = 0; i < 3; ++i) {
        assert_true(fabs((double)(y[i] - right[i])) < 1e-6);
    }
    free(instance);
    dlclose(c.library);
    adz_module_release(&net);
    adz_scope_close(scope);
}

static void refused_options(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net = adz_linear_new(4, 3, NULL);
    c_network n = of(net, adz_randn(ADZ_SHAPE(1, 4), ADZ_F32));
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs = adz_tensor_list_of(n.in, 1);
    adz_plan *plan = adz_plan_new(predict, &n, &o);
    const char *names[] = { "init" };
    adz_c_options c = ADZ_C_OPTIONS;
    temporary_files(true);
    c.state = (adz_c_state)7;
    assert_int_equal(
        adz_plan_write_c_many(&plan, names, 1, temporary_path("n.c"), &c), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "options.state is 7, but must be 0 (static)");
    c.state = ADZ_C_STATE_CALLER;
    assert_int_equal(
        adz_plan_write_c_many(&plan, names, 1, temporary_path("n.c"), &c), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "init of plan 0 is that of something else");
    assert_int_equal(temporary_files(false), 0);
    c.state = ADZ_C_STATE_STATIC; /* has no such function */
    assert_int_equal(adz_plan_write_c_many(&plan, names, 1, temporary_path("n.c"), &c), ADZ_OK);
    adz_plan_free(&plan);
    adz_module_release(&net);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instances_learn_apart),
        cmocka_unit_test(streams_have_a_state),
        cmocka_unit_test(files_are_cpp),
        cmocka_unit_test(separate_weights),
        cmocka_unit_test(refused_options),
    };
    return cmocka_run_group_tests_name("c99: states", tests, temporary_begin, temporary_end);
}
