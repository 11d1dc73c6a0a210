#include "ops/op.h"

/* Eigenvalues of symmetric matrices, torch.linalg.eigvalsh. A composition. */
adz_tensor *adz_eigvalsh(adz_tensor *a, bool upper)
{
    ADZI_COMPOSED();
    return adz_eigh(a, upper, NULL);
}
