/* The lists of parameters and buffers are made once, and what is made is freed. Names are found. */
#include "nn/module.h"
#include "scale.h"
#include "../../temporary.h"
#include "tests.h"

/* True if the lists of the module are asked for without a request for memory. */
static bool are_ready(adz_module *m)
{
    adzi_alloc_fail_at(1);
    bool good = adz_module_parameters(m).items != NULL &&
                adz_module_named_buffers(m).items != NULL && !adzi_alloc_failed();
    adzi_alloc_fail_at(0);
    return good;
}

/* Changes are numbered. The first change in the process has the first number. */
static void the_first_change_counts(void **state)
{
    (void)state;
    adz_module *first = outer_new(), *m = outer_new();
    adz_module_add_child(first, "leaf", adz_identity_new());
    adz_module_add_child(m, "first", first);
    assert_int_equal(adz_module_parameters(m).count, 0);
    adz_module_add_parameter(m, "weight", adz_ones(ADZ_SHAPE(3), ADZ_F32));
    assert_int_equal(adz_module_parameters(m).count, 1);
    adz_module_release(&m);
}

static void lists_are_made_once(void **state)
{
    (void)state;
    adz_module *m = scale_new(3, 2);
    adz_module_add_buffer(m, "mean", adz_zeros(ADZ_SHAPE(3), ADZ_F32), true);
    const adz_tensor *const *items = (const adz_tensor *const *)adz_module_parameters(m).items;
    assert_true(are_ready(m));
    adz_tensor *other = adz_module_set_buffer(m, "mean", adz_ones(ADZ_SHAPE(3), ADZ_F32));
    assert_ptr_equal(adz_module_named_buffers(m).items[0].tensor, other);
    assert_true(are_ready(m));
    assert_ptr_equal(adz_module_parameters(m).items, items);
    adz_module_set_parameter(m, "weight", adz_ones(ADZ_SHAPE(3), ADZ_F32));
    assert_int_equal(adz_module_parameters(m).count, 1);
    assert_true(are_ready(m));
    adz_module_release(&m);
}

/* The list changes although the new child has no change of its own. */
static void a_child_that_was_replaced_is_not_listed(void **state)
{
    (void)state;
    adz_module *m = outer_new();
    adz_module_add_child(m, "a", scale_new(3, 2));
    adz_module_add_child(m, "b", adz_identity_new());
    adz_module_add_parameter(adz_module_get_child(m, "b"), "late", adz_ones(ADZ_SHAPE(5), ADZ_F32));
    assert_int_equal(adz_module_numel(m), 8);
    assert_non_null(adz_module_set_child(m, "a", adz_identity_new()));
    assert_int_equal(adz_module_numel(m), 5);
    adz_module_release(&m);
}

static adz_status add_weight(void *module)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *t = adz_ones(ADZ_SHAPE(3), ADZ_F32);
    adz_status status =
        adz_module_add_parameter(module, "more", t) != NULL ? ADZ_OK : adz_error_code();
    adz_scope_close(scope);
    return status;
}

static bool has_one_parameter(void *module)
{
    return adz_module_parameters(module).count == 1;
}

static void refused_memory_adds_nothing(void **state)
{
    (void)state;
    adz_module *m = scale_new(3, 2);
    assert_int_equal(adz_module_parameters(m).count, 1);
    assert_true(refuse_each(add_weight, has_one_parameter, m) >= 3);
    assert_int_equal(adz_module_parameters(m).count, 2);
    assert_true(adz_tensor_requires_grad(adz_module_get_parameter(m, "more")));
    adz_module_release(&m);
}

/* Fills the buffers of a module one after the other. Buffers may be absent at first, so that their
 * list grows without a change of the tree. */
static void grow_lists(void)
{
    enum { BUFFERS = 40 };
    adz_scope *scope = adz_scope_open();
    adz_module *m = scale_new(3, 2);
    for (int pass = 0; pass < 3; ++pass) {
        for (int i = 0; i < BUFFERS; ++i) {
            char name[8];
            snprintf(name, sizeof name, "b%d", i);
            if (pass == 0) {
                assert_ptr_equal(adz_module_add_buffer(m, name, ADZ_NONE, true), ADZ_NONE);
            } else if (pass == 2 || i % 2 == 0) {
                adz_module_set_buffer(m, name, adz_ones(ADZ_SHAPE(1), ADZ_F32));
            }
        }
        assert_int_equal(adz_module_parameters(m).count, 1);
        assert_int_equal(adz_module_named_buffers(m).count, pass * BUFFERS / 2);
    }
    adz_module_release(&m);
    adz_scope_close(scope);
}

static void lists_that_grow_are_freed(void **state)
{
    (void)state;
    grow_lists(); /* The thread keeps the memory of its scopes. */
    int64_t bytes = adzi_live_bytes();
    grow_lists();
    assert_int_equal(adzi_live_bytes(), bytes);
}

static adz_status copy_and_free(void *module)
{
    adz_module *copy = adz_module_copy(module);
    adz_status status = copy != NULL ? ADZ_OK : adz_error_code();
    adz_module_release(&copy);
    return status;
}

/* A copy is made as a whole or not at all. */
static void refused_memory_copies_nothing(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(scale_new(3, 2), ADZ_SEQUENTIAL(scale_new(4, 2)));
    adz_module *scale = adz_module_get_child(m, "0");
    adz_module_add_buffer(scale, "mean", adz_zeros(ADZ_SHAPE(3), ADZ_F32), true);
    adz_module_add_buffer(scale, "std", adz_zeros(ADZ_SHAPE(3), ADZ_F32), false);
    assert_true(refuse_each(copy_and_free, NULL, m) >= 10);
    adz_module_release(&m);
}

/* ---- many names ------------------------------------------------------------------------------ */

enum { MANY = 300 };

/* Parameter, buffer and child i of a module with many names. */
typedef struct entries {
    adz_tensor *p[MANY], *b[MANY];
    adz_module *c[MANY];
} entries;

static const char *name_at(char letter, int i)
{
    static char name[16];
    snprintf(name, sizeof name, "%c%d", letter, i);
    return name;
}

static void add_entry(adz_module *m, entries *e, int i)
{
    e->p[i] = adz_zeros(ADZ_SHAPE(1), ADZ_F32);
    e->b[i] = adz_zeros(ADZ_SHAPE(1), ADZ_F32);
    assert_non_null(adz_module_add_parameter(m, name_at('p', i), e->p[i]));
    assert_non_null(adz_module_add_buffer(m, name_at('b', i), e->b[i], true));
    e->c[i] = adz_module_add_child(m, name_at('c', i), outer_new());
    assert_non_null(e->c[i]);
}

/* Every entry from `first` on is found under its name and its kind only. */
static void expect_entries(adz_module *m, const entries *e, int first)
{
    for (int i = first; i < MANY; ++i) {
        assert_ptr_equal(adz_module_get_parameter(m, name_at('p', i)), e->p[i]);
        assert_ptr_equal(adz_module_get_buffer(m, name_at('b', i)), e->b[i]);
        assert_ptr_equal(adz_module_get_child(m, name_at('c', i)), e->c[i]);
        assert_null(adz_module_get_buffer(m, name_at('p', i)));
        expect_error(ADZ_ERR_ARGUMENT, "has no buffer p");
        assert_null(adz_module_add_parameter(m, name_at('c', i), e->p[i]));
        expect_error(ADZ_ERR_ARGUMENT, "a child called c");
    }
}

/* A module with many names finds each by few looks, also after some are gone and others came. */
static void many_names_are_found(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *m = outer_new();
    entries e;
    const uint64_t before = adzi_index_probes();
    for (int i = 0; i < MANY; ++i) {
        add_entry(m, &e, i);
    }
    const uint64_t probes = adzi_index_probes() - before;
    assert_true(probes > MANY && probes < 100 * MANY);
    expect_entries(m, &e, 0);
    for (int i = 0; i < 5; ++i) {
        assert_int_equal(adzi_module_remove_parameter("test", m, name_at('p', i)), ADZ_OK);
        assert_int_equal(adzi_module_remove_child("test", m, name_at('c', i)), ADZ_OK);
        assert_null(adz_module_get_child(m, name_at('c', i)));
        expect_error(ADZ_ERR_ARGUMENT, "has no child c");
    }
    expect_entries(m, &e, 5); /* without an index */
    assert_non_null(adz_module_add_parameter(m, "c0", e.p[0]));
    expect_entries(m, &e, 5);
    assert_ptr_equal(adz_module_get_parameter(m, "c0"), e.p[0]);
    assert_null(adz_module_get_parameter(m, "p1"));
    expect_error(ADZ_ERR_ARGUMENT, "has no parameter p1");
    adz_module_release(&m);
    adz_scope_close(scope);
}

/* Names are found without memory for an index, too. */
static void names_are_found_without_an_index(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *m = outer_new();
    adz_tensor *t = adz_zeros(ADZ_SHAPE(1), ADZ_F32);
    for (int i = 0; i < MANY; ++i) {
        assert_non_null(adz_module_add_buffer(m, name_at('b', i), t, true));
        adzi_index_free(&m->names);
        assert_ptr_equal(adz_module_get_buffer(m, name_at('b', i)), t);
    }
    adz_module_release(&m);
    adz_scope_close(scope);
}

int listings_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_change_counts),
        TEST(lists_are_made_once),
        TEST(a_child_that_was_replaced_is_not_listed),
        TEST(refused_memory_adds_nothing),
        TEST(lists_that_grow_are_freed),
        TEST(refused_memory_copies_nothing),
        TEST(many_names_are_found),
        TEST(names_are_found_without_an_index),
    };
    return cmocka_run_group_tests_name("module: listings", tests, NULL, NULL);
}
