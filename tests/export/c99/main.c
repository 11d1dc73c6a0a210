/* Networks written as C99: what the compiled functions compute, how they train, what the files say,
 * and what is refused. */
#include "tests.h"

int main(void)
{
    return operators_tests() + networks_tests() + modules_tests() + training_tests() +
           gradients_tests() + files_tests();
}
