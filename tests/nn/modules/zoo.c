/* The helpers that the networks of other code bases share. */
#include <locale.h>

#include "adze/zoo.h"
#include "nn/layers/dropout.h"
#include "zoo/zoo.h"
#include "../../nn.h"
#include "tests.h"

static void texts_are_pythons(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 4, 10, 512 };
    assert_string_equal(adz_text_sizes(adz_shape_of(3, sizes)), "[4, 10, 512]");
    assert_string_equal(adz_text_sizes(adz_shape_of(0, NULL)), "[]");
    int64_t many[ADZ_MAX_RANK];
    char wanted[400] = "[";
    for (int i = 0; i < ADZ_MAX_RANK; ++i) {
        many[i] = INT64_MAX;
        sprintf(wanted + strlen(wanted), "%s%lld", i > 0 ? ", " : "", (long long)INT64_MAX);
    }
    /* A text has 192 bytes. Sizes are left out from the one on that might not fit. */
    const char *cut = adz_text_sizes(adz_shape_of(ADZ_MAX_RANK, many));
    assert_true(strlen(cut) < 192 && cut[strlen(cut) - 1] == ']');
    assert_memory_equal(cut, wanted, strlen(cut) - 1);
    assert_string_equal(adz_text_shape(adz_zeros(ADZ_SHAPE(4, 10), ADZ_F32)), "[4, 10]");
    assert_string_equal(adz_text_shape(ADZ_NONE), "(none)");
    assert_string_equal(adz_text_shape(NULL), "(NULL)");
    assert_string_equal(adz_text_number(0.25), "0.25");
    assert_string_equal(adz_text_number(3), "3");
    assert_string_equal(adz_text_float(3), "3.0");
    assert_string_equal(adz_text_float(-0.5), "-0.5");
    assert_string_equal(adz_text_float(1e20), "1e+20");
    assert_string_equal(adz_text_float(NAN), "nan");
    setlocale(LC_ALL, "de_DE.UTF-8"); /* if it is installed: it has a decimal comma */
    assert_string_equal(adz_text_number(0.25), "0.25");
    assert_string_equal(adz_text_float(3), "3.0");
    setlocale(LC_ALL, "C");
    const char *first = adz_text_number(1); /* It stays while seven more are made. */
    for (int i = 2; i < 9; ++i) {
        adz_text_number(i);
    }
    assert_string_equal(first, "1");
}

static void sizes_have_limits(void **state)
{
    (void)state;
    const int64_t most = INT64_MAX / 16;
    assert_true(adz_check_size("op", "n", 2, 2) && adz_check_size("op", "n", most, 1));
    assert_int_equal(adz_error_code(), ADZ_OK);
    assert_false(adz_check_size("op", "n", 1, 2));
    expect_error(ADZ_ERR_ARGUMENT, "op: n is 1, but must be 2 or more");
    assert_false(adz_check_size("op", "n", most + 1, 1));
    expect_error(ADZ_ERR_ARGUMENT, "more than fit in memory");
    assert_true(
        adz_check_range("op", "n", 0, 0, 65535) && adz_check_range("op", "n", 65535, 0, 65535));
    assert_int_equal(adz_error_code(), ADZ_OK);
    assert_false(adz_check_range("op", "n", 65536, 0, 65535));
    expect_error(ADZ_ERR_ARGUMENT, "op: n is 65536, but must be in [0, 65535]");
    assert_false(adz_check_range("op", "n", 0, 1, 65535));
    expect_error(ADZ_ERR_ARGUMENT, "op: n is 0, but must be in [1, 65535]");
    assert_true(adz_check_probability("op", "p", 0) && adz_check_probability("op", "p", 1));
    static const double outside[] = { -0.1, 1.1, NAN };
    for (int i = 0; i < 3; ++i) {
        assert_false(adz_check_probability("op", "p", outside[i]));
        expect_error(ADZ_ERR_ARGUMENT, "but must be in [0, 1]");
    }
    assert_true(
        adz_check_parameter_dtype("op", ADZ_F32) && adz_check_parameter_dtype("op", ADZ_F64));
    assert_false(adz_check_parameter_dtype("op", ADZ_I64));
    expect_error(ADZ_ERR_DTYPE, "op: parameters are float32 or float64, not int64");
}

static void errors_keep_the_first(void **state)
{
    (void)state;
    assert_null(zoo_fail_null("op", "x"));
    expect_error(ADZ_ERR_NULL, "op: x is NULL though no call has failed");
    adz_error_format("first", ADZ_ERR_SHAPE, "%d is %s", 1, "one");
    assert_int_equal(adz_error_null("op", "x"), ADZ_ERR_SHAPE);
    assert_false(adz_check_tensor("op", "x", NULL));
    expect_error(ADZ_ERR_SHAPE, "first: 1 is one");
    assert_false(adz_check_tensor("op", "x", NULL));
    expect_error(ADZ_ERR_NULL, "op: x is NULL");
    assert_false(adz_check_tensor("op", "x", ADZ_NONE));
    expect_error(ADZ_ERR_ARGUMENT, "op: x is not optional: ADZ_NONE was given");
    assert_true(adz_check_tensor("op", "x", adz_scalar(1, ADZ_F32)));
    char name[] = "mine"; /* a name that does not outlive the call */
    assert_false(adz_check_tensor(name, "x", NULL));
    memset(name, '?', sizeof name - 1);
    assert_string_equal(adz_error_operator(), "mine");
    adz_error_clear();
    assert_int_equal(adz_error_null(NULL, "x"), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "error: x is NULL");
    adz_scope *scope = adz_scope_open();
    adz_set_debug(true);
    adz_tensor *ended = adz_ones(ADZ_SHAPE(2), ADZ_F32);
    adz_scope_close(scope);
    assert_string_equal(adz_text_shape(ended), "(ended)");
    adz_set_debug(false);
}

static void memory_is_zero_and_counted(void **state)
{
    (void)state;
    const int64_t before = adzi_live_bytes();
    for (size_t bytes = 1; bytes < 5000; bytes += 777) {
        char *memory = adzi_zoo_alloc(bytes);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 16, 0);
        for (size_t i = 0; i < bytes; ++i) {
            assert_int_equal(memory[i], 0);
        }
        memset(memory, 'x', bytes);
        assert_true(adzi_live_bytes() >= before + (int64_t)bytes);
        adzi_zoo_free(memory);
        assert_int_equal(adzi_live_bytes(), before);
    }
    adzi_zoo_free(NULL);
    adzi_alloc_fail_at(1);
    assert_null(adzi_zoo_alloc(100000));
    adzi_alloc_fail_at(0);
    expect_error(ADZ_ERR_MEMORY, "memory was refused");
    adzi_alloc_fail_at(1);
    assert_null(adzi_zoo_scratch(100000));
    adzi_alloc_fail_at(0);
    adz_error_clear();
    const char *scratch = adzi_zoo_scratch(10);
    assert_true(scratch != NULL && scratch[0] == 0 && scratch[9] == 0);
}

typedef struct some_options {
    size_t size;
    int64_t first, second;
} some_options;

static void options_of_any_age_are_read(void **state)
{
    (void)state;
    const some_options defaults = { sizeof defaults, 1, 2 };
    some_options all = defaults, given = { offsetof(some_options, second), 7, 8 };
    assert_true(adz_options_read("op", "START", &all, sizeof all, NULL));
    assert_true(all.first == 1 && all.second == 2);
    assert_true(adz_options_read("op", "START", &all, sizeof all, &given));
    assert_true(all.first == 7 && all.second == 2);
    struct {
        some_options known;
        int64_t newer;
    } later = { { sizeof later, 3, 4 }, 5 };
    struct {
        some_options all;
        int64_t behind;
    } room = { defaults, -1 };
    assert_true(adz_options_read("op", "START", &room.all, sizeof room.all, &later));
    assert_true(room.all.first == 3 && room.all.second == 4 && room.behind == -1);
    given.size = sizeof(size_t);
    all = defaults;
    assert_true(adz_options_read("op", "START", &all, sizeof all, &given));
    assert_true(all.first == 1);
    given.size = sizeof(size_t) - 1;
    assert_false(adz_options_read("op", "START", &all, sizeof all, &given));
    expect_error(ADZ_ERR_ARGUMENT, "the struct's size is 7");
}

static void options_of_any_age_are_filled(void **state)
{
    (void)state;
    const some_options defaults = { sizeof defaults, 1, 2 };
    struct {
        some_options known;
        int64_t newer, behind;
    } to;
    for (size_t size = sizeof(size_t); size <= offsetof(__typeof__(to), behind); size += 8) {
        memset(&to, 'x', sizeof to);
        const int64_t before = to.behind;
        assert_int_equal(adz_options_fill("op", &to, size, &defaults, sizeof defaults), ADZ_OK);
        assert_int_equal(to.known.size, size);
        assert_int_equal(to.known.first, size >= 16 ? 1 : before);
        assert_int_equal(to.known.second, size >= 24 ? 2 : before);
        assert_int_equal(to.newer, size >= 32 ? 0 : before);
        assert_int_equal(to.behind, before);
    }
    assert_int_equal(adz_options_fill("op", &to, sizeof(size_t) - 1, &defaults, sizeof defaults),
        ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "size is 7; hand over sizeof of the struct");
    assert_int_equal(adz_options_fill("op", NULL, 8, &defaults, sizeof defaults), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "op: the struct to fill is NULL");
}

static void products_say_what_does_not_fit(void **state)
{
    (void)state;
    adz_module *m = adz_identity_new();
    adz_tensor *w = adz_tensor_from((double[]){ 1, 2, 3, 4 }, ADZ_SHAPE(2, 2), ADZ_F64);
    adz_tensor *x = adz_tensor_from((double[]){ 1, 10 }, ADZ_SHAPE(2), ADZ_F64);
    assert_true(HOLDS(adzi_zoo_linear(m, "width", x, w, ADZ_NONE), 0, 31, 42));
    assert_true(HOLDS(adzi_zoo_linear(m, "width", x, w, x), 0, 32, 52));
    assert_null(adzi_zoo_linear(m, "width", adz_ones(ADZ_SHAPE(3), ADZ_F64), w, ADZ_NONE));
    expect_error(ADZ_ERR_SHAPE, "Identity: x[3] must end in width, which is 2");
    assert_null(adzi_zoo_linear(m, "width", adz_scalar(1, ADZ_F64), w, ADZ_NONE));
    expect_error(ADZ_ERR_SHAPE, "Identity: x[] must end in width, which is 2");
    expect_null(adzi_zoo_linear(m, "width", NULL, w, ADZ_NONE) == NULL, "Identity", "x");
    adz_module_release(&m);
}

/* adzi_zoo_attention_dropout copies the probability, mode and generator of a dropout module to the
 * options of attention, and refuses a module of another kind. */
static void attention_asks_its_dropout(void **state)
{
    (void)state;
    adz_generator *g = adz_generator_new(3);
    adz_dropout_options d = { sizeof d, g };
    adz_module *m = adz_dropout_new(0.25, &d), *other = adz_linear_new(2, 2, NULL);
    for (int training = 1; training >= 0; --training) {
        adz_attention_options o = ADZ_ATTENTION_OPTIONS;
        adz_module_train(m, training);
        assert_true(adzi_zoo_attention_dropout(m, &o));
        assert_true(o.dropout_p == 0.25 && o.training == training && o.generator == g);
        assert_ptr_equal(o.dropout_mask, training ? ADZ_NONE : NULL);
    }
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    adz_module *idle = adz_dropout_new(0, &d); /* It needs no mask. */
    assert_true(adzi_zoo_attention_dropout(idle, &o));
    assert_null(o.dropout_mask);
    adz_module_release(&idle);
    assert_false(adzi_zoo_attention_dropout(other, &o));
    expect_error(ADZ_ERR_ARGUMENT, "the child is a Linear, but attention needs a dropout there");
    adz_module_release(&m);
    adz_module_release(&other);
    adz_generator_free(&g);
}

/* Masks are replayed for what drops something; a probability of 0 takes none. */
static void nothing_is_replayed_for_nothing(void **state)
{
    (void)state;
    adz_tensor *x = adz_randn(ADZ_SHAPE(3, 4), ADZ_F32),
               *mask = adz_ones(ADZ_SHAPE(3, 4), ADZ_BOOL);
    for (int i = 0; i < 2; ++i) {
        adz_module *m = adz_darts_monte_carlo_dropout_new(i * 0.5, NULL);
        adzi_masks masks = { &mask, 1, 0 };
        adzi_module_replay(m, &masks);
        adz_tensor *y = adz_module_forward(m, x);
        assert_int_equal(masks.next, i);
        adzi_module_replay(m, NULL);
        assert_true(adz_equal(y, i == 0 ? x : adz_mul_number(x, 2)));
        adz_module_release(&m);
    }
}

int zoo_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(texts_are_pythons),
        TEST(sizes_have_limits),
        TEST(errors_keep_the_first),
        TEST(memory_is_zero_and_counted),
        TEST(options_of_any_age_are_read),
        TEST(options_of_any_age_are_filled),
        TEST(products_say_what_does_not_fit),
        TEST(attention_asks_its_dropout),
        TEST(nothing_is_replayed_for_nothing),
    };
    return cmocka_run_group_tests_name("modules: zoo", tests, NULL, NULL);
}
