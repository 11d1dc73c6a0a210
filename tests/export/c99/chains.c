/* Chains of elementwise calls in C: what is joined in one loop, what is stored, and that no bit
 * differs. */
#include "network.h"
#include "tests.h"

enum { SIDE = 5, MOST = 24 };

/* ---- what is joined ------------------------------------------------------------------------- */

static adz_tensor *whole_chain(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *a = adz_add(adz_mul_number(in[0], 2), in[1]);
    return adz_mul(adz_relu(a), in[0]);
}

static adz_tensor *read_twice(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *a = adz_add(in[0], in[1]);
    adz_tensor *b = adz_mul(a, a);
    return adz_where(adz_gt(b, a), adz_sub(b, in[0]), a);
}

static adz_tensor *broadcast_operands(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *row = adz_slice(in[1], 0, 1, 2, 1), *column = adz_slice(in[1], 1, 2, 3, 1);
    return adz_mul(adz_add(adz_transpose(in[0], 0, 1), row), column);
}

static adz_tensor *in_place(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *a = adz_mul_number(in[0], 2);
    adz_add_(a, in[1]);
    adz_mul_(a, a);
    return adz_sub(a, in[1]);
}

static adz_tensor *integers_between(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *k = adz_to(adz_mul_number(in[0], 10), ADZ_I32);
    return adz_to(adz_mul(k, adz_add_number(k, 2147483647)), ADZ_F32);
}

/* A matrix product reads the first sum, too. */
static adz_tensor *read_later(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *a = adz_add(in[0], in[1]);
    adz_tensor *b = adz_mul(a, in[1]);
    return adz_matmul(b, a);
}

static adz_tensor *transposed_of_chain(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *a = adz_add(in[0], in[1]);
    return adz_sub(a, adz_transpose(a, 0, 1));
}

/* The transposed sum is read before its memory is changed. */
static adz_tensor *changed_after_transposed(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *a = adz_add(in[0], in[1]);
    adz_tensor *b = adz_mul_number(adz_transpose(a, 0, 1), 3);
    adz_mul_(a, in[0]);
    return adz_add(a, b);
}

/* Half of the columns are changed in place. */
static adz_tensor *changed_in_part(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *a = adz_add(in[0], in[1]);
    adz_tensor *half = adz_slice(a, 1, 0, 2, 1);
    adz_mul_(half, half);
    return adz_add(half, adz_slice(in[0], 1, 1, 3, 1));
}

/* The first chain ends where no result of it is read any more. */
static adz_tensor *two_chains(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *a = adz_relu(adz_add(in[0], in[1]));
    adz_tensor *b = adz_relu(adz_sub(in[0], in[1]));
    return adz_matmul(a, b);
}

/* The result lies otherwise than the caller's array. */
static adz_tensor *result_transposed(adz_module *module, adz_tensor **in)
{
    (void)module;
    return adz_transpose(adz_relu(adz_add(in[0], in[1])), 0, 1);
}

/* A product that nothing reads later gives its memory to the result of the loop that reads it. */
static adz_tensor *replaces_operand(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *a = adz_matmul(in[0], in[1]);
    return adz_matmul(adz_relu(adz_mul(a, in[1])), in[0]);
}

/* The result of one call, which makes a loop of its own. */
static adz_tensor *replaces_alone(adz_module *module, adz_tensor **in)
{
    (void)module;
    return adz_matmul(adz_mul(adz_matmul(in[0], in[1]), in[1]), in[0]);
}

static adz_tensor *operand_read_later(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *a = adz_matmul(in[0], in[1]);
    return adz_matmul(adz_mul(a, in[1]), a);
}

/* The loop reads the operand at two positions. */
static adz_tensor *operand_transposed(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *a = adz_matmul(in[0], in[1]);
    return adz_matmul(adz_mul(a, adz_transpose(a, 0, 1)), in[0]);
}

/* The loop stores a result before it reads the operand again, so only the second result takes the
 * operand's memory. */
static adz_tensor *operand_read_again(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *a = adz_matmul(in[0], in[1]);
    adz_tensor *b = adz_mul_number(a, 2), *d = adz_mul(b, adz_sub(a, in[0]));
    return adz_matmul(b, d);
}

/* More different operands than a loop takes. */
static adz_tensor *many_operands(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *a = in[0];
    for (int i = 0; i < 9; ++i) {
        a = adz_mul(adz_add(a, adz_slice(in[1], 0, i % SIDE, i % SIDE + 1, 1)),
            adz_slice(in[0], 1, i % SIDE, i % SIDE + 1, 1));
        a = adz_sub(a, adz_slice(in[1], 1, i % SIDE, i % SIDE + 1, 1));
    }
    return a;
}

static const struct {
    const char *name;
    adz_tensor *(*call)(adz_module *module, adz_tensor **in);
    int loops;  /* that are not nested */
    int floats; /* of static buffers */
} cases[] = {
    { "whole_chain", whole_chain, 1, 0 },
    { "read_twice", read_twice, 1, 0 },
    { "broadcast_operands", broadcast_operands, 1, 0 },
    { "in_place", in_place, 1, 0 },
    { "integers_between", integers_between, 1, 0 },
    { "read_later", read_later, 2, 2 * SIDE *SIDE },
    { "transposed_of_chain", transposed_of_chain, 2, SIDE *SIDE },
    { "changed_after_transposed", changed_after_transposed, 3, 2 * SIDE *SIDE },
    { "changed_in_part", changed_in_part, 2, SIDE *SIDE },
    { "two_chains", two_chains, 3, 2 * SIDE *SIDE },
    { "result_transposed", result_transposed, 2, SIDE *SIDE },
    { "replaces_operand", replaces_operand, 3, SIDE *SIDE },
    { "replaces_alone", replaces_alone, 3, SIDE *SIDE },
    { "operand_read_later", operand_read_later, 3, 2 * SIDE *SIDE },
    { "operand_transposed", operand_transposed, 3, 2 * SIDE *SIDE },
    { "operand_read_again", operand_read_again, 3, 2 * SIDE *SIDE },
    { "many_operands", many_operands, 2, SIDE *SIDE },
};

/* Reads a file that was written. */
static const char *contents_of(const char *name)
{
    static char contents[200000];
    FILE *file = fopen(temporary_path(name), "r");
    assert_non_null(file);
    contents[fread(contents, 1, sizeof contents - 1, file)] = '\0';
    fclose(file);
    return contents;
}

static int count(const char *contents, const char *text)
{
    int n = 0;
    for (const char *at = contents; (at = strstr(at, text)) != NULL; ++at) {
        ++n;
    }
    return n;
}

static c_network of_two(adz_tensor *(*call)(adz_module *module, adz_tensor **in))
{
    return (c_network){ .in = { adz_randn(ADZ_SHAPE(SIDE, SIDE), ADZ_F32),
                            adz_randn(ADZ_SHAPE(SIDE, SIDE), ADZ_F32) },
        .n_in = 2,
        .call = call };
}

static void chains_are_one_loop(void **state)
{
    (void)state;
    adz_manual_seed(18);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        adz_scope *scope = adz_scope_open();
        c_network n = of_two(cases[i].call);
        if (write_network(&n, "chain.c", NULL) != ADZ_OK) {
            fail_msg("%s: %s", cases[i].name, adz_error_message());
        }
        const char *run = strstr(contents_of("chain.c"), "void chain_run");
        const int loops = count(run, "\n    for (");
        const bool sums = strstr(run, "matmul") != NULL;
        char bytes[64];
        snprintf(bytes, sizeof bytes, "BUFFER_BYTES  %d\n", cases[i].floats * (int)sizeof(float));
        if (loops != cases[i].loops) {
            fail_msg("%s: %d loops, not %d:\n%s", cases[i].name, loops, cases[i].loops, run);
        }
        if (strstr(contents_of("chain.h"), bytes) == NULL) {
            fail_msg("%s: not %s%s", cases[i].name, bytes, contents_of("chain.h"));
        }
        const compiled c = compile("chain", false);
        const double d = difference(&c, &n, 1);
        if (!(d <= (sums ? 1e-6 : 0))) {
            fail_msg("%s: the C function differs by %g", cases[i].name, d);
        }
        dlclose(c.library);
        adz_scope_close(scope);
    }
}

/* ---- random programs ------------------------------------------------------------------------ */

static unsigned drawn;

static int draw(int below)
{
    drawn = drawn * 1664525u + 1013904223u;
    return (int)((drawn >> 8) % (unsigned)below);
}

/* A tensor as an operand: as it is, transposed, or a row or column of it that broadcasts. */
static adz_tensor *operand_of(adz_tensor *t)
{
    const int at = draw(SIDE);
    switch (draw(9)) {
    case 0:
    case 1:
        return adz_transpose(t, 0, 1);
    case 2:
        return adz_slice(t, 0, at, at + 1, 1);
    case 3:
        return adz_slice(t, 1, at, at + 1, 1);
    default:
        return t;
    }
}

static adz_tensor *combine(adz_tensor *a, adz_tensor *b)
{
    switch (draw(7)) {
    case 0:
        return adz_add(a, b);
    case 1:
        return adz_sub(a, b);
    case 2:
        return adz_where(adz_gt(a, b), a, b);
    case 3:
        return adz_maximum(a, b);
    case 4:
        return adz_to(adz_add(adz_to(a, ADZ_I32), adz_to(b, ADZ_I32)), ADZ_F32);
    case 5:
        return adz_mul(adz_clamp(a, -2, 2), b);
    default:
        return adz_masked_fill(a, adz_logical_or(adz_isnan(b), adz_lt(b, a)), 0.5);
    }
}

/* A full square, so that it can be transposed and changed. */
static adz_tensor *square(adz_tensor *t)
{
    const int64_t rows = adz_tensor_size(t, 0), columns = adz_tensor_size(t, 1);
    return rows == SIDE && columns == SIDE ? t
                                           : adz_add(t, adz_zeros(ADZ_SHAPE(SIDE, SIDE), ADZ_F32));
}

static unsigned seed_of_program;

/* Calls that are drawn, on results that are drawn; some change a result in place. */
static adz_tensor *random_program(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *pool[MOST] = { in[0], in[1], adz_mul_number(in[0], 0.5) };
    int n = 3;
    drawn = seed_of_program;
    while (n < MOST) {
        adz_tensor *a = pool[draw(n)], *b = operand_of(pool[draw(n)]);
        const int kind = draw(8);
        if (kind <= 1 && a != in[0] && a != in[1]) {
            adz_add_(a, adz_mul_number(b, 0.25));
        } else if (kind == 2) { /* a part of a new tensor changes, or its transpose */
            adz_tensor *t = adz_mul_number(a, 1);
            t = draw(2) == 0 ? adz_slice(t, 1, 1, 2, 1) : adz_transpose(t, 0, 1);
            adz_mul_(t, adz_slice(square(b), 1, 3, 4, 1));
            pool[n++] = square(t);
        } else {
            pool[n++] = square(combine(a, b));
        }
    }
    adz_tensor *const results[] = { pool[MOST - 1], pool[draw(MOST)], pool[draw(MOST)] };
    return adz_cat(results, 3, 0);
}

static void no_bit_differs(void **state)
{
    (void)state;
    int written = 0;
    for (unsigned i = 0; i < 20; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_manual_seed(i);
        seed_of_program = i * 7919;
        c_network n = of_two(random_program);
        if (write_network(&n, "program.c", NULL) ==
            ADZ_OK) { /* else a changed tensor was read as a view */
            const compiled c = compile("program", false);
            const double d = difference(&c, &n, 1);
            if (!(d == 0)) {
                fail_msg("program %u: the C function differs by %g\n%s", i, d,
                    strstr(contents_of("program.c"), "void program_run"));
            }
            dlclose(c.library);
            ++written;
        }
        adz_error_clear();
        adz_scope_close(scope);
    }
    assert_true(written >= 10);
}

int chain_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_are_one_loop),
        cmocka_unit_test(no_bit_differs),
    };
    return cmocka_run_group_tests_name("c99: chains", tests, temporary_begin, temporary_end);
}
