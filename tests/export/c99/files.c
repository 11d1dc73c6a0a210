/* The files that are written, and what is refused. */
#include "side_by_side.h"
#include "tests.h"

/* ---- files and errors ------------------------------------------------------------------------ */

/* The contents of a file of the folder, in memory that the next call overwrites. */
static const char *file_text(const char *name)
{
    static char text[1 << 18];
    FILE *file = fopen(temporary_path(name), "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void announces_its_sizes(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net =
        ADZ_SEQUENTIAL(adz_linear_new(13, 50, NULL), adz_tanh_new(), adz_linear_new(50, 1, NULL));
    c_network n = of(net, adz_randn(ADZ_SHAPE(1, 13), ADZ_F32));
    assert_int_equal(write_network(&n, "sizes.c", NULL), ADZ_OK);
    assert_non_null(strstr(file_text("sizes.h"), "#define SIZES_WEIGHTS_BYTES 3004\n"));
    assert_non_null(strstr(file_text("sizes.h"), "#define SIZES_BUFFER_BYTES  200\n"));
    assert_non_null(strstr(file_text("sizes.h"), "void sizes_run(const float *x, float *y);"));
    assert_non_null(strstr(file_text("sizes.c"), "/* 0.weight [50, 13] */"));
    assert_non_null(strstr(file_text("sizes.c"), "static float floats[50];"));
    adz_module_release(&net);
    adz_scope_close(scope);
}

/* Weights in a file of their own: the C file has none, and computes the same once they are loaded.
 */
static void weights_in_a_file(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net =
        ADZ_SEQUENTIAL(adz_linear_new(4, 5, NULL), adz_tanh_new(), adz_linear_new(5, 2, NULL));
    c_network n = of(net, adz_randn(ADZ_SHAPE(3, 4), ADZ_F32));
    char path[512];
    snprintf(path, sizeof path, "%s", temporary_path("apart.bin"));
    for (int trains = 0; trains < 2; ++trains) {
        adz_c_options o = ADZ_C_OPTIONS;
        o.weights = path;
        training t = { .optimizer = adz_sgd_new(adz_module_parameters(net), 0.1, NULL),
            .loss = MSE,
            .steps = 1,
            .batches = 1 };
        assert_int_equal(
            trains ? write_training(&n, &t, "apart.c", &o) : write_network(&n, "apart.c", &o),
            ADZ_OK);
        assert_null(strstr(file_text("apart.c"), "weight[20] = {"));
        const compiled c = compile("apart", false);
        float weights[64];
        FILE *file = fopen(path, "rb");
        assert_int_equal(fread(weights, sizeof *weights, 64, file), 4 * 5 + 5 + 5 * 2 + 2);
        fclose(file);
        void (*load)(const float *);
        *(void **)(void *)&load = dlsym(c.library, "apart_load");
        assert_non_null(*(void **)(void *)&load);
        load(weights);
        assert_true(difference(&c, &n, 1) <= 1e-6);
        dlclose(c.library);
        adz_optimizer_release(&t.optimizer);
    }
    adz_module_release(&net);
    adz_scope_close(scope);
}

/* Names that come from outside end no comment and make no code. */
static void hostile_names(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    static const char *const names[] = { "*/ int evil; /*", "a\nb", "\"; #error", "int", "a.b",
        "a_b", "\\", "?\?/" };
    adz_module *net = adz_sequential_new(NULL, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        if (strchr(names[i], '.') == NULL) {
            assert_non_null(adz_module_add_child(net, names[i], adz_linear_new(3, 3, NULL)));
        }
    }
    c_network n = of(net, adz_randn(ADZ_SHAPE(2, 3), ADZ_F32));
    const char *const inputs[] = { "*/ #error \n" };
    const adzi_export what = { .function = call_network,
        .user = &n,
        .inputs = { n.in, 1 },
        .input_names = inputs,
        .module = net };
    adz_c_options o = ADZ_C_OPTIONS;
    o.name = "9 lives; */";
    assert_int_equal(adzi_write_c("test", temporary_path("hostile.c"), &what, 1, &o), ADZ_OK);
    assert_null(strstr(file_text("hostile.c"), "evil; /*"));
    assert_null(strstr(file_text("hostile.c"), "#error"));
    assert_non_null(strstr(file_text("hostile.h"), "void __lives____run(") != NULL
                        ? file_text("hostile.h")
                        : strstr(file_text("hostile.h"), "_lives"));
    o.name = NULL;
    check_network(&n, 1e-6);
    adz_module_release(&net);
    adz_scope_close(scope);
}

/* Long names stay whole, or stay apart where they are cut. A prefix that does not fit is refused.
 */
static void long_names(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    char name[2][200], prefix[140];
    adz_module *net = adz_sequential_new(NULL, 0);
    for (int i = 0; i < 2; ++i) { /* they differ at the end alone */
        memset(name[i], 'n', sizeof name[i]);
        snprintf(name[i] + 150, 10, "%c", 'a' + i);
        assert_non_null(adz_module_add_child(net, name[i], adz_linear_new(2, 2, NULL)));
    }
    c_network n = of(net, adz_randn(ADZ_SHAPE(2, 2), ADZ_F32));
    training t = { .optimizer = adz_adam_new(adz_module_parameters(net), 0.1, NULL),
        .loss = MSE,
        .steps = 1,
        .batches = 1 };
    adz_c_options o = ADZ_C_OPTIONS;
    memset(prefix, 'p', sizeof prefix);
    prefix[127] = '\0';
    o.name = prefix;
    assert_int_equal(write_training(&n, &t, "long.c", &o), ADZ_OK);
    snprintf(name[0], sizeof name[0], "void %s_run(", prefix);
    assert_non_null(strstr(file_text("long.h"), name[0]));
    o.name = NULL;
    assert_int_equal(write_training(&n, &t, "long.c", &o), ADZ_OK);
    dlclose(compile("long", false).library);
    prefix[127] = 'p';
    prefix[128] = '\0';
    o.name = prefix;
    temporary_files(true);
    assert_int_equal(write_network(&n, "long.c", &o), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "more than 127 characters");
    assert_int_equal(temporary_files(false), 0);
    adz_optimizer_release(&t.optimizer);
    adz_module_release(&net);
    adz_scope_close(scope);
}

/* A prediction has no double. */
static void no_double(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net = ADZ_SEQUENTIAL(adz_linear_new(5, 8, NULL), adz_linear_new(8, 1, NULL));
    c_network n = of(net, adz_randn(ADZ_SHAPE(1, 5), ADZ_F32));
    assert_int_equal(write_network(&n, "single.c", NULL), ADZ_OK);
    assert_null(strstr(file_text("single.c"), "double"));
    adz_module_release(&net);
    adz_scope_close(scope);
}

/* A file that cannot be written leaves the others as they were. */
static void all_or_nothing(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net = adz_linear_new(2, 2, NULL);
    c_network n = of(net, adz_randn(ADZ_SHAPE(1, 2), ADZ_F32));
    char path[512];
    snprintf(path, sizeof path, "%s/missing/folder.bin", temporary_folder);
    adz_c_options o = ADZ_C_OPTIONS;
    o.weights = path;
    temporary_files(true);
    assert_int_equal(write_network(&n, "whole.c", &o), ADZ_ERR_IO);
    expect_error(ADZ_ERR_IO, "folder.bin");
    assert_int_equal(temporary_files(false), 0);
    adz_module_release(&net);
    adz_scope_close(scope);
}

static adz_tensor *draws(adz_module *module, adz_tensor **in)
{
    (void)module;
    return adz_to(adz_multinomial(adz_softmax(in[0], -1), 2, true, NULL), ADZ_F32);
}

static adz_tensor *reads(adz_module *module, adz_tensor **in)
{
    (void)module;
    return adz_mul_number(in[0], adz_item(adz_sum(in[0], ADZ_ALL_DIMS, ADZ_DROPDIM)));
}

static adz_tensor *changes_input(adz_module *module, adz_tensor **in)
{
    (void)module;
    return adz_mul_number(adz_relu_(in[0]), 2);
}

static adz_tensor *labels(adz_module *module, adz_tensor **in)
{
    adz_tensor *one = adz_tensor_from((const int64_t[]){ 1 }, ADZ_SHAPE_SCALAR, ADZ_I64);
    adz_tensor *steps = adz_tensor_from((const int64_t[]){ 2 }, ADZ_SHAPE_SCALAR, ADZ_I64);
    adz_tensor *log_probs = adz_log_softmax(adz_module_forward(module, in[0]), 1);
    return adz_ctc_loss(log_probs, adz_unsqueeze(one, 0), steps, one, NULL);
}

/* Integers of 64 bits that a file cannot hold: a number, and an element of a constant. */
static adz_tensor *wide_number(adz_module *module, adz_tensor **in)
{
    (void)module;
    return adz_masked_fill(adz_argsort(in[0], 1, false), adz_lt_number(in[0], 0), 3e9);
}

static adz_tensor *wide_element(adz_module *module, adz_tensor **in)
{
    static const int64_t some[] = { 1, 2147483648, 3 };
    (void)module;
    return adz_add(adz_argsort(in[0], 1, false), adz_tensor_from(some, ADZ_SHAPE(3), ADZ_I64));
}

static adz_tensor *sines(adz_module *module, adz_tensor **in)
{
    return adz_sin(adz_module_forward(module, in[0]));
}

/* Nothing is written when something is refused. */
static void expect_refused(
    c_network *n, const char *name, const adz_c_options *o, adz_status code, const char *part)
{
    temporary_files(true);
    assert_int_equal(write_network(n, name, o), code);
    expect_error(code, part);
    assert_int_equal(temporary_files(false), 0);
}

static void own_numbers(double *numbers, const adz_step_context *at)
{
    numbers[0] = at->settings[0];
}

static const char calls_sinh[] =
    "static void f(double *n, const adz_step_context *at) { n[0] = sinh(1); }";
static const char calls_cos[] =
    "static void f(double *n, const adz_step_context *at) { n[0] = cos(1); }";

/* Expects an error of a step, of which no file is left. */
static void expect_step_refused(c_network *n, training *t, adz_status code, const char *part)
{
    temporary_files(true);
    assert_int_equal(write_training(n, t, "no.c", NULL), code);
    expect_error(code, part);
    assert_int_equal(temporary_files(false), 0);
}

/* Steps that a file cannot have: the message names what it is, and what to do. */
static void refused_steps(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_batch_norm1d_options o = ADZ_BATCH_NORM1D_OPTIONS;
    o.momentum = ADZ_CUMULATIVE_MOMENTUM;
    adz_module *net = adz_batch_norm1d_new(3, &o);
    c_network n = of(net, adz_randn(ADZ_SHAPE(4, 3), ADZ_F32));
    training t = { .optimizer = adz_sgd_new(adz_module_parameters(net), 0.1, NULL),
        .loss = MSE,
        .steps = 1,
        .batches = 1,
        .batch_statistics = true };
    expect_step_refused(&n, &t, ADZ_ERR_UNSUPPORTED, "batch norm needs a fixed momentum");
    t.batch_statistics = false;
    adz_optimizer_type own = *adz_optimizer_type_of(t.optimizer);
    adz_optimizer_release(&t.optimizer);
    own.name = "Own";
    own.numbers = own_numbers;
    own.numbers_text[0] = own.numbers_text[1] = NULL;
    t.optimizer = adz_optimizer_new(&own, adz_module_parameters(net), NULL, 0);
    expect_step_refused(
        &n, &t, ADZ_ERR_UNSUPPORTED, "the optimizer Own cannot be written in C: its type has");
    adz_optimizer_release(&t.optimizer);
    own.numbers_text[0] = calls_sinh;
    t.optimizer = adz_optimizer_new(&own, adz_module_parameters(net), NULL, 0);
    expect_step_refused(
        &n, &t, ADZ_ERR_UNSUPPORTED, "the numbers of the optimizer Own call sinh, which");
    adz_optimizer_release(&t.optimizer);
    own.numbers_text[0] = calls_cos;
    t.optimizer = adz_optimizer_new(&own, adz_module_parameters(net), NULL, 0);
    expect_step_refused(&n, &t, ADZ_ERR_UNSUPPORTED, "Own needs cos of the mathematical library");
    adz_optimizer_release(&t.optimizer);
    adz_module_release(&net);
    adz_scope_close(scope);
}

static void refused(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    c_network n = { .in = { adz_randn(ADZ_SHAPE(2, 3), ADZ_F32) }, .n_in = 1, .call = draws };
    expect_refused(&n, "no.c", NULL, ADZ_ERR_UNSUPPORTED, "draws random numbers");
    n.call = reads;
    expect_refused(&n, "no.c", NULL, ADZ_ERR_UNSUPPORTED, "item");
    n.call = changes_input;
    expect_refused(&n, "no.c", NULL, ADZ_ERR_UNSUPPORTED, "relu changes input");
    n.call = wide_number;
    expect_refused(
        &n, "no.c", NULL, ADZ_ERR_UNSUPPORTED, "masked_fill uses the integer 3000000000");
    n.call = wide_element;
    expect_refused(&n, "no.c", NULL, ADZ_ERR_UNSUPPORTED, "uses the integer 2147483648");
    adz_module *net = ADZ_SEQUENTIAL(adz_linear_new(3, 2, NULL), adz_dropout_new(0.5, NULL));
    n.module = net;
    n.call = NULL;
    expect_refused(&n, "no.c", NULL, ADZ_ERR_UNSUPPORTED, "adz_module_eval");
    adz_module_eval(net);
    expect_refused(&n, "no.cc", NULL, ADZ_ERR_ARGUMENT, "does not end with");
    expect_refused(&n, "n\"o.c", NULL, ADZ_ERR_ARGUMENT, "cannot stand in an #include");
    n.call = labels;
    expect_refused(&n, "no.c", NULL, ADZ_ERR_UNSUPPORTED,
        "ctc_loss cannot be written in C: it sums over all alignments of a target");
    n.call = sines;
    expect_refused(
        &n, "no.c", NULL, ADZ_ERR_UNSUPPORTED, "sin needs sinf of the mathematical library");
    n.call = NULL;
    adz_module_to(net, ADZ_F64);
    n.in[0] = adz_randn(ADZ_SHAPE(2, 3), ADZ_F64);
    expect_refused(&n, "no.c", NULL, ADZ_ERR_DTYPE, "float64");
    adz_module_release(&net);
    adz_scope_close(scope);
}

static adz_tensor *mean_of_squares(adz_module *module, adz_tensor *y, adz_tensor *target)
{
    (void)module;
    return adz_mse_loss(y, target, ADZ_REDUCE_MEAN);
}

/* Every request for memory may be refused: the error says so, and no file is left behind. */
static void refused_memory(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net = adz_linear_new(2, 1, NULL);
    c_network n = of(net, adz_randn(ADZ_SHAPE(1, 2), ADZ_F32));
    training t = { .optimizer = adz_adam_new(adz_module_parameters(net), 0.1, NULL),
        .loss = OWN_LOSS,
        .steps = 1,
        .batches = 1 };
    t.own = mean_of_squares;
    adz_module_eval(net);
    temporary_files(true);
    int refusals = 0;
    for (int64_t k = 1;; ++k) {
        const int64_t before = adzi_live_tensors();
        adz_scope *inner = adz_scope_open();
        adzi_alloc_fail_at(k);
        const adz_status status = write_training(&n, &t, "memory.c", NULL);
        const bool reached = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        adz_scope_close(inner);
        if (!reached) {
            assert_int_equal(status, ADZ_OK);
            break;
        }
        if (status == ADZ_ERR_MEMORY) { /* some caches do without the memory */
            ++refusals;
            adz_error_clear();
            assert_int_equal(temporary_files(false), 0);
        } else if (status == ADZ_OK) {
            temporary_files(true);
        } else {
            fail_msg("request %d: %s", (int)k, adz_error_message());
        }
        assert_int_equal(adzi_live_tensors(), before);
    }
    assert_true(refusals > 50);
    adz_optimizer_release(&t.optimizer);
    adz_module_release(&net);
    adz_scope_close(scope);
}

int files_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(announces_its_sizes),
        cmocka_unit_test(weights_in_a_file),
        cmocka_unit_test(hostile_names),
        cmocka_unit_test(long_names),
        cmocka_unit_test(no_double),
        cmocka_unit_test(all_or_nothing),
        cmocka_unit_test(refused),
        cmocka_unit_test(refused_steps),
        cmocka_unit_test(refused_memory),
    };
    return cmocka_run_group_tests_name("c99: files", tests, temporary_begin, temporary_end);
}
