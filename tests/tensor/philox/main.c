/* The random kernels. Philox is compared with its published answers, every instruction set with the
 * baseline, any division into parts with the whole, and the samples with their distributions. The
 * seeds are fixed, so a test passes always or never. */
#include "tests.h"

int main(void)
{
    return draws_tests() + distributions_tests() + dropout_tests();
}
