/* Matrix products in C: the order in which an element is summed, in blocks and in what is left of
 * them. */
#include "network.h"
#include "tests.h"

typedef struct {
    int64_t m, k, n;
} sizes;

static adz_tensor *right;

static adz_tensor *linear(adz_module *module, adz_tensor **in)
{
    (void)module;
    return adz_linear(in[0], right, ADZ_NONE);
}

static adz_tensor *product(adz_module *module, adz_tensor **in)
{
    (void)module;
    return adz_matmul(in[0], right);
}

/* Eight lanes along both rows, and what is left of them. */
static float in_lanes(const float *a, const float *b, int64_t k)
{
    float lane[8] = { 0 }, rest = 0;
    for (int64_t i = 0; i < k / 8 * 8; ++i) {
        lane[i % 8] += a[i] * b[i];
    }
    for (int64_t i = k / 8 * 8; i < k; ++i) {
        rest += a[i] * b[i];
    }
    return (((lane[0] + lane[4]) + (lane[2] + lane[6])) +
               ((lane[1] + lane[5]) + (lane[3] + lane[7]))) +
           rest;
}

/* In order, with the rows of b. */
static float in_order(const float *a, const float *b, const sizes *s)
{
    float sum = 0;
    for (int64_t i = 0; i < s->k; ++i) {
        sum += a[i] * b[i * s->n];
    }
    return sum;
}

static void compare(const sizes *s, bool lanes)
{
    adz_scope *scope = adz_scope_open();
    right = adz_randn(lanes ? ADZ_SHAPE(s->n, s->k) : ADZ_SHAPE(s->k, s->n), ADZ_F32);
    c_network n = { .in = { adz_randn(ADZ_SHAPE(s->m, s->k), ADZ_F32) },
        .n_in = 1,
        .call = lanes ? linear : product };
    if (write_network(&n, "product.c", NULL) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    const compiled c = compile("product", false);
    float *ours = malloc((size_t)(s->m * s->n) * sizeof *ours);
    call_run(&c, &n, ours);
    const float *a = adz_tensor_data_f32(n.in[0]), *b = adz_tensor_data_f32(right);
    for (int64_t i = 0; i < s->m; ++i) {
        for (int64_t j = 0; j < s->n; ++j) {
            const float y = lanes ? in_lanes(a + i * s->k, b + j * s->k, s->k)
                                  : in_order(a + i * s->k, b + j, s);
            if (memcmp(&ours[i * s->n + j], &y, sizeof y) != 0) {
                fail_msg("[%d, %d, %d]: y[%d, %d] is %.9g and not %.9g", (int)s->m, (int)s->k,
                    (int)s->n, (int)i, (int)j, (double)ours[i * s->n + j], (double)y);
            }
        }
    }
    free(ours);
    dlclose(c.library);
    adz_scope_close(scope);
}

/* The last ones are large enough for blocks of two rows and four columns. */
static void rows_are_summed_in_eight_lanes(void **state)
{
    (void)state;
    static const sizes shapes[] = { { 1, 20, 3 }, { 3, 8, 5 }, { 2, 7, 4 }, { 5, 405, 135 },
        { 2, 33000, 4 }, { 140, 61, 33 } };
    adz_manual_seed(19);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        compare(&shapes[i], true);
    }
}

static void terms_are_added_in_order(void **state)
{
    (void)state;
    static const sizes shapes[] = { { 1, 4, 3 }, { 3, 5, 6 }, { 1, 5, 6 }, { 2, 3, 5 }, { 2, 8, 9 },
        { 1, 1, 4 }, { 4, 11, 17 } };
    adz_manual_seed(20);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        compare(&shapes[i], false);
    }
}

int product_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_summed_in_eight_lanes),
        cmocka_unit_test(terms_are_added_in_order),
    };
    return cmocka_run_group_tests_name("c99: products", tests, temporary_begin, temporary_end);
}
