/* Inputs of products that are computed again in the backward: Note [Inputs that are computed again]
 * in src/autograd/saved.c. */
#include <string.h>

#include <pthread.h>

#include "again.h"
#include "tests.h"

/* Gradients of the leaves, and the bytes that live between forward and backward. */
static size_t run(const network *n, const producer *made_by, bool kept, adz_tensor **gradients)
{
    const size_t before = live_bytes();
    adz_scope *inner = adz_scope_open();
    adz_manual_seed(5); /* the dropout's mask */
    adz_tensor *y = kept ? produce(n, made_by) : NULL;
    adz_tensor *z = kept ? adz_linear(y, n->leaves[W], ADZ_NONE) : product(n, made_by);
    const size_t between = live_bytes() - before;
    assert_int_equal(adz_backward(loss_of(z)), ADZ_OK);
    assert_int_equal(calls, kept ? 0 : 1);
    adz_scope_close(inner);
    take_gradients(n, gradients);
    return between;
}

static void the_bits_are_those_of_a_kept_input(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * N_PRODUCERS; ++k) {
        const producer *made_by = &producers[k / 2];
        const adz_dtype dtype = k % 2 == 0 ? ADZ_F32 : ADZ_F64;
        adz_scope *inner = adz_scope_open();
        const network n = network_new(dtype);
        adz_tensor *with[LEAVES], *without[LEAVES];
        const size_t less = run(&n, made_by, false, with);
        const size_t more = run(&n, made_by, true, without);
        assert_equal_bits(with, without);
        if (less + ROWS * WIDTH * adz_dtype_size(dtype) > more) {
            fail_msg("%s: %zu bytes live, and %zu if y is kept", made_by->name, less, more);
        }
        adz_scope_close(inner);
    }
}

/* The setting is off by default, belongs to the context and says what it was before. */
static void the_setting_belongs_to_the_context(void **state)
{
    (void)state;
    assert_true(adz_is_recomputing()); /* by the set-up of the test */
    adz_context *inherits = adz_context_new();
    assert_null(adz_context_use(inherits));
    assert_true(adz_set_recomputing(false));
    assert_false(adz_is_recomputing());
    assert_ptr_equal(adz_context_use(NULL), inherits);
    assert_true(adz_is_recomputing());
    adz_context_free(&inherits);
    assert_true(adz_set_recomputing(false));
    adz_tensor *w = drawn(ADZ_SHAPE(OUT, WIDTH), ADZ_F32);
    adz_tensor *z = adz_linear(adz_silu(drawn(ADZ_SHAPE(ROWS, WIDTH), ADZ_F32)), w, ADZ_NONE);
    assert_non_null(z->node->inputs[0].saved);
    assert_false(adz_set_recomputing(true));
}

/* Small results, and products with little work for each element. */
static void what_would_not_pay_is_saved(void **state)
{
    (void)state;
    adz_tensor *few = drawn(ADZ_SHAPE(SMALL, WIDTH), ADZ_F32);
    adz_tensor *many = drawn(ADZ_SHAPE(ROWS, WIDTH), ADZ_F32);
    adz_tensor *w = drawn(ADZ_SHAPE(OUT, WIDTH), ADZ_F32);
    adz_tensor *narrow = drawn(ADZ_SHAPE(SMALL, WIDTH), ADZ_F32);
    adz_tensor *z = adz_linear(adz_silu(few), w, ADZ_NONE);
    assert_non_null(z->node->inputs[0].saved);
    z = adz_linear(adz_silu(many), narrow, ADZ_NONE);
    assert_non_null(z->node->inputs[0].saved);
    z = adz_matmul(adz_silu(many), adz_transpose(narrow, 0, 1));
    assert_non_null(z->node->inputs[0].saved);
    z = adz_linear(adz_silu(many), w, ADZ_NONE);
    assert_null(z->node->inputs[0].saved);
    z = adz_matmul(adz_silu(many), adz_transpose(w, 0, 1));
    assert_null(z->node->inputs[0].saved);
    /* A second call of an operator may have to copy a view. */
    adz_tensor *turned = adz_transpose(drawn(ADZ_SHAPE(WIDTH, ROWS), ADZ_F32), 0, 1);
    z = adz_linear(adz_silu(turned), w, ADZ_NONE);
    assert_non_null(z->node->inputs[0].saved);
    /* The silu of a silu: the inner result is kept, because the outer one is computed from it. */
    adz_tensor *inner = adz_silu(many);
    z = adz_linear(adz_silu(inner), w, ADZ_NONE);
    assert_null(z->node->inputs[0].saved);
    z = adz_linear(inner, w, ADZ_NONE);
    assert_non_null(z->node->inputs[0].saved);
}

/* A product of a product's operand that was computed again: what was computed from it is saved. */
static void only_one_of_two_in_a_row(void **state)
{
    (void)state;
    const network n = network_new(ADZ_F64);
    adz_tensor *square = drawn(ADZ_SHAPE(ROWS, WIDTH), ADZ_F64);
    adz_tensor *y = adz_matmul(adz_transpose(adz_silu(square), 0, 1), adz_silu(square));
    assert_non_null(y->node->inputs[0].saved); /* a view */
    assert_null(y->node->inputs[1].saved);
    adz_tensor *z = adz_linear(produce(&n, &producers[0]), n.leaves[W], ADZ_NONE);
    assert_int_equal(adz_backward(adz_add(total(y), total(z))), ADZ_OK);
}

static adz_status write_recorded(adz_tensor *y)
{
    return adz_mul_number_(y, 2) != NULL ? ADZ_OK : adz_error_code();
}

static adz_status write_unrecorded(adz_tensor *y)
{
    ADZ_NO_GRAD
    {
        adz_mul_number_(y, 2);
    }
    return adz_error_code();
}

static adz_status touch(adz_tensor *y)
{
    adz_tensor_touch(y);
    return adz_error_code();
}

/* A view that outlives y is written to. */
static adz_tensor *outlives;

static adz_status keep_view(adz_tensor *y)
{
    outlives = adz_keep(adz_detach(y));
    return adz_error_code();
}

static void a_write_is_refused(void **state)
{
    (void)state;
    adz_status (*const writes[])(
        adz_tensor *) = { write_recorded, write_unrecorded, touch, keep_view };
    const network n = network_new(ADZ_F32);
    for (size_t i = 0; i < sizeof writes / sizeof *writes; ++i) {
        adz_scope *inner = adz_scope_open();
        adz_tensor *y = produce(&n, &producers[0]);
        adz_tensor *z = adz_linear(y, n.leaves[W], ADZ_NONE);
        assert_int_equal(writes[i](y), ADZ_OK);
        z = adz_scope_return(inner, z);
        if (writes[i] == keep_view) {
            adz_add_number_(outlives, 1);
        }
        assert_int_equal(adz_backward(loss_of(z)), ADZ_ERR_VERSION);
        assert_non_null(
            strstr(adz_error_message(), "input 0 is needed for the gradient of linear"));
        assert_null(adz_tensor_grad(n.leaves[W]));
        assert_int_equal(calls, 0);
        adz_error_clear();
    }
    adz_release(&outlives);
}

/* A result that was written to before the product read it has other elements than a second call
 * would compute. */
static void a_result_that_was_written_before_is_saved(void **state)
{
    (void)state;
    const network n = network_new(ADZ_F32);
    adz_tensor *y = produce(&n, &producers[0]);
    assert_int_equal(write_unrecorded(y), ADZ_OK);
    adz_tensor *z = adz_linear(y, n.leaves[W], ADZ_NONE);
    assert_ptr_equal(z->node->inputs[0].saved, y);
    assert_int_equal(write_recorded(y), ADZ_OK);
    z = adz_linear(y, n.leaves[W], ADZ_NONE);
    assert_ptr_equal(z->node->inputs[0].saved, y);
}

/* Layer norm's gradients do not read the bias, so a program may write to it before the backward. */
static void a_bias_may_be_written_to(void **state)
{
    (void)state;
    const network n = network_new(ADZ_F32);
    adz_tensor *before[LEAVES], *after[LEAVES];
    for (int k = 5; k < 7; ++k) {
        run(&n, &producers[k], true, before);
        adz_tensor *z = product(&n, &producers[k]);
        ADZ_NO_GRAD
        {
            adz_add_number_(n.leaves[BIAS], 1);
        }
        assert_int_equal(adz_backward(loss_of(z)), ADZ_OK);
        assert_int_equal(calls, 1);
        take_gradients(&n, after);
        ADZ_NO_GRAD
        {
            adz_sub_number_(n.leaves[BIAS], 1);
        }
        if (k == 6) {
            assert_equal_bits(before, after);
        }
        assert_memory_equal(adz_tensor_data(before[W]), adz_tensor_data(after[W]),
            (size_t)before[W]->numel * sizeof(float));
    }
}

/* Two products read one result: it is computed again once, and not if something else saves it. */
static adz_tensor *branches(const network *n, adz_tensor *y, int saver)
{
    adz_tensor *squares = saver == 1 ? adz_square(y) : y;
    adz_tensor *first = adz_linear(y, n->leaves[W], ADZ_NONE);
    adz_tensor *second = adz_linear(y, adz_mul_number(n->leaves[W], 2), ADZ_NONE);
    squares = saver == 2 ? adz_square(y) : squares;
    return adz_add(adz_add(total(squares), loss_of(first)), loss_of(second));
}

static adz_tensor *ended_branches(const network *n, int saver)
{
    adz_scope *inner = adz_scope_open();
    return adz_scope_return(inner, branches(n, produce(n, &producers[0]), saver));
}

static void a_second_branch_reads_the_same_elements(void **state)
{
    (void)state;
    const network n = network_new(ADZ_F32);
    adz_tensor *gradients[3][LEAVES], *kept[LEAVES];
    for (int saver = 0; saver < 3; ++saver) {
        adz_tensor *z = ended_branches(&n, saver);
        assert_int_equal(adz_backward(z), ADZ_OK);
        assert_int_equal(calls, saver == 0 ? 1 : 0);
        take_gradients(&n, gradients[saver]);
    }
    assert_int_equal(adz_backward(branches(&n, produce(&n, &producers[0]), 0)), ADZ_OK);
    assert_int_equal(calls, 0);
    take_gradients(&n, kept);
    assert_equal_bits(kept, gradients[0]);
}

static void a_retained_graph_computes_once(void **state)
{
    (void)state;
    const network n = network_new(ADZ_F32);
    adz_tensor *once[LEAVES], *twice[LEAVES];
    adz_backward_options keep = ADZ_BACKWARD_OPTIONS;
    keep.retain_graph = true;
    adz_tensor *z = loss_of(product(&n, &producers[0]));
    assert_int_equal(adz_autograd_backward(&z, NULL, 1, &keep), ADZ_OK);
    take_gradients(&n, once);
    assert_int_equal(adz_backward(z), ADZ_OK);
    take_gradients(&n, twice);
    assert_int_equal(calls, 1);
    assert_equal_bits(once, twice);
    assert_int_equal(adz_backward(z), ADZ_ERR_GRAPH);
    assert_non_null(strstr(adz_error_message(), "retain_graph"));
}

/* The gradient of w needs y, whose node has been released by the backward of another loss. */
static void a_released_node_serves_its_readers(void **state)
{
    (void)state;
    const network n = network_new(ADZ_F32);
    adz_scope *inner = adz_scope_open();
    adz_tensor *y = produce(&n, &producers[5]), *other = total(y);
    adz_tensor *z = loss_of(adz_linear(y, n.leaves[W], ADZ_NONE));
    adz_tensor *w = n.leaves[W], *dw, *kept[LEAVES];
    adz_keep(other);
    adz_scope_return(inner, z);
    const size_t before = live_bytes();
    assert_int_equal(adz_backward(other), ADZ_OK);
    assert_int_equal(adz_autograd_grad(&z, NULL, 1, &w, 1, NULL, &dw), ADZ_OK);
    assert_int_equal(calls, 1);
    assert_true(live_bytes() < before); /* the node has given everything back in the end */
    adz_release(&other);
    take_gradients(&n, kept);
    run(&n, &producers[5], true, kept);
    assert_memory_equal(
        adz_tensor_data(dw), adz_tensor_data(kept[W]), (size_t)dw->numel * sizeof(float));
}

/* A graph without a backward gives everything back. */
static void a_graph_that_is_dropped_keeps_nothing(void **state)
{
    (void)state;
    const network n = network_new(ADZ_F32);
    const size_t before = live_bytes();
    adz_scope *inner = adz_scope_open();
    ended_branches(&n, 0);
    product(&n, &producers[9]);
    adz_scope_close(inner);
    assert_int_equal(live_bytes(), before);
}

/* The most that a backward adds to what lived before it. */
static size_t growth(const network *n)
{
    adz_scope *inner = adz_scope_open();
    adz_tensor *z = product(n, &producers[0]), *dz = adz_ones_like(z);
    adz_memory_info info;
    const size_t before = live_bytes();
    adz_reset_peak_memory();
    assert_int_equal(adz_autograd_backward(&z, &dz, 1, NULL), ADZ_OK);
    adz_get_memory_info(&info, sizeof info);
    adz_scope_close(inner);
    adz_tensor *gradients[LEAVES];
    take_gradients(n, gradients);
    return info.peak_bytes - before;
}

static adz_tensor *note_bytes(adz_tensor *gradient, void *user)
{
    *(size_t *)user = live_bytes();
    return gradient;
}

/* What lives when both readers of a result are done. */
static size_t bytes_after_readers(const network *n)
{
    size_t bytes = 0;
    adz_scope *inner = adz_scope_open(), *within = adz_scope_open();
    adz_tensor *y = produce(n, &producers[0]);
    adz_register_hook(y, note_bytes, &bytes);
    adz_tensor *z = adz_scope_return(within, branches(n, y, 0));
    const size_t before = live_bytes();
    assert_int_equal(adz_backward(z), ADZ_OK);
    assert_true(bytes > 0);
    adz_scope_close(inner);
    adz_tensor *gradients[LEAVES];
    take_gradients(n, gradients);
    return before < bytes ? bytes - before : 0;
}

/* The elements are released before the gradient of x is computed, as those of a saved input are. */
static void a_backward_takes_no_more_memory(void **state)
{
    (void)state;
    adz_set_num_threads(1); /* products use working memory of each thread */
    const network n = network_new(ADZ_F32);
    const size_t one = ROWS * WIDTH * sizeof(float);
    const size_t again = growth(&n), after = bytes_after_readers(&n);
    adz_set_recomputing(false);
    assert_true(again <= growth(&n) + one + one / 8);
    assert_true(after <= bytes_after_readers(&n) + one + one / 8);
    adz_set_num_threads(0);
}

static void *release(void *y)
{
    adz_release((adz_tensor **)y);
    return NULL;
}

static void the_result_may_end_on_another_thread(void **state)
{
    (void)state;
    const network n = network_new(ADZ_F32);
    adz_scope *inner = adz_scope_open();
    adz_tensor *y = adz_keep(produce(&n, &producers[0]));
    adz_tensor *z = adz_scope_return(inner, adz_linear(y, n.leaves[W], ADZ_NONE));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, release, &y), 0);
    pthread_join(thread, NULL);
    assert_int_equal(adz_backward(loss_of(z)), ADZ_OK);
    assert_int_equal(calls, 1);
}

int again_tests(void)
{
    const struct CMUnitTest tests[] = {
        AGAIN(the_bits_are_those_of_a_kept_input),
        AGAIN(the_setting_belongs_to_the_context),
        AGAIN(what_would_not_pay_is_saved),
        AGAIN(only_one_of_two_in_a_row),
        AGAIN(a_write_is_refused),
        AGAIN(a_result_that_was_written_before_is_saved),
        AGAIN(a_bias_may_be_written_to),
        AGAIN(a_second_branch_reads_the_same_elements),
        AGAIN(a_retained_graph_computes_once),
        AGAIN(a_released_node_serves_its_readers),
        AGAIN(a_graph_that_is_dropped_keeps_nothing),
        AGAIN(a_backward_takes_no_more_memory),
        AGAIN(the_result_may_end_on_another_thread),
    };
    return cmocka_run_group_tests_name("autograd: again", tests, NULL, NULL);
}
