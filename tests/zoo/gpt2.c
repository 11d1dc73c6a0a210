/* GPT-2, from its parts to the language model. */
#include "adze/zoo.h"
#include "zoo/gpt2.h"

static int64_t size_of(const json_t *config, const char *key, int64_t otherwise)
{
    return (int64_t)config_number(config, key, (double)otherwise);
}

static adz_gpt2_options options_of(const json_t *config)
{
    adz_gpt2_options o = ADZ_GPT2_OPTIONS;
    o.vocab_size = size_of(config, "vocab_size", o.vocab_size);
    o.n_positions = size_of(config, "n_positions", o.n_positions);
    o.n_ctx = size_of(config, "n_ctx", o.n_ctx);
    o.n_embd = size_of(config, "n_embd", o.n_embd);
    o.n_layer = size_of(config, "n_layer", o.n_layer);
    o.n_head = size_of(config, "n_head", o.n_head);
    o.layer_norm_epsilon = config_number(config, "layer_norm_epsilon", o.layer_norm_epsilon);
    return o;
}

static adz_module *part_from_config(const char *part, const json_t *config)
{
    if (strcmp(part, "gelu") == 0) {
        return adz_gelu_new(ADZ_GELU_TANH);
    }
    if (strcmp(part, "Conv1D") == 0) {
        return adz_gpt2_conv1d_new(size_of(config, "nf", 0), size_of(config, "nx", 0), NULL);
    }
    if (strcmp(part, "LayerNorm") == 0) {
        adz_gpt2_layer_norm_options o = ADZ_GPT2_LAYER_NORM_OPTIONS;
        o.eps = config_number(config, "eps", o.eps);
        return adz_gpt2_layer_norm_new(size_of(config, "hidden_size", 0), &o);
    }
    adz_gpt2_notes_feed_forward_options o = ADZ_GPT2_NOTES_FEED_FORWARD_OPTIONS;
    o.dropout = config_number(config, "dropout", o.dropout);
    return adz_gpt2_notes_feed_forward_new(
        size_of(config, "d_model", 768), size_of(config, "nx", 768 * 4), &o);
}

static adz_module *from_config(const char *reference, const json_t *config)
{
    adz_gpt2_options o = options_of(config);
    bool scale = config_flag(config, "scale", false);
    const char *part = strrchr(reference, ' ') + 1;
    if (strcmp(part, "MLP") == 0) {
        return adz_gpt2_mlp_new(size_of(config, "n_state", 4 * o.n_embd), &o);
    }
    if (strcmp(part, "Attention") == 0) {
        return adz_gpt2_attention_new(size_of(config, "nx", 0), o.n_ctx, scale, &o);
    }
    if (strcmp(part, "Block") == 0) {
        return adz_gpt2_block_new(o.n_ctx, scale, &o);
    }
    if (strcmp(part, "GPT2Model") == 0) {
        return adz_gpt2_model_new(&o);
    }
    if (strcmp(part, "GPT2LMHeadModel") == 0) {
        return config_flag(config, "tied", true) ? adz_gpt2_lm_head_model_new(&o) : NULL;
    }
    return part_from_config(part, config);
}

#define TWO_LAYERS(indent)                                                                 \
    indent "(c_fc): Conv1D(nf=16, nx=4)\n" indent "(c_proj): Conv1D(nf=4, nx=16)\n" indent \
           "(act): GELU(approximate='tanh')\n"
#define NORM "LayerNorm((4,), eps=0.001, elementwise_affine=True)\n"
#define BLOCK(indent)                                                                   \
    "Block(\n" indent "  (ln_1): " NORM indent "  (attn): Attention(\n" indent          \
    "    n_head=2, scale=True\n" indent "    (c_attn): Conv1D(nf=12, nx=4)\n" indent    \
    "    (c_proj): Conv1D(nf=4, nx=4)\n" indent "  )\n" indent "  (ln_2): " NORM indent \
    "  (mlp): MLP(\n" TWO_LAYERS(indent "    ") indent "  )\n" indent ")"
#define BLOCK_NAMES(at)                                                                         \
    at "ln_1.weight " at "ln_1.bias " at "attn.bias " at "attn.c_attn.weight " at               \
       "attn.c_attn.bias " at "attn.c_proj.weight " at "attn.c_proj.bias " at "ln_2.weight " at \
       "ln_2.bias " at "mlp.c_fc.weight " at "mlp.c_fc.bias " at "mlp.c_proj.weight " at        \
       "mlp.c_proj.bias"
#define LM_TREE                                                                        \
    "GPT2LMHeadModel(\n"                                                               \
    "  (transformer): GPT2Model(\n"                                                    \
    "    (wte): Embedding(7, 4)\n"                                                     \
    "    (wpe): Embedding(6, 4)\n"                                                     \
    "    (h): ModuleList(\n"                                                           \
    "      (0-1): 2 x " BLOCK(                                                         \
        "      ") "\n"                                                                 \
                  "    )\n"                                                            \
                  "    (ln_f): " NORM "  )\n"                                          \
                  "  (lm_head): GPT2LMHead(\n"                                         \
                  "    (decoder): Linear(in_features=4, out_features=7, bias=False)\n" \
                  "  )\n"                                                              \
                  ")"
#define LM_NAMES                                                                            \
    "transformer.wte.weight transformer.wpe.weight " BLOCK_NAMES(                           \
        "transformer.h.0.") " " BLOCK_NAMES("transformer.h.1.") " transformer.ln_f.weight " \
                                                                "transformer.ln_f.bias "    \
                                                                "lm_head.decoder.weight"

const module_case gpt2_module = {
    .name = "gpt2",
    .references = { "GPT-2 notes Conv1D", "GPT-2 notes FeedForward", "graykode gelu",
        "graykode Conv1D", "graykode LayerNorm", "graykode MLP", "graykode Attention",
        "graykode Block", "graykode GPT2Model", "graykode GPT2LMHeadModel" },
    .from_config = from_config,
    .renames = { "ids=input_ids", "labels=lm_labels" },
    .carries = { "present", "past" },
    .samples = { { conv1d, "Conv1D(nf=3, nx=4)", "weight bias", { X(2, 3, 4) } },
        { layer_norm, "LayerNorm((4,), eps=1e-12, elementwise_affine=True)", "weight bias",
            { X(2, 4) } },
        { notes,
            "FeedForward(\n"
            "  (c_fc): Conv1D(nf=6, nx=4)\n"
            "  (c_proj): Conv1D(nf=4, nx=6)\n"
            "  (act): GELU(approximate='none')\n"
            "  (dropout): Dropout(p=0.1, inplace=False)\n"
            ")",
            "c_fc.weight c_fc.bias c_proj.weight c_proj.bias", { X(2, 3, 4) } },
        { mlp,
            "MLP(\n"
            "  (c_fc): Conv1D(nf=5, nx=4)\n"
            "  (c_proj): Conv1D(nf=4, nx=5)\n"
            "  (act): GELU(approximate='tanh')\n"
            ")",
            "c_fc.weight c_fc.bias c_proj.weight c_proj.bias", { X(4) } },
        { attention,
            "Attention(\n"
            "  n_head=2, scale=True\n"
            "  (c_attn): Conv1D(nf=12, nx=4)\n"
            "  (c_proj): Conv1D(nf=4, nx=4)\n"
            ")",
            "bias c_attn.weight c_attn.bias c_proj.weight c_proj.bias",
            { X(2, 3, 4), X(2, 2, 2, 2, 2) } },
        { unscaled,
            "Attention(\n"
            "  n_head=2, scale=False\n"
            "  (c_attn): Conv1D(nf=18, nx=6)\n"
            "  (c_proj): Conv1D(nf=6, nx=6)\n"
            ")",
            "bias c_attn.weight c_attn.bias c_proj.weight c_proj.bias", { X(1, 3, 6) } },
        { block, BLOCK(""), BLOCK_NAMES(""), { X(2, 3, 4), X_NAMED("past", 2, 2, 2, 1, 2) } },
        { model,
            "GPT2Model(\n"
            "  (wte): Embedding(7, 4)\n"
            "  (wpe): Embedding(6, 4)\n"
            "  (h): ModuleList(\n"
            "    (0): " BLOCK("    ") "\n"
                                      "  )\n"
                                      "  (ln_f): " NORM ")",
            "wte.weight wpe.weight " BLOCK_NAMES("h.0.") " ln_f.weight ln_f.bias",
            { IDS(7, 2, 2), IDS_NAMED("token_type_ids", 7, 2, 2),
                IDS_NAMED("position_ids", 6, 2, 2), X_NAMED("past.0", 2, 2, 2, 1, 2) } },
        { dropped,
            "GPT2Model(\n"
            "  (wte): Embedding(7, 4)\n"
            "  (wpe): Embedding(6, 4)\n"
            "  (h): ModuleList()\n"
            "  (ln_f): " NORM "  (drop): Dropout(p=0.4, inplace=False)\n)",
            "wte.weight wpe.weight ln_f.weight ln_f.bias", { IDS(7, 2, 3) } },
        { lm, LM_TREE, LM_NAMES, { IDS(7, 2, 3) } },
        { lm, LM_TREE, LM_NAMES, { IDS(7, 2, 3), IDS_NAMED("lm_labels", 7, 2, 3) } } },
    FACTS(gpt2_facts),
};
