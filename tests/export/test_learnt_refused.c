/* Files that NAME_weights_set refuses: it gives a code, and nothing changes. */
#include "learnt.h"

/* ---- what is refused ------------------------------------------------------------------------- */

/* A device whose first layer is frozen, after some steps. */
static device begin_refusals(learner *l, adz_dtype dtype)
{
    adz_module *net = new_network(1);
    assert_int_equal(adz_module_to(net, dtype), ADZ_OK);
    const adz_tensor_list p = adz_module_parameters(net);
    adz_requires_grad_(p.items[0], false);
    adz_requires_grad_(p.items[1], false);
    *l = learner_of(net, adz_adam_new(p, 0.02, NULL));
    device d = send(l);
    for (int i = 0; i < 3; ++i) {
        step_there(&d, l);
    }
    d.get(d.file);
    return d;
}

/* The file with one byte that is another one, and with a weight that a step changes. */
static void expect_byte_refused(device *d, unsigned long at, unsigned char byte, int code)
{
    static unsigned char other[MOST_BYTES];
    memcpy(other, d->file, d->bytes);
    other[offset_of(d, "model.3.weight")] ^= 1;
    other[at] = byte;
    expect_refused(d, other, d->bytes, code);
}

static void check_changed_files(adz_dtype dtype)
{
    adz_scope *scope = adz_scope_open();
    learner l;
    device d = begin_refusals(&l, dtype);
    expect_byte_refused(&d, 0, (unsigned char)(d.file[0] ^ 1), 1);
    expect_byte_refused(&d, 3, 1, 1);
    expect_byte_refused(&d, 7, 255, 1);
    expect_byte_refused(&d, 8, '[', 1);
    expect_byte_refused(&d, 12, '?', 1);
    expect_byte_refused(&d, offset_of(&d, "model.0.weight") + 1, 77, 2);
    expect_byte_refused(&d, offset_of(&d, "model.1.running_mean"), 77, 2);
    expect_byte_refused(&d, offset_of(&d, "state.2.step") + 6, 64, 2);
    expect_byte_refused(&d, offset_of(&d, "state.2.step"), 0, 2);
    expect_byte_refused(&d, offset_of(&d, "state.3.step"), 9, 2);
    for (unsigned long n = 0; n < d.bytes; ++n) { /* cut at any byte */
        unsigned char *cut = malloc(n > 0 ? n : 1);
        memcpy(cut, d.file, n);
        expect_refused(&d, cut, n, 1);
        free(cut);
    }
    assert_int_equal(d.set(d.file, d.bytes), 0);
    dlclose(d.c.library);
    end_learner(&l);
    adz_scope_close(scope);
}

static void changed_files_change_nothing(void **state)
{
    (void)state;
    check_changed_files(ADZ_F32);
    check_changed_files(ADZ_F64);
}

/* Whatever stands in the header: a file that is refused changes nothing. */
static void check_headers(adz_dtype dtype)
{
    static const unsigned char bytes[] = { 0, '"', '\\', '{', '}', '[', ']', ',', '9', 'e', 255 };
    static unsigned char whole[MOST_BYTES], now[MOST_BYTES];
    adz_scope *scope = adz_scope_open();
    learner l;
    device d = begin_refusals(&l, dtype);
    const unsigned long header = 8 + (unsigned long)(d.file[0] + 256 * d.file[1]);
    memcpy(whole, d.file, d.bytes);
    int refused = 0;
    for (unsigned long i = 0; i < header; ++i) {
        unsigned char *other = malloc(d.bytes); /* a sanitizer sees what is read behind it */
        memcpy(other, whole, d.bytes);
        other[i] = bytes[i % sizeof bytes];
        other[offset_of(&d, "model.3.weight")] ^= 1;
        if (d.set(other, d.bytes) == 0) {
            assert_int_equal(d.set(whole, d.bytes), 0);
        } else {
            ++refused;
        }
        d.get(now);
        assert_memory_equal(now, whole, d.bytes);
        free(other);
    }
    assert_true(refused > (int)header / 2);
    dlclose(d.c.library);
    end_learner(&l);
    adz_scope_close(scope);
}

static void any_header_is_read_safely(void **state)
{
    (void)state;
    check_headers(ADZ_F32);
    check_headers(ADZ_F64);
}

static void files_of_others_change_nothing(void **state)
{
    (void)state;
    static unsigned char bytes[MOST_BYTES];
    adz_scope *scope = adz_scope_open();
    learner l, other;
    device d = begin_refusals(&l, ADZ_F32);
    adz_module *net = new_network(1);
    adz_adam_options o = ADZ_ADAM_OPTIONS;
    o.eps = 1e-6;
    other = learner_of(net, adz_adam_new(adz_module_parameters(net), 0.02, &o));
    expect_refused(&d, bytes, save_here(&other, bytes), 2); /* another setting */
    adz_optimizer_release(&other.training.optimizer);
    other.training.optimizer = adz_adamw_new(adz_module_parameters(net), 0.02, NULL);
    expect_refused(&d, bytes, save_here(&other, bytes), 1); /* another optimizer */
    adz_optimizer_release(&other.training.optimizer);
    expect_refused(&d, bytes, save_here(&other, bytes), 1); /* none */
    adz_module_release(&other.network.module);
    net = ADZ_SEQUENTIAL(adz_linear_new(FEATURES, 4, NULL), adz_batch_norm1d_new(4, NULL),
        adz_tanh_new(), adz_linear_new(4, 2, NULL));
    other = learner_of(net, adz_adam_new(adz_module_parameters(net), 0.02, NULL));
    expect_refused(&d, bytes, save_here(&other, bytes), 1); /* other shapes */
    dlclose(d.c.library);
    end_learner(&l);
    end_learner(&other);
    adz_scope_close(scope);
}

/* Parameters that share a count of steps in the file must have one in the other file, too. */
static void steps_that_disagree(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net = new_network(1), *home = new_network(1);
    learner l = learner_of(net, adz_adam_new(adz_module_parameters(net), 0.02, NULL));
    learner other = learner_of(home, adz_adam_new(adz_module_parameters(home), 0.02, NULL));
    device d = send(&l);
    step_here(&other);
    adz_requires_grad_(adz_module_get_parameter(home, "0.weight"), false);
    step_here(&other);
    static unsigned char bytes[MOST_BYTES];
    d.get(d.file);
    expect_refused(&d, bytes, save_here(&other, bytes), 2);
    dlclose(d.c.library);
    end_learner(&l);
    end_learner(&other);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_files_change_nothing),
        cmocka_unit_test(any_header_is_read_safely),
        cmocka_unit_test(files_of_others_change_nothing),
        cmocka_unit_test(steps_that_disagree),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
