/* Datasets, their parts, loaders and the standardiser. */
#include "tests.h"

int main(void)
{
    return datasets_tests() + loaders_tests() + metrics_tests() + ranks_tests() +
           standardizer_tests();
}
