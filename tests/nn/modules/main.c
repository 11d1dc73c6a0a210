/* Each kind of module: values, names, printed form, gradients, rejected arguments. */
#include "tests.h"

int main(void)
{
    return all_tests() + layers_tests() + feed_forward_tests() + zoo_tests();
}
