/* Parameters and gradients in flat buffers. */
#include "tests.h"

int main(void)
{
    return layout_tests() + training_tests() + failure_tests();
}
