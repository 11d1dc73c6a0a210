/* The option checkpoint of adz_scan in C files: the gradient keeps the carries between chunks, and
 * those of one chunk. */
#include "network.h"

#include "../loop_functions.h"

static adz_status bends_by(adz_tensor **results, adz_tensor *const *in, void *user)
{
    results[0] = adz_tanh(adz_add(adz_mul(in[0], (adz_tensor *)user), in[1]));
    results[1] = adz_mul(results[0], in[1]);
    return loop_status(results[1]);
}

static bool checkpoints, reverses;

/* The energy of the states that a cell of its own input makes, of which the gradient reads all. */
static adz_tensor *energy_of_states(adz_tensor *x, void *user)
{
    adz_tensor *h = adz_select(x, 0, 0), *results[2];
    adz_scan_options o = ADZ_SCAN_OPTIONS;
    o.checkpoint = checkpoints;
    o.reverse = reverses;
    return adz_scan(bends_by, user, &h, 1, &x, 1, 1, &o, results) == ADZ_OK
               ? adz_add(adz_mean(adz_square(results[1]), ADZ_ALL_DIMS, ADZ_DROPDIM),
                     adz_mean(results[0], ADZ_ALL_DIMS, ADZ_DROPDIM))
               : NULL;
}

static adz_tensor *vjp_of_states(adz_module *none, adz_tensor **in)
{
    (void)none;
    return adz_vjp(energy_of_states, adz_tanh(adz_select(in[0], 0, 1)), in[0], ADZ_NONE, NULL);
}

static adz_tensor *hvp_of_states(adz_module *none, adz_tensor **in)
{
    (void)none;
    return adz_hvp(
        energy_of_states, adz_tanh(adz_select(in[0], 0, 1)), in[0], adz_cos(in[0]), NULL);
}

/* The bytes of the buffers of net.h. */
static long bytes_of_buffers(void)
{
    size_t bytes;
    char *text = (char *)read_file(temporary_path("net.h"), &bytes);
    const char *at = strstr(text, "BUFFER_BYTES");
    assert_non_null(at);
    const long n = strtol(at + strlen("BUFFER_BYTES"), NULL, 10);
    free(text);
    return n;
}

void checkpoints_need_less_memory(void **state)
{
    const int64_t steps[] = { 5, 100, 101,
        23 }; /* chunks of 5, of 10, and some that leave a rest */
    long bytes[2];
    adz_scope *scope = adz_scope_open();
    assert_int_equal(temporary_begin(state), 0); /* the folder of this file */
    for (int i = 0; i < 4; ++i) {
        c_network n = { .in = { adz_randn(ADZ_SHAPE(steps[i], LOOP_WIDTH), ADZ_F64) },
            .n_in = 1,
            .call = i == 3 ? hvp_of_states : vjp_of_states };
        adz_c_options o = ADZ_C_OPTIONS;
        o.precision = ADZ_F64;
        reverses = i >= 2;
        for (int k = 0; k < 2; ++k) {
            checkpoints = k == 1;
            assert_int_equal(write_network(&n, "net.c", &o), ADZ_OK);
            bytes[k] = bytes_of_buffers();
        }
        const compiled c = compile("net", false);
        assert_true(difference(&c, &n, 1) <= 1e-14);
        dlclose(c.library);
        assert_true(steps[i] != 100 || bytes[1] < bytes[0]);
    }
    adz_scope_close(scope);
    temporary_end(state);
}
