/* The state of a thread after a callback was left by longjmp(), and after ADZ_NO_GRAD was left
 * early. A variable that a test changes after setjmp() and reads after longjmp() is volatile or
 * static. */
#include "tests.h"

int main(void)
{
    return modules_tests() + backward_tests() + callbacks_tests();
}
