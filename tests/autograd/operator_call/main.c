/* Operators of users that are called by adz_operator_call: what a call computes, what is refused,
 * plans and exports. The first operator is the one that the documentation shows. */
#include "common.h"

int main(void)
{
    return calls_tests() + refused_tests() + captured_tests() + checked_tests() + exported_tests() +
           forms_tests() + steps_tests();
}
