/* CSV: what a table may look like, and what is said about one that cannot be read. */
#include "tests.h"

int main(void)
{
    return tables_tests() + numbers_tests() + errors_tests() + dialects_tests();
}
