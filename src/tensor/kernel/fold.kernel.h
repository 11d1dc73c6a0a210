/* One of many elements that lie side by side, in registers, per type T; inside each_float.h or
 * each_type.h. No include guard: that is the point.
 *
 *     PICK(largest_of, WINS)
 *
 * makes K(largest_of)(x, n): of n elements, 1 or more, the one that wins over all others, where
 * WINS(a, b) is an expression in two elements or two vectors of them. Elements may be asked about
 * more than once. Compilers unroll loops of a register's lanes before they would make vectors of
 * them, hence the vectors here. */

#undef REGISTER_BYTES
#if defined(__AVX512F__)
#define REGISTER_BYTES 64
#elif defined(__AVX2__)
#define REGISTER_BYTES 32
#else
#define REGISTER_BYTES 16
#endif

typedef T K(vector) __attribute__((vector_size(REGISTER_BYTES)));
typedef T K(vector_16) __attribute__((vector_size(16)));
#if REGISTER_BYTES > 16
typedef T K(vector_32) __attribute__((vector_size(32)));
#endif

enum { K(lanes_of_16) = 16 / sizeof(T), K(register) = REGISTER_BYTES / sizeof(T) };

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
#define PICK_DOWN(WINS, last, all)            \
    PICK_HALF(WINS, K(vector_32), half_, all) \
    PICK_HALF(WINS, K(vector_16), last, half_)
#elif REGISTER_BYTES == 32
#define PICK_DOWN(WINS, last, all) PICK_HALF(WINS, K(vector_16), last, all)
#else
#define PICK_DOWN(WINS, last, all) const K(vector_16) last = (all);
#endif

#undef PICK
#define PICK(name, WINS)                                                       \
    static inline T K(name)(const T *x, int64_t n)                             \
    {                                                                          \
        T found = x[0];                                                        \
        if (n < K(register)) {                                                 \
            for (int64_t i = 1; i < n; ++i) {                                  \
                found = WINS(x[i], found) ? x[i] : found;                      \
            }                                                                  \
            return found;                                                      \
        }                                                                      \
        K(vector) a, b, c, d; /* b begins with the last, some perhaps twice */ \
        memcpy(&a, x, sizeof a);                                               \
        memcpy(&b, x + n - K(register), sizeof b);                             \
        int64_t i = K(register);                                               \
        for (; i + 2 * K(register) <= n; i += 2 * K(register)) {               \
            memcpy(&c, x + i, sizeof c);                                       \
            memcpy(&d, x + i + K(register), sizeof d);                         \
            PICK_INTO(WINS, a, c)                                              \
            PICK_INTO(WINS, b, d)                                              \
        }                                                                      \
        if (i + K(register) < n) {                                             \
            memcpy(&c, x + i, sizeof c);                                       \
            PICK_INTO(WINS, a, c)                                              \
        }                                                                      \
        PICK_INTO(WINS, a, b)                                                  \
        PICK_DOWN(WINS, last, a)                                               \
        T lane[K(lanes_of_16)];                                                \
        memcpy(lane, &last, sizeof lane);                                      \
        found = lane[0];                                                       \
        for (int j = 1; j < K(lanes_of_16); ++j) {                             \
            found = WINS(lane[j], found) ? lane[j] : found;                    \
        }                                                                      \
        return found;                                                          \
    }
