/* Rows of Q, K, V and their gradients, moved to scratch memory and back.
 *
 * The header is included once per type elem, inside each_float.h and after transpose.kernel.h, and
 * has no include guard. Rows in scratch memory are padded to ADZI_ATTENTION_PAD elements.
 */

/* to[n, padded(columns)] = factor * from[n, columns], whose leading dimension is `row`. The padding
 * is 0. */
static void KERNEL(pack)(elem *restrict to, const elem *restrict from, int64_t row, int64_t n,
    int64_t columns, elem factor)
{
    int64_t ld = adzi_attention_padded(columns);
    for (int64_t r = 0; r < n; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
            to[r * ld + c] = factor * from[r * row + c];
        }
        for (int64_t c = columns; c < ld; ++c) {
            to[r * ld + c] = ELEM(0);
        }
    }
}

/* to[columns, BLOCK] = factor * from[n, columns]^T, for n up to BLOCK. Columns n .. padded(n) - 1
 * are 0. */
static void KERNEL(pack_transposed)(elem *restrict to, const elem *restrict from, int64_t row,
    int64_t n, int64_t columns, elem factor)
{
    int64_t width = adzi_attention_padded(n);
    KERNEL(transpose)(to, BLOCK, from, row, columns, n);
    for (int64_t c = 0; c < columns; ++c) {
        for (int64_t r = 0; r < n && factor != ELEM(1); ++r) {
            to[c * BLOCK + r] *= factor;
        }
        for (int64_t r = n; r < width; ++r) {
            to[c * BLOCK + r] = ELEM(0);
        }
    }
}

/* to[n, columns] = factor * from[n, padded(columns)]; `row` is the leading dimension of `to`. */
static void KERNEL(unpack)(elem *restrict to, int64_t row, const elem *restrict from, int64_t n,
    int64_t columns, elem factor)
{
    int64_t ld = adzi_attention_padded(columns);
    for (int64_t r = 0; r < n; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
            to[r * row + c] = factor * from[r * ld + c];
        }
    }
}

/* The first element of an item of an operand. */
static elem *KERNEL(item_of)(
    const adzi_attention_args *g, const adzi_attention_operand *operand, int64_t item)
{
    return (elem *)operand->data + start_of(g, operand, item);
}
