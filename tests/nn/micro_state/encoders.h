/* Small encoders of text that carry values from call to call, for the tests of test_micro_state. */
#ifndef ADZE_TESTS_NN_MICRO_STATE_ENCODERS_H
#define ADZE_TESTS_NN_MICRO_STATE_ENCODERS_H

#include "adze/zoo.h"
#include "tests.h"

enum { LSTM, BIDIR, QRNN, XL, ENCODERS, BATCH = 2, TIME = 3, TOKENS = 7 };

/** An encoder without dropout, so that equal calls give equal results. */
static inline adz_module *encoder_new(int kind)
{
    adz_manual_seed(3);
    if (kind == XL) {
        adz_fastai_transformer_options o = ADZ_FASTAI_TRANSFORMER_XL_OPTIONS;
        o.n_layers = 2;
        o.n_heads = 2;
        o.d_model = 4;
        o.d_inner = 6;
        o.mem_len = 4;
        return adz_fastai_transformer_xl_new(TOKENS, &o);
    }
    adz_fastai_awd_lstm_options o = ADZ_FASTAI_AWD_LSTM_OPTIONS;
    o.hidden_p = o.input_p = o.embed_p = o.weight_p = 0;
    o.bidir = kind == BIDIR;
    o.qrnn = kind == QRNN;
    return adz_fastai_awd_lstm_new(TOKENS, 4, 6, 2, &o);
}

/** Tokens [BATCH, TIME] that differ for each micro-batch and step. */
static inline adz_tensor *tokens(int micro, int step)
{
    int64_t ids[BATCH * TIME];
    for (int i = 0; i < BATCH * TIME; ++i) {
        ids[i] = (i + micro + 2 * step) * (3 + step) % TOKENS;
    }
    return adz_tensor_from(ids, ADZ_SHAPE(BATCH, TIME), ADZ_I64);
}

/** The calls of one micro-batch alone give the results that all are compared with. */
static inline void expect_same_call(adz_module *m, adz_module *alone, adz_tensor *ids)
{
    adz_tensor *y = adz_module_forward(m, ids), *expected = adz_module_forward(alone, ids);
    assert_non_null(y);
    assert_true(same_bits(y, expected));
    assert_true(same_buffers(m, alone));
}

#endif
