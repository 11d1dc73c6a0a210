/* Included after the element type is known (tensor/kernel/each_float.h). */

/* The square root. */
static inline elem KERNEL(root)(elem x)
{
    return ELEM_IS_F32 ? (elem)sqrtf((float)x) : (elem)sqrt((double)x);
}
