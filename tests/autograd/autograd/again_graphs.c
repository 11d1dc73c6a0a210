/* Inputs that are computed again: second derivatives, refused memory, plans, anomaly mode and
 * hooks. */
#include <string.h>

#include "again.h"
#include "tests.h"

/* ---- second derivatives ---------------------------------------------------------------------- */

enum { NUMBERS = 2, CHECKED_ROWS = 130 }; /* few, since differences call the function often */

/* The network of s[NUMBERS] and v[NUMBERS], which scale columns of x and w. */
static int scaled(adz_tensor *const *inputs, size_t count, adz_tensor **outputs, void *user)
{
    const producer *made_by = user;
    (void)count;
    const network n = network_new(ADZ_F64);
    adz_tensor *s[2];
    for (int i = 0; i < 2; ++i) {
        s[i] = adz_repeat(inputs[i], ADZ_SHAPE(WIDTH / NUMBERS));
    }
    adz_tensor *x = adz_narrow(adz_detach(n.leaves[X]), 0, 0, CHECKED_ROWS);
    adz_scope *inner = adz_scope_open();
    adz_tensor *y = made_by->call(adz_mul(x, s[0]), &n.p);
    adz_tensor *z = adz_linear(y, adz_mul(adz_detach(n.leaves[W]), s[1]), ADZ_NONE);
    if (y->node != NULL) { /* the thread records */
        counted = y->node->recompute;
        y->node->recompute = counting;
    }
    /* One number for each of a few columns suffices to see every derivative. */
    z = adz_sin(adz_mul_number(adz_narrow(z, 1, 0, 2), 0.01));
    outputs[0] = adz_scope_return(inner, adz_mean(z, ADZ_DIMS(0), ADZ_DROPDIM));
    return 1;
}

static void second_derivatives_go_on_through_the_node(void **state)
{
    (void)state;
    for (int k = 0; k < N_PRODUCERS - 1; ++k) { /* the last one draws a mask in each call */
        adz_scope *inner = adz_scope_open();
        adz_tensor *inputs[] = { drawn(ADZ_SHAPE(NUMBERS), ADZ_F64),
            drawn(ADZ_SHAPE(NUMBERS), ADZ_F64) };
        const adz_gradcheck_function f = { scaled, (void *)(uintptr_t)&producers[k] };
        calls = 0;
        if (adz_gradcheck(&f, inputs, 2, NULL, NULL) != ADZ_OK ||
            adz_gradgradcheck(&f, inputs, 2, NULL, NULL) != ADZ_OK) {
            fail_msg("%s: %s", producers[k].name, adz_error_message());
        }
        assert_true(calls > 0);
        adz_scope_close(inner);
    }
}

/* The gradients with a graph, and the gradients of their squares. */
static void second_gradients(const network *n, bool kept, adz_tensor **gradients)
{
    adz_backward_options graph = ADZ_BACKWARD_OPTIONS;
    graph.create_graph = true;
    adz_tensor *y = kept ? produce(n, &producers[5]) : NULL, *first[LEAVES];
    adz_tensor *z = kept ? adz_linear(y, n->leaves[W], ADZ_NONE) : product(n, &producers[5]);
    z = loss_of(z);
    assert_int_equal(adz_autograd_grad(&z, NULL, 1, n->leaves, LEAVES, &graph, first), ADZ_OK);
    adz_tensor *squares = total(adz_square(first[X]));
    for (int i = WEIGHT; i < LEAVES; ++i) {
        squares = adz_add(squares, total(adz_square(first[i])));
    }
    assert_int_equal(adz_backward(squares), ADZ_OK);
    assert_int_equal(calls, kept ? 0 : 1);
    take_gradients(n, gradients);
}

static void second_gradients_have_the_same_bits(void **state)
{
    (void)state;
    const network n = network_new(ADZ_F64);
    adz_tensor *with[LEAVES], *without[LEAVES];
    second_gradients(&n, false, with);
    second_gradients(&n, true, without);
    assert_equal_bits(with, without);
}

/* ---- refused memory -------------------------------------------------------------------------- */

/* Refuses each request of a backward in turn. The gradients stay as they were, and a second
 * backward gives the same bits or says that the graph was released. */
static void a_refused_request_changes_nothing(void **state)
{
    (void)state;
    adz_set_num_threads(1); /* else the number of requests of this thread varies */
    const network n = network_new(ADZ_F32);
    adz_tensor *right[LEAVES], *found[LEAVES];
    assert_int_equal(adz_backward(loss_of(product(&n, &producers[9]))), ADZ_OK);
    take_gradients(&n, right);
    int refused = 0, whole = 0, inside = 0;
    for (int64_t request = 1;; ++request) {
        adz_scope *inner = adz_scope_open();
        adz_manual_seed(3);
        network_new(ADZ_F32); /* so that the mask is drawn again */
        adz_tensor *z = loss_of(product(&n, &producers[9]));
        adz_empty_cache();
        adzi_alloc_fail_at(request);
        const adz_status status = adz_backward(z);
        const bool failed = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        if (status == ADZ_OK) { /* a product does without working memory */
            take_gradients(&n, found);
            assert_equal_bits(right, found);
            adz_scope_close(inner);
            if (!failed) {
                break;
            }
            continue;
        }
        assert_int_equal(status, ADZ_ERR_MEMORY);
        adz_error_clear();
        take_gradients(&n, found);
        for (int i = 0; i < LEAVES; ++i) {
            assert_null(found[i]);
        }
        ++refused;
        inside += calls;
        if (adz_backward(z) == ADZ_OK) {
            take_gradients(&n, found);
            assert_equal_bits(right, found);
            ++whole;
        }
        adz_error_clear();
        adz_scope_close(inner);
    }
    assert_true(refused > 5 && whole > 0 && inside > 0);
    adz_set_num_threads(0);
}

/* ---- plans, anomaly mode, hooks -------------------------------------------------------------- */

typedef struct {
    const network *n;
    const producer *made_by;
    int calls;
} planned;

static adz_tensor *gradient_of_w(void *user)
{
    const planned *p = user;
    adz_tensor *w = p->n->leaves[W], *dw = NULL, *z = loss_of(product(p->n, p->made_by));
    return adz_autograd_grad(&z, NULL, 1, &w, 1, NULL, &dw) == ADZ_OK ? dw : NULL;
}

static void a_plan_has_the_same_bits(void **state)
{
    (void)state;
    const network n = network_new(ADZ_F32);
    adz_tensor *x = adz_randn(ADZ_SHAPE(ROWS, WIDTH), ADZ_F32), *eager[N_PRODUCERS];
    adz_plan *plans[N_PRODUCERS];
    planned functions[N_PRODUCERS];
    for (int k = 0; k < N_PRODUCERS - 1; ++k) {
        functions[k] = (planned){ &n, &producers[k], 0 };
        plans[k] = adz_plan_new(gradient_of_w, &functions[k], NULL);
        assert_non_null(plans[k]);
    }
    ADZ_NO_GRAD
    {
        adz_copy_(n.leaves[X], x);
    }
    for (int k = 0; k < N_PRODUCERS - 1; ++k) {
        eager[k] = gradient_of_w(&functions[k]);
        assert_int_equal(calls, 1);
        assert_int_equal(adz_plan_run(plans[k]), ADZ_OK);
        assert_memory_equal(adz_tensor_data(adz_plan_output(plans[k])), adz_tensor_data(eager[k]),
            (size_t)eager[k]->numel * sizeof(float));
        adz_plan_free(&plans[k]);
    }
}

static adz_tensor *counted_call(void *user)
{
    ++((planned *)user)->calls;
    return gradient_of_w(user);
}

static void the_setting_makes_a_plan_anew(void **state)
{
    (void)state;
    const network n = network_new(ADZ_F32);
    planned p = { .n = &n, .made_by = &producers[0] };
    adz_plan *plan = adz_plan_new(counted_call, &p, NULL);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    const int captured = p.calls;
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    assert_int_equal(p.calls, captured);
    adz_set_recomputing(false);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    assert_true(p.calls > captured);
    adz_plan_free(&plan);
}

static void anomaly_mode_sees_no_difference(void **state)
{
    (void)state;
    const network n = network_new(ADZ_F32);
    adz_tensor *with[LEAVES], *without[LEAVES];
    assert_int_equal(adz_backward(loss_of(product(&n, &producers[0]))), ADZ_OK);
    take_gradients(&n, without);
    adz_set_anomaly_enabled(true);
    assert_int_equal(adz_backward(loss_of(product(&n, &producers[0]))), ADZ_OK);
    assert_int_equal(calls, 1);
    take_gradients(&n, with);
    assert_equal_bits(with, without);
    /* An error in a backward still names the call. */
    adz_tensor *z = product(&n, &producers[0]);
    adz_tensor *infinite = adz_full(ADZ_SHAPE(ROWS, OUT), 3e38, ADZ_F32);
    assert_int_equal(adz_autograd_backward(&z, &infinite, 1, NULL), ADZ_ERR_NUMERIC);
    assert_non_null(strstr(adz_error_message(), "the backward of linear"));
    adz_set_anomaly_enabled(false);
}

static adz_tensor *halve(adz_tensor *gradient, void *user)
{
    ++*(int *)user;
    return adz_mul_number(gradient, 0.5);
}

/* A hook on the result sees its gradient, although the result has ended. */
static void hooks_of_the_result_run(void **state)
{
    (void)state;
    const network n = network_new(ADZ_F32);
    adz_tensor *gradients[2][LEAVES];
    for (int kept = 0; kept < 2; ++kept) {
        int seen = 0;
        adz_scope *inner = adz_scope_open();
        adz_tensor *y = produce(&n, &producers[0]);
        assert_int_not_equal(adz_register_hook(y, halve, &seen), 0);
        adz_tensor *z = adz_linear(y, n.leaves[W], ADZ_NONE);
        z = kept ? z : adz_scope_return(inner, z);
        assert_int_equal(adz_backward(loss_of(z)), ADZ_OK);
        assert_int_equal(seen, 1);
        assert_int_equal(calls, 1 - kept);
        take_gradients(&n, gradients[kept]);
        for (int i = 0; kept && i < LEAVES; ++i) {
            gradients[1][i] = gradients[1][i] != NULL ? adz_keep(gradients[1][i]) : NULL;
        }
        if (kept) {
            adz_scope_close(inner);
        }
    }
    assert_equal_bits(gradients[0], gradients[1]);
    for (int i = 0; i < LEAVES; ++i) {
        if (gradients[1][i] != NULL) {
            adz_release(&gradients[1][i]);
        }
    }
}

int again_graphs_tests(void)
{
    const struct CMUnitTest tests[] = {
        AGAIN(second_derivatives_go_on_through_the_node),
        AGAIN(second_gradients_have_the_same_bits),
        AGAIN(a_refused_request_changes_nothing),
        AGAIN(a_plan_has_the_same_bits),
        AGAIN(the_setting_makes_a_plan_anew),
        AGAIN(anomaly_mode_sees_no_difference),
        AGAIN(hooks_of_the_result_run),
    };
    return cmocka_run_group_tests_name("autograd: again in graphs", tests, NULL, NULL);
}
