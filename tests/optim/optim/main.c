/* Optimizers, schedulers, clipping: update rules step by step, groups, state, failures. */
#include "tests.h"

int main(void)
{
    return sgd_tests() + clip_tests() + training_tests() + warning_tests();
}
