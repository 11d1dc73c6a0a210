/* Types of optimizers: what is refused, what adz_optimizer_check finds, and optimizers of a
 * program's own in plans. Checkpoints, groups, flat buffers and divided states of such optimizers
 * are tested with those of adze (optimizers/cases.c). */
#include "tests.h"

int main(void)
{
    return refused_tests() + checked_tests() + planned_tests();
}
