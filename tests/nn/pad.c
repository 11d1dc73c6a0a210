/* PyTorch's pads. */
#include "nn/case.h"

#define MODULE(name, expression)              \
    static adz_module *name(adz_generator *g) \
    {                                         \
        (void)g;                              \
        return expression;                    \
    }

MODULE(constant1, adz_constant_pad1d_new(ADZ_SHAPE(2, 1), 3.5))
MODULE(constant2, adz_constant_pad2d_new(ADZ_SHAPE(1, 2, 0, 1), 3.5))
MODULE(constant3, adz_constant_pad3d_new(ADZ_SHAPE(1, 0, 2, 1, 1, 1), 3.5))
MODULE(reflection1, adz_reflection_pad1d_new(ADZ_SHAPE(2, 1)))
MODULE(reflection2, adz_reflection_pad2d_new(ADZ_SHAPE(1, 2, 0, 1)))
MODULE(reflection3, adz_reflection_pad3d_new(ADZ_SHAPE(1, 0, 2, 1, 1, 1)))
MODULE(replication1, adz_replication_pad1d_new(ADZ_SHAPE(2, 1)))
MODULE(replication2, adz_replication_pad2d_new(ADZ_SHAPE(1, 2, 0, 1)))
MODULE(replication3, adz_replication_pad3d_new(ADZ_SHAPE(1, 0, 2, 1, 1, 1)))
MODULE(circular1, adz_circular_pad1d_new(ADZ_SHAPE(2, 1)))
MODULE(circular2, adz_circular_pad2d_new(ADZ_SHAPE(1, 2, 0, 1)))
MODULE(circular3, adz_circular_pad3d_new(ADZ_SHAPE(1, 0, 2, 1, 1, 1)))

/* One number stands for all, and negative numbers crop. */
static void numbers_are_spread(void **state)
{
    (void)state;
    adz_module *m = adz_zero_pad2d_new(ADZ_SHAPE(-1));
    adz_tensor *x = adz_reshape(adz_arange(0, 9, 1, ADZ_F32), ADZ_SHAPE(1, 3, 3));
    assert_true(adz_item(adz_module_forward(m, x)) == 4);
    adz_module_release(&m);
    m = adz_constant_pad1d_new(ADZ_SHAPE(1), -2);
    adz_tensor *y = adz_module_forward(m, adz_ones(ADZ_SHAPE(1, 1), ADZ_F32));
    assert_true(HOLDS(y, 0, -2, 1, -2));
    adz_module_release(&m);
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    expect_no_module(
        adz_zero_pad2d_new(ADZ_SHAPE(1, 2)), "padding has 2 numbers, but needs 1 or 4");
    expect_no_module(adz_circular_pad1d_new(ADZ_SHAPE(-1)), "padding has -1");
    expect_refused(reflection1(NULL), adz_ones(ADZ_SHAPE(1, 1, 1, 4), ADZ_F32), "must have 2 or 3");
    adz_module *module = reflection1(NULL);
    assert_null(adz_module_forward(module, adz_ones(ADZ_SHAPE(1, 2), ADZ_F32)));
    expect_error(ADZ_ERR_ARGUMENT, "cannot be added");
    adz_module_release(&module);
}

static const struct CMUnitTest facts[] = {
    TEST(numbers_are_spread),
    TEST(bad_values_are_refused),
};

const module_case pad_module = {
    .name = "pad",
    .samples = { { constant1, "ConstantPad1d(padding=(2, 1), value=3.5)", "", { X(2, 3, 4) } },
        { constant2, "ConstantPad2d(padding=(1, 2, 0, 1), value=3.5)", "", { X(2, 2, 3, 4) } },
        { constant3, "ConstantPad3d(padding=(1, 0, 2, 1, 1, 1), value=3.5)", "",
            { X(1, 2, 3, 4, 3) } },
        { reflection1, "ReflectionPad1d((2, 1))", "", { X(2, 3, 4) } },
        { reflection2, "ReflectionPad2d((1, 2, 0, 1))", "", { X(2, 2, 3, 4) } },
        { reflection3, "ReflectionPad3d((1, 0, 2, 1, 1, 1))", "", { X(1, 2, 3, 4, 3) } },
        { replication1, "ReplicationPad1d((2, 1))", "", { X(2, 3, 4) } },
        { replication2, "ReplicationPad2d((1, 2, 0, 1))", "", { X(2, 2, 3, 4) } },
        { replication3, "ReplicationPad3d((1, 0, 2, 1, 1, 1))", "", { X(1, 2, 3, 4, 3) } },
        { circular1, "CircularPad1d((2, 1))", "", { X(2, 3, 4) } },
        { circular2, "CircularPad2d((1, 2, 0, 1))", "", { X(2, 2, 3, 4) } },
        { circular3, "CircularPad3d((1, 0, 2, 1, 1, 1))", "", { X(1, 2, 3, 4, 3) } } },
    FACTS(facts),
};
