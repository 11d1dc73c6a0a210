/* The schedules: rates worked out by hand or by their closed form, state, what they refuse. */
#include "tests.h"

int main(void)
{
    return lines_tests() + one_cycle_tests() + plateau_tests() + state_tests() + refused_tests() +
           composed_tests();
}
