/* The tree of modules: owners, lists of children and parameters, modes, dtypes, copies and the
 * printed form. */
#include "nn/module.h"
#include "scale.h"
#include "../../temporary.h"
#include "tests.h"

static void references_are_counted(void **state)
{
    (void)state;
    destroyed = resets = 0;
    adz_module *m = scale_new(3, 2);
    adz_module *same = adz_module_keep(m);
    adz_module_release(&m);
    assert_null(m);
    assert_int_equal(destroyed, 0);
    adz_module_release(&same);
    assert_int_equal(destroyed, 1);
    adz_module_release(&same);
    adz_module_release(NULL);
}

static void a_child_is_taken_over_even_on_failure(void **state)
{
    (void)state;
    destroyed = resets = 0;
    adz_module *m = outer_new();
    assert_non_null(adz_module_add_child(m, "a", scale_new(3, 2)));
    assert_null(adz_module_add_child(m, "a", scale_new(3, 2)));
    expect_error(ADZ_ERR_ARGUMENT, "Outer has a child called a already");
    assert_int_equal(destroyed, 1);
    assert_null(adz_module_add_child(m, "b.c", scale_new(3, 2)));
    expect_error(ADZ_ERR_ARGUMENT, "has a dot");
    assert_null(adz_module_add_child(NULL, "b", scale_new(3, 2)));
    expect_error(ADZ_ERR_NULL, "module is NULL");
    assert_int_equal(destroyed, 3);
    assert_null(adz_module_add_child(m, "b", adz_module_add_child(m, "", scale_new(3, 2))));
    expect_error(ADZ_ERR_ARGUMENT, "is empty or has a dot");
    adz_module *inner = adz_module_add_child(m, "inner", outer_new());
    assert_non_null(inner);
    assert_null(adz_module_add_child(inner, "loop", adz_module_keep(m)));
    expect_error(ADZ_ERR_ARGUMENT, "inside itself");
    adz_module_release(&m);
    assert_int_equal(destroyed, 5);
}

/* A child knows the parent that it was added to last, until that parent gives it up or ends. */
static void a_child_forgets_its_parent(void **state)
{
    (void)state;
    adz_module *child = scale_new(3, 2), *first = outer_new(), *second = outer_new();
    adz_module_add_child(first, "c", adz_module_keep(child));
    assert_ptr_equal(child->parent, first);
    adz_module_add_child(second, "c", adz_module_keep(child));
    assert_ptr_equal(child->parent, second);
    adz_module_release(&first);
    assert_ptr_equal(child->parent, second);
    assert_non_null(adz_module_set_child(second, "c", adz_identity_new()));
    assert_null(child->parent);
    adz_module_add_child(second, "d", adz_module_keep(child));
    assert_ptr_equal(child->parent, second);
    adz_module_release(&second);
    assert_null(child->parent);
    adz_module_release(&child);
}

static void entries_are_checked(void **state)
{
    (void)state;
    adz_module *m = scale_new(3, 2);
    adz_tensor *t = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32);
    assert_null(adz_module_add_parameter(m, "weight", t));
    expect_error(ADZ_ERR_ARGUMENT, "a parameter called weight already");
    assert_null(adz_module_add_buffer(m, "weight", t, true));
    expect_error(ADZ_ERR_ARGUMENT, "a parameter called weight already");
    assert_null(adz_module_add_parameter(m, "t", adz_transpose(t, 0, 1)));
    expect_error(ADZ_ERR_SHAPE, "not contiguous");
    assert_null(adz_module_add_parameter(m, "i", adz_ones(ADZ_SHAPE(2), ADZ_I64)));
    expect_error(ADZ_ERR_DTYPE, "i[2] is int64");
    assert_null(
        adz_module_add_parameter(m, "y", adz_mul(t, adz_module_get_parameter(m, "weight"))));
    expect_error(ADZ_ERR_GRAPH, "takes part in a graph");
    assert_false(adz_tensor_requires_grad(t));
    assert_ptr_equal(adz_module_add_parameter(m, "absent", ADZ_NONE), ADZ_NONE);
    assert_ptr_equal(adz_module_add_parameter(m, "more", t), t);
    assert_true(adz_tensor_requires_grad(t));
    assert_int_equal(adz_module_parameters(m).count, 2);
    assert_null(adz_module_get_parameter(m, "nothing"));
    expect_error(ADZ_ERR_ARGUMENT, "nothing: Scale has no parameter nothing");
    assert_null(adz_module_get_child(m, "a.b"));
    expect_error(ADZ_ERR_ARGUMENT, "a.b: Scale has no child a");
    assert_null(adz_module_parameter_at(m, 3));
    expect_error(ADZ_ERR_INDEX, "no parameter 3, only 3");
    adz_module_release(&m);
}

/* ---- listings ------------------------------------------------------------------------------- */

static void listings_follow_the_structure(void **state)
{
    (void)state;
    adz_module *m = outer_new();
    adz_module *a = adz_module_add_child(m, "a", scale_new(3, 2));
    adz_module *inner = adz_module_add_child(m, "inner", outer_new());
    adz_tensor_list list = adz_module_parameters(m);
    assert_int_equal(list.count, 1);
    adz_module *other = scale_new(1, 1); /* a module outside the tree does not change the list */
    assert_ptr_equal(adz_module_parameters(m).items, list.items);
    adz_module_add_child(inner, "b", scale_new(5, 2)); /* two levels down */
    assert_int_equal(adz_module_parameters(m).count, 2);
    assert_int_equal(adz_module_numel(m), 8);
    adz_module_add_child(inner, "again", adz_module_keep(a));
    adz_module_add_buffer(inner, "mean", adz_zeros(ADZ_SHAPE(4), ADZ_F64), true);
    adz_module_add_buffer(inner, "scratch", adz_zeros(ADZ_SHAPE(4), ADZ_F64), false);
    adz_named_list named = adz_module_named_parameters(m);
    assert_int_equal(named.count, 2);
    assert_string_equal(named.items[0].name, "a.weight");
    assert_string_equal(named.items[1].name, "inner.b.weight");
    adz_named_list buffers = adz_module_named_buffers(m);
    assert_int_equal(buffers.count, 2);
    assert_string_equal(buffers.items[1].name, "inner.scratch");

    adz_state_dict *dict = adz_module_state_dict(m);
    assert_int_equal(adz_state_dict_count(dict), 4);
    assert_string_equal(adz_state_dict_name_at(dict, 0), "a.weight");
    assert_string_equal(adz_state_dict_name_at(dict, 1), "inner.mean");
    assert_string_equal(adz_state_dict_name_at(dict, 2), "inner.b.weight");
    assert_string_equal(adz_state_dict_name_at(dict, 3), "inner.again.weight");
    assert_ptr_equal(adz_state_dict_at(dict, 3), adz_state_dict_get(dict, "a.weight"));
    assert_null(adz_state_dict_get(dict, "scratch"));
    assert_null(adz_state_dict_at(dict, 4));
    expect_error(ADZ_ERR_INDEX, "no entry 4, only 4");

    assert_ptr_equal(adz_module_get_parameter(m, "inner.again.weight"),
        list.items ? named.items[0].tensor : NULL);
    assert_ptr_equal(adz_module_get_child(m, "inner.again"), a);
    assert_ptr_equal(adz_module_get_buffer(m, "inner.mean"), buffers.items[0].tensor);
    /* Ties the two weights. */
    adz_module_set_parameter(adz_module_get_child(m, "inner.b"), "weight", named.items[0].tensor);
    assert_int_equal(adz_module_parameters(m).count, 1);
    assert_int_equal(adz_module_numel(m), 3);
    /* Replaces the child. */
    assert_non_null(adz_module_set_child(m, "a", scale_new(7, 1)));
    assert_int_equal(adz_module_numel(m), 10);
    adz_state_dict_free(&dict);
    adz_module_release(&other);
    adz_module_release(&m);
}

static adz_status count_visit(adz_module *module, void *user)
{
    strcat(user, adz_module_name(module));
    strcat(user, " ");
    return ADZ_OK;
}

static adz_status stop_visit(adz_module *module, void *user)
{
    (void)user;
    return strcmp(adz_module_name(module), "Scale") == 0 ? ADZ_ERR_CANCELLED : ADZ_OK;
}

static void modes_reach_the_whole_tree(void **state)
{
    (void)state;
    destroyed = resets = 0;
    adz_module *m = ADZ_SEQUENTIAL(scale_new(3, 2), ADZ_SEQUENTIAL(scale_new(3, 2)));
    adz_module *deep = adz_module_get_child(m, "1.0");
    assert_true(adz_module_is_training(deep));
    assert_int_equal(adz_module_eval(m), ADZ_OK);
    assert_false(adz_module_is_training(deep));
    assert_false(adz_module_is_training(m));
    adz_module_train(adz_module_get_child(m, "1"), true);
    assert_true(adz_module_is_training(deep));
    assert_false(adz_module_is_training(m));
    assert_int_equal(adz_module_requires_grad_(m, false), ADZ_OK);
    assert_false(adz_tensor_requires_grad(adz_module_parameter_at(deep, 0)));
    adz_module_requires_grad_(m, true);
    assert_true(adz_tensor_requires_grad(adz_module_parameter_at(deep, 0)));
    char names[200] = "";
    assert_int_equal(adz_module_apply(m, count_visit, names), ADZ_OK);
    assert_string_equal(names, "Scale Scale Sequential Sequential ");
    adz_sequential_append(m, adz_module_keep(adz_module_get_child(m, "0")));
    names[0] = '\0';
    assert_int_equal(adz_module_apply(m, count_visit, names), ADZ_OK);
    assert_string_equal(names, "Scale Scale Sequential Sequential "); /* A child is visited once. */
    assert_int_equal(adz_module_apply(m, stop_visit, NULL), ADZ_ERR_CANCELLED);
    assert_int_equal(adz_module_reset_parameters(m), ADZ_OK);
    assert_int_equal(resets, 2);
    adz_module_release(&m);
}

static void dtypes_change_in_position(void **state)
{
    (void)state;
    adz_module *m = scale_new(3, 2);
    adz_tensor *w = adz_module_get_parameter(m, "weight");
    adz_tensor *ids = adz_module_add_buffer(m, "ids", adz_ones(ADZ_SHAPE(2), ADZ_I64), true);
    adz_tensor *mean = adz_module_add_buffer(m, "mean", adz_ones(ADZ_SHAPE(2), ADZ_F32), true);
    adz_tensor *y =
        adz_mean(adz_module_forward(m, adz_ones(ADZ_SHAPE(3), ADZ_F32)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *late =
        adz_mean(adz_module_forward(m, adz_ones(ADZ_SHAPE(3), ADZ_F32)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(3), ADZ_F32), true);
    adz_tensor *through = adz_mean(adz_module_forward(m, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_backward(y);
    assert_int_equal(adz_module_to(m, ADZ_I64), ADZ_ERR_DTYPE);
    expect_error(ADZ_ERR_DTYPE, "int64");
    assert_int_equal(adz_module_to(m, ADZ_F64), ADZ_OK);
    assert_ptr_equal(w, adz_module_get_parameter(m, "weight"));
    assert_int_equal(adz_tensor_dtype(w), ADZ_F64);
    assert_int_equal(adz_tensor_dtype(mean), ADZ_F64);
    assert_int_equal(adz_tensor_dtype(ids), ADZ_I64);
    assert_true(all_are(w, 1));
    assert_int_equal(adz_tensor_dtype(adz_tensor_grad(w)), ADZ_F64);
    assert_true(fabs(adz_tensor_at(adz_tensor_grad(w), (int64_t[]){ 1 }) - 2.0 / 3) < 1e-6);
    (void)late;
    assert_int_equal(adz_backward(through), ADZ_ERR_VERSION); /* The graph saved the old w. */
    expect_error(ADZ_ERR_VERSION, "adz_module_to");
    adz_module_release(&m);
}

static void copies_share_nothing_and_keep_ties(void **state)
{
    (void)state;
    destroyed = resets = 0;
    adz_module *m = ADZ_SEQUENTIAL(scale_new(3, 2), scale_new(3, 4));
    adz_sequential_append(m, adz_module_keep(adz_module_get_child(m, "0")));
    adz_module_set_parameter(
        adz_module_get_child(m, "1"), "weight", adz_module_get_parameter(m, "0.weight"));
    adz_module_add_buffer(
        adz_module_get_child(m, "1"), "b", adz_ones(ADZ_SHAPE(2), ADZ_I64), false);
    adz_module_eval(adz_module_get_child(m, "1"));
    adz_requires_grad_(adz_module_get_parameter(m, "0.weight"), false);
    int64_t bytes = adzi_live_bytes();
    adz_module *copy = adz_module_copy(m);
    assert_int_equal(adz_module_parameters(copy).count, 1);
    adz_module_release(&copy);
    assert_int_equal(adzi_live_bytes(), bytes);
    assert_int_equal(destroyed, 2);
    copy = adz_module_copy(m);
    adz_tensor *old = adz_module_get_parameter(m, "0.weight");
    adz_tensor *new = adz_module_get_parameter(copy, "0.weight");
    assert_ptr_not_equal(old, new);
    assert_ptr_equal(new, adz_module_get_parameter(copy, "1.weight"));
    assert_ptr_equal(adz_module_get_child(copy, "0"), adz_module_get_child(copy, "2"));
    assert_false(adz_tensor_requires_grad(new));
    assert_false(adz_module_is_training(adz_module_get_child(copy, "1")));
    assert_true(adz_module_is_training(copy));
    adz_state_dict *dict = adz_module_state_dict(copy);
    assert_int_equal(adz_state_dict_count(dict), 3); /* The copy has no persistent buffer either. */
    adz_state_dict_free(&dict);
    const scale_state *a = adz_module_data(adz_module_get_child(m, "1"));
    const scale_state *b = adz_module_data(adz_module_get_child(copy, "1"));
    assert_true(b->factor == 4);
    assert_string_equal(b->text, "text");
    assert_ptr_not_equal(a->text, b->text);
    fill(new, 5);
    assert_true(all_are(old, 1));
    adz_module_release(&m);
    assert_int_equal(adz_module_numel(copy), 3);
    adz_module_release(&copy);
    assert_int_equal(destroyed, 6);
}

/* ---- printing ------------------------------------------------------------------------------- */

/* Other tensors stand in for parameters during a call, and gradients flow into them. */
static void a_call_can_have_other_parameters(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(adz_linear_new(3, 2, NULL), adz_relu_new());
    adz_tensor *own = adz_module_get_parameter(m, "0.weight");
    adz_tensor *factor = adz_requires_grad_(adz_scalar(2, ADZ_F32), true);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 3), ADZ_F32);
    adz_values *given = adz_values_new(), *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(given, "0.weight", adz_mul(own, factor));
    adz_values_add(in, "", x);
    assert_int_equal(adz_module_functional_call(m, given, in, out), ADZ_OK);
    adz_tensor *expected =
        adz_relu(adz_linear(x, adz_mul_number(own, 2), adz_module_get_parameter(m, "0.bias")));
    assert_true(adz_allclose(adz_values_at(out, 0), expected, 1e-6, 1e-6, false));
    assert_int_equal(
        adz_backward(adz_sum(adz_values_at(out, 0), ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_non_null(adz_tensor_grad(factor));
    assert_ptr_equal(adz_module_get_parameter(m, "0.weight"), own);
    adz_values_add(given, "0.wait", x);
    assert_int_equal(adz_module_functional_call(m, given, in, out), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "0.wait: Linear has no parameter wait");
    assert_ptr_equal(adz_module_get_parameter(m, "0.weight"), own);
    assert_int_equal(adz_module_functional_call(m, NULL, in, out), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "parameters");
    adz_values_free(&given);
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_release(&m);
}

static void trees_print_as_in_pytorch(void **state)
{
    (void)state;
    adz_module *inner = outer_new(), *m = outer_new();
    adz_module_add_child(inner, "scale", scale_new(3, 2));
    adz_module *list = adz_module_list_new(NULL, 0);
    adz_module_list_append(list, scale_new(2, 3));
    adz_module_list_append(list, scale_new(1, 1));
    adz_module_list_append(list, scale_new(2, 1));
    adz_module_list_append(list, scale_new(2, 1));
    adz_module_list_append(list, scale_new(2, 3));
    adz_module_add_child(m, "inner", inner);
    adz_module_add_child(m, "list", list);
    adz_module_add_child(m, "empty", ADZ_SEQUENTIAL(adz_identity_new()));
    static const char expected[] = "Outer(\n"
                                   "  (inner): Outer(\n"
                                   "    (scale): Scale(factor=2)\n"
                                   "  )\n"
                                   "  (list): ModuleList(\n"
                                   "    (0): Scale(factor=3)\n"
                                   "    (1-3): 3 x Scale(factor=1)\n"
                                   "    (4): Scale(factor=3)\n"
                                   "  )\n"
                                   "  (empty): Sequential(\n"
                                   "    (0): Identity()\n"
                                   "  )\n"
                                   ")";
    char text[400], few[8];
    assert_int_equal(adz_module_to_string(m, text, sizeof text), strlen(expected));
    assert_string_equal(text, expected);
    assert_int_equal(adz_module_to_string(m, few, sizeof few), strlen(expected));
    assert_string_equal(few, "Outer(\n");
    FILE *file = tmpfile();
    assert_int_equal(adz_module_print(m, file), ADZ_OK);
    assert_int_equal(ftell(file), (long)strlen(expected) + 1);
    fclose(file);
    adz_module_release(&m);
}

static void texts_fit_their_buffers(void **state)
{
    (void)state;
    static const char text[] = "Scale(factor=2)";
    adz_module *m = scale_new(1, 2);
    for (size_t size = 0; size <= sizeof text + 1; ++size) {
        char buffer[] = "####################";
        assert_int_equal(adz_module_to_string(m, buffer, size), strlen(text));
        size_t n = size > strlen(text) ? strlen(text) : size > 0 ? size - 1 : 0;
        assert_memory_equal(buffer, text, n);
        assert_true(size == 0 || buffer[n] == '\0');
        assert_int_equal(strspn(buffer + size, "#"), 20 - size);
    }
    assert_int_equal(adz_module_to_string(m, NULL, 5), strlen(text));
    expect_null(adz_module_to_string(NULL, NULL, 0) == 0, "adz_module_to_string", "module");
    /* A module with a description and a child has the description in a line of its own. */
    adz_module_add_child(m, "inner", adz_identity_new());
    char tree[100];
    adz_module_to_string(m, tree, sizeof tree);
    assert_string_equal(tree, "Scale(\n  factor=2\n  (inner): Identity()\n)");
    adz_module_release(&m);
}

static adz_status print_to_file(void *module)
{
    char bytes[400] = "";
    FILE *file = fmemopen(bytes, sizeof bytes, "w");
    assert_non_null(file);
    adz_status status = adz_module_print(module, file);
    fclose(file);
    size_t n = strlen(adz_module_name(module));
    assert_int_equal(strlen(bytes), status == ADZ_OK ? n + strlen("()\n") : 0);
    return status;
}

/* Descriptions of any length are printed, and no memory of them is left. */
static void descriptions_are_freed(void **state)
{
    (void)state;
    char text[100], expected[100];
    for (int factor = 1; factor < 1000000000; factor *= 10) {
        adz_module *m = scale_new(1, factor);
        int64_t bytes = adzi_live_bytes();
        snprintf(expected, sizeof expected, "Scale(factor=%d)", factor);
        adz_module_to_string(m, text, sizeof text);
        assert_string_equal(text, expected);
        assert_int_equal(adzi_live_bytes(), bytes);
        adz_module_release(&m);
    }
}

/* Memory may be refused at any length of the text, also for the end of the line. */
static void lines_are_printed_whole(void **state)
{
    (void)state;
    char name[301] = "";
    for (size_t n = 1; n < sizeof name; ++n) {
        name[n - 1] = 'x';
        adz_module_type type = { .size = sizeof type, .name = name, .forward = scale_forward };
        adz_module *m = adz_module_new(&type, 0);
        assert_true(refuse_each(print_to_file, NULL, m) >= 1);
        adz_module_release(&m);
    }
}

static void streams_may_fail(void **state)
{
    (void)state;
    adz_module *m = adz_identity_new();
    expect_null(adz_module_print(m, NULL) == ADZ_ERR_NULL, "adz_module_print", "stream");
    expect_null(adz_module_print(NULL, stderr) == ADZ_ERR_NULL, "adz_module_print", "module");
    char few[4];
    FILE *file = fmemopen(few, sizeof few, "w");
    setvbuf(file, NULL, _IONBF, 0);
    assert_int_equal(adz_module_print(m, file), ADZ_ERR_IO);
    expect_error(ADZ_ERR_IO, "adz_module_print: the stream took no more");
    fclose(file);
    adz_module_release(&m);
}

/* ---- refused memory ------------------------------------------------------------------------- */

/* Makes, calls, copies and prints modules. Returns true if all of it worked. */
static bool exercise(void)
{
    bool good = false;
    adz_module *m = ADZ_SEQUENTIAL(scale_new(3, 2), ADZ_SEQUENTIAL(scale_new(3, 4)));
    adz_scope *scope = adz_scope_open();
    adz_module *copy = m != NULL ? adz_module_copy(m) : NULL;
    adz_state_dict *dict = m != NULL ? adz_module_state_dict(m) : NULL;
    adz_values *in = adz_values_new(), *out = adz_values_new();
    char text[300];
    if (copy != NULL && dict != NULL && scope != NULL &&
        adz_module_load_state_dict(copy, dict, true) == ADZ_OK &&
        adz_module_to(copy, ADZ_F64) == ADZ_OK && adz_module_parameters(copy).count == 2 &&
        adz_values_add(in, "", adz_ones(ADZ_SHAPE(2, 3), ADZ_F64)) == ADZ_OK &&
        adz_module_call(copy, in, out) == ADZ_OK &&
        adz_backward(adz_mean(adz_values_at(out, 0), ADZ_ALL_DIMS, ADZ_DROPDIM)) == ADZ_OK &&
        adz_module_to(copy, ADZ_F32) == ADZ_OK &&
        adz_module_to_string(copy, text, sizeof text) > 0) {
        good = adz_module_set_child(m, "0", scale_new(2, 2)) != NULL;
    }
    adz_values_free(&in);
    adz_values_free(&out);
    adz_state_dict_free(&dict);
    adz_module_release(&copy);
    adz_module_release(&m);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good;
}

static void refused_memory_leaks_nothing(void **state)
{
    (void)state;
    int points = refuse_each_request(exercise);
    printf("%d failure points\n", points);
    assert_true(points > 50);
}

int structure_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(references_are_counted),
        TEST(a_child_is_taken_over_even_on_failure),
        TEST(a_child_forgets_its_parent),
        TEST(entries_are_checked),
        TEST(listings_follow_the_structure),
        TEST(modes_reach_the_whole_tree),
        TEST(dtypes_change_in_position),
        TEST(copies_share_nothing_and_keep_ties),
        TEST(a_call_can_have_other_parameters),
        TEST(trees_print_as_in_pytorch),
        TEST(texts_fit_their_buffers),
        TEST(streams_may_fail),
        TEST(descriptions_are_freed),
        TEST(lines_are_printed_whole),
        TEST(refused_memory_leaks_nothing),
    };
    return cmocka_run_group_tests_name("module: structure", tests, NULL, NULL);
}
