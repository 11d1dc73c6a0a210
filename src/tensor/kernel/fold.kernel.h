/* One of many elements that lie side by side, in registers, per type elem; inside each_float.h or
 * each_type.h. No include guard: that is the point.
 *
 *     PICK(largest_of, WINS)
 *
 * makes KERNEL(largest_of)(x, n): of n elements, 1 or more, the one that wins over all others,
 * where WINS(a, b) is an expression in two elements or two vectors of them. Elements may be asked
 * about more than once. Compilers unroll loops of a register's lanes before they would make vectors
 * of them, hence the vectors here. */

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

/* a = b where b wins. */
#undef PICK_INTO
#define PICK_INTO(WINS, a, b)                                                                      \
    {                                                                                              \
        const __typeof__((a) == (b)) wins_ = WINS((b), (a));                                       \
        (a) = (__typeof__(a))(((__typeof__(wins_))(b)&wins_) | ((__typeof__(wins_))(a) & ~wins_)); \
    }

/* Half the lanes of `from`, as a vector of type V: the winners of both halves. */
#undef PICK_HALF
#define PICK_HALF(WINS, V, name, from)                                          \
    V name, name##_upper;                                                       \
    {                                                                           \
        const __typeof__(from) both_ = (from);                                  \
        memcpy(&name, &both_, sizeof name);                                     \
        memcpy(&name##_upper, (const char *)&both_ + sizeof name, sizeof name); \
    }                                                                           \
    PICK_INTO(WINS, name, name##_upper)

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
        KERNEL(vector) a, b, c, d; /* b begins with the last, some perhaps twice */      \
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
