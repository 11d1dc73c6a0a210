/* The tape and the engine: the promises of a backward beyond single operators. */
#include "tests.h"

int main(void)
{
    return again_tests() + again_graphs_tests() + graphs_tests() + hooks_tests() + inputs_tests() +
           memory_tests() + leaves_tests();
}
