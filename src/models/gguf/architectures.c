/* The architectures of GGUF files. */
#include "gguf/architectures.h"

#include <stdio.h>
#include <string.h>

#include "pretrained/weights.h"

/* ---- architectures -------------------------------------------------------------------------- */

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const gguf_names outer_names[] = { { "model.embed_tokens.", "token_embd." },
    { "model.norm.", "output_norm." }, { "lm_head.", "output." } };

static const gguf_names layer_names[] = { { "self_attn.q_proj.", "attn_q." },
    { "self_attn.k_proj.", "attn_k." }, { "self_attn.v_proj.", "attn_v." },
    { "self_attn.o_proj.", "attn_output." }, { "self_attn.q_norm.", "attn_q_norm." },
    { "self_attn.k_norm.", "attn_k_norm." }, { "mlp.gate_proj.", "ffn_gate." },
    { "mlp.up_proj.", "ffn_up." }, { "mlp.down_proj.", "ffn_down." },
    { "input_layernorm.", "attn_norm." }, { "post_attention_layernorm.", "ffn_norm." } };

static const gguf_names gpt2_outer[] = { { "transformer.wte.", "token_embd." },
    { "transformer.wpe.", "position_embd." }, { "transformer.ln_f.", "output_norm." },
    { "lm_head.", "output." } };

static const gguf_names gpt2_layer[] = { { "ln_1.", "attn_norm." }, { "attn.c_attn.", "attn_qkv." },
    { "attn.c_proj.", "attn_output." }, { "ln_2.", "ffn_norm." }, { "mlp.c_fc.", "ffn_up." },
    { "mlp.c_proj.", "ffn_down." } };

static const gguf_names bert_outer[] = { { "embeddings.word_embeddings.", "token_embd." },
    { "embeddings.position_embeddings.", "position_embd." },
    { "embeddings.token_type_embeddings.", "token_types." },
    { "embeddings.LayerNorm.", "token_embd_norm." } };

static const gguf_names bert_layer[] = { { "attention.self.query.", "attn_q." },
    { "attention.self.key.", "attn_k." }, { "attention.self.value.", "attn_v." },
    { "attention.output.dense.", "attn_output." },
    { "attention.output.LayerNorm.", "attn_output_norm." }, { "intermediate.dense.", "ffn_up." },
    { "output.dense.", "ffn_down." }, { "output.LayerNorm.", "layer_output_norm." } };

static const gguf_entry values[] = { { "embedding_length", "hidden_size", GGUF_WHOLE },
    { "feed_forward_length", "intermediate_size", GGUF_WHOLE },
    { "block_count", "num_hidden_layers", GGUF_WHOLE },
    { "attention.head_count", "num_attention_heads", GGUF_WHOLE },
    { "attention.head_count_kv", "num_key_value_heads", GGUF_WHOLE },
    { "attention.key_length", "head_dim", GGUF_WHOLE },
    { "context_length", "max_position_embeddings", GGUF_WHOLE },
    { "attention.layer_norm_rms_epsilon", "rms_norm_eps", GGUF_NEEDED_REAL },
    { "rope.freq_base", "rope_theta", GGUF_REAL } };

static const gguf_entry gpt2_values[] = { { "embedding_length", "n_embd", GGUF_WHOLE },
    { "feed_forward_length", "n_inner", GGUF_WHOLE }, { "block_count", "n_layer", GGUF_WHOLE },
    { "attention.head_count", "n_head", GGUF_WHOLE },
    { "context_length", "n_positions", GGUF_WHOLE },
    { "attention.layer_norm_epsilon", "layer_norm_epsilon", GGUF_NEEDED_REAL } };

static const gguf_entry bert_values[] = { { "embedding_length", "hidden_size", GGUF_WHOLE },
    { "feed_forward_length", "intermediate_size", GGUF_WHOLE },
    { "block_count", "num_hidden_layers", GGUF_WHOLE },
    { "attention.head_count", "num_attention_heads", GGUF_WHOLE },
    { "context_length", "max_position_embeddings", GGUF_WHOLE },
    { "attention.layer_norm_epsilon", "layer_norm_eps", GGUF_NEEDED_REAL } };

static const char *const others[] = { "attention.value_length", "rope.dimension_count",
    "rope.scaling.type", "rope.scaling.factor", "vocab_size", NULL };

static const char *const gpt2_others[] = { "vocab_size", NULL };

static const char *const bert_others[] = { "attention.causal", "pooling_type", "vocab_size", NULL };

/* The tables of an architecture, with their sizes. */
#define TABLES(its_outer, its_inner, its_values)                             \
    .outer = (its_outer), .n_outer = COUNT(its_outer), .inner = (its_inner), \
    .n_inner = COUNT(its_inner), .values = (its_values), .n_values = COUNT(its_values)

#define DECODER(its_name, its_class)                                                \
    {                                                                               \
        .name = (its_name), .class = (its_class), .layers = "model.layers.",        \
        TABLES(outer_names, layer_names, values), .others = others, .rotary = true, \
        .activation = {                                                             \
            "hidden_act",                                                           \
            "silu"                                                                  \
        }                                                                           \
    }

static const gguf_architecture architectures[] = {
    DECODER("llama", "LlamaForCausalLM"),
    DECODER("qwen2", "Qwen2ForCausalLM"),
    DECODER("qwen3", "Qwen3ForCausalLM"),
    { .name = "gpt2",
        .class = "GPT2LMHeadModel",
        .layers = "transformer.h.",
        TABLES(gpt2_outer, gpt2_layer, gpt2_values),
        .others = gpt2_others,
        .activation = { "activation_function", "gelu_new" },
        .transposed = true },
    { .name = "bert",
        .class = "BertModel",
        .layers = "encoder.layer.",
        TABLES(bert_outer, bert_layer, bert_values),
        .others = bert_others,
        .activation = { "hidden_act", "gelu" },
        .encoder = true },
};

const gguf_architecture *adzi_gguf_architecture(const char *name)
{
    for (size_t i = 0; i < COUNT(architectures); ++i) {
        if (strcmp(name, architectures[i].name) == 0) {
            return &architectures[i];
        }
    }
    return NULL;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* Replaces the beginning of a name by that in column `to` of a table. False if no row fits. */
static bool replace(
    char *out, const char *before, const char *name, const gguf_names *table, size_t rows, int to)
{
    for (size_t i = 0; i < rows; ++i) {
        const char *own = table[i][1 - to];
        if (strncmp(name, own, strlen(own)) == 0) {
            return snprintf(out, MODELS_NAME, "%s%s%s", before, table[i][to], name + strlen(own)) <
                   MODELS_NAME;
        }
    }
    return false;
}

bool adzi_gguf_translate(const gguf_architecture *kind, char *out, const char *name, int to)
{
    const char *const prefixes[2] = { kind->layers, "blk." };
    const char *own = prefixes[1 - to];
    if (strncmp(name, own, strlen(own)) != 0) {
        return replace(out, "", name, kind->outer, kind->n_outer, to);
    }
    const char *number = name + strlen(own);
    const size_t digits = strspn(number, "0123456789");
    char before[64];
    if (digits == 0 || digits > 6 || number[digits] != '.') {
        return false;
    }
    snprintf(before, sizeof before, "%s%.*s.", prefixes[to], (int)digits, number);
    return replace(out, before, number + digits + 1, kind->inner, kind->n_inner, to);
}

bool adzi_gguf_knows_value(const gguf_architecture *kind, const char *name)
{
    for (size_t i = 0; i < kind->n_values; ++i) {
        if (strcmp(name, kind->values[i].name) == 0) {
            return true;
        }
    }
    for (size_t i = 0; kind->others[i] != NULL; ++i) {
        if (strcmp(name, kind->others[i]) == 0) {
            return true;
        }
    }
    return false;
}
