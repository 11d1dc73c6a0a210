/* The memory of a backward, and what happens when it is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "graph.h"
#include "tests.h"

enum { ROWS = 1200, WIDTH = 1024, NARROW = 32 };

/* A layer of x[ROWS, WIDTH] + 1. Only the graph holds that sum. */
static adz_tensor *layer(adz_tensor *x, adz_tensor *w)
{
    adz_scope *inner = adz_scope_open();
    return adz_scope_return(inner, adz_linear(adz_add_number(x, 1), w, ADZ_NONE));
}

static size_t growth_of(adz_tensor *y, bool retain_graph)
{
    adz_memory_info before, after;
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.retain_graph = retain_graph;
    adz_reset_peak_memory();
    adz_get_memory_info(&before, sizeof before);
    assert_int_equal(adz_autograd_backward(&y, &(adz_tensor *){ adz_ones_like(y) }, 1, &o), ADZ_OK);
    adz_get_memory_info(&after, sizeof after);
    return after.peak_bytes - before.live_bytes;
}

static double corner_of(adz_tensor *matrix)
{
    return adz_tensor_at(matrix, (int64_t[]){ 0, 0 });
}

static void what_a_backward_has_read_makes_room(void **state)
{
    (void)state;
    const size_t input = (size_t)ROWS * WIDTH * sizeof(double);
    adz_set_num_threads(1); /* Products use working memory of each thread. */
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(ROWS, WIDTH), ADZ_F64), true);
    adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(NARROW, WIDTH), ADZ_F64), true);
    adz_tensor *kept = layer(x, w);
    assert_true(growth_of(kept, true) > input); /* x + 1 and its gradient are alive at once. */
    adz_tensor_set_grad(x, ADZ_NONE);
    adz_tensor_set_grad(w, ADZ_NONE);
    assert_true(growth_of(layer(x, w), false) < input);
    assert_float_equal(corner_of(adz_tensor_grad(x)), NARROW, 0);
    assert_float_equal(corner_of(adz_tensor_grad(w)), 2 * ROWS, 0);
    /* retain_graph has kept the whole graph. */
    assert_int_equal(adz_backward(total(kept)), ADZ_OK);
    assert_float_equal(corner_of(adz_tensor_grad(x)), 2 * NARROW, 0);
    assert_float_equal(corner_of(adz_tensor_grad(w)), 4 * ROWS, 0);
    adz_set_num_threads(0);
}

/* ---- second derivatives ---------------------------------------------------------------------- */

enum { SAMPLES = 64, CLASSES = 1024 };

/* How many tensors of x's size the loss, its gradient with a graph, and the gradient of the squares
 * of that gradient take at most at one time. */
static double tensors_of(adz_tensor *(*loss)(adz_tensor *))
{
    adz_scope *inner = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(SAMPLES, CLASSES), ADZ_F64), true);
    adz_memory_info before, after;
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    adz_reset_peak_memory();
    adz_get_memory_info(&before, sizeof before);
    adz_tensor *y = loss(x), *first, *second;
    o.create_graph = true;
    assert_int_equal(adz_autograd_grad(&y, NULL, 1, &x, 1, &o, &first), ADZ_OK);
    adz_tensor *squares = adz_sum(adz_square(first), ADZ_ALL_DIMS, ADZ_DROPDIM);
    o.create_graph = false;
    assert_int_equal(adz_autograd_grad(&squares, NULL, 1, &x, 1, &o, &second), ADZ_OK);
    adz_get_memory_info(&after, sizeof after);
    adz_scope_close(inner);
    return (double)(after.peak_bytes - before.live_bytes) /
           ((double)SAMPLES * CLASSES * sizeof(double));
}

static adz_tensor *class_loss(adz_tensor *x)
{
    return adz_cross_entropy(x, adz_zeros(ADZ_SHAPE(SAMPLES), ADZ_I64), ADZ_NONE, NULL);
}

static adz_tensor *class_loss_squared(adz_tensor *x)
{
    return adz_square(class_loss(x));
}

static adz_tensor *silu_total(adz_tensor *x)
{
    return total(adz_silu(x));
}

static adz_tensor *silu_squared(adz_tensor *x)
{
    return total(adz_square(adz_silu(x)));
}

/* The bounds are those of derivatives written by hand, and half a tensor for values per row. */
static void a_derived_backward_keeps_no_copies(void **state)
{
    (void)state;
    adz_set_num_threads(1);
    assert_true(tensors_of(class_loss) < 5.5);
    assert_true(tensors_of(class_loss_squared) < 6.5);
    assert_true(tensors_of(silu_total) < 9.5);
    assert_true(tensors_of(silu_squared) < 11.5);
    adz_set_num_threads(0);
}

/* A backward that fails after it released its input leaves a graph that refuses a second
 * backward. */
static void a_graph_half_used_says_so(void **state)
{
    (void)state;
    adz_set_num_threads(1); /* else the number of requests of this thread varies */
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(ROWS, WIDTH), ADZ_F64), true);
    adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(NARROW, WIDTH), ADZ_F64), true);
    int whole = 0, used = 0;
    for (int64_t n = 1;; ++n) {
        adz_scope *inner = adz_scope_open();
        adz_tensor *y = total(layer(x, w));
        adz_empty_cache();
        adzi_alloc_fail_at(n);
        adz_status status = adz_backward(y);
        const bool reached = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        adz_error_clear();
        if (status == ADZ_OK) { /* a product does without working memory */
            adz_tensor_set_grad(x, ADZ_NONE);
            adz_tensor_set_grad(w, ADZ_NONE);
            adz_scope_close(inner);
            if (!reached) {
                break;
            }
            continue;
        }
        assert_null(adz_tensor_grad(x));
        if (adz_backward(y) == ADZ_OK) {
            ++whole;
            adz_tensor_set_grad(x, ADZ_NONE);
            adz_tensor_set_grad(w, ADZ_NONE);
        } else {
            assert_int_equal(adz_error_code(), ADZ_ERR_GRAPH);
            assert_non_null(strstr(adz_error_message(), "was released by an earlier backward"));
            adz_error_clear();
            ++used;
        }
        adz_scope_close(inner);
    }
    assert_true(whole > 0 && used > 0);
    adz_set_num_threads(0);
}

/* ---- refused memory -------------------------------------------------------------------------- */

static void backward_is_all_or_nothing(void **state)
{
    (void)state;
    adz_tensor *x = leaf(2, 3), *w = leaf(3, 3);
    assert_int_equal(adz_backward(total(adz_mul(x, w))), ADZ_OK); /* gradients 3 and 2 */
    int points = 0;
    for (int64_t n = 1;; ++n) {
        adz_scope *inner = adz_scope_open();
        adz_tensor *loss = total(adz_relu(adz_mul(adz_mul(x, w), x)));
        adzi_alloc_fail_at(n);
        adz_status status = adz_backward(loss);
        bool failed = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        adz_scope_close(inner);
        if (!failed) {
            assert_int_equal(status, ADZ_OK);
            break;
        }
        assert_int_equal(status, ADZ_ERR_MEMORY);
        adz_error_clear();
        assert_float_equal(grad0(x), 3, 0);
        assert_float_equal(grad0(w), 2, 0);
        ++points;
    }
    assert_true(points > 5);
    assert_float_equal(grad0(x), 3 + 2 * 2 * 3, 0);
    print_message("%d refused requests in backward\n", points);
}

int memory_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_a_backward_has_read_makes_room),
        TEST(a_derived_backward_keeps_no_copies),
        TEST(a_graph_half_used_says_so),
        TEST(backward_is_all_or_nothing),
    };
    return cmocka_run_group_tests_name("autograd: memory", tests, NULL, NULL);
}
