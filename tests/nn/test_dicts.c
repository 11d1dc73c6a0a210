/* ModuleDict, ParameterList and ParameterDict: order, names, look-ups, printed form, state. */
#include "../nn.h"

static adz_module *linear(void)
{
    return adz_linear_new(3, 2, NULL);
}

static void expect_print(adz_module *m, const char *expected)
{
    char text[600];
    adz_module_to_string(m, text, sizeof text);
    assert_string_equal(text, expected);
}

/* The names of the state, with blanks between. */
static void expect_state(adz_module *m, const char *expected)
{
    char text[300] = "";
    adz_state_dict *state = adz_module_state_dict(m);
    for (size_t i = 0; i < adz_state_dict_count(state); ++i) {
        strcat(strcat(text, i > 0 ? " " : ""), adz_state_dict_name_at(state, i));
    }
    adz_state_dict_free(&state);
    assert_string_equal(text, expected);
}

/* ---- ModuleDict ----------------------------------------------------------------------------- */

static adz_module *three(void)
{
    const char *keys[] = { "left", "act", "10" };
    adz_module *const modules[] = { linear(), adz_relu_new(), adz_linear_new(2, 1, NULL) };
    return adz_module_dict_new(keys, modules, 3);
}

static void keys_are_in_the_order_of_adding(void **state)
{
    (void)state;
    adz_module *dict = three();
    assert_int_equal(adz_module_child_count(dict), 3);
    assert_string_equal(adz_module_child_name_at(dict, 2), "10");
    assert_ptr_equal(adz_module_child_at(dict, 0), adz_module_get_child(dict, "left"));
    expect_state(dict, "left.weight left.bias 10.weight 10.bias");
    expect_print(dict, "ModuleDict(\n"
                       "  (left): Linear(in_features=3, out_features=2, bias=True)\n"
                       "  (act): ReLU()\n"
                       "  (10): Linear(in_features=2, out_features=1, bias=True)\n"
                       ")");
    adz_module_release(&dict);
    dict = adz_module_dict_new(NULL, NULL, 0);
    expect_print(dict, "ModuleDict()");
    adz_module_release(&dict);
}

static void modules_are_replaced_and_removed(void **state)
{
    (void)state;
    adz_module *dict = three(), *copy = adz_module_copy(dict);
    adz_module *tanh = adz_module_dict_set(dict, "left", adz_tanh_new());
    assert_ptr_equal(adz_module_child_at(dict, 0), tanh); /* it keeps the position */
    assert_non_null(adz_module_dict_set(dict, "new", adz_relu_new()));
    assert_string_equal(adz_module_child_name_at(dict, 3), "new");
    assert_int_equal(adz_module_dict_remove(dict, "act"), ADZ_OK);
    assert_int_equal(adz_module_child_count(dict), 3);
    assert_string_equal(adz_module_child_name_at(dict, 1), "10");
    expect_state(dict, "10.weight 10.bias");
    assert_int_equal(adz_module_parameters(dict).count, 2);
    assert_int_equal(adz_module_dict_remove(dict, "act"), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "ModuleDict has no child act");
    expect_state(copy, "left.weight left.bias 10.weight 10.bias");
    adz_module_release(&dict);
    adz_module_release(&copy);
}

/* A module that was kept lives on when its dict has dropped it. */
static void removed_modules_belong_to_who_keeps_them(void **state)
{
    (void)state;
    adz_module *dict = three(), *kept = adz_module_keep(adz_module_get_child(dict, "left"));
    assert_int_equal(adz_module_dict_remove(dict, "left"), ADZ_OK);
    assert_non_null(adz_module_dict_set(dict, "again", kept)); /* takes the reference */
    adz_tensor *y = adz_module_forward(kept, adz_ones(ADZ_SHAPE(1, 3), ADZ_F32));
    assert_int_equal(adz_tensor_numel(y), 2);
    adz_module_release(&dict);
}

static void bad_dicts_are_refused(void **state)
{
    (void)state;
    const char *keys[] = { "a", "a" }, *dotted[] = { "a.b" };
    adz_module *const twice[] = { linear(), linear() }, *const one[] = { linear() };
    assert_null(adz_module_dict_new(keys, twice, 2));
    expect_error(ADZ_ERR_ARGUMENT, "has a child called a already");
    assert_null(adz_module_dict_new(dotted, one, 1));
    expect_error(ADZ_ERR_ARGUMENT, "\"a.b\" is empty or has a dot");
    assert_null(adz_module_dict_new(NULL, (adz_module *const[]){ linear() }, 1));
    expect_error(ADZ_ERR_NULL, "keys");
    adz_module *dict = three(), *other = linear();
    assert_null(adz_module_dict_set(other, "a", linear()));
    expect_error(ADZ_ERR_ARGUMENT, "this is a Linear, not a ModuleDict");
    assert_int_equal(adz_module_dict_remove(other, "weight"), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "not a ModuleDict");
    assert_int_equal(adz_module_dict_remove(dict, NULL), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "name");
    assert_null(adz_module_forward(dict, adz_ones(ADZ_SHAPE(1, 3), ADZ_F32)));
    expect_error(ADZ_ERR_UNSUPPORTED, "cannot be called");
    adz_module_release(&dict);
    adz_module_release(&other);
}

/* ---- ParameterList and ParameterDict --------------------------------------------------------- */

static void parameters_stand_in_a_list(void **state)
{
    (void)state;
    adz_tensor *const tensors[] = { adz_ones(ADZ_SHAPE(2, 3), ADZ_F32),
        adz_zeros(ADZ_SHAPE(2), ADZ_F64) };
    adz_module *list = adz_parameter_list_new(tensors, 2);
    assert_ptr_equal(adz_module_parameter_at(list, 0), tensors[0]);
    assert_true(adz_tensor_requires_grad(tensors[1]));
    adz_tensor *scalar = adz_scalar(3, ADZ_F32);
    assert_ptr_equal(adz_parameter_list_append(list, scalar), scalar);
    assert_int_equal(adz_module_parameter_count(list), 3);
    assert_string_equal(adz_module_parameter_name_at(list, 2), "2");
    expect_state(list, "0 1 2");
    expect_print(list, "ParameterList(\n"
                       "    (0): Parameter containing: [torch.float32 of size 2x3]\n"
                       "    (1): Parameter containing: [torch.float64 of size 2]\n"
                       "    (2): Parameter containing: [torch.float32 of size ]\n"
                       ")");
    adz_module *outer = ADZ_SEQUENTIAL(list);
    expect_print(outer, "Sequential(\n"
                        "  (0): ParameterList(\n"
                        "      (0): Parameter containing: [torch.float32 of size 2x3]\n"
                        "      (1): Parameter containing: [torch.float64 of size 2]\n"
                        "      (2): Parameter containing: [torch.float32 of size ]\n"
                        "  )\n"
                        ")");
    adz_module *copy = adz_module_copy(outer);
    expect_state(copy, "0.0 0.1 0.2");
    adz_module_release(&outer);
    adz_module_release(&copy);
    adz_module *one = adz_parameter_list_new(tensors, 1);
    expect_print(one, "ParameterList(  (0): Parameter containing: [torch.float32 of size 2x3])");
    adz_module_release(&one);
}

static void parameters_stand_in_a_dict(void **state)
{
    (void)state;
    const adz_named_tensor named[] = { { "b", adz_ones(ADZ_SHAPE(2, 3), ADZ_F32) },
        { "a", adz_zeros(ADZ_SHAPE_SCALAR, ADZ_F64) } };
    adz_module *dict = adz_parameter_dict_new(named, 2);
    assert_ptr_equal(adz_module_get_parameter(dict, "a"), named[1].tensor);
    assert_string_equal(adz_module_parameter_name_at(dict, 0), "b");
    expect_print(dict, "ParameterDict(\n"
                       "    (b): Parameter containing: [torch.FloatTensor of size 2x3]\n"
                       "    (a): Parameter containing: [torch.DoubleTensor of size ]\n"
                       ")");
    adz_tensor *other = adz_full(ADZ_SHAPE(4), 2, ADZ_F32);
    assert_ptr_equal(adz_parameter_dict_set(dict, "b", other), other);
    assert_ptr_equal(adz_module_parameter_at(dict, 0), other); /* it keeps the position */
    assert_non_null(adz_parameter_dict_set(dict, "c", adz_ones(ADZ_SHAPE(1), ADZ_F32)));
    assert_int_equal(adz_parameter_dict_remove(dict, "a"), ADZ_OK);
    expect_state(dict, "b c");
    assert_int_equal(adz_module_parameters(dict).count, 2);
    assert_int_equal(adz_parameter_dict_remove(dict, "a"), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "ParameterDict has no parameter a");
    adz_module_release(&dict);
}

static void bad_parameters_are_refused(void **state)
{
    (void)state;
    adz_tensor *const whole[] = { adz_ones(ADZ_SHAPE(2), ADZ_I64) };
    assert_null(adz_parameter_list_new(whole, 1));
    expect_error(ADZ_ERR_DTYPE, "int64");
    assert_null(adz_parameter_list_new(NULL, 1));
    expect_error(ADZ_ERR_NULL, "parameters");
    assert_null(adz_parameter_dict_new(NULL, 1));
    expect_error(ADZ_ERR_NULL, "parameters");
    adz_module *list = adz_parameter_list_new(NULL, 0);
    assert_null(adz_module_forward(list, adz_ones(ADZ_SHAPE(1), ADZ_F32)));
    expect_error(ADZ_ERR_UNSUPPORTED, "ParameterList: a container of this kind cannot be called");
    assert_null(adz_parameter_dict_set(list, "a", adz_ones(ADZ_SHAPE(1), ADZ_F32)));
    expect_error(ADZ_ERR_ARGUMENT, "this is a ParameterList, not a ParameterDict");
    assert_null(adz_module_parameter_name_at(list, 0));
    expect_error(ADZ_ERR_INDEX, "no parameter 0");
    adz_module *dict = adz_parameter_dict_new(NULL, 0);
    adz_parameter_dict_set(dict, "a", adz_ones(ADZ_SHAPE(2), ADZ_F32));
    adz_flat_parameters *flat = adz_flat_parameters_new(adz_module_parameters(dict));
    assert_non_null(flat);
    assert_int_equal(adz_parameter_dict_remove(dict, "a"), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "lies in a flat buffer");
    adz_flat_parameters_free(&flat);
    assert_int_equal(adz_parameter_dict_remove(dict, "a"), ADZ_OK);
    adz_module_release(&list);
    adz_module_release(&dict);
}

/* A parametrised parameter is no tensor that could be taken out. */
static void parametrised_parameters_are_not_removed(void **state)
{
    (void)state;
    const adz_named_tensor named[] = { { "w", adz_ones(ADZ_SHAPE(2, 3), ADZ_F32) } };
    adz_module *dict = adz_parameter_dict_new(named, 1);
    assert_int_equal(adz_weight_norm(dict, "w", 0), ADZ_OK);
    assert_int_equal(adz_parameter_dict_remove(dict, "w"), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "w is parametrised; adz_module_remove_parametrizations");
    assert_int_equal(adz_module_remove_parametrizations(dict, "w", true), ADZ_OK);
    assert_int_equal(adz_parameter_dict_remove(dict, "w"), ADZ_OK);
    assert_int_equal(adz_module_parameter_count(dict), 0);
    adz_module_release(&dict);
}

/* The value of a parametrised parameter is a tensor, not a parameter. It is not computed. */
static void parametrised_parameters_are_printed(void **state)
{
    (void)state;
    const adz_named_tensor named[] = { { "w", adz_ones(ADZ_SHAPE(2, 3), ADZ_F64) } };
    adz_module *dict = adz_parameter_dict_new(named, 1);
    adz_module *list = adz_parameter_list_new(
        (adz_tensor *[]){ adz_ones(ADZ_SHAPE(3, 2), ADZ_F32), adz_ones(ADZ_SHAPE(4), ADZ_F32) }, 2);
    assert_int_equal(adz_weight_norm(dict, "w", 0), ADZ_OK);
    assert_int_equal(adz_weight_norm(list, "0", 0), ADZ_OK);
    expect_print(dict, "ParametrizedParameterDict(\n"
                       "    (w): Tensor containing: [torch.DoubleTensor of size 2x3]\n"
                       "  (parametrizations): ModuleDict(\n"
                       "    (w): ParametrizationList(\n"
                       "      (0): _WeightNorm()\n"
                       "    )\n"
                       "  )\n"
                       ")");
    expect_print(list, "ParametrizedParameterList(\n"
                       "    (0): Tensor containing: [torch.float32 of size 3x2]\n"
                       "    (1): Parameter containing: [torch.float32 of size 4]\n"
                       "  (parametrizations): ModuleDict(\n"
                       "    (0): ParametrizationList(\n"
                       "      (0): _WeightNorm()\n"
                       "    )\n"
                       "  )\n"
                       ")");
    adz_module_release(&dict);
    adz_module_release(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keys_are_in_the_order_of_adding),
        TEST(modules_are_replaced_and_removed),
        TEST(removed_modules_belong_to_who_keeps_them),
        TEST(bad_dicts_are_refused),
        TEST(parameters_stand_in_a_list),
        TEST(parameters_stand_in_a_dict),
        TEST(bad_parameters_are_refused),
        TEST(parametrised_parameters_are_not_removed),
        TEST(parametrised_parameters_are_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
