/* A program over an installed libadze-mpi: the sum of the ranks' numbers. */
#include <stdio.h>

#include <adze/adze.h>
#include <adze/mpi.h>

int main(void)
{
    adz_group *group = adz_mpi_group_world();
    if (group == NULL) {
        fprintf(stderr, "%s\n", adz_error_message());
        return 1;
    }
    adz_tensor *x = adz_full(ADZ_SHAPE(2), adz_group_rank(group) + 1, ADZ_F64);
    const adz_status status = adz_group_all_reduce(group, x, ADZ_GROUP_SUM);
    if (adz_group_rank(group) == 0) {
        printf("%s: %g\n", adz_group_name(group), adz_tensor_at(x, (int64_t[]){ 1 }));
    }
    adz_group_free(&group);
    return status != ADZ_OK;
}
