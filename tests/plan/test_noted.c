/* What a captured call notes of arguments, values of the host and buffers
 * (src/plan/captured_call.c). The tests call the functions of the capture by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "values.h"
#include "errors.h"

/* ---- arguments of operators ------------------------------------------------------------------ */

static void arguments_are_told_apart(void **state)
{
    (void)state;
    adz_plan plan;
    by_hand_begin(&plan);
    store_all(&plan);
    adz_tensor t[] = {
        view(ADDRESS(0x8000), ADZ_F32, 1, 2, 1), /* outside */
        view(ADDRESS(0x8000), ADZ_F64, 1, 2, 1),
        view(ADDRESS(0x8000), ADZ_F32, 2, 2, 1),
        view(ADDRESS(0x8000), ADZ_F32, 1, 3, 1),
        view(ADDRESS(0x8000), ADZ_F32, 1, 2, 3),
        view(TENSOR + HEADER, ADZ_F32, 1, 2, 1),
        view(TENSOR + HEADER, ADZ_F32, 1, 2, 1),
    };
    enum { COUNT = sizeof t / sizeof *t };
    t[6].data += 8; /* an offset in its storage */
    adz_tensor *in[COUNT + 1] = { &adzi_none };
    for (int i = 0; i < COUNT; ++i) {
        in[i + 1] = &t[i];
    }
    adzi_capture *capture = &plan.capture;
    capture->entered(capture, "operator", in, COUNT + 1);
    const adzi_plan_argument *a = plan.current->arguments;
    assert_int_equal(plan.current->n_arguments, COUNT);
    assert_string_equal(capture->op, "operator");
    for (size_t i = 0; i < COUNT; ++i) {
        assert_string_equal(a[i].op, "operator");
        for (size_t k = 0; k < i; ++k) {
            assert_true((a[i].what == a[k].what) == ((i < 5) == (k < 5)));
            assert_true(a[i].layout != a[k].layout || (k == 0 && i == 5));
        }
    }
    assert_true(a[0].what == (uintptr_t)ADDRESS(0x8000));
    assert_int_equal(a[5].what, 3); /* the second block that kernels use */
    adz_tensor odd = view(ADDRESS(0x8001), ADZ_BOOL, 1, 2, 1), *odds[] = { &odd };
    capture->entered(capture, "operator", odds, 1);
    assert_true(plan.current->arguments[COUNT].what == (uintptr_t)ADDRESS(0x8000));
    by_hand_end(&plan);
}

/* ---- values of the host ---------------------------------------------------------------------- */

static void numbers_and_source_lines(void **state)
{
    (void)state;
    adz_plan plan;
    by_hand_begin(&plan);
    adzi_capture *capture = &plan.capture;
    capture->number(capture, 0.5);
    BY_HAND_LAUNCH(&plan, 1);
    capture->sited(capture, "a.c", 7);
    BY_HAND_LAUNCH(&plan, 1);
    BY_HAND_LAUNCH(&plan, 1);
    capture->op = "second";
    capture->number(capture, 2);
    capture->sited(capture, "b.c", 8);
    BY_HAND_LAUNCH(&plan, 1);
    const adzi_captured_call *c = plan.current;
    assert_true(c->n_numbers == 2 && c->numbers[0].value == 0.5 && c->numbers[1].value == 2);
    assert_true(c->numbers[0].launch == 0 && c->numbers[1].launch == 3);
    assert_string_equal(c->numbers[0].op, "begin");
    assert_string_equal(c->numbers[1].op, "second");
    const char *const files[] = { "a.c", "b.c", "b.c" };
    for (int i = 0; i < 3; ++i) {
        assert_string_equal(c->launches[i].file, files[i]);
        assert_int_equal(c->launches[i].line, i == 0 ? 7 : 8);
    }
    assert_null(c->launches[3].file);
    by_hand_end(&plan);
}

static void what_the_host_may_use_and_read(void **state)
{
    (void)state;
    adz_plan plan;
    by_hand_begin(&plan);
    store_all(&plan);
    adzi_capture *capture = &plan.capture;
    adz_tensor outside = view(ADDRESS(0x8000), ADZ_F32, 1, 2, 1), computed = outside,
               made = view(WORKING, ADZ_F32, 1, 2, 1), empty = outside;
    computed = view(TENSOR + HEADER, ADZ_F32, 1, 2, 1);
    empty.numel = 0;
    outside.storage->version = 5;
    BY_HAND_LAUNCH(&plan, (uintptr_t)TENSOR + HEADER);
    adzi_captured_call *c = plan.current;
    assert_true(capture->computed(capture, &computed) && capture->computed(capture, &empty));
    assert_false(capture->computed(capture, &outside) || capture->computed(capture, &made));
    assert_false(capture->host_may_use(capture, &outside));
    assert_false(capture->host_may_use(capture, &computed));
    assert_false(capture->host_may_read(capture, &computed));
    assert_int_equal(c->n_seen, 0);
    assert_true(capture->host_may_read(capture, &outside));
    assert_true(c->n_seen == 1 && c->seen[0].storage == outside.storage && c->seen[0].version == 5);
    made.refs = 1; /* a constant is kept */
    assert_true(capture->host_may_use(capture, &made) && made.refs == 2 && c->n_constants == 1);
    BY_HAND_LAUNCH(&plan, (uintptr_t)WORKING);
    assert_true(capture->host_may_use(capture, &made) && capture->host_may_read(capture, &made));
    assert_false(capture->computed(capture, &made));
    assert_true(c->n_constants == 1 && c->n_seen == 1);
    capture->written(capture, &outside);
    capture->written(capture, &outside);
    capture->written(capture, &computed);
    assert_true(c->n_written == 2 && c->written[0] == outside.storage && c->why == NULL);
    assert_false(capture->host_may_read(capture, &outside));
    assert_true(c->n_seen == 1);
    capture->written(capture, &made);
    assert_non_null(strstr(c->why, "it changes elements that the host has written"));
    by_hand_end(&plan);
    assert_true(made.refs == 1);
}

/* Storages and gradients that end with the call are forgotten, up to the border of their block. */
static void what_ends_is_forgotten(void **state)
{
    (void)state;
    adz_plan plan;
    by_hand_begin(&plan);
    adzi_capture *capture = &plan.capture;
    static struct {
        adzi_storage storages[5];
        adzi_gradient gradients[5];
    } all;
    for (int i = 0; i < 5; ++i) {
        adz_tensor t = view(ADDRESS(0x8000), ADZ_F32, 1, 2, 1);
        t.storage = &all.storages[i];
        t.storage->data = ADDRESS(0x8000);
        assert_true(capture->host_may_read(capture, &t));
        capture->written(capture, &t);
        capture->gradient(capture, &all.gradients[i]);
        capture->gradient(capture, &all.gradients[i]); /* once each */
    }
    adzi_captured_call *c = plan.current;
    assert_true(c->n_seen == 5 && c->n_written == 5 && c->n_gradients == 5);
    capture->freed(capture, (char *)&all.storages[1], 2 * sizeof *all.storages);
    capture->freed(capture, (char *)&all.gradients[1], 2 * sizeof *all.gradients);
    const int left[] = { 0, 3, 4 };
    assert_true(c->n_seen == 3 && c->n_written == 3 && c->n_gradients == 3);
    for (int i = 0; i < 3; ++i) {
        assert_true(c->seen[i].storage == &all.storages[left[i]]);
        assert_true(c->written[i] == &all.storages[left[i]]);
        assert_true(c->gradients[i].gradient == &all.gradients[left[i]]);
    }
    adz_tensor *grad = (adz_tensor *)(void *)ADDRESS(64); /* which is only compared */
    all.gradients[3].grad = grad;
    assert_true(adzi_captured_call_close(c));
    assert_true(c->gradients[1].grad == grad && c->gradients[0].grad == NULL);
    by_hand_end(&plan);
}

/* A constant that no kernel uses ends with the call. A host is no memory that it could share. */
static void constants_at_the_end(void **state)
{
    (void)state;
    adz_plan plan;
    by_hand_begin(&plan);
    store_all(&plan);
    by_hand_store(&plan, ADDRESS(0x3000), HEADER, BYTES);
    adz_tensor used = view(TENSOR + HEADER, ADZ_F32, 1, 2, 1),
               idle = view(ADDRESS(0x3000) + HEADER, ADZ_F32, 1, 2, 1),
               outside = view(ADDRESS(0x8000), ADZ_F32, 1, 2, 1);
    used.refs = idle.refs = outside.refs = 1;
    adzi_capture *capture = &plan.capture;
    capture->constant(capture, &used);
    capture->constant(capture, &idle);
    capture->constant(capture, &outside);
    BY_HAND_LAUNCH(&plan, (uintptr_t)TENSOR + HEADER);
    adzi_captured_call *c = plan.current;
    assert_true(adzi_captured_call_close(c));
    assert_true(c->n_constants == 2 && c->constants[0] == &used && c->constants[1] == &outside);
    assert_true(used.refs == 2 && idle.refs == 1 && outside.refs == 2);
    assert_true(!c->blocks.all[2].tensor && c->blocks.all[3].tensor);
    by_hand_end(&plan);
    assert_true(used.refs == 1 && outside.refs == 1);
}

/* ---- buffers --------------------------------------------------------------------------------- */

static void buffers_are_carried(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_plan plan;
    by_hand_begin(&plan);
    adz_module *m = module_new(), *other = module_new();
    adzi_capture *capture = &plan.capture;
    adz_tensor *odd = adz_transpose(adz_zeros(ADZ_SHAPE(3, 2), ADZ_F32), 0, 1);
    adz_tensor *old[] = { adz_module_get_buffer(m, "a"), adz_module_get_buffer(m, "b"),
        adz_module_get_buffer(m, "c"), adz_module_get_buffer(m, "d"), odd };
    adz_tensor *now[] = { adz_ones(ADZ_SHAPE(2, 3), ADZ_F32), adz_ones(ADZ_SHAPE(2, 3), ADZ_F64),
        adz_ones(ADZ_SHAPE(3, 2), ADZ_F32), old[3], adz_ones(ADZ_SHAPE(2, 3), ADZ_F32) };
    static const char *const names[] = { "a", "b", "c", "d", "e" };
    for (int i = 0; i < 5; ++i) {
        capture->replaced(capture, m, names[i], old[i]);
        capture->replaced(capture, m, names[i], now[i]); /* the first one is kept */
        adz_module_set_buffer(m, names[i], now[i]);
    }
    capture->replaced(capture, other, "a", adz_module_get_buffer(other, "a"));
    adz_module_set_buffer(other, "a", ADZ_NONE);
    adzi_captured_call *c = plan.current;
    assert_int_equal(c->n_carried, 6);
    const uint32_t version = old[0]->storage->version, same = old[3]->storage->version;
    assert_true(adzi_captured_call_carry("test", c));
    assert_true(adz_module_get_buffer(m, "a") == old[0] && adz_equal(old[0], now[0]));
    assert_true(old[0]->storage->version != version && old[3]->storage->version == same);
    for (int i = 1; i < 5; ++i) {
        assert_true(adz_module_get_buffer(m, names[i]) == now[i]);
    }
    assert_true(adz_module_get_buffer(other, "a") == ADZ_NONE);
    adz_module_set_buffer(m, "a", now[0]);
    old[0]->requires_grad = true; /* a buffer has no gradient */
    assert_false(adzi_captured_call_carry("test", c));
    expect_error(ADZ_ERR_GRAPH, "a[2, 3] takes part in a graph");
    by_hand_end(&plan);
    adz_module_release(&m);
    adz_module_release(&other);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_told_apart),
        cmocka_unit_test(numbers_and_source_lines),
        cmocka_unit_test(what_the_host_may_use_and_read),
        cmocka_unit_test(what_ends_is_forgotten),
        cmocka_unit_test(constants_at_the_end),
        cmocka_unit_test(buffers_are_carried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
