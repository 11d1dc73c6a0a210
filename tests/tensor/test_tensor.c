/* Tensors: ownership, factories, access, printing, sharing; contexts. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "base/alloc.h"

static adz_scope *scope;
static int64_t live;

static int open_scope(void **state)
{
    (void)state;
    adz_error_clear();
    live = adzi_live_tensors();
    scope = adz_scope_open();
    return scope == NULL;
}

static int close_scope(void **state)
{
    (void)state;
    adz_scope_close(scope);
    adz_error_clear();
    return adzi_live_tensors() != live;
}

/* ---- ownership ------------------------------------------------------------------------------- */

static void scopes_nest_and_hand_outward(void **state)
{
    (void)state;
    int64_t before = adzi_live_tensors();
    adz_scope *outer = adz_scope_open(), *inner = adz_scope_open();
    adz_tensor *a = adz_ones(ADZ_SHAPE(2), ADZ_F32), *b = adz_zeros(ADZ_SHAPE(2), ADZ_F32);
    assert_non_null(a);
    assert_ptr_equal(adz_scope_return(inner, b), b);
    assert_int_equal(adzi_live_tensors(), before + 1);
    assert_float_equal(adz_tensor_at(b, (int64_t[]){ 1 }), 0, 0);
    assert_int_equal(adz_scope_close(inner), ADZ_ERR_OWNERSHIP);
    adz_error_clear();
    adz_scope *third = adz_scope_open();
    assert_non_null(third);
    assert_int_equal(adz_scope_close(outer), ADZ_OK); /* closes the third too */
    assert_int_equal(adzi_live_tensors(), before);
    assert_int_equal(adz_scope_close(third), ADZ_ERR_OWNERSHIP);
}

static void keeping_and_releasing(void **state)
{
    (void)state;
    adz_scope *inner = adz_scope_open();
    adz_tensor *a = adz_keep(adz_ones(ADZ_SHAPE(2), ADZ_F32)), *b = adz_ones(ADZ_SHAPE(2), ADZ_F32);
    assert_int_equal(adz_release(&b), ADZ_ERR_OWNERSHIP);
    assert_non_null(b);
    adz_error_clear();
    adz_scope_close(inner);
    assert_float_equal(adz_tensor_at(a, (int64_t[]){ 1 }), 1, 0);
    assert_int_equal(adz_release(&a), ADZ_OK);
    assert_null(a);
    assert_int_equal(adz_release(&a), ADZ_OK); /* a is NULL, which is allowed */
    assert_null(adz_keep(NULL));
    assert_ptr_equal(adz_keep(ADZ_NONE), ADZ_NONE);
}

#ifndef ADZI_ASAN
static void a_stale_pointer_is_an_error(void **state)
{
    (void)state;
    adz_scope *inner = adz_scope_open();
    adz_tensor *a = adz_ones(ADZ_SHAPE(2), ADZ_F32);
    adz_scope_close(inner);
    assert_null(adz_relu(a));
    assert_int_equal(adz_error_code(), ADZ_ERR_OWNERSHIP);
    assert_non_null(strstr(adz_error_message(), "stale"));
}
#endif

static void *make_in_the_root_scope(void *unused)
{
    (void)unused;
    adz_tensor *t = adz_ones(ADZ_SHAPE(100), ADZ_F32); /* released when the thread ends */
    return t;
}

static void a_thread_ends_its_root_scope(void **state)
{
    (void)state;
    pthread_t thread;
    int64_t before = adzi_live_tensors();
    assert_int_equal(pthread_create(&thread, NULL, make_in_the_root_scope, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(adzi_live_tensors(), before);
}

/* ---- factories and access -------------------------------------------------------------------- */

static void sizes_are_checked(void **state)
{
    (void)state;
    assert_null(adz_empty(ADZ_SHAPE((int64_t)1 << 62, 4), ADZ_F32));
    assert_int_equal(adz_error_code(), ADZ_ERR_SHAPE);
    adz_error_clear();
    assert_null(adz_empty(ADZ_SHAPE(0, (int64_t)1 << 62, 4), ADZ_U8));
    assert_int_equal(adz_error_code(), ADZ_ERR_SHAPE);
    adz_error_clear();
    assert_null(adz_empty(ADZ_SHAPE(2, -1), ADZ_F32));
    assert_int_equal(adz_error_code(), ADZ_ERR_SHAPE);
    assert_non_null(strstr(adz_error_message(), "[2, -1]"));
    adz_error_clear();
    assert_null(adz_empty(ADZ_SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1), ADZ_F32));
    assert_int_equal(adz_error_code(), ADZ_ERR_SHAPE);
    adz_error_clear();
    assert_null(adz_empty(ADZ_SHAPE(1), (adz_dtype)42));
    assert_int_equal(adz_error_code(), ADZ_ERR_DTYPE);
    adz_error_clear();
    assert_null(adz_empty(ADZ_SHAPE((int64_t)1 << 45, 8), ADZ_F32)); /* 2^50 bytes */
    assert_int_equal(adz_error_code(), ADZ_ERR_MEMORY);
}

static int deleted;

static void count_deletion(void *data, void *user)
{
    free(data);
    deleted += *(int *)user;
}

static void the_callers_memory(void **state)
{
    (void)state;
    static int one = 1;
    float *data = malloc(4 * sizeof *data);
    for (int i = 0; i < 4; ++i) {
        data[i] = (float)i;
    }
    deleted = 0;
    assert_null(adz_tensor_wrap(data, ADZ_SHAPE(-4), ADZ_F32, count_deletion, &one));
    adz_error_clear();
    assert_null(adz_tensor_wrap((char *)data + 1, ADZ_SHAPE(2), ADZ_F32, count_deletion, &one));
    assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    assert_int_equal(deleted, 0);
    adz_scope *inner = adz_scope_open();
    adz_tensor *t = adz_tensor_wrap(data, ADZ_SHAPE(2, 2), ADZ_F32, count_deletion, &one);
    adz_tensor *v = adz_keep(adz_transpose(t, 0, 1));
    assert_ptr_equal(adz_tensor_data(t), data);
    adz_scope_close(inner);
    assert_int_equal(deleted, 0);
    assert_float_equal(adz_tensor_at(v, (int64_t[]){ 0, 1 }), 2, 0);
    adz_release(&v);
    assert_int_equal(deleted, 1);
}

/* The library does not touch the memory at `user`, even if no deleter is given. */
static void a_user_without_a_deleter_stays_the_callers(void **state)
{
    (void)state;
    static float data[4] = { 1, 2, 3, 4 };
    static _Alignas(64) char own[4096];
    memset(own, 'P', sizeof own);
    int64_t bytes = adzi_live_bytes();
    adz_scope *inner = adz_scope_open();
    assert_non_null(adz_tensor_wrap(data, ADZ_SHAPE(4), ADZ_F32, NULL, own));
    adz_scope_close(inner);
    assert_int_equal(adzi_live_bytes(), bytes);
    for (int i = 0; i < 10; ++i) { /* takes the blocks that the wrapped tensor has given back */
        assert_non_null(adz_full(ADZ_SHAPE(4), i, ADZ_F32));
    }
    for (size_t i = 0; i < sizeof own; ++i) {
        assert_int_equal(own[i], 'P');
    }
    assert_float_equal(data[3], 4, 0);
}

static void reading_and_writing(void **state)
{
    (void)state;
    adz_tensor *t = adz_transpose(adz_arange(0, 6, 1, ADZ_F32), 0, 0);
    adz_tensor *m = adz_transpose(adz_reshape(t, ADZ_SHAPE(2, 3)), 0, 1);
    float out[6], expected[] = { 0, 3, 1, 4, 2, 5 };
    assert_int_equal(adz_tensor_read(m, out, sizeof out), ADZ_OK);
    assert_memory_equal(out, expected, sizeof out);
    assert_int_equal(adz_tensor_read(m, out, 20), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    assert_int_equal(adz_tensor_write(m, expected, sizeof expected), ADZ_OK);
    assert_float_equal(adz_tensor_at(t, (int64_t[]){ 1 }), 1, 0);
    adz_tensor *w = adz_requires_grad_(adz_zeros(ADZ_SHAPE(6), ADZ_F32), true);
    assert_int_equal(adz_tensor_write(w, out, sizeof out), ADZ_ERR_INPLACE);
    adz_error_clear();
    ADZ_NO_GRAD
    {
        assert_int_equal(adz_tensor_write(w, out, sizeof out), ADZ_OK);
    }
    assert_float_equal(adz_tensor_at(w, (int64_t[]){ 1 }), 3, 0);
    assert_true(isnan(adz_item(w)));
    assert_int_equal(adz_error_code(), ADZ_ERR_SHAPE);
    adz_error_clear();
    assert_true(isnan(adz_tensor_at(w, (int64_t[]){ 6 })));
    assert_int_equal(adz_error_code(), ADZ_ERR_INDEX);
}

static void comparing(void **state)
{
    (void)state;
    adz_tensor *a = adz_full(ADZ_SHAPE(3), 1, ADZ_F32),
               *b = adz_full(ADZ_SHAPE(3), 1.000001, ADZ_F64);
    assert_false(adz_equal(a, b));
    assert_true(adz_allclose(a, b, 1e-5, 1e-8, false));
    assert_false(adz_allclose(a, b, 1e-9, 1e-9, false));
    adz_tensor *nan = adz_full(ADZ_SHAPE(3), NAN, ADZ_F32);
    assert_false(adz_equal(nan, nan));
    assert_false(adz_allclose(nan, nan, 1e-5, 1e-8, false));
    assert_true(adz_allclose(nan, nan, 1e-5, 1e-8, true));
    assert_false(adz_equal(a, adz_full(ADZ_SHAPE(3, 1), 1, ADZ_F32)));
    adz_tensor *big = adz_full(ADZ_SHAPE(1), 0, ADZ_I64),
               *bigger = adz_full(ADZ_SHAPE(1), 0, ADZ_I64);
    *adz_tensor_data_i64(big) = ((int64_t)1 << 60);
    *adz_tensor_data_i64(bigger) = ((int64_t)1 << 60) + 1;
    assert_false(adz_equal(big, bigger));
}

static void promotion(void **state)
{
    (void)state;
    assert_int_equal(adz_promote_types(ADZ_I64, ADZ_F16), ADZ_F16);
    assert_int_equal(adz_promote_types(ADZ_F16, ADZ_BF16), ADZ_F32);
    assert_int_equal(adz_promote_types(ADZ_U8, ADZ_BOOL), ADZ_U8);
    adz_tensor *i = adz_ones(ADZ_SHAPE(2), ADZ_I32), *f = adz_ones(ADZ_SHAPE(2), ADZ_F32);
    assert_int_equal(adz_tensor_dtype(adz_add(i, adz_scalar(1, ADZ_I64))), ADZ_I32);
    assert_int_equal(adz_tensor_dtype(adz_add(f, adz_scalar(1, ADZ_F64))), ADZ_F32);
    assert_int_equal(adz_tensor_dtype(adz_add(i, adz_scalar(1, ADZ_F64))), ADZ_F64);
    assert_int_equal(adz_tensor_dtype(adz_add(i, f)), ADZ_F32);
}

/* ---- printing -------------------------------------------------------------------------------- */

static void prints_as(adz_tensor *t, const char *expected)
{
    char text[4096];
    size_t length = adz_tensor_to_string(t, text, sizeof text);
    assert_string_equal(text, expected);
    assert_int_equal(length, strlen(expected));
}

static void integers_hold_what_fits(void **state)
{
    (void)state;
    assert_true(adz_item(adz_full(ADZ_SHAPE(1), 255.9, ADZ_U8)) == 255);
    assert_true(adz_item(adz_scalar(-1.5, ADZ_I64)) == -1);
    assert_true(adz_item(adz_scalar(-0.5, ADZ_U8)) == 0);
    assert_true(adz_item(adz_scalar(-0x1p31, ADZ_I32)) == -0x1p31);
    assert_null(adz_full(ADZ_SHAPE(2), 256, ADZ_U8));
    assert_string_equal(adz_error_message(), "full: value is 256, which uint8 does not hold");
    adz_error_clear();
    assert_null(adz_scalar(NAN, ADZ_I64));
    assert_string_equal(adz_error_message(), "scalar: value is nan, which int64 does not hold");
    adz_error_clear();
    assert_null(adz_full_like(adz_zeros(ADZ_SHAPE(2), ADZ_I32), 0x1p31));
    assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
    adz_error_clear();
}

static void printing(void **state)
{
    (void)state;
    prints_as(NULL, "NULL");
    prints_as(adz_scalar(3.5, ADZ_F32), "tensor(3.5000)");
    prints_as(adz_arange(0, 3, 1, ADZ_F32), "tensor([0., 1., 2.])");
    prints_as(adz_arange(0, 3, 1, ADZ_I32), "tensor([0, 1, 2], dtype=int32)");
    prints_as(adz_eye(2, 2, ADZ_BOOL), "tensor([[ True, False],\n        [False,  True]])");
    prints_as(adz_zeros(ADZ_SHAPE(0, 3), ADZ_F64), "tensor([], size=(0, 3), dtype=float64)");
    double mixed[] = { 1, -0.5, NAN, INFINITY };
    prints_as(adz_tensor_from(mixed, ADZ_SHAPE(2, 2), ADZ_F64),
        "tensor([[ 1.0000, -0.5000],\n        [    nan,     inf]], dtype=float64)");
    double wide[] = { 1e-5, 1 };
    prints_as(adz_tensor_from(wide, ADZ_SHAPE(2), ADZ_F64),
        "tensor([1.0000e-05, 1.0000e+00], dtype=float64)");
    prints_as(
        adz_arange(0, 2000, 1, ADZ_I64), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])");
    prints_as(adz_zeros(ADZ_SHAPE(0), ADZ_I64), "tensor([], dtype=int64)");
    double few[] = { 1, INFINITY }; /* the width is that of the finite elements */
    prints_as(adz_tensor_from(few, ADZ_SHAPE(2), ADZ_F64), "tensor([1., inf], dtype=float64)");
    prints_as(adz_mul_number(adz_arange(0, 1001, 1, ADZ_F64), 0x1p-40), /* "..." counts as one */
        "tensor([0.0000e+00, 9.0949e-13, 1.8190e-12,  ..., 9.0768e-10, 9.0859e-10,\n"
        "        9.0949e-10], dtype=float64)");
    prints_as(adz_arange(1e6, 1e6 + 6, 1, ADZ_F64),
        "tensor([1000000., 1000001., 1000002., 1000003., 1000004., 1000005.],\n"
        "       dtype=float64)");
    prints_as(adz_requires_grad_(adz_ones(ADZ_SHAPE(1), ADZ_F32), true),
        "tensor([1.], requires_grad=True)");
    prints_as(adz_ones(ADZ_SHAPE(2, 1, 2), ADZ_F32), "tensor([[[1., 1.]],\n\n        [[1., 1.]]])");
    char cut[8];
    assert_int_equal(adz_tensor_to_string(adz_scalar(3.5, ADZ_F32), cut, sizeof cut), 14);
    assert_string_equal(cut, "tensor(");
}

/* ---- sharing --------------------------------------------------------------------------------- */

static void dlpack_goes_out_and_in(void **state)
{
    (void)state;
    adz_scope *inner = adz_scope_open();
    adz_tensor *t = adz_transpose(adz_reshape(adz_arange(0, 6, 1, ADZ_F32), ADZ_SHAPE(2, 3)), 0, 1);
    adz_dl_managed_tensor *out = adz_tensor_to_dlpack(t);
    adz_scope_close(inner);
    assert_int_equal(out->dl_tensor.ndim, 2);
    assert_int_equal(out->dl_tensor.strides[0], 1);
    inner = adz_scope_open();
    adz_tensor *back = adz_tensor_from_dlpack(out); /* ends `out` when it ends */
    assert_float_equal(adz_tensor_at(back, (int64_t[]){ 2, 1 }), 5, 0);
    assert_float_equal(adz_item(adz_sum(back, ADZ_ALL_DIMS, ADZ_DROPDIM)), 15, 0);
    adz_scope_close(inner);
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(1), ADZ_F32), true);
    assert_null(adz_tensor_to_dlpack(x));
    adz_error_clear();
    int64_t size = 1;
    adz_dl_managed_tensor odd = { { &size, { 2, 0 }, 1, { 2, 32, 1 }, &size, NULL, 0 }, NULL,
        NULL };
    assert_null(adz_tensor_from_dlpack(&odd));
    assert_int_equal(adz_error_code(), ADZ_ERR_UNSUPPORTED);
    adz_error_clear();
    static float element; /* static, because a tensor of the outer scope keeps pointing to it */
    static adz_dl_managed_tensor bare = { { &element, { 1, 0 }, 1, { 2, 32, 1 }, NULL, NULL, 0 },
        NULL, NULL };
    assert_null(adz_tensor_from_dlpack(&bare));
    assert_string_equal(adz_error_message(), "tensor_from_dlpack: shape is NULL, but ndim is 1");
    bare.dl_tensor.ndim = 0;
    assert_non_null(adz_tensor_from_dlpack(&bare));
    bare.dl_tensor.ndim = -1;
    assert_null(adz_tensor_from_dlpack(&bare));
}

/* ---- random numbers -------------------------------------------------------------------------- */

static void generators_can_be_saved(void **state)
{
    (void)state;
    adz_manual_seed(7);
    adz_tensor *a = adz_randn(ADZ_SHAPE(5), ADZ_F64);
    adz_generator_state at = adz_generator_get_state(NULL);
    adz_tensor *b = adz_rand(ADZ_SHAPE(1000), ADZ_F32);
    assert_int_equal(adz_generator_set_state(NULL, at), ADZ_OK);
    assert_true(adz_equal(b, adz_rand(ADZ_SHAPE(1000), ADZ_F32)));
    adz_manual_seed(7);
    assert_true(adz_equal(a, adz_randn(ADZ_SHAPE(5), ADZ_F64)));
    adz_generator *own = adz_generator_new(7);
    assert_true(adz_equal(a, adz_generator_randn(own, ADZ_SHAPE(5), ADZ_F64)));
    adz_generator_free(&own);
    assert_null(own);
}

static void permutations_hold_every_number_once(void **state)
{
    (void)state;
    adz_tensor *p = adz_randperm(1000);
    int64_t sum = 0, fixed = 0;
    bool seen[1000] = { false };
    for (int64_t i = 0; i < 1000; ++i) {
        int64_t v = adz_tensor_data_i64(p)[i];
        assert_true(v >= 0 && v < 1000 && !seen[v]);
        seen[v] = true;
        sum += v;
        fixed += v == i;
    }
    assert_int_equal(sum, 499500);
    assert_true(fixed < 10);
    assert_int_equal(adz_tensor_numel(adz_randperm(0)), 0);
    assert_null(adz_randint(3, 3, ADZ_SHAPE(1), ADZ_I64));
    assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    assert_null(adz_randint(0, 257, ADZ_SHAPE(1), ADZ_U8));
    assert_string_equal(adz_error_message(), "randint: uint8 does not hold all of [0, 257)");
    assert_null(adz_randint(-1, 2, ADZ_SHAPE(1), ADZ_U8));
    assert_null(adz_randint(0, (INT64_C(1) << 31) + 1, ADZ_SHAPE(1), ADZ_I32));
    adz_error_clear();
    assert_non_null(adz_randint(0, 256, ADZ_SHAPE(1), ADZ_U8));
    assert_non_null(adz_randint(INT32_MIN, INT64_C(1) << 31, ADZ_SHAPE(1), ADZ_I32));
    assert_null(adz_bernoulli(1.5, ADZ_SHAPE(1), ADZ_BOOL));
}

/* ---- contexts and messages ------------------------------------------------------------------- */

static int heard;

static void listen(adz_status status, const char *message, void *user)
{
    (void)user;
    heard += status == ADZ_ERR_SHAPE && strstr(message, "reshape") != NULL;
}

static void contexts_are_apart(void **state)
{
    (void)state;
    heard = 0;
    adz_context *own = adz_context_new();
    assert_null(adz_context_use(own));
    adz_on_error(listen, NULL);
    adz_manual_seed(3);
    assert_null(adz_reshape(adz_zeros(ADZ_SHAPE(2), ADZ_F32), ADZ_SHAPE(3)));
    assert_int_equal(heard, 1);
    assert_ptr_equal(adz_context_use(NULL), own);
    assert_null(adz_reshape(adz_zeros(ADZ_SHAPE(2), ADZ_F32), ADZ_SHAPE(3)));
    assert_int_equal(heard, 1);
    adz_context_free(&own);
    assert_null(own);
    char text[20];
    assert_int_equal(adz_error_take(text, sizeof text), ADZ_ERR_SHAPE);
    assert_string_equal(text, "reshape: x[2] has 2");
    assert_int_equal(adz_error_code(), ADZ_OK);
    assert_string_equal(adz_error_message(), "");
    assert_string_equal(adz_status_name(ADZ_ERR_FORMAT), "ADZ_ERR_FORMAT");
    assert_string_equal(adz_status_name((adz_status)5), "unknown status");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_scope, close_scope)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(scopes_nest_and_hand_outward),
        TEST(keeping_and_releasing),
#ifndef ADZI_ASAN
        TEST(a_stale_pointer_is_an_error),
#endif
        TEST(a_thread_ends_its_root_scope),
        TEST(sizes_are_checked),
        TEST(the_callers_memory),
        TEST(a_user_without_a_deleter_stays_the_callers),
        TEST(reading_and_writing),
        TEST(comparing),
        TEST(promotion),
        TEST(printing),
        TEST(integers_hold_what_fits),
        TEST(dlpack_goes_out_and_in),
        TEST(generators_can_be_saved),
        TEST(permutations_hold_every_number_once),
        TEST(contexts_are_apart),
    };
    return cmocka_run_group_tests_name("tensor", tests, NULL, NULL);
}
