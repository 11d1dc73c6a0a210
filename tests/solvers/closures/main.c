/* Steps with a closure: L-BFGS, Levenberg-Marquardt, and other optimizers. */
#include "tests.h"

int main(void)
{
    return bounds_tests() + ends_tests() + lines_tests() + lbfgs_tests() + least_squares_tests() +
           refused_tests() + state_tests();
}
