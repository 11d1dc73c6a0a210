/* A save as the operating system sees it: the order of its calls, what happens when one fails, and
 * what killed processes leave behind. Then what savers and loaders share. The linker puts the
 * functions of calls.c between the library and the C library. */
#include "tests.h"

int main(void)
{
    return order_tests() + leftovers_tests() + parts_tests();
}
