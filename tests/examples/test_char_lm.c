/* Tests of char-lm's writing: scores that are computed with a cache, a memory or a state equal
 * those of the whole text. */
/* These headers come before cmocka's, which defines `fail` as a macro. */
#include "../examples/char-lm/sample.h"
#include "../examples/char-lm/validation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { V = 11, CONTEXT = 12 };

static options small(int arch)
{
    return (options){ .arch = arch,
        .layers = 3,
        .heads = 2,
        .width = 16,
        .hidden = 24,
        .context = CONTEXT,
        .memory = 40,
        .batch = 3 };
}

/* Makes a network whose weights are as large as those of a trained one. */
static adz_module *network_of(const options *o)
{
    adz_manual_seed(7);
    adz_module *network = new_network(o, V);
    assert_non_null(network);
    adz_tensor_list all = adz_module_parameters(network);
    for (size_t i = 0; i < all.count; ++i) {
        assert_non_null(adz_init_normal_(all.items[i], 0, 0.2, NULL));
    }
    adz_module_eval(network);
    return network;
}

static void draw_ids(int64_t *ids, int64_t n)
{
    for (int64_t i = 0; i < n; ++i) {
        ids[i] = i * i * 5 % V;
    }
}

/* The scores after the last of n ids. The network reads all ids at once and carries no state. */
static adz_tensor *scores_at_once(adz_module *network, const int64_t *ids, int64_t n)
{
    adz_values *results = adz_values_new();
    bool grad = adz_set_grad_enabled(false);
    adz_module_reset(network);
    adz_tensor *scores =
        run_network(network, adz_tensor_from(ids, ADZ_SHAPE(1, n), ADZ_I64), results);
    adz_set_grad_enabled(grad);
    adz_values_free(&results);
    return adz_select(adz_select(scores, 0, 0), 0, -1);
}

static void assert_close(const adz_tensor *a, const adz_tensor *b)
{
    assert_non_null(a);
    assert_non_null(b);
    assert_true(adz_allclose(a, b, 1e-5, 1e-5, false));
}

/* Three tokens are read at once, then one by one. Scores with the cache equal those without. */
static void cached_scores_are_the_plain_ones(void **state)
{
    (void)state;
    for (int arch = GPT2; arch <= QRNN; ++arch) {
        options o = small(arch);
        int64_t ids[CONTEXT];
        draw_ids(ids, CONTEXT);
        adz_module *network = network_of(&o), *plain = adz_module_copy(network);
        writer w = begin_writing(&o, network);
        for (int64_t n = 3; n <= CONTEXT; ++n) {
            adz_scope *scope = adz_scope_open();
            adz_tensor *scores = n == 3 ? write_on(&w, ids, 3) : write_on(&w, &ids[n - 1], 1);
            assert_close(scores, scores_at_once(plain, ids, n));
            adz_scope_close(scope);
        }
        assert_true(is_carrying(&o) || w.cache.length == CONTEXT);
        end_writing(&w);
        adz_module_release(&network);
        adz_module_release(&plain);
    }
}

/* When the text is longer than the context, the newer half is read again from an empty cache. With
 * `slide` the whole context is read for each token. */
static void windows_move(void **state)
{
    (void)state;
    for (int arch = GPT2; arch <= TRANSFORMER; ++arch) {
        for (int window = WINDOW_HALF; window <= WINDOW_SLIDE; ++window) {
            options o = small(arch);
            o.window = window;
            int64_t ids[2 * CONTEXT];
            draw_ids(ids, 2 * CONTEXT);
            adz_module *network = network_of(&o);
            writer w = begin_writing(&o, network);
            for (int64_t n = 1; n <= 2 * CONTEXT; ++n) {
                adz_scope *scope = adz_scope_open();
                /* the number of tokens in the window: up to 12, then 6 to 12 again and again */
                int64_t half =
                    n <= CONTEXT ? n : CONTEXT / 2 + (n - CONTEXT - 1) % (CONTEXT / 2 + 1);
                int64_t seen = window == WINDOW_SLIDE ? (n < CONTEXT ? n : CONTEXT) : half;
                adz_tensor *scores = write_on(&w, &ids[n - 1], 1);
                assert_close(scores, scores_at_once(network, &ids[n - seen], seen));
                adz_scope_close(scope);
            }
            end_writing(&w);
            adz_module_release(&network);
        }
    }
}

/* Recurrent models have no limit of context. */
static void states_go_on(void **state)
{
    (void)state;
    for (int arch = AWD_LSTM; arch <= QRNN; ++arch) {
        options o = small(arch);
        int64_t ids[3 * CONTEXT];
        draw_ids(ids, 3 * CONTEXT);
        adz_module *network = network_of(&o), *plain = adz_module_copy(network);
        writer w = begin_writing(&o, network);
        adz_scope *scope = adz_scope_open();
        write_on(&w, ids, 2 * CONTEXT + 5); /* is read in three pieces */
        assert_close(
            write_on(&w, &ids[2 * CONTEXT + 5], 1), scores_at_once(plain, ids, 2 * CONTEXT + 6));
        adz_scope_close(scope);
        end_writing(&w);
        adz_module_release(&network);
        adz_module_release(&plain);
    }
}

/* Every token except the first is predicted once. The mode and the state of the network are not
 * changed. */
static void validation_counts_all(void **state)
{
    (void)state;
    for (int arch = GPT2; arch <= QRNN; ++arch) {
        options o = small(arch);
        int64_t ids[101];
        draw_ids(ids, 101);
        adz_module *network = network_of(&o);
        adz_tensor_list all = adz_module_parameters(network);
        for (size_t i = 0; i < all.count; ++i) {
            adz_init_zeros_(all.items[i]);
        }
        adz_module_train(network, true);
        for (int64_t n = 2; n <= 101; n += 33) { /* all scores are equal, so the loss is ln V */
            double loss = validate(&o, network, &(part){ ids, n });
            assert_true(loss > 2.39789 && loss < 2.39790);
        }
        assert_true(adz_module_is_training(network));
        adz_module_release(&network);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cached_scores_are_the_plain_ones),
        cmocka_unit_test(windows_move),
        cmocka_unit_test(states_go_on),
        cmocka_unit_test(validation_counts_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
