/* A product of operands that are stored in half precision or in blocks of Q8_0 has the bits of the
 * product of operands that were widened before. */
#include "adze/precision.h"
#include "base/alloc.h"
#include "problem.h"
#include "tensor/copy.h"
#include "tensor/kernel/q8_0.h"
#include "tests.h"

/* An operand that is stored in another way, and the same values in f32. */
typedef struct stored {
    int form; /* as adzi_gemm_args.a_stored */
    uint16_t *half;
    float *wide;
} stored;

/* Fills blocks of Q8_0 with random bytes and scales, of which some are huge or tiny if `special`.
 */
static void make_blocks(stored *s, int64_t count, bool special)
{
    uint8_t *block = (uint8_t *)s->half;
    for (int64_t at = 0; at < count; at += ADZI_Q8_0_VALUES, block += ADZI_Q8_0_BYTES) {
        const bool rare = special && random_word() % 157 == 0;
        const float scale = (float)random_value() * (rare ? 60000 : 0.01F);
        const uint16_t bits = rare ? (uint16_t)random_word() : adzi_f16_from_f32(scale);
        block[0] = (uint8_t)bits;
        block[1] = (uint8_t)(bits >> 8);
        for (int i = 0; i < ADZI_Q8_0_VALUES; ++i) {
            const int8_t byte = (int8_t)(random_word() >> 7);
            block[2 + i] = (uint8_t)byte;
            s->wide[at + i] = adzi_f32_from_f16(bits) * (float)byte;
        }
    }
}

/* `count` random values. Now and then one is huge, tiny, infinite or NaN if `special`. */
static stored make_stored(int form, int64_t count, bool special)
{
    static const float rare[] = { 3e-6f, -6e4f, INFINITY, NAN };
    stored s = { form, malloc((size_t)count * 2 + 1), malloc((size_t)count * 4 + 1) };
    if (form == ADZI_STORED_Q8_0) {
        make_blocks(&s, count, special);
        return s;
    }
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t word = random_word();
        const float value =
            special && word % 5003 == 0 ? rare[word / 5003 % 4] : (float)random_value();
        s.half[i] = form == ADZ_F16 ? adzi_f16_from_f32(value) : adzi_bf16_from_f32(value);
        s.wide[i] = form == ADZ_F16 ? adzi_f32_from_f16(s.half[i]) : adzi_f32_from_bf16(s.half[i]);
    }
    return s;
}

static void free_stored(stored *s)
{
    free(s->half);
    free(s->wide);
}

/* True if the bits agree, any NaN being equal to any NaN. */
static bool same_values(const float *a, const float *b, int64_t count)
{
    bool same = true;
    for (int64_t i = 0; i < count && same; ++i) {
        same = memcmp(&a[i], &b[i], sizeof *a) == 0 || (isnan(a[i]) && isnan(b[i]));
    }
    return same;
}

/* What is varied besides the shape. */
typedef struct variety {
    bool ta, tb, special;
    int a, b; /* as adzi_gemm_args.a_stored */
    const double *factors;
    bool bias, relu;
    int64_t batch;
} variety;

/* A product in half precision and in f32. `g` reads the operands in half precision. */
typedef struct pair {
    adzi_gemm_args g, wide;
    stored a, b;
    float *bias, *before, *got, *want;
    int64_t count;
} pair;

static pair make_pair(int64_t m, int64_t n, int64_t k, const variety *v)
{
    pair p = { .a = make_stored(v->a == 0 ? ADZ_F16 : v->a, v->batch * m * k, v->special),
        .b = make_stored(v->b == 0 ? ADZ_F16 : v->b, v->batch * k * n, v->special),
        .bias = random_storage(ADZ_F32, n),
        .before = random_storage(ADZ_F32, v->batch * m * n),
        .count = v->batch * m * n };
    p.got = malloc((size_t)p.count * sizeof *p.got);
    p.want = malloc((size_t)p.count * sizeof *p.want);
    p.wide = (adzi_gemm_args){ .dtype = ADZ_F32,
        .ta = v->ta,
        .tb = v->tb,
        .m = m,
        .n = n,
        .k = k,
        .alpha = v->factors[0],
        .a = p.a.wide,
        .lda = v->ta ? m : k,
        .b = p.b.wide,
        .ldb = v->tb ? k : n,
        .beta = v->factors[1],
        .c = p.want,
        .ldc = n,
        .bias = v->bias ? p.bias : NULL,
        .relu = v->relu,
        .batch = v->batch,
        .stride_a = m * k,
        .stride_b = k * n,
        .stride_c = m * n };
    p.g = p.wide;
    p.g.c = p.got;
    if (v->a != 0) {
        p.g.a_stored = (uint8_t)v->a;
        p.g.a = p.a.half;
    }
    if (v->b != 0) {
        p.g.b_stored = (uint8_t)v->b;
        p.g.b = p.b.half;
    }
    return p;
}

static void free_pair(pair *p)
{
    free_stored(&p->a);
    free_stored(&p->b);
    free(p->bias);
    free(p->before);
    free(p->got);
    free(p->want);
}

static void multiply(pair *p)
{
    memcpy(p->want, p->before, (size_t)p->count * sizeof *p->want);
    memcpy(p->got, p->before, (size_t)p->count * sizeof *p->got);
    adzi_gemm_run(&p->wide);
    adzi_gemm_run(&p->g);
}

/* Computes one shape at every level and with one and two threads. */
static void expect_bits(int64_t m, int64_t n, int64_t k, const variety *v, int most_threads)
{
    pair p = make_pair(m, n, k, v);
    const int used = adzi_cpu_level, best = adzi_cpu_best();
    for (int level = 0; level <= best; ++level) {
        for (int threads = 1; threads <= most_threads; ++threads) {
            adzi_cpu_level = level;
            adz_set_num_threads(threads);
            multiply(&p);
            const bool same = same_values(p.got, p.want, p.count);
            if (!same) {
                print_error(
                    "m %d n %d k %d%s%s a %d b %d alpha %g beta %g bias %d relu %d batch %d level %d threads %d\n",
                    (int)m, (int)n, (int)k, v->ta ? " ta" : "", v->tb ? " tb" : "", v->a, v->b,
                    v->factors[0], v->factors[1], v->bias, v->relu, (int)v->batch, level, threads);
            }
            assert_true(same);
        }
    }
    adzi_cpu_level = used;
    adz_set_num_threads(0);
    free_pair(&p);
}

/* The variety number `i`: transposes change fastest, then which operands are stored in what. */
static variety variety_of(unsigned i)
{
    static const int pairs[][2] = { { 0, ADZ_BF16 }, { 0, ADZ_F16 }, { ADZ_BF16, 0 },
        { ADZ_F16, 0 }, { ADZ_F16, ADZ_BF16 } };
    const int *s = pairs[i / 4 % COUNT(pairs)];
    return (variety){ .ta = i % 2 == 1,
        .tb = i / 2 % 2 == 1,
        .special = i % 3 == 0,
        .a = s[0],
        .b = s[1],
        .factors = factors[i % 2 == 0 ? 0 : i / 4 % COUNT(factors)],
        .bias = i % 5 < 2,
        .relu = i % 7 < 2,
        .batch = i % 11 == 0 ? 3 : 1 };
}

void half_precision_is_widened(void **state)
{
    (void)state;
    static const int64_t sides[] = { 1, 2, 5, 16, 33, 49, 70 };
    unsigned turn = 0;
    for (int64_t m = 1; m <= 70; ++m) {
        for (size_t s = 0; s < COUNT(sides); ++s, ++turn) {
            const variety v = variety_of(turn);
            const int64_t n = sides[s], k = 1 + (int64_t)(turn * 7 % 70);
            expect_bits(turn % 2 == 0 ? m : n, turn % 2 == 0 ? n : m, k, &v, 1);
        }
    }
}

void large_half_precision_is_widened(void **state)
{
    (void)state;
    /* A rest of one column or row after a part, vectors, few rows, swapped tiles with and without a
     * tail, tiles, and several widths. */
    static const int64_t shapes[][3] = { { 2, 47, 700 }, { 47, 2, 700 }, { 1, 3000, 700 },
        { 3000, 1, 700 }, { 1, 200, 4096 }, { 4, 700, 500 }, { 3, 1300, 530 }, { 12, 600, 800 },
        { 40, 700, 530 }, { 64, 520, 1100 }, { 170, 150, 1601 }, { 150, 170, 1601 },
        { 97, 1300, 600 }, { 1300, 97, 600 }, { 300, 20, 3000 }, { 20, 300, 3000 }, { 17, 1100, 9 },
        { 257, 1100, 1 } };
    for (unsigned i = 0; i < COUNT(shapes) * 10; ++i) {
        variety v = variety_of(i * 13);
        v.batch = 1;
        const int64_t *size = shapes[i % COUNT(shapes)];
        expect_bits(size[0], size[1], size[2], &v, 2);
    }
}

/* Blocks of Q8_0, whose rows are whole blocks: few and many rows, one row, both sides of the
 * product, tiles, and widths that are cut. The sides along blocks are rounded up. */
void blocks_are_widened(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = { { 1, 3000, 704 }, { 1, 40, 4096 }, { 2, 47, 704 },
        { 4, 700, 512 }, { 7, 900, 544 }, { 12, 600, 800 }, { 40, 700, 512 }, { 64, 520, 1120 },
        { 170, 160, 1600 }, { 97, 1312, 608 }, { 300, 32, 3008 }, { 17, 1120, 32 }, { 3, 9, 32 },
        { 13, 33, 96 }, { 1, 1, 32 }, { 33, 64, 64 } };
    static const int ways[][2] = { { 0, ADZI_STORED_Q8_0 }, { 0, ADZI_STORED_Q8_0 },
        { ADZI_STORED_Q8_0, 0 }, { ADZ_BF16, ADZI_STORED_Q8_0 } };
    for (unsigned i = 0; i < COUNT(shapes) * 16; ++i) {
        variety v = variety_of(i * 7);
        int64_t size[3];
        memcpy(size, shapes[i / 16], sizeof size);
        v.ta = i % 2 == 1;
        v.tb = i / 2 % 2 == 0;
        v.a = ways[i / 4 % 4][0];
        v.b = ways[i / 4 % 4][1];
        int64_t *of_a = &size[v.ta ? 0 : 2], *of_b = &size[v.tb ? 2 : 1];
        *of_a = v.a == ADZI_STORED_Q8_0 ? (*of_a + 31) / 32 * 32 : *of_a;
        *of_b = v.b == ADZI_STORED_Q8_0 ? (*of_b + 31) / 32 * 32 : *of_b;
        expect_bits(size[0], size[1], size[2], &v, 2);
    }
}

void half_precision_at_medium(void **state)
{
    (void)state;
    adz_set_matmul_precision(ADZ_MATMUL_MEDIUM);
    for (unsigned i = 0; i < 40; ++i) {
        variety v = variety_of(i);
        expect_bits(1 + i * 3, 70, 129, &v, 2);
    }
    adz_set_matmul_precision(ADZ_MATMUL_HIGHEST);
}

/* Where memory for widened parts is refused, sums are added in another order. Some products need
 * none. */
void half_precision_without_memory(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = { { 1, 300, 500 }, { 300, 1, 500 }, { 12, 300, 400 },
        { 40, 400, 530 }, { 170, 150, 601 }, { 9, 11, 13 } };
    int refused = 0;
    adz_set_num_threads(1);
    for (unsigned i = 0; i < COUNT(shapes) * 20; ++i) {
        variety v = variety_of(i * 7);
        v.special = false;
        const int64_t *size = shapes[i % COUNT(shapes)];
        pair p = make_pair(size[0], size[1], size[2], &v);
        multiply(&p);
        memcpy(p.got, p.before, (size_t)p.count * sizeof *p.got);
        adzi_alloc_fail_at(1 + (int64_t)i % 2);
        adzi_gemm_run(&p.g);
        refused += adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        for (int64_t e = 0; e < p.count; ++e) {
            assert_true(fabsf(p.got[e] - p.want[e]) <= 1e-3f);
        }
        free_pair(&p);
    }
    assert_true(refused > 20);
    adz_set_num_threads(0);
}
