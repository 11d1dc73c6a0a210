/* What fastai's attentions compute, written out, and arguments that they refuse. */
#include "adze/zoo.h"
#include "zoo/fastai_attention.h"

enum { B = 2, T = 3, M = 2, H = 2, D = 4, HEAD = 3 };

static adz_module *new_attention(adz_fastai_attention_class new, bool scale, double attn_p)
{
    adz_fastai_attention_options o = ADZ_FASTAI_ATTENTION_OPTIONS;
    o.d_head = HEAD;
    o.scale = scale;
    o.attn_p = attn_p;
    o.dtype = ADZ_F64;
    return new (H, D, &o);
}

/* [B, steps, H HEAD] as [B, H, steps, HEAD]. */
static adz_tensor *heads_of(adz_tensor *x)
{
    adz_tensor *parts = adz_reshape(x, ADZ_SHAPE(B, adz_tensor_size(x, 1), H, HEAD));
    return adz_permute(parts, ADZ_DIMS(0, 2, 1, 3));
}

static adz_tensor *turned(adz_tensor *x)
{
    return adz_transpose(x, -2, -1);
}

/* LayerNorm(x + out(softmax(((q + u) k^T + shift((q + v) r^T)) scale) values)) */
static adz_tensor *by_hand(adz_module *m, adz_tensor *x, adz_tensor *mem, adz_tensor *r,
    adz_tensor *u, adz_tensor *v, double scale, adz_tensor *mask)
{
    adz_tensor *both[] = { mem, x }, *parts[3];
    adz_tensor *all = adz_module_forward(adz_module_get_child(m, "attention"), adz_cat(both, 2, 1));
    for (int i = 0; i < 3; ++i) {
        parts[i] = heads_of(adz_narrow(all, 2, i * H * HEAD, H * HEAD));
    }
    adz_tensor *q = adz_narrow(parts[0], 2, M, T);
    adz_tensor *positions = adz_module_forward(adz_module_get_child(m, "r_attn"), r);
    positions = adz_permute(adz_reshape(positions, ADZ_SHAPE(M + T, H, HEAD)), ADZ_DIMS(1, 2, 0));
    adz_tensor *content = adz_matmul(adz_add(q, u), turned(parts[1]));
    adz_tensor *position = adz_fastai_line_shift(adz_matmul(adz_add(q, v), positions), false);
    adz_tensor *scores = adz_mul_number(adz_add(content, position), scale);
    scores = mask != NULL ? adz_masked_fill(scores, mask, -INFINITY) : scores;
    adz_tensor *h = adz_permute(adz_matmul(adz_softmax(scores, 3), parts[2]), ADZ_DIMS(0, 2, 1, 3));
    h = adz_reshape(adz_contiguous(h), ADZ_SHAPE(B, T, H * HEAD));
    h = adz_add(x, adz_module_forward(adz_module_get_child(m, "out"), h));
    return adz_module_forward(adz_module_get_child(m, "ln"), h);
}

void relative_scores_are_content_and_position(void **state)
{
    (void)state;
    adz_tensor *x = adz_randn(ADZ_SHAPE(B, T, D), ADZ_F64);
    adz_tensor *mem = adz_randn(ADZ_SHAPE(B, M, D), ADZ_F64);
    adz_tensor *r = adz_randn(ADZ_SHAPE(M + T, D), ADZ_F64);
    adz_tensor *u = adz_randn(ADZ_SHAPE(H, 1, HEAD), ADZ_F64);
    adz_tensor *v = adz_randn(ADZ_SHAPE(H, 1, HEAD), ADZ_F64);
    for (int scaled = 0; scaled < 2; ++scaled) {
        adz_module *m = new_attention(adz_fastai_relative_attention_new, scaled, 0);
        const double scale = scaled ? 1 / sqrt(HEAD) : 1;
        adz_tensor *mask = later(T, M + T);
        adz_tensor *y = CALL(m, { "x", x }, { "r", r }, { "u", u }, { "v", v }, { "mem", mem });
        expect_same(y, by_hand(m, x, mem, r, u, v, scale, NULL), 1e-10);
        y = CALL(
            m, { "x", x }, { "r", r }, { "u", u }, { "v", v }, { "mem", mem }, { "mask", mask });
        expect_same(y, by_hand(m, x, mem, r, u, v, scale, mask), 1e-10);
        assert_null(CALL(m, { "x", x }, { "r", r }, { "u", u }, { "v", v }, { "old", mem }));
        expect_error(ADZ_ERR_ARGUMENT, "takes no argument 4 called old");
        adz_module_release(&m);
    }
}

/* With a probability of 1, no value of a key is left in training, and all are in evaluation. */
void weights_of_keys_are_dropped(void **state)
{
    (void)state;
    adz_module *m = new_attention(adz_fastai_attention_new, false, 1);
    adz_module *without = adz_module_copy(m);
    adz_module_eval(without);
    adz_tensor *x = adz_randn(ADZ_SHAPE(B, T, D), ADZ_F64);
    adz_tensor *sum = adz_add(x, adz_module_get_parameter(m, "out.bias"));
    adz_tensor *y = adz_module_forward(m, x);
    expect_same(y, adz_module_forward(adz_module_get_child(m, "ln"), sum), 1e-12);
    assert_false(alike(adz_module_forward(without, x), y, 1e-6));
    adz_module_release(&without);
    adz_module_release(&m);
}

void a_layer_takes_its_mask_by_position(void **state)
{
    (void)state;
    adz_module *m = adz_fastai_decoder_layer_new(H, D, HEAD, 5, NULL);
    adz_module_eval(m);
    adz_tensor *x = adz_randn(ADZ_SHAPE(B, T, D), ADZ_F32);
    adz_tensor *y = CALL(m, { "", x }, { "", later(T, T) });
    expect_same(y, CALL(m, { "x", x }, { "mask", later(T, T) }), 0);
    assert_false(alike(y, adz_module_forward(m, x), 1e-6));
    adz_module_release(&m);
}

/* In debug mode the header of a tensor that has ended is not used again. */
void tensors_that_ended_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = { "mask", "is_causal", "r", "x" };
    adz_set_debug(true);
    adz_module *m = new_attention(adz_fastai_relative_attention_new, true, 0);
    adz_tensor *x = adz_randn(ADZ_SHAPE(B, T, D), ADZ_F64);
    adz_scope *scope = adz_scope_open();
    adz_tensor *ended = adz_ones(ADZ_SHAPE(B, T, D), ADZ_F64);
    adz_scope_close(scope);
    for (int i = 0; i < 4; ++i) {
        adz_tensor *y = i < 3 ? CALL(m, { "x", x }, { names[i], ended }) : CALL(m, { "x", ended });
        char message[64];
        snprintf(message, sizeof message, "%s is a stale pointer", names[i]);
        assert_null(y);
        expect_error(ADZ_ERR_OWNERSHIP, message);
    }
    adz_module_release(&m);
    adz_set_debug(false);
}

/* A batch of 0 rows has a memory of 0 rows, of any length. */
void sizes_of_memories_are_compared(void **state)
{
    (void)state;
    adz_module *m = new_attention(adz_fastai_relative_attention_new, true, 0);
    adz_tensor *x = adz_zeros(ADZ_SHAPE(0, T, D), ADZ_F64);
    adz_tensor *mem = adz_zeros(ADZ_SHAPE(2, 1, D), ADZ_F64);
    assert_null(CALL(m, { "x", x }, { "mem", mem }));
    expect_error(ADZ_ERR_SHAPE, "mem[2, 1, 4] must be [0, M, 4]");
    adz_module_release(&m);
}
