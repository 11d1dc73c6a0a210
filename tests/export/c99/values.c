/* What written C computes of unusual values: infinities, NaN, integers, and shapes of size 0. */
#include "tests.h"

/* With an argument only the group of that letter runs. */
int main(int argc, char **argv)
{
    const char only = argc > 1 ? argv[1][0] : 0;
    int failed = only == 0 || only == 's' ? special_tests() : 0;
    failed += only == 0 || only == 'i' ? integer_tests() : 0;
    failed += only == 0 || only == 'e' ? edge_tests() : 0;
    return failed;
}
