/* Test programs provoke errors and look at what calls return. So the library shall print no errors
 * of theirs. This file is part of every program that uses cmocka. */
#include "adze/base.h"

__attribute__((constructor)) static void be_quiet(void)
{
    adz_on_error(adz_quiet, NULL);
}
