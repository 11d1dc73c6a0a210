/* The module core: ownership, listings, calls, state, copies, printed trees. */
#include "tests.h"

int main(void)
{
    return listings_tests() + structure_tests() + calls_tests() + state_tests() + refused_tests() +
           arguments_tests() + loading_tests() + ownership_tests();
}
