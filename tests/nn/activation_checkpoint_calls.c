/* What a module may do, and what may change, between the two calls of an activation checkpoint. */
#include "nn/activation_checkpoint.h"
#include "nn/layers/dropout.h"

enum { MANY = 9 };

static adz_tensor *wanting(void)
{
    return adz_requires_grad_(adz_full(ADZ_SHAPE(3, 4), 2, ADZ_F32), true);
}

static adz_tensor *sum_of(adz_tensor *t)
{
    return adz_sum(t, ADZ_ALL_DIMS, ADZ_DROPDIM);
}

static size_t live_bytes(void)
{
    adz_memory_info now;
    adz_get_memory_info(&now, sizeof now);
    return now.live_bytes;
}

/* ---- arguments ------------------------------------------------------------------------------ */

static int calls;

static adz_tensor *square_forward(adz_module *self, adz_tensor *x)
{
    (void)self;
    ++calls;
    return adz_square(x);
}

static const adz_module_type square_type = {
    .size = sizeof(adz_module_type), .name = "Square", .forward = square_forward
};

/* A module without parameters is called again if its argument wants a gradient. */
void an_argument_alone_wants_a_gradient(void **state)
{
    (void)state;
    adz_module *m = adz_activation_checkpoint_new(adz_module_new(&square_type, 0));
    adz_tensor *x = wanting();
    calls = 0;
    adz_tensor *y = adz_module_forward(m, x);
    assert_int_equal(calls, 1);
    assert_int_equal(adz_backward(sum_of(y)), ADZ_OK);
    assert_int_equal(calls, 2);
    assert_true(all_are(adz_tensor_grad(x), 4));
    adz_module_release(&m);
}

/* ---- results -------------------------------------------------------------------------------- */

/* How many results the calls of Several have, from the first call on. */
static int n_results[2];

/* Results: one that is left out, then the sum of all arguments times 1, 2, ... The last one is
 * given twice. */
static adz_status several_call(adz_module *self, const adz_values *in, adz_values *out)
{
    (void)self;
    adz_tensor *sum = adz_values_at(in, 0);
    for (size_t i = 1; i < adz_values_count(in); ++i) {
        sum = adz_add(sum, adz_values_at(in, i));
    }
    const int n = n_results[calls++ % 2];
    adz_status status = adz_values_add(out, "none", ADZ_NONE);
    for (int i = 0; i < n && status == ADZ_OK; ++i) {
        char name[16];
        snprintf(name, sizeof name, "y%d", i);
        adz_tensor *y = adz_mul_number(sum, i + 1);
        status = adz_values_add(out, name, y);
        if (status == ADZ_OK && i == n - 1) {
            status = adz_values_add(out, "again", y);
        }
    }
    return status;
}

static const adz_module_type several_type = {
    .size = sizeof(adz_module_type), .name = "Several", .call = several_call
};

/* Calls Several with its argument `count` times, and sums up the results. NULL after a failure. */
static adz_tensor *sum_of_several(adz_module *m, adz_tensor *x, int count)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_status status = ADZ_OK;
    for (int i = 0; i < count && status == ADZ_OK; ++i) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        status = adz_values_add(in, name, x);
    }
    status = status == ADZ_OK ? adz_module_call(m, in, out) : status;
    const size_t n = adz_values_count(out);
    adz_tensor *sum = status == ADZ_OK && n > 2 ? sum_of(adz_values_at(out, 1)) : NULL;
    for (size_t i = 2; i < n && sum != NULL; ++i) {
        sum = adz_add(sum, sum_of(adz_values_at(out, i)));
    }
    adz_values_free(&in);
    adz_values_free(&out);
    return sum;
}

void results_may_be_left_out_or_given_twice(void **state)
{
    (void)state;
    adz_module *m = adz_activation_checkpoint_new(adz_module_new(&several_type, 0));
    for (int n = 1; n <= 2; ++n) {
        n_results[0] = n_results[1] = n;
        calls = 0;
        adz_tensor *x = wanting();
        adz_values *in = adz_values_new(), *out = adz_values_new();
        adz_values_add(in, "x", x);
        assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
        assert_int_equal(adz_values_count(out), n + 2);
        assert_true(adz_values_get(out, "none") == ADZ_NONE);
        adz_tensor *last = adz_values_at(out, (size_t)n), *again = adz_values_get(out, "again");
        assert_true(last != again && adz_equal(last, again));
        adz_tensor *y = adz_add(adz_mul_number(last, 3), adz_mul_number(again, 5));
        assert_int_equal(adz_backward(sum_of(y)), ADZ_OK);
        assert_true(all_are(adz_tensor_grad(x), 8 * n));
        adz_values_free(&in);
        adz_values_free(&out);
    }
    adz_module_release(&m);
}

void another_number_of_results_is_refused(void **state)
{
    (void)state;
    static const char *const says[] = { "the second call gave 2 results, the first 3",
        "the second call gave 4 results, the first 3" };
    adz_module *m = adz_activation_checkpoint_new(adz_module_new(&several_type, 0));
    for (int i = 0; i < 2; ++i) {
        calls = 0;
        n_results[0] = 2;
        n_results[1] = i == 0 ? 1 : 3;
        adz_tensor *x = wanting(), *y = sum_of_several(m, x, 1);
        assert_int_equal(adz_backward(y), ADZ_ERR_STATE);
        expect_error(ADZ_ERR_STATE, says[i]);
        assert_null(adz_tensor_grad(x));
    }
    adz_module_release(&m);
}

/* Whole numbers have no gradient, so nothing is recorded. */
static adz_tensor *positions_forward(adz_module *self, adz_tensor *x)
{
    (void)self;
    return adz_argmax(x, ADZ_DIMS(1), ADZ_DROPDIM);
}

static const adz_module_type positions_type = {
    .size = sizeof(adz_module_type), .name = "Positions", .forward = positions_forward
};

void whole_numbers_are_no_part_of_a_graph(void **state)
{
    (void)state;
    adz_module *m = adz_activation_checkpoint_new(adz_module_new(&positions_type, 0));
    adz_tensor *y = adz_module_forward(m, wanting());
    assert_non_null(y);
    assert_false(adz_tensor_requires_grad(y));
    assert_true(adz_tensor_is_leaf(y));
    adz_module_release(&m);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* A call with many arguments and results, a backward, and a call that fails. */
static void use_memory(adz_module *several, adz_module *wrong)
{
    adz_scope *scope = adz_scope_open();
    calls = 0;
    assert_int_equal(adz_backward(sum_of_several(several, wanting(), MANY)), ADZ_OK);
    assert_null(adz_module_forward(wrong, adz_ones(ADZ_SHAPE(3, 5), ADZ_F32)));
    adz_error_clear();
    adz_scope_close(scope);
}

void many_values_leave_no_memory_behind(void **state)
{
    (void)state;
    adz_module *m = adz_activation_checkpoint_new(adz_module_new(&several_type, 0));
    adz_module *wrong = checkpoint(NULL);
    n_results[0] = n_results[1] = MANY;
    use_memory(m, wrong); /* makes what the thread keeps */
    const size_t before = live_bytes();
    use_memory(m, wrong);
    assert_int_equal(live_bytes(), before);
    adz_module_release(&m);
    adz_module_release(&wrong);
}

/* Batch norm changes its buffers in place, and Several gives one result twice: both are cloned. */
static bool call_and_go_back(void)
{
    adz_scope *scope = adz_scope_open();
    bool good = scope != NULL;
    n_results[0] = n_results[1] = 2;
    calls = 0;
    adz_module *m = good ? adz_activation_checkpoint_new(adz_module_new(&several_type, 0)) : NULL;
    adz_module *norm = m != NULL ? adz_activation_checkpoint_new(adz_batch_norm1d_new(4, NULL)) : m;
    adz_tensor *x = norm != NULL ? wanting() : NULL;
    adz_tensor *y = x != NULL ? adz_module_forward(norm, x) : NULL;
    y = y != NULL ? sum_of_several(m, y, 1) : NULL;
    good = y != NULL && adz_backward(y) == ADZ_OK;
    assert_null(strstr(adz_error_message(), "the backward failed")); /* says no reason */
    adz_module_release(&m);
    adz_module_release(&norm);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good;
}

void refused_memory_is_an_error(void **state)
{
    (void)state;
    const int points = refuse_each_request(call_and_go_back);
    assert_true(points > 40);
    print_message("refused: %d calls and backwards\n", points);
}

/* ---- buffers -------------------------------------------------------------------------------- */

static adz_module *of_two(adz_module *first, adz_module *second)
{
    return adz_activation_checkpoint_new(ADZ_SEQUENTIAL(first, second, adz_relu_new()));
}

static adz_module *norm(void)
{
    return adz_batch_norm1d_new(4, NULL);
}

/* Modules with buffers that come, go or are replaced between forward and backward. */
void other_buffers_are_refused(void **state)
{
    (void)state;
    for (int change = 0; change < 5; ++change) {
        adz_module *m =
            change == 3 ? of_two(adz_tanh_new(), adz_tanh_new()) : of_two(norm(), norm());
        adz_module *inside = adz_module_get_child(m, "module"), *kept = NULL;
        adz_tensor *x = wanting(), *y = sum_of(adz_module_forward(m, x));
        if (change == 0) { /* fewer */
            adz_module_set_child(inside, "1", adz_tanh_new());
        } else if (change == 1) { /* more */
            adz_module_set_child(inside, "2", norm());
        } else if (change == 2) { /* as many, of another module */
            kept = adz_module_keep(adz_module_get_child(inside, "1"));
            adz_module_set_child(inside, "1", norm());
        } else if (change == 3) { /* some, where there were none */
            adz_module_set_child(inside, "0", norm());
        } else { /* the last one has one more */
            adz_tensor *one = adz_ones(ADZ_SHAPE(1), ADZ_F32);
            adz_module_add_buffer(adz_module_get_child(inside, "1"), "more", one, false);
        }
        assert_int_equal(adz_backward(y), ADZ_ERR_STATE);
        expect_error(ADZ_ERR_STATE, "the module has other buffers than in the forward");
        assert_null(adz_tensor_grad(x));
        adz_module_release(&kept);
        adz_module_release(&m);
    }
}

static adz_tensor *first_listed(adz_module *m)
{
    return adz_module_named_buffers(m).items[0].tensor;
}

/* Lists the buffers of the tree while it is called. */
static adz_tensor *listing_forward(adz_module *self, adz_tensor *x)
{
    adz_tensor *before = adz_module_get_buffer(self, "last"),
               *last = adz_detach(adz_add(x, before));
    assert_true(first_listed(self) == before);
    assert_non_null(adz_module_set_buffer(self, "last", last));
    assert_true(first_listed(self) == last);
    return adz_mul(x, before);
}

static const adz_module_type listing_type = {
    .size = sizeof(adz_module_type), .name = "Listing", .forward = listing_forward
};

/* The second call gets the buffers of the first. Afterwards the tree has its own ones again, and
 * lists them. A buffer that is empty in both calls stays empty. */
void buffers_are_listed_as_they_are(void **state)
{
    (void)state;
    adz_module *inside = adz_module_new(&listing_type, 0);
    adz_module_add_buffer(inside, "last", adz_ones(ADZ_SHAPE(3, 4), ADZ_F32), true);
    adz_module_add_buffer(inside, "empty", ADZ_NONE, true);
    adz_module *m = adz_activation_checkpoint_new(adz_module_keep(inside));
    adz_tensor *x = wanting(), *y = adz_module_forward(m, x);
    adz_tensor *last = adz_module_get_buffer(inside, "last");
    assert_true(first_listed(inside) == last && all_are(last, 3));
    assert_int_equal(adz_backward(sum_of(y)), ADZ_OK);
    assert_true(all_are(adz_tensor_grad(x), 1));
    assert_true(adz_module_get_buffer(inside, "last") == last && all_are(last, 3));
    assert_true(adz_module_get_buffer(inside, "empty") == ADZ_NONE);
    assert_true(first_listed(inside) == last);
    adz_module_release(&inside);
    adz_module_release(&m);
}

/* ---- conditions ----------------------------------------------------------------------------- */

void other_masks_are_refused(void **state)
{
    (void)state;
    adz_module *m = checkpoint(NULL);
    adz_tensor *mask = adz_ones(ADZ_SHAPE(3, 6), ADZ_F32), *x = wanting();
    adzi_masks masks = { &mask, 1, 0 };
    adzi_module_replay(m, &masks);
    adz_tensor *y = sum_of(adz_module_forward(m, x));
    adzi_module_replay(m, NULL);
    assert_int_equal(adz_backward(y), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "the forward replayed other masks");
    assert_null(adz_tensor_grad(x));
    adz_module_release(&m);
}

/* A Sequential of dropouts, each with a generator of its own. */
static adz_module *draws_from(adz_generator **generators, int n)
{
    adz_module *m = adz_sequential_new(NULL, 0);
    for (int i = 0; i < n; ++i) {
        generators[i] = adz_generator_new((uint64_t)i);
        adz_sequential_append(m, dropout(generators[i], 0.01));
    }
    return m;
}

/* A checkpoint sets back up to 16 generators. */
void generators_have_a_limit(void **state)
{
    (void)state;
    for (int n = 16; n <= 17; ++n) {
        adz_generator *generators[17];
        adz_module *m = adz_activation_checkpoint_new(draws_from(generators, n));
        adz_tensor *x = wanting(), *y = adz_module_forward(m, x);
        if (n == 16) {
            assert_int_equal(adz_backward(sum_of(y)), ADZ_OK);
            assert_true(alike(adz_mul(adz_tensor_grad(x), x), y, 1e-5));
        } else {
            assert_null(y);
            expect_error(ADZ_ERR_UNSUPPORTED, "the module draws from more than 16 generators");
        }
        for (int i = 0; i < n; ++i) {
            adz_generator_free(&generators[i]);
        }
        adz_module_release(&m);
    }
}

static int hooks_that_record, hooks_called;

static adz_tensor *note_recording(adz_tensor *grad, void *user)
{
    (void)user;
    ++hooks_called;
    hooks_that_record += adz_is_grad_enabled();
    return grad;
}

/* What runs after the checkpoint's backward is not recorded. */
void recording_ends_with_the_second_call(void **state)
{
    (void)state;
    adz_module *m = checkpoint(NULL);
    adz_tensor *x = wanting(), *h = adz_square(x);
    assert_true(adz_register_hook(h, note_recording, NULL) > 0);
    assert_true(adz_register_hook(x, note_recording, NULL) > 0);
    hooks_called = hooks_that_record = 0;
    assert_int_equal(adz_backward(sum_of(adz_module_forward(m, h))), ADZ_OK);
    assert_true(hooks_called == 2 && hooks_that_record == 0);
    assert_false(adz_tensor_requires_grad(adz_tensor_grad(x)));
    adz_module_release(&m);
}
