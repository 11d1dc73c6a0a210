/* npy: what NumPy writes and reads, dtypes, and files that are refused. */
#include "tests.h"

int main(void)
{
    return files_tests() + dtypes_tests();
}
