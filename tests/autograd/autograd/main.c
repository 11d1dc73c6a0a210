/* The tape and the engine: what backward promises beyond single operators. */
#include "tests.h"

int main(void)
{
    return graphs_tests() + hooks_tests() + memory_tests() + leaves_tests();
}
