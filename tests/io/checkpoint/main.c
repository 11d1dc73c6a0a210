/* Weights in files, and whole runs that go on with the same bits after being killed. */
#include "tests.h"

int main(void)
{
    return resume_tests() + mismatch_tests() + weights_tests() + refused_tests() + memory_tests();
}
