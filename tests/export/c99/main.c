/* Networks written as C99: what the compiled functions compute, how they train, what the files say,
 * and what is refused. */
#include "tests.h"

/* With an argument only the group of that letter runs. */
int main(int argc, char **argv)
{
    static int (*const groups[])(void) = { operators_tests, networks_tests, modules_tests,
        convolution_tests, product_tests, training_tests, gradients_tests, files_tests,
        steps_tests };
    static const char letters[] = "onmcptgfs";
    int failed = 0;
    for (int i = 0; letters[i] != '\0'; ++i) {
        failed += argc < 2 || argv[1][0] == letters[i] ? groups[i]() : 0;
    }
    return failed;
}
