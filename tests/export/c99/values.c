/* What written C computes of unusual values: infinities, NaN, integers, shapes of size 0, and
 * chains of elementwise calls. */
#include "tests.h"

/* With an argument only the group of that letter runs. */
int main(int argc, char **argv)
{
    static int (*const groups[])(void) = { special_tests, integer_tests, edge_tests, chain_tests };
    static const char letters[] = "siec";
    int failed = 0;
    for (int i = 0; letters[i] != '\0'; ++i) {
        failed += argc < 2 || argv[1][0] == letters[i] ? groups[i]() : 0;
    }
    return failed;
}
