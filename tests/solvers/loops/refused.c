/* Loops that must fail, with messages that name what is wrong and in which step. */
#include "solvers/loops/loops.h"

static void arguments_are_checked(void **state)
{
    (void)state;
    cell c = cell_new(1, ADZ_F32);
    adz_tensor *h = adz_ones(ADZ_SHAPE(1, WIDTH), ADZ_F32), *found[2] = { h, h };
    adz_tensor *xs[2] = { adz_ones(ADZ_SHAPE(4, 1, WIDTH), ADZ_F32),
        adz_ones(ADZ_SHAPE(3, 1), ADZ_F32) };
    adz_scan_options o = ADZ_SCAN_OPTIONS;
    assert_int_equal(adz_scan(NULL, &c, &h, 1, xs, 1, 1, NULL, found), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "adz_scan: body is NULL");
    adz_scan(cell_step, &c, &h, 1, xs, 1, 1, NULL, NULL);
    expect_error(ADZ_ERR_NULL, "results is NULL");
    adz_scan(cell_step, &c, NULL, 1, xs, 1, 1, NULL, found);
    expect_error(ADZ_ERR_NULL, "carries is NULL");
    adz_scan(cell_step, &c, &h, 1, xs, 2, 1, NULL, found);
    expect_error(
        ADZ_ERR_SHAPE, "input 1 is [3, 1], which gives 3 steps, and the input before gives 4");
    o.length = 5;
    adz_scan(cell_step, &c, &h, 1, xs, 1, 1, &o, found);
    expect_error(ADZ_ERR_SHAPE, "gives 4 steps, and the option length gives 5");
    adz_scan(cell_step, &c, &h, 1, NULL, 0, 1, NULL, found);
    expect_error(ADZ_ERR_ARGUMENT, "the option length has to say");
    o.length = -2;
    adz_scan(cell_step, &c, &h, 1, xs, 1, 1, &o, found);
    expect_error(ADZ_ERR_ARGUMENT, "length is -2");
    adz_scan(cell_step, &c, NULL, 0, xs, 1, 0, NULL, found);
    expect_error(ADZ_ERR_ARGUMENT, "0 carries and 0 results");
    xs[0] = adz_scalar(1, ADZ_F32);
    adz_scan(cell_step, &c, &h, 1, xs, 1, 1, NULL, found);
    expect_error(ADZ_ERR_SHAPE, "input 0 is a scalar");
    xs[0] = ADZ_NONE;
    adz_scan(cell_step, &c, &h, 1, xs, 1, 1, NULL, found);
    expect_error(ADZ_ERR_ARGUMENT, "inputs is not optional: ADZ_NONE was given");
    assert_true(found[0] == h && found[1] == h);
}

enum { OTHER_SHAPE, OTHER_DTYPE, OTHER_RESULT, NOTHING, SILENCE, MISMATCH };

/* What a body does wrong, from step `from` on. */
typedef struct fault {
    int kind;
    int64_t from, step;
} fault;

static adz_status faulty(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    fault *f = user;
    const bool wrong = f->step++ >= f->from;
    results[0] = adz_tanh(inputs[0]);
    results[1] = results[0];
    if (!wrong) {
        return ADZ_OK;
    }
    switch (f->kind) {
    case OTHER_SHAPE:
        results[0] = adz_ones(ADZ_SHAPE(3), ADZ_F32);
        break;
    case OTHER_DTYPE:
        results[0] = adz_to(results[0], ADZ_F64);
        break;
    case OTHER_RESULT:
        results[1] = adz_ones(ADZ_SHAPE(4), ADZ_F32);
        break;
    case NOTHING:
        results[1] = NULL;
        break;
    case SILENCE:
        return ADZ_ERR_CANCELLED;
    default:
        results[0] = adz_matmul(inputs[0], adz_ones(ADZ_SHAPE(7, 7), ADZ_F32));
        return adz_error_code();
    }
    return ADZ_OK;
}

static void faults_of_a_body_name_the_step(void **state)
{
    (void)state;
    static const struct {
        adz_status code;
        const char *text;
    } wanted[] = {
        { ADZ_ERR_SHAPE,
            "adz_scan: the body gave float32[3] for carry 0 in step 17, and got float32[2]" },
        { ADZ_ERR_DTYPE,
            "adz_scan: the body gave float64[2] for carry 0 in step 17, and got float32[2]" },
        { ADZ_ERR_SHAPE,
            "step 17 of adz_scan: the body: result 0 is float32[4], and was float32[2]" },
        { ADZ_ERR_NULL, "adz_scan: the body gave NULL for result 0 in step 17" },
        { ADZ_ERR_CANCELLED, "step 17 of adz_scan: adz_scan: the body failed" },
        { ADZ_ERR_SHAPE, "step 17 of adz_scan: matmul" },
    };
    adz_scan_options o = ADZ_SCAN_OPTIONS;
    o.length = 20;
    for (int recorded = 0; recorded < 2; ++recorded) {
        for (int kind = OTHER_SHAPE; kind <= MISMATCH; ++kind) {
            fault f = { kind, 17, 0 };
            adz_tensor *x = adz_ones(ADZ_SHAPE(2), ADZ_F32), *found[2] = { x, x };
            const bool before = adz_set_grad_enabled(recorded);
            assert_int_equal(adz_scan(faulty, &f, &x, 1, NULL, 0, 1, &o, found), wanted[kind].code);
            expect_error(wanted[kind].code, wanted[kind].text);
            adz_set_grad_enabled(before);
            assert_int_equal(f.step, 18);
            assert_true(found[0] == x && found[1] == x);
        }
    }
}

static adz_tensor *endless(adz_tensor *const *carries, void *user)
{
    (void)user;
    return adz_ones_like(carries[0]);
}

static void while_loops_are_checked(void **state)
{
    (void)state;
    fault f = { OTHER_SHAPE, 2, 0 };
    adz_tensor *x = adz_ones(ADZ_SHAPE(1), ADZ_F32), *two = adz_ones(ADZ_SHAPE(2), ADZ_F32),
               *found = x;
    adz_while(NULL, faulty, &f, &x, 1, 3, &found, NULL, NULL);
    expect_error(ADZ_ERR_NULL, "adz_while: condition is NULL");
    adz_while(endless, faulty, &f, &x, 0, 3, &found, NULL, NULL);
    expect_error(ADZ_ERR_ARGUMENT, "0 carries; 1 to");
    adz_while(endless, faulty, &f, &x, 1, -1, &found, NULL, NULL);
    expect_error(ADZ_ERR_ARGUMENT, "max_iterations is -1");
    adz_while(endless, faulty, &f, &two, 1, 3, &found, NULL, NULL);
    expect_error(ADZ_ERR_ARGUMENT, "step 0 of adz_while: adz_while: the condition is [2]");
    assert_ptr_equal(found, x);
}

static void branches_are_checked(void **state)
{
    (void)state;
    fault f = { NOTHING, 0, 0 };
    adz_tensor *x = adz_ones(ADZ_SHAPE(2), ADZ_F32), *found[2] = { x, x };
    adz_tensor *yes = adz_scalar(1, ADZ_BOOL);
    adz_branch(x, faulty, faulty, &f, &x, 1, 2, found);
    expect_error(ADZ_ERR_ARGUMENT, "adz_branch: the predicate is [2], and must have one element");
    adz_branch(yes, faulty, NULL, &f, &x, 1, 2, found);
    expect_error(ADZ_ERR_NULL, "a body is NULL");
    adz_branch(yes, faulty, faulty, &f, &x, 1, 0, found);
    expect_error(ADZ_ERR_ARGUMENT, "0 results; 1 to");
    adz_branch(yes, faulty, faulty, &f, &x, 1, 2, found);
    expect_error(ADZ_ERR_NULL, "the body gave NULL for result 1");
    assert_true(found[0] == x && found[1] == x);
}

const struct CMUnitTest loops_refused[N_LOOPS_REFUSED] = {
    TEST(arguments_are_checked),
    TEST(faults_of_a_body_name_the_step),
    TEST(while_loops_are_checked),
    TEST(branches_are_checked),
};
