/* The bits of training do not depend on the layout. */
#include "tests.h"

#include "../../temporary.h"

/* A network with a layer of each kind whose backward writes to a slice, dropout and batch norm. One
 * part of it is computed again in the backward. */
static adz_module *network(bool checkpoint)
{
    adz_manual_seed(11);
    adz_module *inner =
        adz_sequential_new((adz_module *[]){ adz_linear_new(6, 70, NULL), adz_relu_new(),
                               adz_dropout_new(0.3, NULL), adz_linear_new(70, 6, NULL) },
            4);
    inner = checkpoint ? adz_activation_checkpoint_new(inner) : inner;
    return adz_sequential_new(
        (adz_module *[]){ adz_linear_new(9, 6, NULL), adz_batch_norm1d_new(6, NULL), inner,
            adz_layer_norm_new(ADZ_SHAPE(6), NULL), adz_dropout_new(0.2, NULL),
            adz_linear_new(6, 3, NULL) },
        6);
}

typedef struct {
    adz_module *model;
    adz_optimizer *optimizer;
    adz_flat_parameters *flat;
} run;

static run run_new(bool checkpoint, bool flat)
{
    adz_adamw_options options = ADZ_ADAMW_OPTIONS;
    options.weight_decay = 0.1;
    run r = { network(checkpoint), NULL, NULL };
    r.flat = flat ? adz_flat_parameters_new(adz_module_parameters(r.model)) : NULL;
    r.optimizer = adz_adamw_new(adz_module_parameters(r.model), 0.01, &options);
    return r;
}

static void run_end(run *r)
{
    adz_flat_parameters_free(&r->flat);
    adz_optimizer_release(&r->optimizer);
    adz_module_release(&r->model);
}

/* One step over `parts` accumulated backwards; the second drops, the others zero the gradients. */
static double step(run *r, int i, int parts)
{
    adz_scope *scope = adz_scope_open();
    double norm = 0;
    adz_manual_seed(100 + (uint64_t)i);
    if (i % 2 == 1) {
        adz_optimizer_zero_grad(r->optimizer);
    } else {
        adz_module_fill_grad_zero(r->model);
    }
    for (int k = 0; k < parts; ++k) {
        adz_tensor *x = adz_randn(ADZ_SHAPE(33, 9), ADZ_F32), *y = adz_module_forward(r->model, x);
        assert_int_equal(adz_backward(adz_mean(adz_square(y), ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    }
    norm = adz_clip_grad_norm(adz_module_parameters(r->model), 0.05, 2);
    assert_int_equal(adz_optimizer_step(r->optimizer), ADZ_OK);
    adz_scope_close(scope);
    return norm;
}

static void expect_equal(adz_module *a, adz_module *b)
{
    adz_state_dict *of_a = adz_module_state_dict(a), *of_b = adz_module_state_dict(b);
    assert_int_equal(adz_state_dict_count(of_a), adz_state_dict_count(of_b));
    for (size_t i = 0; i < adz_state_dict_count(of_a); ++i) {
        if (!adz_equal(adz_state_dict_at(of_a, i), adz_state_dict_at(of_b, i))) {
            fail_msg("%s differs", adz_state_dict_name_at(of_a, i));
        }
    }
    adz_state_dict_free(&of_a);
    adz_state_dict_free(&of_b);
}

static void training_has_the_bits_of_ordinary_tensors(void **state)
{
    (void)state;
    for (int checkpoint = 0; checkpoint < 2; ++checkpoint) {
        run plain = run_new(false, false), flat = run_new(checkpoint, true);
        for (int i = 0; i < 5; ++i) {
            double norm = step(&plain, i, 1 + i % 3);
            assert_true(norm > 0.05 && step(&flat, i, 1 + i % 3) == norm);
            for (size_t k = 0; k < adz_flat_parameters_count(flat.flat); ++k) {
                assert_true(lies_in_its_slice(flat.flat, k));
            }
        }
        adz_tensor_list a = adz_module_parameters(plain.model);
        adz_tensor_list b = adz_module_parameters(flat.model);
        for (size_t i = 0; i < a.count; ++i) {
            assert_true(adz_equal(a.items[i], b.items[i]));
            assert_true(adz_equal(adz_tensor_grad(a.items[i]), adz_tensor_grad(b.items[i])));
        }
        if (!checkpoint) {
            expect_equal(plain.model, flat.model);
        }
        run_end(&plain);
        run_end(&flat);
    }
}

static adz_checkpoint parts_of(const run *r)
{
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.model = r->model;
    c.optimizer = r->optimizer;
    return c;
}

/* A checkpoint does not know the layout: it is saved from one and loaded in the other. */
static void checkpoints_pass_between_layouts(void **state)
{
    (void)state;
    for (int flat_first = 0; flat_first < 2; ++flat_first) {
        run through = run_new(false, flat_first), later = run_new(false, !flat_first);
        for (int i = 0; i < 3; ++i) {
            step(&through, i, 1);
        }
        adz_checkpoint saved = parts_of(&through), loaded = parts_of(&later);
        assert_int_equal(adz_checkpoint_save(&saved, temporary_path("flat")), ADZ_OK);
        step(&later, 9, 1); /* is overwritten */
        assert_int_equal(adz_checkpoint_load(&loaded, temporary_path("flat")), ADZ_OK);
        if (!flat_first) {
            assert_int_equal(
                adz_flat_parameters_check(later.flat, adz_module_parameters(later.model)), ADZ_OK);
        }
        for (int i = 3; i < 6; ++i) {
            step(&through, i, 1);
            step(&later, i, 1);
        }
        expect_equal(through.model, later.model);
        run_end(&through);
        run_end(&later);
    }
}

/* A leaf that is used twice, by kernels that write to its slice and as a view. */
static adz_tensor *twice_used(adz_tensor *w, adz_tensor *b, adz_tensor *x)
{
    adz_tensor *h = adz_linear(x, w, b);
    h = adz_linear(adz_tanh(h), w, adz_flip(b, ADZ_DIMS(0)));
    return total(adz_square(adz_add(adz_linear(h, adz_transpose(w, 0, 1), ADZ_NONE), h)));
}

static void several_uses_sum_in_one_order(void **state)
{
    (void)state;
    adz_manual_seed(5);
    adz_tensor *x = adz_randn(ADZ_SHAPE(7, 24), ADZ_F32), *lists[2][2];
    lists[0][0] = adz_requires_grad_(adz_randn(ADZ_SHAPE(24, 24), ADZ_F32), true);
    lists[0][1] = adz_requires_grad_(adz_randn(ADZ_SHAPE(24), ADZ_F32), true);
    for (int k = 0; k < 2; ++k) {
        lists[1][k] = adz_requires_grad_(adz_clone(adz_detach(lists[0][k])), true);
    }
    adz_flat_parameters *flat = lay_out(lists[1], 2);
    adz_backward_options keep = ADZ_BACKWARD_OPTIONS;
    keep.retain_graph = true;
    for (int k = 0; k < 2; ++k) {
        adz_tensor *w = lists[k][0], *b = lists[k][1], *loss = twice_used(w, b, x);
        for (int round = 0; round < 3; ++round) { /* the same graph, three times */
            assert_int_equal(adz_autograd_backward(&loss, NULL, 1, &keep), ADZ_OK);
        }
        keep.create_graph = true; /* a penalty on the norm of a gradient */
        adz_tensor *inputs[] = { w, b }, *grads[2];
        assert_int_equal(adz_autograd_grad(&loss, NULL, 1, inputs, 2, &keep, grads), ADZ_OK);
        keep.create_graph = false;
        adz_tensor *penalty = adz_add(total(adz_square(grads[0])), total(adz_square(grads[1])));
        assert_int_equal(adz_backward(penalty), ADZ_OK);
    }
    for (int k = 0; k < 2; ++k) {
        assert_true(adz_equal(adz_tensor_grad(lists[0][k]), adz_tensor_grad(lists[1][k])));
        assert_true(lies_in_its_slice(flat, (size_t)k));
    }
    adz_flat_parameters_free(&flat);
}

/* Weights and architecture of a search are two sets of parameters, each with a layout and an
 * optimizer of its own, trained in turn by backwards that reach both. */
static void two_sets_are_trained_in_turn(void **state)
{
    (void)state;
    adz_tensor *found[2][2];
    for (int flat = 0; flat < 2; ++flat) {
        adz_tensor *w = leaf(0.7, 6, ADZ_F32), *alpha = leaf(-0.4, 6, ADZ_F32);
        adz_flat_parameters *layouts[2] = { NULL, NULL };
        if (flat) {
            layouts[0] = lay_out(&w, 1);
            layouts[1] = lay_out(&alpha, 1);
        }
        adz_optimizer *of_w = adz_sgd_new(adz_tensor_list_of(&w, 1), 0.1, NULL);
        adz_optimizer *of_alpha = adz_adam_new(adz_tensor_list_of(&alpha, 1), 0.1, NULL);
        for (int i = 0; i < 6; ++i) {
            adz_optimizer *turn = i % 2 == 0 ? of_w : of_alpha;
            adz_optimizer_zero_grad(turn);
            adz_tensor *y = adz_sub_number(adz_mul(adz_tanh(alpha), adz_square(w)), 0.3 * i);
            assert_int_equal(adz_backward(total(adz_square(y))), ADZ_OK);
            assert_int_equal(adz_optimizer_step(turn), ADZ_OK);
        }
        found[flat][0] = w;
        found[flat][1] = alpha;
        adz_optimizer_release(&of_w);
        adz_optimizer_release(&of_alpha);
        adz_flat_parameters_free(&layouts[0]);
        adz_flat_parameters_free(&layouts[1]);
    }
    assert_true(adz_equal(found[0][0], found[1][0]) && adz_equal(found[0][1], found[1][1]));
    assert_false(all_are(found[0][0], 0.7f));
}

/* The product of a linear layer is written to the slice, so no memory is asked for. */
static void a_product_is_written_to_its_slice(void **state)
{
    (void)state;
    for (int64_t n = 2; n <= 40; n += 38) { /* one pass over few outputs, and a product */
        uint64_t requests[2];
        for (int flat = 0; flat < 2; ++flat) {
            adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(n, 20), ADZ_F32), true);
            adz_flat_parameters *layout = flat ? lay_out(&w, 1) : NULL;
            adz_tensor *x = adz_ones(ADZ_SHAPE(3, 20), ADZ_F32);
            adz_tensor *loss = total(adz_linear(x, w, ADZ_NONE));
            const uint64_t before = adzi_alloc_requests();
            assert_int_equal(adz_backward(loss), ADZ_OK);
            requests[flat] = adzi_alloc_requests() - before;
            assert_true(all_are(adz_tensor_grad(w), 3));
            adz_flat_parameters_free(&layout);
        }
        assert_int_equal(requests[0] - requests[1], 1);
    }
}

int training_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(training_has_the_bits_of_ordinary_tensors),
        TEST(checkpoints_pass_between_layouts),
        TEST(several_uses_sum_in_one_order),
        TEST(two_sets_are_trained_in_turn),
        TEST(a_product_is_written_to_its_slice),
    };
    return cmocka_run_group_tests_name(
        "flat parameters: training", tests, temporary_begin, temporary_end);
}
