/* fastai's texts in chunks: which are kept, and what becomes of their results. */
#include "adze/zoo.h"
#include "zoo/fastai_chunks.h"

/* The call's results; NULL where it failed. */
static adz_values *call(adz_module *m, adz_tensor *x)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "", x);
    if (adz_module_call(m, in, out) != ADZ_OK) {
        adz_values_free(&out);
    }
    adz_values_free(&in);
    return out;
}

/* Which steps are kept for a length, bptt and max_len, and how many chunks were read. */
static void expect_kept(int64_t length, int64_t bptt, int64_t max_len, int64_t from)
{
    adz_module *m = adz_fastai_multi_batch_encoder_new(bptt, max_len, stub_new(), 5);
    adz_tensor *ids = adz_randint(0, 6, ADZ_SHAPE(3, length), ADZ_I64);
    const stub_state *s = adz_module_data(adz_module_get_child(m, "module"));
    int64_t bytes = 0;
    for (int64_t round = 1; round <= 3; ++round) { /* each call starts from the beginning */
        adz_scope *scope = adz_scope_open();
        adz_values *out = call(m, ids);
        assert_non_null(out);
        assert_int_equal(adz_values_count(out), 5);
        assert_int_equal(s->resets, round);
        assert_int_equal(s->calls, (length + bptt - 1) / bptt);
        adz_tensor *table = adz_module_get_parameter(m, "module.encoder.weight");
        adz_tensor *kept = adz_narrow(ids, 1, from, length - from);
        expect_same(adz_values_get(out, "raw.0"), adz_embedding(kept, table, NULL), 0);
        adz_tensor *last = adz_values_get(out, "raw.1");
        assert_int_equal(adz_tensor_size(last, 1), length - from);
        double first = adz_tensor_at(last, (int64_t[]){ 0, 0, 0 });
        assert_true(fabs(first - (double)(from / bptt)) <= 1); /* the calls before, plus a tanh */
        adz_tensor *mask = adz_values_get(out, "mask");
        assert_true(adz_equal(mask, adz_eq_number(kept, 5)));
        adz_values_free(&out);
        adz_scope_close(scope);
        assert_true(round == 1 || adzi_live_bytes() == bytes); /* No list is left. */
        bytes = adzi_live_bytes();
    }
    adz_module_release(&m);
}

void chunks_after_the_bound_are_kept(void **state)
{
    (void)state;
    expect_kept(9, 3, 100, 0);
    expect_kept(6, 9, 100, 0);
    expect_kept(9, 2, 5, 6);
    expect_kept(6, 3, 6, 3); /* length equal to max_len loses the first */
    expect_kept(7, 3, 6, 3);
    expect_kept(8, 1, 3, 6);
    expect_kept(5, 2, 6, 0);
    expect_kept(1, 1, 2, 0);
}

/* The chunks before are read without a graph: what is lost gets no gradient. */
void lost_chunks_get_no_gradient(void **state)
{
    (void)state;
    adz_module *m = adz_fastai_multi_batch_encoder_new(2, 3, stub_new(), 5);
    static const int64_t numbers[] = { 0, 1, 2, 3 };
    adz_values *out = call(m, adz_tensor_from(numbers, ADZ_SHAPE(1, 4), ADZ_I64));
    adz_backward(adz_sum(adz_values_get(out, "raw.0"), ADZ_ALL_DIMS, ADZ_DROPDIM));
    adz_tensor *g = adz_tensor_grad(adz_module_get_parameter(m, "module.encoder.weight"));
    assert_true(HOLDS(g, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0));
    const stub_state *s = adz_module_data(adz_module_get_child(m, "module"));
    assert_true(s->calls == 2 && s->recorded == 1);
    adz_values_free(&out);
    adz_module_release(&m);
}

/* Every chunk has the results of the first one, which have batch and time as their first
 * dimensions. */
void results_of_all_chunks_are_joined(void **state)
{
    (void)state;
    adz_module *m = adz_fastai_multi_batch_encoder_new(2, 9, stub_new(), 5);
    stub_state *s = adz_module_data(adz_module_get_child(m, "module"));
    adz_tensor *ids = adz_randint(0, 6, ADZ_SHAPE(3, 4), ADZ_I64);
    s->raw_rank = 2;
    adz_values *out = call(m, ids);
    assert_int_equal(adz_tensor_rank(adz_values_get(out, "raw.0")), 2);
    adz_values_free(&out);
    for (s->raw_rank = -1; s->raw_rank < 2; s->raw_rank += 2) {
        assert_null(call(m, ids));
        expect_error(ADZ_ERR_SHAPE, "MultiBatchEncoder: the encoder's raw.0 is no [B, T, ...]");
    }
    adz_module_release(&m);
}
