/* Every optimizer is compared with its formula as a plain loop, in f64 and, on each instruction
 * set, in f32. Then come states, refused memory and refused settings. */
#include "tests.h"

int main(void)
{
    return blocks_tests() + steps_tests() + state_tests() + restored_tests() + special_tests() +
           settings_tests() + labml_tests() + flat_tests() + matrices_tests();
}
