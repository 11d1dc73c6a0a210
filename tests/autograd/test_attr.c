/* Tables of fields: how attributes are printed, compared and copied, and where calls are named by
 * them. */
#include "autograd/attr.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "base/alloc.h"
#include "base/error.h"

typedef enum { RED, GREEN, BLUE } colour;

/* A field of every kind, with padding between them and at the end. */
typedef struct {
    bool flag;
    int number;
    bool flags[3];
    int64_t large;
    uint64_t seed;
    double factor;
    unsigned mask;
    colour paint;
    int n;
    int64_t sizes[4];
    double weights[2];
    bool last;
} everything;

static const char *const colours[] = { "red", "green", NULL };

static const adz_field fields[] = {
    ADZI_FIELD(everything, flag),
    ADZI_FIELD(everything, number),
    ADZI_FIELD(everything, flags),
    ADZI_FIELD_NAMED(everything, large, "size"),
    ADZI_FIELD_HIDDEN(everything, seed),
    ADZI_FIELD(everything, factor),
    ADZI_FIELD_MASK(everything, mask, "dim"),
    ADZI_FIELD_ENUM(everything, paint, colours),
    ADZI_FIELD_LIST(everything, n, sizes),
    ADZI_FIELD(everything, weights),
    ADZI_FIELD(everything, last),
};

static const adz_operator op = { .name = "op", ADZI_FIELDS(fields) };

static const everything sample = { .flag = true,
    .number = -3,
    .flags = { true, false, true },
    .large = INT64_MIN,
    .seed = UINT64_MAX,
    .factor = 0.1,
    .mask = 1u << 0 | 1u << 2,
    .paint = GREEN,
    .n = 2,
    .sizes = { 5, -1, 7, 8 },
    .weights = { 0.5, -INFINITY },
    .last = false };

static void expect_print(const adz_operator *o, const void *attr, const char *expected)
{
    adzi_text text = { 0 };
    adzi_attr_print(&text, o, attr);
    assert_string_equal(adzi_text_get(&text), expected);
    adzi_text_free(&text);
}

static void every_kind_is_printed(void **state)
{
    (void)state;
    expect_print(&op, &sample,
        "op(flag=True, number=-3, flags=[True, False, True], size=-9223372036854775808, factor=0.1, dim=[0, 2], paint=green, sizes=[5, -1], weights=[0.5, -inf], last=False)");
    everything other = sample;
    other.mask = 0;
    other.n = 0;
    other.paint = BLUE; /* a value that has no name */
    expect_print(&op, &other,
        "op(flag=True, number=-3, flags=[True, False, True], size=-9223372036854775808, factor=0.1, dim=[], paint=2, sizes=[], weights=[0.5, -inf], last=False)");
}

static void an_operator_without_shown_fields_has_no_parentheses(void **state)
{
    (void)state;
    static const adz_field seed[] = { ADZI_FIELD_HIDDEN(everything, seed) };
    static const adz_operator hidden = { .name = "hidden", ADZI_FIELDS(seed) };
    static const adz_operator plain = { .name = "plain" };
    static const adz_operator old = {
        .size = offsetof(adz_operator, fields), .name = "old", ADZI_FIELDS(fields)
    };
    expect_print(&hidden, &sample, "hidden");
    expect_print(&plain, NULL, "plain");
    expect_print(&old, &sample, "old"); /* the struct of this operator ends before the fields */
}

/* A length that is outside its array counts as the nearest valid length. */
static void a_length_is_held_inside_the_array(void **state)
{
    (void)state;
    static const adz_field list[] = { ADZI_FIELD_LIST(everything, n, sizes) };
    static const adz_operator lists = { .name = "lists", ADZI_FIELDS(list) };
    everything wrong = sample;
    wrong.n = 99;
    expect_print(&lists, &wrong, "lists(sizes=[5, -1, 7, 8])");
    wrong.n = -99;
    expect_print(&lists, &wrong, "lists(sizes=[])");
}

static void doubles_are_the_shortest_that_read_back(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = { { 0, "0" }, { -0.0, "-0" }, { 1, "1" }, { 0.1, "0.1" }, { 1e-5, "1e-05" },
        { 1.0 / 3, "0.3333333333333333" }, { 0.1 + 0.2, "0.30000000000000004" }, { 1e22, "1e+22" },
        { 123456789, "123456789" }, { 5e-324, "5e-324" },
        { 1.7976931348623157e308, "1.7976931348623157e+308" }, { INFINITY, "inf" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_string_equal(adzi_text_exact(cases[i].value), cases[i].text);
    }
    assert_non_null(strstr(adzi_text_exact(NAN), "nan"));
}

/* Every byte of the struct, fields and padding alike, is tried. */
static void fields_alone_are_compared(void **state)
{
    (void)state;
    everything a = sample, b;
    bool counts[sizeof a] = { false };
    for (size_t i = 0; i < op.n_fields; ++i) {
        const size_t used = strcmp(fields[i].name, "sizes") == 0 ? 2 : fields[i].count;
        const size_t bytes = adzi_field_size(fields[i].kind) * (used > 0 ? used : 1);
        memset(counts + fields[i].offset, true, bytes);
    }
    for (size_t i = 0; i < sizeof a; ++i) {
        memcpy(&b, &a, sizeof b);
        assert_true(adzi_attr_equal(&op, &a, &b));
        ((unsigned char *)&b)[i] ^= 1;
        assert_int_equal(adzi_attr_equal(&op, &a, &b), !counts[i]);
    }
    memcpy(&b, &a, sizeof b);
    a.factor = b.factor = NAN;
    assert_true(adzi_attr_equal(&op, &a, &b));
    a.factor = 0;
    b.factor = -0.0; /* it differs from 0 in its bits, and 1 / x is the other infinity */
    assert_false(adzi_attr_equal(&op, &a, &b));
}

static void a_copy_has_zeros_between_the_fields(void **state)
{
    (void)state;
    everything from, copies[2];
    for (int k = 0; k < 2; ++k) {
        memset(&from, k == 0 ? 0 : 0xff, sizeof from);
        from.flag = true;
        from.number = 7;
        memset(from.flags, 0, sizeof from.flags);
        from.large = 1;
        from.seed = 2;
        from.factor = 3;
        from.mask = 4;
        from.paint = RED;
        from.n = 1;
        from.sizes[0] = 9;
        from.weights[0] = from.weights[1] = 5;
        from.last = true;
        memset(&copies[k], 0x55, sizeof copies[k]);
        adzi_attr_copy(&op, &copies[k], &from, sizeof copies[k]);
        assert_true(adzi_attr_equal(&op, &copies[k], &from));
    }
    assert_memory_equal(&copies[0], &copies[1], sizeof copies[0]);
    assert_int_equal(copies[1].sizes[1], 0);
}

typedef struct {
    int n;
    int64_t widths[];
} with_tail;

static void a_flexible_array_ends_where_its_length_says(void **state)
{
    (void)state;
    static const adz_field tail[] = { ADZI_FIELD_TAIL(with_tail, n, widths) };
    static const adz_operator tailed = { .name = "tailed", ADZI_FIELDS(tail) };
    const size_t size = sizeof(with_tail) + 3 * sizeof(int64_t);
    with_tail *a = calloc(1, size), *b = calloc(1, size);
    a->n = 3;
    a->widths[0] = 4;
    a->widths[2] = 6;
    adzi_attr_copy(&tailed, b, a, size);
    assert_memory_equal(a, b, size);
    assert_true(adzi_attr_equal(&tailed, a, b));
    b->widths[2] = 7;
    assert_false(adzi_attr_equal(&tailed, a, b));
    expect_print(&tailed, a, "tailed");
    assert_null(adzi_attr_beyond(&tailed, a, size));
    assert_non_null(adzi_attr_beyond(&tailed, a, size - 1));
    free(a);
    free(b);
}

static void a_field_beyond_the_attributes_is_found(void **state)
{
    (void)state;
    assert_null(adzi_attr_beyond(&op, &sample, sizeof sample));
    assert_ptr_equal(
        adzi_attr_beyond(&op, &sample, offsetof(everything, last)), &fields[op.n_fields - 1]);
    assert_ptr_equal(adzi_attr_beyond(&op, &sample, 0), &fields[0]);
    static const adz_field far_off = {
        .name = "x", .kind = ADZ_FIELD_F64, .offset = SIZE_MAX - 2, .count = SIZE_MAX / 4
    };
    static const adz_operator wrong = { .name = "wrong", .fields = &far_off, .n_fields = 1 };
    assert_non_null(adzi_attr_beyond(&wrong, &sample, sizeof sample));
}

static void the_name_stands_alone_if_memory_is_refused(void **state)
{
    (void)state;
    adzi_text text = { 0 };
    adzi_alloc_fail_at(1);
    assert_string_equal(adzi_attr_text(&text, &op, &sample), "op");
    adzi_alloc_fail_at(0);
    adzi_text_free(&text);
    assert_int_equal(adz_error_code(), ADZ_OK);
    assert_non_null(strstr(adzi_attr_text(&text, &op, &sample), "op(flag=True"));
    adzi_text_free(&text);
}

/* ---- where calls are named ------------------------------------------------------------------- */

static adz_tensor *leaf(double value)
{
    return adz_requires_grad_(adz_full(ADZ_SHAPE(2, 3), value, ADZ_F64), true);
}

static void graphs_show_attributes(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = adz_softmax(adz_clamp(leaf(1), 0, INFINITY), 1);
    y = adz_permute(adz_pad(y, (int64_t[]){ 1, -1 }, 2, 0.5), ADZ_DIMS(1, 0));
    y = adz_mse_loss(y, adz_zeros_like(y), ADZ_REDUCE_NONE);
    y = adz_amax(y, ADZ_DIMS(-1), ADZ_KEEPDIM);
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_int_equal(adz_graph_dot(y, stream), ADZ_OK);
    fclose(stream);
    static const char *const labels[] = { "\"clamp(min=0, max=inf)\\n[2, 3]\"",
        "\"softmax(dim=1)\\n[2, 3]\"", "\"pad(pad=[1, -1], value=0.5)\\n[2, 3]\"",
        "\"permute(dims=[1, 0])\\n[3, 2]\"", "\"mse_loss(reduction=none)\\n[3, 2]\"",
        "\"amax(dim=[1], keepdim=True)\\n[3, 1]\"" };
    for (size_t i = 0; i < sizeof labels / sizeof *labels; ++i) {
        if (strstr(text, labels[i]) == NULL) {
            fail_msg("no label=%s in\n%s", labels[i], text);
        }
    }
    free(text);
    adz_scope_close(scope);
}

static void expect_message(adz_status code, const char *says)
{
    assert_int_equal(adz_error_code(), code);
    if (strstr(adz_error_message(), says) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", says, adz_error_message());
    }
    adz_error_clear();
}

static void the_anomaly_report_shows_attributes(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = adz_sum(adz_pow_number(leaf(0), 0.5), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_set_anomaly_enabled(true);
    assert_int_equal(adz_backward(y), ADZ_ERR_NUMERIC);
    adz_set_anomaly_enabled(false);
    expect_message(ADZ_ERR_NUMERIC,
        "pow_number: the backward of pow_number(exponent=0.5) made NaN or infinity in the gradient of input 0");
    adz_scope_close(scope);
}

static void a_changed_value_names_the_call_that_needs_it(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = adz_softmax(leaf(1), 0);
    adz_tensor *sum = adz_sum(adz_mul_(y, adz_scalar(2, ADZ_F64)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_backward(sum), ADZ_ERR_VERSION);
    expect_message(ADZ_ERR_VERSION,
        "softmax: result 0 is needed for the gradient of softmax(dim=0) but was changed in place by mul since");
    adz_scope_close(scope);
}

/* Memory is refused to every request of a backward in turn. The error is that of an inner call, and
 * names the call whose backward made it. */
static void errors_inside_a_backward_name_its_call(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = true; /* the backward runs as an expression */
    int named = 0;
    for (int64_t n = 1, done = 0; !done; ++n) {
        adz_scope *inner = adz_scope_open();
        adz_tensor *x = leaf(1), *dx = NULL, *up = adz_scalar(1, ADZ_F64);
        adz_tensor *y = adz_sum(adz_log_softmax(x, 1), ADZ_ALL_DIMS, ADZ_DROPDIM);
        adzi_alloc_fail_at(n);
        const adz_status status = adz_autograd_grad(&y, &up, 1, &x, 1, &o, &dx);
        done = !adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        assert_int_equal(status, done ? ADZ_OK : ADZ_ERR_MEMORY);
        named += strstr(adz_error_message(), " (in the backward of log_softmax(dim=1))") != NULL;
        adz_error_clear();
        adz_scope_close(inner);
    }
    assert_true(named > 0);
    adz_scope_close(scope);
}

/* Printers of exports read the fields by the names in the table. */
static void fields_are_read_by_name(void **state)
{
    (void)state;
    int64_t values[4] = { 0 };
    assert_int_equal(adzi_attr_whole(&op, &sample, "flag"), 1);
    assert_int_equal(adzi_attr_whole(&op, &sample, "number"), -3);
    assert_true(adzi_attr_whole(&op, &sample, "size") == INT64_MIN);
    assert_int_equal(adzi_attr_whole(&op, &sample, "dim"), (int)sample.mask);
    assert_int_equal(adzi_attr_whole(&op, &sample, "missing"), 0);
    assert_true(adzi_attr_number(&op, &sample, "factor") == sample.factor);
    assert_true(adzi_attr_number(&op, &sample, "number") == 0);
    assert_int_equal(adzi_attr_list(&op, &sample, "sizes", values, 4), sample.n);
    assert_true(values[0] == sample.sizes[0]);
    assert_int_equal(adzi_attr_list(&op, &sample, "sizes", values, 1), 1);
    assert_int_equal(adzi_attr_list(&op, &sample, "flags", values, 4), 3);
    assert_true(values[0] == 1 && values[1] == 0 && values[2] == 1);
    assert_int_equal(adzi_attr_list(&op, &sample, "number", values, 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_read_by_name),
        cmocka_unit_test(every_kind_is_printed),
        cmocka_unit_test(an_operator_without_shown_fields_has_no_parentheses),
        cmocka_unit_test(a_length_is_held_inside_the_array),
        cmocka_unit_test(doubles_are_the_shortest_that_read_back),
        cmocka_unit_test(fields_alone_are_compared),
        cmocka_unit_test(a_copy_has_zeros_between_the_fields),
        cmocka_unit_test(a_flexible_array_ends_where_its_length_says),
        cmocka_unit_test(a_field_beyond_the_attributes_is_found),
        cmocka_unit_test(the_name_stands_alone_if_memory_is_refused),
        cmocka_unit_test(graphs_show_attributes),
        cmocka_unit_test(the_anomaly_report_shows_attributes),
        cmocka_unit_test(a_changed_value_names_the_call_that_needs_it),
        cmocka_unit_test(errors_inside_a_backward_name_its_call),
    };
    return cmocka_run_group_tests_name("attributes", tests, NULL, NULL);
}
