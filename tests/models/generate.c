/* Generation: the filters of logits are those of transformers, padding and the cache change
 * nothing, and rows end where they should. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../errors.h"
#include "adze/adze.h"
#include "adze/models.h"
#include "generate/sample.h"
#include "sampling.h"

enum { V = 50, MOST = 64 };

/* ---- filters -------------------------------------------------------------------------------- */

static void filters_are_those_of_transformers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sampling_cases / sizeof *sampling_cases; ++i) {
        const struct sampling_case *c = &sampling_cases[i];
        adz_generate_options o = ADZ_GENERATE_OPTIONS;
        o.temperature = c->temperature;
        o.top_k = c->top_k;
        o.top_p = c->top_p;
        o.min_p = c->min_p;
        float scores[SAMPLING_V];
        bool met[SAMPLING_V] = { false };
        models_candidate room[SAMPLING_V];
        memcpy(scores, c->before, sizeof scores);
        adzi_models_penalise(scores, SAMPLING_V, c->penalty, c->ids, SAMPLING_IDS, met);
        adzi_models_filter(scores, SAMPLING_V, &o, room);
        for (int v = 0; v < SAMPLING_V; ++v) {
            if (isinf(c->after[v])) {
                assert_true(isinf(scores[v]));
            } else {
                assert_float_equal(scores[v], c->after[v], 1e-6 * (1 + fabsf(c->after[v])));
            }
            assert_false(met[v]);
        }
    }
}

/* Numbers that are spread evenly draw each token as often as its probability says. */
static void draws_follow_the_probabilities(void **state)
{
    (void)state;
    const float scores[] = { -INFINITY, 0, 1, -INFINITY, -1.5F, 2 };
    enum { COUNT = 6, DRAWS = 20000 };
    double sum = 0;
    int drawn[COUNT] = { 0 };
    for (int v = 0; v < COUNT; ++v) {
        sum += exp(scores[v]);
    }
    for (int i = 0; i < DRAWS; ++i) {
        ++drawn[adzi_models_draw(scores, COUNT, (i + 0.5) / DRAWS)];
    }
    for (int v = 0; v < COUNT; ++v) {
        assert_float_equal((double)drawn[v] / DRAWS, (float)(exp(scores[v]) / sum), 1e-4F);
    }
    assert_int_equal(adzi_models_draw(scores, COUNT, 0), 1);
    assert_int_equal(adzi_models_draw(scores, COUNT, 1), 5);
}

/* ---- a model -------------------------------------------------------------------------------- */

/* logits[v] = the sum over earlier tokens of a wave of token, v and distance. What is masked counts
 * nothing. The cache holds tokens and positions in place of keys and values. */
static adz_status call(adz_module *self, const adz_values *in, adz_values *out)
{
    (void)self;
    adz_tensor *ids = adz_values_argument(in, 0, "input_ids");
    adz_tensor *mask = adz_values_argument(in, 1, "attention_mask");
    adz_tensor *places = adz_values_argument(in, 2, "position_ids");
    adz_tensor *cache = adz_values_argument(in, 3, "cache");
    adz_tensor *past_of = adz_values_argument(in, 4, "past");
    const int64_t b = adz_tensor_size(ids, 0), t = adz_tensor_size(ids, 1);
    const int64_t past = past_of != ADZ_NONE ? (int64_t)adz_tensor_at(past_of, NULL) : 0,
                  s = past + t;
    assert_true(mask == ADZ_NONE || adz_tensor_size(mask, 1) == s);
    adz_tensor *held = cache != ADZ_NONE ? cache : adz_zeros(ADZ_SHAPE(2, b, MOST), ADZ_F32);
    adz_tensor *logits = adz_zeros(ADZ_SHAPE(b, t, V), ADZ_F32);
    float *y = adz_tensor_data(logits), *keys = adz_tensor_data(held);
    const int64_t *id = adz_tensor_data(ids),
                  *place = places != ADZ_NONE ? adz_tensor_data(places) : NULL;
    const bool *counts = mask != ADZ_NONE ? adz_tensor_data(mask) : NULL;
    const int64_t wide = adz_tensor_size(held, 2);
    for (int64_t row = 0; row < b; ++row) {
        float *key = keys + row * wide, *value = keys + (b + row) * wide;
        for (int64_t c = 0; c < t; ++c) {
            key[past + c] = (float)id[row * t + c];
            value[past + c] = (float)(place != NULL ? place[row * t + c] : past + c);
        }
        for (int64_t c = 0; c < t; ++c) {
            for (int64_t k = 0; k <= past + c; ++k) {
                const double far = (double)(value[past + c] - value[k]);
                for (int v = 0; (counts == NULL || counts[row * s + k]) && v < V; ++v) {
                    y[(row * t + c) * V + v] +=
                        (float)(3 * pow(0.7, far) *
                                sin((double)(key[k] + 1) * (v + 1) * 0.37 + 0.9 * far));
                }
            }
        }
    }
    return adz_values_add(out, "logits", logits);
}

static adz_module *model(void)
{
    static const adz_module_type type = {
        .size = sizeof(adz_module_type), .name = "Waves", .call = call
    };
    return adz_module_new(&type, 0);
}

static bool same(adz_tensor *a, adz_tensor *b)
{
    return a != NULL && b != NULL && adz_tensor_numel(a) == adz_tensor_numel(b) &&
           memcmp(adz_tensor_data(a), adz_tensor_data(b), (size_t)adz_tensor_numel(a) * 8) == 0;
}

static adz_tensor *ids_of(const int64_t *ids, int64_t rows, int64_t columns)
{
    return adz_tensor_from(ids, ADZ_SHAPE(rows, columns), ADZ_I64);
}

static const int64_t first[] = { 3, 14, 15 }, second[] = { 9, 2, 6, 5, 35 };

/* A row gives the same tokens alone and in a batch with padding on either side, with the cache and
 * without, greedily and drawn, at any number of threads. */
static void padding_and_cache_change_nothing(void **state)
{
    (void)state;
    const int64_t left[] = { 0, 7, 3, 14, 15, 9, 2, 6, 5, 35 };
    const int64_t right[] = { 3, 14, 15, 1, 2, 9, 2, 6, 5, 35 };
    const bool left_mask[] = { 0, 0, 1, 1, 1, 1, 1, 1, 1, 1 };
    const bool right_mask[] = { 1, 1, 1, 0, 0, 1, 1, 1, 1, 1 };
    adz_module *m = model();
    for (int way = 0; way < 16; ++way) {
        adz_scope *scope = adz_scope_open();
        const bool cached = way & 1, on_right = way & 2, penalised = way & 4;
        adz_set_num_threads(way & 8 ? 2 : 1);
        adz_generate_options o = ADZ_GENERATE_OPTIONS;
        o.max_new_tokens = 30;
        o.repetition_penalty = penalised ? 1.5 : 1;
        adz_tensor *a = adz_generate(m, ids_of(first, 1, 3), &o);
        adz_tensor *b = adz_generate(m, ids_of(second, 1, 5), &o);
        o.attention_mask =
            adz_tensor_from(on_right ? right_mask : left_mask, ADZ_SHAPE(2, 5), ADZ_BOOL);
        o.cache = cached ? adz_zeros(ADZ_SHAPE(2, 2, MOST), ADZ_F32) : NULL;
        adz_tensor *both = adz_generate(m, ids_of(on_right ? right : left, 2, 5), &o);
        assert_true(same(a, adz_contiguous(adz_narrow(both, 0, 0, 1))));
        assert_true(same(b, adz_contiguous(adz_narrow(both, 0, 1, 1))));
        adz_scope_close(scope);
    }
    adz_set_num_threads(0);
    adz_module_release(&m);
}

/* A seed gives its tokens again, and another seed gives others. */
static void seeds_give_tokens_again(void **state)
{
    (void)state;
    adz_module *m = model();
    ADZ_SCOPE
    {
        adz_tensor *y[3];
        for (int i = 0; i < 3; ++i) {
            adz_generator *generator = adz_generator_new(i == 2 ? 8 : 7);
            adz_generate_options o = ADZ_GENERATE_OPTIONS;
            o.do_sample = true;
            o.temperature = 1.5;
            o.top_k = 20;
            o.generator = generator;
            y[i] = adz_generate(m, ids_of(first, 1, 3), &o);
            adz_generator_free(&generator);
        }
        assert_true(same(y[0], y[1]));
        assert_false(same(y[0], y[2]));
    }
    adz_module_release(&m);
}

/* ---- ends ----------------------------------------------------------------------------------- */

typedef struct heard {
    int64_t ids[MOST];
    int count, last;
    char text[512];
    bool finished;
} heard;

static bool hear(const adz_generated *token, void *user)
{
    heard *h = user;
    assert_int_equal(token->step, h->count);
    h->ids[h->count++] = token->id;
    h->finished = token->finished;
    strncat(h->text, token->text.bytes, token->text.size);
    return h->count != h->last;
}

static void rows_end(void **state)
{
    (void)state;
    adz_module *m = model();
    ADZ_SCOPE
    {
        adz_generate_options o = ADZ_GENERATE_OPTIONS;
        heard h = { .last = -1 };
        o.on_token = hear;
        o.user = &h;
        o.max_new_tokens = 12;
        adz_tensor *all = adz_generate(m, ids_of(first, 1, 3), &o);
        const int64_t *ids = adz_tensor_data(all);
        assert_int_equal(h.count, 12);
        assert_true(h.finished && memcmp(h.ids, ids, 12 * sizeof *ids) == 0);
        /* The program asks for the end. */
        heard some = { .last = 4 };
        o.user = &some;
        assert_int_equal(adz_tensor_size(adz_generate(m, ids_of(first, 1, 3), &o), 1), 4);
        assert_false(some.finished);
        /* A token ends the row; rows that end earlier are filled. */
        int64_t end = ids[5], at = 0;
        while (ids[at] != end) {
            ++at;
        }
        const int64_t two[] = { 3, 14, 15, 2, 6, 5 };
        o.on_token = NULL;
        o.eos_token_ids = &end;
        o.n_eos_token_ids = 1;
        o.pad_token_id = 49;
        adz_tensor *y = adz_generate(m, ids_of(two, 2, 3), &o);
        const int64_t n = adz_tensor_size(y, 1), *got = adz_tensor_data(y);
        assert_true(n > at && memcmp(got, ids, (size_t)(at + 1) * sizeof *ids) == 0);
        for (int64_t c = at + 1; c < n; ++c) {
            assert_int_equal(got[c], 49);
        }
    }
    adz_module_release(&m);
}

/* Text comes in whole characters, and a stop string may begin in one token and end in another. */
static void stop_strings_end_rows(void **state)
{
    (void)state;
    adz_module *m = model();
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    adz_text text = { letters, V };
    adz_tokenizer *tokenizer = adz_tokenizer_build(ADZ_TOKENS_CHARACTERS, &text, 1, NULL);
    ADZ_SCOPE
    {
        adz_generate_options o = ADZ_GENERATE_OPTIONS;
        heard h = { .last = -1 };
        o.on_token = hear;
        o.user = &h;
        o.tokenizer = tokenizer;
        assert_non_null(adz_generate(m, ids_of(first, 1, 3), &o));
        assert_int_equal(strlen(h.text), 20);
        const char stop[] = { h.text[6], h.text[7], h.text[8], 0 }, *const stops[] = { "??", stop };
        const size_t ends = (size_t)(strstr(h.text, stop) - h.text) + 3;
        heard again = { .last = -1 };
        o.user = &again;
        o.stop_strings = stops;
        o.n_stop_strings = 2;
        assert_non_null(adz_generate(m, ids_of(first, 1, 3), &o));
        assert_int_equal(again.count, ends);
        assert_true(again.finished && strncmp(again.text, h.text, ends) == 0);
    }
    adz_tokenizer_free(&tokenizer);
    adz_module_release(&m);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static adz_status broken(adz_module *self, const adz_values *in, adz_values *out)
{
    (void)self;
    adz_tensor *ids = adz_values_argument(in, 0, "input_ids");
    (void)adz_values_argument(in, 1, "attention_mask");
    (void)adz_values_argument(in, 2, "position_ids");
    const adz_shape shape = adz_tensor_shape(ids);
    return adz_values_add(
        out, "logits", adz_full(ADZ_SHAPE(shape.sizes[0], shape.sizes[1], V), NAN, ADZ_F32));
}

static void refuse(adz_module *m, adz_tensor *ids, const adz_generate_options *o, adz_status status,
    const char *says)
{
    assert_null(adz_generate(m, ids, o));
    expect_error(status, says);
    assert_true(adz_is_grad_enabled());
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    static const adz_module_type type = {
        .size = sizeof(adz_module_type), .name = "Broken", .call = broken
    };
    adz_module *m = model(), *nan = adz_module_new(&type, 0), *relu = adz_relu_new();
    ADZ_SCOPE
    {
        const adz_generate_options plain = ADZ_GENERATE_OPTIONS;
        adz_tensor *ids = ids_of(first, 1, 3);
        adz_generate_options o = plain;
        o.temperature = 0;
        refuse(m, ids, &o, ADZ_ERR_ARGUMENT, "temperature is 0");
        o = plain;
        o.top_p = 1.5;
        refuse(m, ids, &o, ADZ_ERR_ARGUMENT, "top_p is 1.5");
        o = plain;
        o.n_stop_strings = 1;
        o.stop_strings = (const char *const[]){ "x" };
        refuse(m, ids, &o, ADZ_ERR_ARGUMENT, "need a tokenizer");
        o.tokenizer = NULL;
        o.n_stop_strings = 0;
        o.n_eos_token_ids = 1;
        refuse(m, ids, &o, ADZ_ERR_NULL, "eos_token_ids");
        /* Divisors that are 0 in f32. */
        o = plain;
        o.repetition_penalty = 1e-300;
        refuse(m, ids, &o, ADZ_ERR_NUMERIC, "after repetition_penalty and temperature");
        o = plain;
        o.do_sample = true;
        o.temperature = 1e-300;
        refuse(m, ids, &o, ADZ_ERR_NUMERIC, "after repetition_penalty and temperature");
        o = plain;
        o.attention_mask = adz_zeros(ADZ_SHAPE(1, 3), ADZ_BOOL);
        refuse(m, ids, &o, ADZ_ERR_ARGUMENT, "no token that counts");
        o.attention_mask = adz_ones(ADZ_SHAPE(1, 4), ADZ_BOOL);
        refuse(m, ids, &o, ADZ_ERR_SHAPE, "must have the shape of input_ids");
        refuse(m, adz_to(ids, ADZ_F32), &plain, ADZ_ERR_DTYPE, "must be int64");
        refuse(m, adz_reshape(ids, ADZ_SHAPE(3)), &plain, ADZ_ERR_SHAPE, "must be [B, T]");
        refuse(nan, ids, &plain, ADZ_ERR_NUMERIC, "logits of row 0");
        assert_null(adz_generate(relu, ids, &plain));
        adz_error_clear();
        assert_null(adz_generate(NULL, ids, &plain));
        expect_error(ADZ_ERR_NULL, "model");
    }
    adz_module_release(&m);
    adz_module_release(&nan);
    adz_module_release(&relu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_are_those_of_transformers),
        cmocka_unit_test(draws_follow_the_probabilities),
        cmocka_unit_test(padding_and_cache_change_nothing),
        cmocka_unit_test(seeds_give_tokens_again),
        cmocka_unit_test(rows_end),
        cmocka_unit_test(stop_strings_end_rows),
        cmocka_unit_test(bad_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
