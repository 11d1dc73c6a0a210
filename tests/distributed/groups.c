/* Groups themselves: one rank without a transport, and transports that are refused. */
#include "ranks.h"

static void one_rank_alone(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_group *group = adz_group_single();
    assert_int_equal(adz_group_rank(group), 0);
    assert_int_equal(adz_group_size(group), 1);
    assert_string_equal(adz_group_name(group), "rank 0 of 1 (one process)");
    adz_tensor *t = numbers_of(0, ADZ_SHAPE(1, 7), ADZ_F32), *before = adz_clone(t);
    assert_int_equal(adz_group_all_reduce(group, t, ADZ_GROUP_MEAN), ADZ_OK);
    assert_int_equal(adz_group_broadcast(group, t, 0), ADZ_OK);
    assert_true(adz_equal(t, before));
    assert_true(adz_equal(adz_group_all_gather(group, t), adz_unsqueeze(before, 0)));
    assert_true(
        adz_equal(adz_group_reduce_scatter(group, t, ADZ_GROUP_SUM), adz_select(before, 0, 0)));
    assert_int_equal(adz_group_barrier(group), ADZ_OK);
    assert_int_equal(adz_group_agree(group, "x", "y"), ADZ_OK);
    assert_int_equal(adz_group_progress(group), ADZ_OK);
    assert_int_equal(adz_group_bytes_sent(group), 0);
    assert_int_equal(adz_group_broadcast(group, t, 1), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "source is 1; the group's ranks are 0 to 0");
    adz_tensor *rows = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32);
    assert_null(adz_group_reduce_scatter(group, rows, ADZ_GROUP_SUM));
    expect_error(ADZ_ERR_SHAPE, "its first size must be 1");
    assert_int_equal(adz_group_all_reduce(group, adz_ones(ADZ_SHAPE(3), ADZ_I64), ADZ_GROUP_MEAN),
        ADZ_ERR_DTYPE);
    expect_error(ADZ_ERR_DTYPE, "of which there is no mean");
    adz_tensor *wide = adz_expand(adz_ones(ADZ_SHAPE(1), ADZ_F32), ADZ_SHAPE(4));
    assert_int_equal(adz_group_all_reduce(group, wide, ADZ_GROUP_SUM), ADZ_ERR_INPLACE);
    expect_error(ADZ_ERR_INPLACE, "was expanded");
    adz_group_free(&group);
    assert_null(group);
    adz_group_free(&group);
    adz_group_free(NULL);
    adz_scope_close(scope);
}

/* A change in place raises the version, so that a backward which needs the old values fails. */
static void a_written_tensor_is_a_changed_one(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_group *group = adz_group_single();
    adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(3), ADZ_F32), true);
    adz_tensor *x = adz_ones(ADZ_SHAPE(3), ADZ_F32);
    adz_tensor *loss = adz_sum(adz_mul(w, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_group_all_reduce(group, x, ADZ_GROUP_SUM), ADZ_OK);
    assert_int_equal(adz_backward(loss), ADZ_ERR_VERSION);
    expect_error(ADZ_ERR_VERSION, "adz_group_all_reduce");
    assert_int_equal(adz_group_all_reduce(group, w, ADZ_GROUP_SUM), ADZ_ERR_INPLACE);
    expect_error(ADZ_ERR_INPLACE, "ADZ_NO_GRAD");
    adz_tensor *all = adz_group_all_gather(group, w); /* reads only */
    assert_false(adz_tensor_requires_grad(all));
    bool before = adz_set_grad_enabled(false);
    assert_int_equal(adz_group_broadcast(group, w, 0), ADZ_OK);
    adz_set_grad_enabled(before);
    adz_group_free(&group);
    adz_scope_close(scope);
}

static adz_status never_called(void *user, adz_request *request)
{
    (void)user;
    (void)request;
    return adz_error_set("transport", ADZ_ERR_IO, "was called");
}

static adz_status not_ready(void *user)
{
    return *(bool *)user ? adz_error_set("transport", ADZ_ERR_STATE, "the network is down")
                         : ADZ_OK;
}

static void transports_are_checked(void **state)
{
    (void)state;
    adz_transport t = { .size = sizeof t, .ranks = 2, .rank = 0, .wait = never_called };
    assert_null(adz_group_new(NULL, NULL));
    expect_error(ADZ_ERR_NULL, "adz_group_new: transport is NULL");
    assert_null(adz_group_new(&t, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "the transport's start_send is NULL");
    t.rank = 2;
    assert_null(adz_group_new(&t, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "rank is 2; with 2 ranks it is 0 to 1");
    t.ranks = 0;
    assert_null(adz_group_new(&t, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "ranks is 0");
    t.size = 0;
    assert_null(adz_group_new(&t, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "size is 0");
}

/* A transport that says it is not ready fails each collective, of one rank too. */
static void a_transport_that_is_not_ready(void **state)
{
    (void)state;
    bool down = false;
    const adz_transport t = { .size = sizeof t, .ranks = 1, .ready = not_ready };
    adz_group *group = adz_group_new(&t, &down);
    assert_int_equal(adz_group_barrier(group), ADZ_OK);
    down = true;
    assert_int_equal(adz_group_barrier(group), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "the network is down");
    down = false;
    assert_int_equal(adz_group_barrier(group), ADZ_OK);
    adz_group_free(&group);
}

static void an_aborted_group_says_why(void **state)
{
    (void)state;
    adz_group *group = adz_group_single();
    adz_error_set("the program", ADZ_ERR_NUMERIC, "the loss is NaN");
    adz_group_abort(group, 3, NULL);
    adz_error_clear();
    assert_int_equal(adz_group_barrier(group), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "the loss is NaN");
    adz_group_free(&group);
}

const struct CMUnitTest groups_tests[] = {
    cmocka_unit_test(one_rank_alone),
    cmocka_unit_test(a_written_tensor_is_a_changed_one),
    cmocka_unit_test(transports_are_checked),
    cmocka_unit_test(a_transport_that_is_not_ready),
    cmocka_unit_test(an_aborted_group_says_why),
};
const size_t n_groups_tests = sizeof groups_tests / sizeof *groups_tests;
