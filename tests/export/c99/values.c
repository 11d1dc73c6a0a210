/* What written C computes of unusual values: infinities, NaN, integers, and shapes of size 0. */
#include "tests.h"

int main(void)
{
    return special_tests() + integer_tests();
}
