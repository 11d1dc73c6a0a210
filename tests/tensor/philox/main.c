/* The random kernels. Philox is compared with its published answers, and every instruction set with
 * the baseline. Draws in parts are compared with whole draws, and the samples with their
 * distributions. The seeds are fixed, so a test passes always or never. */
#include "tests.h"

int main(void)
{
    return draws_tests() + distributions_tests() + dropout_tests() + orders_tests();
}
