#include "ops/facts.h"

/* p[0] = 1 with a padding row, p[1] = that row, p[2] = scale_grad_by_freq, p[3] = sparse */
static int call(const op_args *a, adz_tensor **out)
{
    adz_embedding_options o = ADZ_EMBEDDING_OPTIONS;
    o.padding_idx = a->p[0] != 0 ? (int64_t)a->p[1] : ADZ_NO_PADDING;
    o.scale_grad_by_freq = a->p[2] != 0;
    o.sparse = a->p[3] != 0;
    return case_one(adz_embedding(a->in[0], a->in[1], &o), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_has(config, "padding_idx");
    a->p[1] = config_number(config, "padding_idx", 0);
    return true;
}

FACT(the_padding_row_is_looked_up_and_has_no_gradient)
{
    adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(3, 2), ADZ_F32), true);
    adz_embedding_options o;
    adz_embedding_options_init(&o, sizeof o);
    assert_true(o.padding_idx == ADZ_NO_PADDING && !o.sparse && !o.scale_grad_by_freq);
    o.padding_idx = -1;
    adz_tensor *y = adz_embedding(VALUES(ADZ_I64, 2, 0, 2, 0, 0), w, &o);
    assert_true(adz_equal(y, adz_ones(ADZ_SHAPE(5, 2), ADZ_F32)));
    ASSERT_VALUES(adz_reshape(gradient_of(y, w), ADZ_SHAPE(6)), ADZ_F32, 3, 3, 0, 0, 0, 0);
}

FACT(frequencies_divide_the_gradient)
{
    adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(3, 1), ADZ_F64), true);
    adz_embedding_options o = ADZ_EMBEDDING_OPTIONS;
    o.scale_grad_by_freq = true;
    adz_tensor *y = adz_embedding(VALUES(ADZ_I32, 1, 1, 1, 1, 2), w, &o);
    adz_tensor *g =
        gradient_of(adz_mul(y, adz_reshape(VALUES(ADZ_F64, 1, 2, 3, 6, 7), ADZ_SHAPE(5, 1))), w);
    ASSERT_VALUES(adz_reshape(g, ADZ_SHAPE(3)), ADZ_F64, 0, 3, 7);
}

FACT(a_bad_index_is_named_with_its_position_and_the_size)
{
    adz_tensor *w = adz_zeros(ADZ_SHAPE(5, 2), ADZ_F32);
    adz_tensor *ids = adz_reshape(VALUES(ADZ_I64, 0, 1, 2, 3, 4, 5), ADZ_SHAPE(2, 3));
    ASSERT_REFUSED(adz_embedding(ids, w, NULL), ADZ_ERR_INDEX, "index 5 at position [1, 2]");
    ASSERT_REFUSED(adz_embedding(ids, w, NULL), ADZ_ERR_INDEX, "the 5 rows of weight[5, 2]");
    ASSERT_REFUSED(adz_embedding(VALUES(ADZ_I64, -1), w, NULL), ADZ_ERR_INDEX, "index -1");
}

FACT(gradients_have_the_same_bits_for_any_number_of_threads)
{
    const int64_t n = 20000, rows = 37, width = 150;
    adz_manual_seed(5);
    adz_tensor *ids = adz_randint(0, rows, ADZ_SHAPE(n), ADZ_I64);
    adz_tensor *w = adz_requires_grad_(adz_randn(ADZ_SHAPE(rows, width), ADZ_F32), true);
    adz_tensor *dy = adz_randn(ADZ_SHAPE(n, width), ADZ_F32), *g[2];
    int threads = adz_get_num_threads();
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(adz_set_num_threads(i == 0 ? 1 : 3), ADZ_OK);
        adz_tensor *y = adz_embedding(ids, w, NULL);
        assert_int_equal(adz_autograd_grad(&y, &dy, 1, &w, 1, NULL, &g[i]), ADZ_OK);
    }
    adz_set_num_threads(threads);
    assert_memory_equal(adz_tensor_data(g[0]), adz_tensor_data(g[1]), (size_t)(rows * width) * 4);
}

FACT(a_row_named_a_million_times_sums_exactly)
{
    adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(1, 1), ADZ_F32), true);
    const int64_t n = 1 << 25;
    adz_tensor *g = gradient_of(adz_embedding(adz_zeros(ADZ_SHAPE(n), ADZ_I32), w, NULL), w);
    assert_true(adz_item(g) == (double)n);
}

FACT(changed_ids_are_refused_in_backward)
{
    adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(3, 1), ADZ_F32), true), *g = NULL;
    adz_tensor *ids = VALUES(ADZ_I64, 1, 2);
    adz_tensor *y = adz_sum(adz_embedding(ids, w, NULL), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_zero_(ids);
    assert_int_equal(adz_autograd_grad(&y, NULL, 1, &w, 1, NULL, &g), ADZ_ERR_VERSION);
    adz_error_clear();
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_padding_row_is_looked_up_and_has_no_gradient),
    cmocka_unit_test(frequencies_divide_the_gradient),
    cmocka_unit_test(a_bad_index_is_named_with_its_position_and_the_size),
    cmocka_unit_test(gradients_have_the_same_bits_for_any_number_of_threads),
    cmocka_unit_test(a_row_named_a_million_times_sums_exactly),
    cmocka_unit_test(changed_ids_are_refused_in_backward),
};

const op_case embedding_case = {
    .name = "embedding",
    .call = call,
    .samples = {
        { .in = { IN_INDEX(5, 4), IN(5, 3) } },
        { .in = { IN_INDEX(5, 2, 3), IN_T(5, 3) } },
        { .in = { IN_INDEX_0(4), IN(4, 2) } },
        { .in = { IN_INDEX(3, 8), IN(4, 70) }, .p = { 1, -1 } }, /* the padding row is not named */
        { .in = { IN_INDEX(3, 1), IN(5, 2) }, .p = { 1, 3, 1 } }, /* each row is named once */
        { .in = { IN_INDEX(4, 1, 1), IN(4, 1) }, .p = { 0, 0, 1 } },
        { .in = { IN_INDEX(4, 0, 2), IN(4, 3) } },
        { .in = { IN_INDEX(4, 2), IN(4, 0) } },
        { .in = { IN_INDEX(1, 1, 1), IN(1, 1) } },
    },
    .rejects = {
        { .in = { IN_INDEX(5, 4), IN(5) }, .status = ADZ_ERR_SHAPE, .says = "[rows, features]" },
        { .in = { IN(4), IN(5, 3) }, .status = ADZ_ERR_DTYPE, .says = "int64" },
        { .in = { IN_INDEX(5, 4), IN(0, 3) }, .status = ADZ_ERR_INDEX, .says = "position [0]" },
        { .in = { IN_INDEX(5, 4), IN(5, 3) }, .p = { 1, 5 }, .status = ADZ_ERR_INDEX, .says = "padding_idx 5" },
        { .in = { IN_INDEX(5, 4), IN(5, 3) }, .p = { 0, 0, 0, 1 }, .status = ADZ_ERR_UNSUPPORTED, .says = "leave sparse false" },
        { .in = { IN_INDEX(1, 1, 1, 1, 1, 1, 1, 1, 1), IN(5, 3) }, .status = ADZ_ERR_SHAPE, .says = "9 dimensions" },
    },
    .first_order_only = true,
    .vectors = { "embedding" },
    .inputs = { "ids", "weight" },
    .config = config,
    FACTS(facts),
};
