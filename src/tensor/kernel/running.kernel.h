/* The types in which a sum or a product of elements grows, and of its result, once per type elem;
 * inside each_float.h or each_type.h. There is no include guard.
 *
 *     RUNNING   f64 for floats, since f32 would round each step and leave its range sooner;
 *               unsigned integers of 64 bits for integers, in which overflow wraps
 *     OUT       elem for floats, which are rounded once; i64 for integers */
#undef RUNNING
#undef OUT
#if ELEM_IS_FLOAT
#define RUNNING double
#define OUT     elem
#else
#define RUNNING uint64_t
#define OUT     int64_t
#endif
