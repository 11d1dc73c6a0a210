/* Selection of one of many contiguous elements, such as the largest, in registers.
 *
 *     PICK(largest_of, WINS)
 *
 * makes KERNEL(largest_of)(x, n): of n >= 1 elements, the one that wins over all others. WINS(a, b)
 * is an expression in two elements or in two vectors of them. Elements may be compared more than
 * once, and in any order, so WINS must not depend on positions.
 *
 * The header is included once per type elem, inside each_float.h or each_type.h, and has no include
 * guard. Vectors are explicit, because compilers unroll a loop over the lanes of a register before
 * they would vectorise it. */

#undef REGISTER_BYTES
#if defined(__AVX512F__)
#define REGISTER_BYTES 64
#elif defined(__AVX2__)
#define REGISTER_BYTES 32
#else
#define REGISTER_BYTES 16
#endif

typedef elem KERNEL(vector) __attribute__((vector_size(REGISTER_BYTES)));
typedef elem KERNEL(vector_16) __attribute__((vector_size(16)));
#if REGISTER_BYTES > 16
typedef elem KERNEL(vector_32) __attribute__((vector_size(32)));
#endif

enum { KERNEL(lanes_of_16) = 16 / sizeof(elem), KERNEL(register) = REGISTER_BYTES / sizeof(elem) };

/* In each lane, a = b where b wins. WINS of vectors is a mask of all ones or zeros per lane. */
#undef PICK_INTO
#define PICK_INTO(WINS, a, b)                                                                      \
    {                                                                                              \
        const __typeof__((a) == (b)) wins_ = WINS((b), (a));                                       \
        (a) = (__typeof__(a))(((__typeof__(wins_))(b)&wins_) | ((__typeof__(wins_))(a) & ~wins_)); \
    }

/* Declares `name`, a vector of type V with half the lanes of `from`: the winners of its two halves.
 */
#undef PICK_HALF
#define PICK_HALF(WINS, V, name, from)                                          \
    V name, name##_upper;                                                       \
    {                                                                           \
        const __typeof__(from) both_ = (from);                                  \
        memcpy(&name, &both_, sizeof name);                                     \
        memcpy(&name##_upper, (const char *)&both_ + sizeof name, sizeof name); \
    }                                                                           \
    PICK_INTO(WINS, name, name##_upper)

/* PICK_DOWN(WINS, last, all) declares `last`, a vector of 16 bytes with the winners of all lanes.
 */
#undef PICK_DOWN
#if REGISTER_BYTES == 64
#define PICK_DOWN(WINS, last, all)                 \
    PICK_HALF(WINS, KERNEL(vector_32), half_, all) \
    PICK_HALF(WINS, KERNEL(vector_16), last, half_)
#elif REGISTER_BYTES == 32
#define PICK_DOWN(WINS, last, all) PICK_HALF(WINS, KERNEL(vector_16), last, all)
#else
#define PICK_DOWN(WINS, last, all) const KERNEL(vector_16) last = (all);
#endif

#undef PICK
#define PICK(name, WINS)                                                                 \
    static __attribute__((noinline, unused)) elem KERNEL(name)(const elem *x, int64_t n) \
    {                                                                                    \
        elem found = x[0];                                                               \
        if (n < KERNEL(register)) {                                                      \
            for (int64_t i = 1; i < n; ++i) {                                            \
                found = WINS(x[i], found) ? x[i] : found;                                \
            }                                                                            \
            return found;                                                                \
        }                                                                                \
        KERNEL(vector) a, b, c, d; /* a: the first elements; b: the last; may overlap */ \
        memcpy(&a, x, sizeof a);                                                         \
        memcpy(&b, x + n - KERNEL(register), sizeof b);                                  \
        int64_t i = KERNEL(register);                                                    \
        for (; i + 2 * KERNEL(register) <= n; i += 2 * KERNEL(register)) {               \
            memcpy(&c, x + i, sizeof c);                                                 \
            memcpy(&d, x + i + KERNEL(register), sizeof d);                              \
            PICK_INTO(WINS, a, c)                                                        \
            PICK_INTO(WINS, b, d)                                                        \
        }                                                                                \
        if (i + KERNEL(register) < n) {                                                  \
            memcpy(&c, x + i, sizeof c);                                                 \
            PICK_INTO(WINS, a, c)                                                        \
        }                                                                                \
        PICK_INTO(WINS, a, b)                                                            \
        PICK_DOWN(WINS, last, a)                                                         \
        elem lane[KERNEL(lanes_of_16)];                                                  \
        memcpy(lane, &last, sizeof lane);                                                \
        found = lane[0];                                                                 \
        for (int j = 1; j < KERNEL(lanes_of_16); ++j) {                                  \
            found = WINS(lane[j], found) ? lane[j] : found;                              \
        }                                                                                \
        return found;                                                                    \
    }
