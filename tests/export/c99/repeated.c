/* Constants of equal rows are stored once (src/export/c99/repeat.c): the size of a file does not
 * grow with the number of rows, and views of such constants read what they read in the library. */
#include "batch.h"

/* [5, 4], known when the file is written. Its rows are equal. */
static adz_tensor *rows(void)
{
    adz_tensor *w = adz_reshape(adz_arange(-5, 7, 1, ADZ_F32), ADZ_SHAPE(3, 4));
    return adz_matmul(adz_ones(ADZ_SHAPE(5, 3), ADZ_F32), w);
}

/* [2, 5, 4], whose ten rows are equal. */
static adz_tensor *pages(void)
{
    adz_tensor *w = adz_reshape(adz_arange(-5, 7, 1, ADZ_F32), ADZ_SHAPE(3, 4));
    return adz_matmul(adz_ones(ADZ_SHAPE(2, 5, 3), ADZ_F32), w);
}

/* [4, 6], whose halves are equal and not all rows. */
static adz_tensor *halves(void)
{
    adz_tensor *w = adz_reshape(adz_arange(-5, 7, 1, ADZ_F32), ADZ_SHAPE(2, 6));
    adz_tensor *pick =
        adz_tensor_from((float[]){ 1, 0, 0, 1, 1, 0, 0, 1 }, ADZ_SHAPE(4, 2), ADZ_F32);
    return adz_matmul(pick, w);
}

static adz_tensor *flat(adz_tensor *x)
{
    return adz_reshape(x, ADZ_SHAPE(-1));
}

CASE(whole, adz_mul(x, rows()))
CASE(turned, adz_mul(adz_transpose(x, 0, 1), adz_transpose(rows(), 0, 1)))
CASE(some_rows, adz_mul(adz_slice(x, 0, 1, 4, 1), adz_slice(rows(), 0, 2, 5, 1)))
CASE(each_second, adz_mul(adz_slice(x, 0, 0, 5, 2), adz_slice(rows(), 0, 0, 5, 2)))
CASE(some_columns, adz_mul(adz_narrow(x, 1, 1, 2), adz_narrow(rows(), 1, 2, 2)))
CASE(one_row, adz_mul(adz_select(x, 0, 3), adz_select(rows(), 0, 4)))
CASE(one_column, adz_mul(adz_select(x, 1, 3), adz_select(rows(), 1, 2)))
CASE(as_a_list, adz_mul(flat(x), flat(rows())))
CASE(right_factor, adz_matmul(x, adz_transpose(rows(), 0, 1)))
CASE(left_factor, adz_matmul(adz_transpose(rows(), 0, 1), x))
CASE(summed, adz_sum(adz_mul(x, rows()), ADZ_DIMS(0), ADZ_DROPDIM))
CASE(joined, adz_cat((adz_tensor *[]){ x, rows() }, 2, 0))
CASE(normalised, adz_softmax(adz_add(x, rows()), 1))
CASE(counted_up, adz_mul(x, adz_cumsum(rows(), 0)))
CASE(of_pages, adz_mul(x, pages()))
CASE(pages_turned, adz_mul(adz_transpose(x, 0, 1), adz_permute(pages(), ADZ_DIMS(2, 0, 1))))
CASE(of_halves, adz_mul(adz_reshape(adz_narrow(flat(x), 0, 0, 4), ADZ_SHAPE(4, 1)), halves()))
CASE(pages_as_rows,
    adz_mul(adz_reshape(pages(), ADZ_SHAPE(10, 4)), adz_cat((adz_tensor *[]){ x, x }, 2, 0)))

/* One constant, which two views read. The list cannot be read from one row. */
static adz_tensor *both(adz_tensor *x, adz_tensor *z)
{
    (void)z;
    adz_tensor *c = rows();
    return adz_add(flat(adz_mul(x, c)), adz_mul(flat(x), flat(c)));
}

static const batch_case cases[] = { ROW(whole), ROW(turned), ROW(some_rows), ROW(each_second),
    ROW(some_columns), ROW(one_row), ROW(one_column), ROW(as_a_list), ROW(right_factor),
    ROW(left_factor), ROW(summed), ROW(joined), ROW(normalised), ROW(counted_up), ROW(of_pages),
    ROW(of_halves), ROW(pages_as_rows), ROW(both) };

static void views_of_equal_rows(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(2);
    CHECK_BATCH(cases, adz_randn(ADZ_SHAPE(5, 4), ADZ_F32), NULL, 1e-6);
    const batch_case square[] = { ROW(pages_turned) };
    CHECK_BATCH(square, adz_randn(ADZ_SHAPE(5, 2), ADZ_F32), NULL, 1e-6);
    adz_scope_close(scope);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

typedef struct law {
    adz_module *net;
    adz_tensor *strain;
} law;

static adz_tensor *stress(adz_tensor *strain, void *net)
{
    return adz_module_forward(net, strain);
}

static adz_status tangent(adz_tensor **results, void *user)
{
    law *l = user;
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.results = results;
    results[1] = adz_jacobian_rows(stress, l->net, l->strain, &o);
    return adz_error_code();
}

/* The number behind `name` in a header. */
static long announced(const char *path, const char *name)
{
    size_t bytes;
    char *text = (char *)read_file(path, &bytes);
    text[bytes] = '\0';
    const char *at = strstr(text, name);
    const long number = at != NULL ? strtol(at + strlen(name), NULL, 10) : -1;
    free(text);
    return number;
}

static size_t size_of(const char *path)
{
    size_t bytes;
    free(read_file(path, &bytes));
    return bytes;
}

/* Only buffers, and the bounds of loops, depend on the number of rows. */
static void a_law_of_many_rows_is_no_larger(void **state)
{
    (void)state;
    const int64_t n_rows[] = { 1, 2, 7, 64 };
    long weights[4];
    size_t text[4];
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(4);
    law l = { ADZ_SEQUENTIAL(adz_linear_new(6, 16, NULL), adz_tanh_new(),
                  adz_linear_new(16, 16, NULL), adz_tanh_new(), adz_linear_new(16, 6, NULL)),
        NULL };
    adz_module_to(l.net, ADZ_F64);
    for (int i = 0; i < 4; ++i) {
        l.strain = adz_randn(ADZ_SHAPE(n_rows[i], 6), ADZ_F64);
        adz_plan_options o = ADZ_PLAN_OPTIONS;
        o.inputs = adz_tensor_list_of(&l.strain, 1);
        o.module = l.net;
        adz_plan *plan = adz_plan_new_many(tangent, &l, 2, &o);
        adz_c_options c = ADZ_C_OPTIONS;
        c.precision = ADZ_F64;
        assert_int_equal(adz_plan_write_c(plan, temporary_path("law.c"), &c), ADZ_OK);
        adz_plan_free(&plan);
        weights[i] = announced(temporary_path("law.h"), "LAW_WEIGHTS_BYTES ");
        text[i] = size_of(temporary_path("law.c"));
        assert_true(weights[i] > 0);
    }
    adz_tensor *results[2] = { NULL, NULL }, *ours[2];
    assert_int_equal(tangent(results, &l), ADZ_OK);
    void *library = compile_batch();
    void (*run)(const void *x, void *y, void *dydx);
    *(void **)(void *)&run = dlsym(library, "law_run");
    for (int k = 0; k < 2; ++k) {
        ours[k] = adz_full_like(results[k], 7);
    }
    run(adz_tensor_data(l.strain), adz_tensor_data(ours[0]), adz_tensor_data(ours[1]));
    for (int k = 0; k < 2; ++k) {
        assert_true(adz_item(adz_amax(
                        adz_abs(adz_sub(ours[k], results[k])), ADZ_ALL_DIMS, ADZ_DROPDIM)) < 1e-13);
    }
    dlclose(library);
    for (int i = 1; i < 4; ++i) {
        assert_int_equal(weights[i], weights[0]);
        assert_true(text[i] < text[0] + 4000); /* some more loops */
    }
    temporary_files(true);
    adz_module_release(&l.net);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_of_equal_rows),
        cmocka_unit_test(a_law_of_many_rows_is_no_larger),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
