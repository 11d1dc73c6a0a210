/* Which words of a launch's arguments are addresses.
 *
 * Note [Addresses of a launch]
 * A plan runs a launch again with other memory, so it changes addresses in the copy that it keeps
 * of the arguments. It also watches the memory that they refer to. The arguments are bytes to it,
 * so the code that launches says which of them are addresses. A line behind each struct of
 * arguments does that, and a struct without this line cannot be launched:
 *
 *     typedef struct {
 *         const char *x;
 *         char *y;
 *         adzi_workers workers;
 *         int64_t n;
 *     } sum_args;
 *
 *     ADZI_ADDRESSES(sum_args, x, y, workers.memory);
 *
 * All pointers to data are named, also those to objects and texts, and those inside of members. An
 * array of pointers is one name. Pointers to functions are not named. A struct that is part of
 * others may have a macro that names its pointers, such as ADZI_GEMM_ADDRESSES.
 *
 * A kernel only reads what a pointer to const refers to, and no cast takes the const away. A plan
 * relies on this where work on weights is done once (plan/once.c).
 *
 * The sweep of plans compares each captured launch with what is named (tests/sweep/plans).
 */
#ifndef ADZI_BASE_THREADS_ADDRESSES_H
#define ADZI_BASE_THREADS_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** `count` addresses in a struct of arguments, `step` bytes from one to the next. A table of them
 * ends with a count of 0. */
typedef struct adzi_addresses {
    uint32_t at, count, step;
    uint32_t reads; /* 1: pointers to const; 0: kernels may write there */
} adzi_addresses;

/** Makes the table of a struct from the names of its members. 20 names at most. */
#define ADZI_ADDRESSES(type, ...) ADZI_ADDRESS_TABLE(type, ADZI_LIST_ADDRESSES(type, __VA_ARGS__))

/** The table of a struct that contains no address. */
#define ADZI_NO_ADDRESSES(type) \
    static const adzi_addresses type##_addresses[] __attribute__((unused)) = { { 0 } }

/** Makes the table of a struct from entries, for what ADZI_ADDRESSES cannot name. */
#define ADZI_ADDRESS_TABLE(type, ...) \
    static const adzi_addresses type##_addresses[] __attribute__((unused)) = { __VA_ARGS__, { 0 } }

/** The entry of a member that is a pointer, or an array of pointers. A number does not compile. */
#define ADZI_ADDRESS(type, member)                                                \
    {                                                                             \
        offsetof(type, member),                                                   \
            sizeof(((type *)0)->member) / sizeof(void *) +                        \
                0 * sizeof(1 ? ((type *)0)->member : (void *)0), /* a pointer? */ \
            sizeof(void *), ADZI_READS(((type *)0)->member)                       \
    }

/** 1 for a pointer to constant bytes, or for an array of them, which decays to a pointer to its
 * first element; else 0. */
#define ADZI_READS(member) \
    _Generic((member), const void *                                         \
             : 1, const char *                                              \
             : 1, const void **                                             \
             : sizeof(member) > sizeof(void *), const char **               \
             : sizeof(member) > sizeof(void *), default                     \
             : 0)

/** The entry of a pointer in each element of a member that is an array of structs. */
#define ADZI_ADDRESS_OF_EACH(type, array, pointer)                                          \
    {                                                                                       \
        offsetof(type, array[0].pointer),                                                   \
            sizeof(((type *)0)->array) / sizeof *((type *)0)->array +                       \
                0 * sizeof(1 ? ((type *)0)->array[0].pointer : (void *)0), /* a pointer? */ \
            sizeof *((type *)0)->array, 0                                                   \
    }

/* ADZI_ADDRESS of each name: ADZI_ADDRESSES_n takes the first of n names and leaves n - 1. */
/* clang-format off */
#define ADZI_LIST_ADDRESSES(type, ...) \
    ADZI_ADDRESSES_OF_(ADZI_COUNT_(__VA_ARGS__, \
        20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), type, __VA_ARGS__)
#define ADZI_COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, count, ...) count
#define ADZI_ADDRESSES_OF_(count, type, ...) ADZI_ADDRESSES_OF__(count, type, __VA_ARGS__)
#define ADZI_ADDRESSES_OF__(count, type, ...) ADZI_ADDRESSES_##count(type, __VA_ARGS__)
#define ADZI_ADDRESSES_1(type, m) ADZI_ADDRESS(type, m)
#define ADZI_ADDRESSES_2(type, m, ...) ADZI_ADDRESS(type, m), ADZI_ADDRESSES_1(type, __VA_ARGS__)
#define ADZI_ADDRESSES_3(type, m, ...) ADZI_ADDRESS(type, m), ADZI_ADDRESSES_2(type, __VA_ARGS__)
#define ADZI_ADDRESSES_4(type, m, ...) ADZI_ADDRESS(type, m), ADZI_ADDRESSES_3(type, __VA_ARGS__)
#define ADZI_ADDRESSES_5(type, m, ...) ADZI_ADDRESS(type, m), ADZI_ADDRESSES_4(type, __VA_ARGS__)
#define ADZI_ADDRESSES_6(type, m, ...) ADZI_ADDRESS(type, m), ADZI_ADDRESSES_5(type, __VA_ARGS__)
#define ADZI_ADDRESSES_7(type, m, ...) ADZI_ADDRESS(type, m), ADZI_ADDRESSES_6(type, __VA_ARGS__)
#define ADZI_ADDRESSES_8(type, m, ...) ADZI_ADDRESS(type, m), ADZI_ADDRESSES_7(type, __VA_ARGS__)
#define ADZI_ADDRESSES_9(type, m, ...) ADZI_ADDRESS(type, m), ADZI_ADDRESSES_8(type, __VA_ARGS__)
#define ADZI_ADDRESSES_10(type, m, ...) ADZI_ADDRESS(type, m), ADZI_ADDRESSES_9(type, __VA_ARGS__)
#define ADZI_ADDRESSES_11(type, m, ...) ADZI_ADDRESS(type, m), ADZI_ADDRESSES_10(type, __VA_ARGS__)
#define ADZI_ADDRESSES_12(type, m, ...) ADZI_ADDRESS(type, m), ADZI_ADDRESSES_11(type, __VA_ARGS__)
#define ADZI_ADDRESSES_13(type, m, ...) ADZI_ADDRESS(type, m), ADZI_ADDRESSES_12(type, __VA_ARGS__)
#define ADZI_ADDRESSES_14(type, m, ...) ADZI_ADDRESS(type, m), ADZI_ADDRESSES_13(type, __VA_ARGS__)
#define ADZI_ADDRESSES_15(type, m, ...) ADZI_ADDRESS(type, m), ADZI_ADDRESSES_14(type, __VA_ARGS__)
#define ADZI_ADDRESSES_16(type, m, ...) ADZI_ADDRESS(type, m), ADZI_ADDRESSES_15(type, __VA_ARGS__)
#define ADZI_ADDRESSES_17(type, m, ...) ADZI_ADDRESS(type, m), ADZI_ADDRESSES_16(type, __VA_ARGS__)
#define ADZI_ADDRESSES_18(type, m, ...) ADZI_ADDRESS(type, m), ADZI_ADDRESSES_17(type, __VA_ARGS__)
#define ADZI_ADDRESSES_19(type, m, ...) ADZI_ADDRESS(type, m), ADZI_ADDRESSES_18(type, __VA_ARGS__)
#define ADZI_ADDRESSES_20(type, m, ...) ADZI_ADDRESS(type, m), ADZI_ADDRESSES_19(type, __VA_ARGS__)
/* clang-format on */

/** A position among the addresses of a launch. It begins as { table, size }. */
typedef struct adzi_address_cursor {
    const adzi_addresses *table;
    size_t size; /* bytes of the arguments, which may be a part of the struct */
    uint32_t next;
} adzi_address_cursor;

/** Finds the next address: the offset of its word in the arguments. False if there is none. */
static inline bool adzi_next_address(adzi_address_cursor *cursor, size_t *at)
{
    for (const adzi_addresses *t = cursor->table; t->count > 0; cursor->table = ++t) {
        *at = t->at + (size_t)cursor->next * t->step;
        if (cursor->next < t->count && *at + sizeof(void *) <= cursor->size) {
            ++cursor->next;
            return true;
        }
        cursor->next = 0;
    }
    return false;
}

#endif
