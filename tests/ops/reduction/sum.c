#include "ops/reduction.h"

static adz_tensor *(*const tested)(adz_tensor *, adz_dims, bool) = adz_sum;

static void integers_sum_to_i64(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_full(ADZ_SHAPE(300), 255, ADZ_U8);
    adz_tensor *y = adz_sum(x, ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_tensor_dtype(y), ADZ_I64);
    assert_int_equal(adz_item_i64(y), 300 * 255);
    adz_scope_close(scope);
}

static void two_to_the_25_ones(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_ones(ADZ_SHAPE(1 << 25), ADZ_F32);
    assert_true(adz_item(adz_sum(x, ADZ_ALL_DIMS, ADZ_DROPDIM)) == 1 << 25);
    adz_scope_close(scope);
}

/* Few results of many elements are cut into blocks, the last of which is shorter, in rows and in
 * columns. Sums of whole numbers must be exact. Other sums must have equal bits for any number of
 * threads. */
static void blocks(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    int threads = adz_get_num_threads();
    adz_dtype dtypes[] = { ADZ_F32, ADZ_F64, ADZ_I32, ADZ_U8 };
    for (int i = 0; i < 4; ++i) {
        adz_tensor *x = adz_ones(ADZ_SHAPE(100003, 3), dtypes[i]);
        assert_true(adz_item(adz_sum(x, ADZ_ALL_DIMS, ADZ_DROPDIM)) == 300009);
        adz_tensor *columns = adz_sum(x, ADZ_DIMS(0), ADZ_DROPDIM);
        adz_tensor *rows = adz_sum(adz_contiguous(adz_transpose(x, 0, 1)), ADZ_DIMS(1), false);
        for (int64_t k = 0; k < 3; ++k) {
            assert_true(adz_tensor_at(columns, &k) == 100003);
            assert_true(adz_tensor_at(rows, &k) == 100003);
        }
    }
    adz_tensor *x = adz_reshape(adz_arange(0, 600000, 1, ADZ_F64), ADZ_SHAPE(200000, 3));
    x = adz_mul_number(adz_mul(x, x), 1 / 3.0);
    adz_tensor *many = adz_sum(x, ADZ_DIMS(0), ADZ_DROPDIM);
    adz_tensor *all = adz_sum(x, ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_set_num_threads(1), ADZ_OK);
    assert_true(adz_equal(adz_sum(x, ADZ_DIMS(0), ADZ_DROPDIM), many));
    assert_true(adz_equal(adz_sum(x, ADZ_ALL_DIMS, ADZ_DROPDIM), all));
    assert_int_equal(adz_set_num_threads(threads), ADZ_OK);
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(integers_sum_to_i64),
    cmocka_unit_test(two_to_the_25_ones), cmocka_unit_test(blocks) };

const op_case sum_case = {
    .name = "sum",
    .call = call,
    .samples = {
        REDUCTION_SAMPLES,
        { .in = { IN(2, 0) }, .p = { 0, 1, 0 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 0, 1, 2 }, .status = ADZ_ERR_DIM, .says = "[3, 4]" },
        { .in = { IN(3, 4) }, .p = { 0, 2, 0, 0 }, .status = ADZ_ERR_DIM, .says = "twice" },
    },
    .first_order_only = true,
    .vectors = { "sum" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
