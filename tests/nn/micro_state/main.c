/* What modules keep from call to call, while they train with micro-batches. */
#include "tests.h"

int main(void)
{
    return batch_norm_tests() + batch_norm_change_tests() + carried_tests() + carried_reset_tests();
}
