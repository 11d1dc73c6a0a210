/* The limit of the kernel prod_backward. Its caller takes an expression of operators for longer
 * rows.
 */
#ifndef ADZI_OPS_REDUCTION_PROD_KERNEL_H
#define ADZI_OPS_REDUCTION_PROD_KERNEL_H

enum { ADZI_PROD_BACKWARD_MOST = 1024 }; /* elements of a row: 8 KiB of f64 */

#endif
