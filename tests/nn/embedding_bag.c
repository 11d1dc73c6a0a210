/* EmbeddingBag. */
#include "nn/case.h"

static adz_module *plain(adz_generator *g)
{
    (void)g;
    return adz_embedding_bag_new(5, 2, NULL);
}

static adz_module *padded(adz_generator *g)
{
    (void)g;
    adz_embedding_bag_module_options o;
    adz_embedding_bag_module_options_init(&o, sizeof o);
    o.mode = ADZ_BAG_SUM;
    o.padding_idx = -4;
    return adz_embedding_bag_new(5, 2, &o);
}

static adz_module *largest(adz_generator *g)
{
    (void)g;
    adz_embedding_bag_module_options o = ADZ_EMBEDDING_BAG_MODULE_OPTIONS;
    o.mode = ADZ_BAG_MAX;
    return adz_embedding_bag_new(4, 3, &o);
}

static void it_is_the_function(void **state)
{
    (void)state;
    adz_embedding_bag_module_options o = ADZ_EMBEDDING_BAG_MODULE_OPTIONS;
    o.mode = ADZ_BAG_SUM;
    o.padding_idx = 1;
    o.include_last_offset = true;
    adz_module *m = adz_embedding_bag_new(5, 2, &o);
    adz_tensor *w = adz_module_get_parameter(m, "weight");
    assert_true(adz_item(adz_count_nonzero(adz_select(w, 0, 1), ADZ_ALL_DIMS, ADZ_DROPDIM)) == 0);
    adz_tensor *ids = adz_randint(0, 5, ADZ_SHAPE(6), ADZ_I64),
               *f = adz_rand(ADZ_SHAPE(6), ADZ_F32);
    adz_tensor *offsets = adz_tensor_from(((const int64_t[]){ 0, 2, 6 }), ADZ_SHAPE(3), ADZ_I64);
    adz_tensor *y = ADZ_CALL(m, { NULL, ids }, { NULL, offsets }, { "per_sample_weights", f });
    adz_embedding_bag_options p = ADZ_EMBEDDING_BAG_OPTIONS;
    p.mode = ADZ_BAG_SUM;
    p.padding_idx = 1;
    p.include_last_offset = true;
    assert_true(adz_equal(y, adz_embedding_bag(ids, w, offsets, f, &p)));
    adz_module_release(&m);
}

static void scaled_gradients_are_printed_and_divided(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_embedding_bag_module_options o = ADZ_EMBEDDING_BAG_MODULE_OPTIONS;
    o.scale_grad_by_freq = true;
    o.padding_idx = 0;
    o.mode = ADZ_BAG_SUM;
    adz_module *m = adz_embedding_bag_new(3, 1, &o);
    char text[100];
    adz_module_to_string(m, text, sizeof text);
    assert_string_equal(
        text, "EmbeddingBag(3, 1, scale_grad_by_freq=True, mode='sum', padding_idx=0)");
    adz_tensor *ids = adz_tensor_from(((const int64_t[]){ 0, 1, 1, 2 }), ADZ_SHAPE(2, 2), ADZ_I64);
    adz_tensor *y = adz_module_forward(m, ids), *w = adz_module_get_parameter(m, "weight");
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_true(HOLDS(adz_flatten(adz_tensor_grad(w), 0, -1), 0, 0, 1, 1));
    adz_module_release(&m);
    adz_scope_close(scope);
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    adz_embedding_bag_module_options o = ADZ_EMBEDDING_BAG_MODULE_OPTIONS;
    expect_no_module(adz_embedding_bag_new(-1, 2, NULL), "num_embeddings is -1");
    o.padding_idx = 5;
    expect_no_module(adz_embedding_bag_new(5, 2, &o), "padding_idx 5");
    o.padding_idx = ADZ_NO_PADDING;
    o.mode = (adz_bag_mode)3;
    expect_no_module(adz_embedding_bag_new(5, 2, &o), "mode");
    o.mode = ADZ_BAG_MAX;
    o.scale_grad_by_freq = true;
    expect_no_module(adz_embedding_bag_new(5, 2, &o), "scale_grad_by_freq");
    o = (adz_embedding_bag_module_options)ADZ_EMBEDDING_BAG_MODULE_OPTIONS;
    o.sparse = true;
    assert_null(adz_embedding_bag_new(5, 2, &o));
    expect_error(ADZ_ERR_UNSUPPORTED, "sparse");
}

/* A weight with fewer rows than the padding's position has no row to zero. Embedding is alike. */
static void replaced_tables_may_have_fewer_rows(void **state)
{
    (void)state;
    adz_embedding_bag_module_options bag = ADZ_EMBEDDING_BAG_MODULE_OPTIONS;
    adz_embedding_module_options one = ADZ_EMBEDDING_MODULE_OPTIONS;
    bag.padding_idx = one.padding_idx = 9;
    adz_module *modules[] = { adz_embedding_bag_new(10, 4, &bag), adz_embedding_new(10, 4, &one) };
    for (int i = 0; i < 2; ++i) {
        adz_tensor *table = adz_ones(ADZ_SHAPE(10, 4), ADZ_F32);
        assert_non_null(adz_module_set_parameter(modules[i], "weight", adz_narrow(table, 0, 0, 2)));
        assert_int_equal(adz_module_reset_parameters(modules[i]), ADZ_OK);
        assert_true(all_are(adz_narrow(table, 0, 2, 8), 1));
        assert_non_null(
            adz_module_set_parameter(modules[i], "weight", adz_ones(ADZ_SHAPE(40), ADZ_F32)));
        assert_int_equal(adz_module_reset_parameters(modules[i]), ADZ_OK);
        adz_module_release(&modules[i]);
    }
}

static const struct CMUnitTest facts[] = {
    TEST(replaced_tables_may_have_fewer_rows),
    TEST(it_is_the_function),
    TEST(scaled_gradients_are_printed_and_divided),
    TEST(bad_values_are_refused),
};

const module_case embedding_bag_module = {
    .name = "embedding_bag",
    .samples = {
        { plain, "EmbeddingBag(5, 2, mode='mean')", "weight", { IDS(5, 3, 4) } },
        { padded, "EmbeddingBag(5, 2, mode='sum', padding_idx=1)", "weight",
            { IDS(5, 7), IDS_NAMED("offsets", 1, 2), X_NAMED("per_sample_weights", 7) } },
        { largest, "EmbeddingBag(4, 3, mode='max')", "weight", { IDS(4, 3, 4) } },
    },
    FACTS(facts),
};
