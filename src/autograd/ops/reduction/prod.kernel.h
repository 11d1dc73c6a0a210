/* What prod's kernels and their caller agree on. */
#ifndef ADZI_AUTOGRAD_OPS_REDUCTION_PROD_KERNEL_H
#define ADZI_AUTOGRAD_OPS_REDUCTION_PROD_KERNEL_H

enum { ADZI_PROD_BACKWARD_MOST = 1024 }; /* elements of a row that prod_backward takes */

#endif
