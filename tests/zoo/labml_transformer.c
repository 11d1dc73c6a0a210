/* Embeddings, layers and models of the annotated transformers. */
#include "adze/zoo.h"
#include "zoo/labml_transformer.h"

/* A module without inputs, whose result is the table of positions. */
static adz_status encoding_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const int64_t *sizes = adz_module_data(self);
    (void)in;
    return adz_values_add(out, "", adz_labml_get_positional_encoding(sizes[0], sizes[1], ADZ_F64));
}

static adz_module *encoding_from(int64_t d_model, int64_t max_len)
{
    static const adz_module_type type = {
        .size = sizeof(adz_module_type), .name = "get_positional_encoding", .call = encoding_call
    };
    adz_module *m = adz_module_new(&type, 2 * sizeof(int64_t));
    if (m != NULL) {
        int64_t *sizes = adz_module_data(m);
        sizes[0] = d_model;
        sizes[1] = max_len;
    }
    return m;
}

static int64_t whole(const json_t *config, const char *name)
{
    return (int64_t)config_number(config, name, 0);
}

static adz_module *layer_from(const json_t *c, bool source)
{
    int64_t d_model = whole(c, "d_model");
    double p = config_number(c, "dropout_prob", 0);
    adz_feed_forward_options network = ADZ_FEED_FORWARD_OPTIONS;
    network.dropout = p;
    network.is_gated = config_flag(c, "is_gated", false);
    network.bias1 = config_flag(c, "bias1", true);
    network.bias2 = config_flag(c, "bias2", true);
    network.bias_gate = config_flag(c, "bias_gate", true);
    network.activation_module = case_activation(config_text(c, "activation", "relu"));
    adz_labml_transformer_layer_options o = ADZ_LABML_TRANSFORMER_LAYER_OPTIONS;
    o.src_attn = source ? heads(whole(c, "heads"), d_model, p, true, NULL) : NULL;
    adz_module *m =
        adz_labml_transformer_layer_new(d_model, heads(whole(c, "heads"), d_model, p, true, NULL),
            adz_feed_forward_new(d_model, whole(c, "d_ff"), &network), p, &o);
    adz_module_release(&o.src_attn);
    adz_module_release(&network.activation_module);
    return m;
}

static adz_module *embeddings_from(const json_t *c, const char *vocabulary, bool learn)
{
    adz_labml_embeddings_options o = ADZ_LABML_EMBEDDINGS_OPTIONS;
    o.max_len = whole(c, "max_len");
    int64_t d_model = whole(c, "d_model"), n = whole(c, vocabulary);
    return learn ? adz_labml_learned_embeddings_new(d_model, n, &o)
                 : adz_labml_embeddings_new(d_model, n, &o);
}

static adz_module *characters_from(const json_t *c)
{
    adz_labml_character_model_options o = ADZ_LABML_CHARACTER_MODEL_OPTIONS;
    o.d_model = whole(c, "d_model");
    o.d_ff = whole(c, "d_ff");
    o.n_heads = whole(c, "n_heads");
    o.n_layers = whole(c, "n_layers");
    o.max_len = whole(c, "max_len");
    o.dropout = config_number(c, "dropout", 0);
    o.glu_variant = config_text(c, "glu_variant", "");
    o.attention_bias = config_flag(c, "attention_bias", true);
    return adz_labml_character_model_new(whole(c, "n_chars"), &o);
}

static adz_module *from_config(const char *reference, const json_t *c)
{
    const char *const names[] = { "get_positional_encoding", "EmbeddingsWithPositionalEncoding",
        "EmbeddingsWithLearnedPositionalEncoding", "TransformerLayer", "Encoder", "Decoder",
        "EncoderDecoder" };
    int which = 0;
    while (which < 7 && strcmp(names[which], reference + strlen("labml ")) != 0) {
        ++which;
    }
    int64_t n = whole(c, "n_layers");
    switch (which) {
    case 0:
        return encoding_from(whole(c, "d_model"), whole(c, "max_len"));
    case 1:
    case 2:
        return embeddings_from(c, "n_vocab", which == 2);
    case 3:
        return layer_from(c, config_flag(c, "src_attn", false));
    case 4:
        return adz_labml_encoder_new(layer_from(c, false), n);
    case 5:
        return adz_labml_decoder_new(layer_from(c, true), n);
    case 6:
        return adz_labml_encoder_decoder_new(adz_labml_encoder_new(layer_from(c, false), n),
            adz_labml_decoder_new(layer_from(c, true), n), embeddings_from(c, "n_vocab_src", false),
            embeddings_from(c, "n_vocab_tgt", false),
            adz_labml_generator_new(whole(c, "n_vocab_tgt"), whole(c, "d_model"), NULL));
    default: /* AutoregressiveModel, also the one that labml_nn's trainer makes */
        return characters_from(c);
    }
}

#define PREPARE(in, name, bias)                                                 \
    in "(" name "): PrepareForMultiHeadAttention(\n" in "  heads=2, d_k=2\n" in \
       "  (linear): Linear(in_features=4, out_features=4, bias=" bias ")\n" in ")\n"
#define HEADS(in, name, bias, p)                                            \
    in "(" name "): MultiHeadAttention(\n" PREPARE(in "  ", "query", bias)  \
        PREPARE(in "  ", "key", bias) PREPARE(in "  ", "value", "True") in  \
        "  (output): Linear(in_features=4, out_features=4, bias=True)\n" in \
        "  (dropout): Dropout(p=" p ", inplace=False)\n" in ")\n"
#define NETWORK(in, activation, p)                                                                 \
    in "(feed_forward): FeedForward(\n" in                                                         \
       "  (layer1): Linear(in_features=4, out_features=3, bias=False)\n" in                        \
       "  (layer2): Linear(in_features=3, out_features=4, bias=False)\n" in                        \
       "  (dropout): Dropout(p=" p ", inplace=False)\n" in "  (activation): " activation "()\n" in \
       "  (linear_v): Linear(in_features=4, out_features=3, bias=False)\n" in ")\n"
#define DROPOUT(in, p) in "(dropout): Dropout(p=" p ", inplace=False)\n"
#define NORM(in, name) in "(" name "): LayerNorm((4,), eps=1e-05, elementwise_affine=True)\n"
#define LAYER(in, bias, activation, p) \
    HEADS(in, "self_attn", bias, p)    \
    NETWORK(in, activation, p) DROPOUT(in, p) NORM(in, "norm_self_attn") NORM(in, "norm_ff")
#define SOURCE_LAYER(in, p)            \
    HEADS(in, "self_attn", "False", p) \
    HEADS(in, "src_attn", "False", p)  \
    NETWORK(in, "Identity", p)         \
    DROPOUT(in, p) NORM(in, "norm_self_attn") NORM(in, "norm_src_attn") NORM(in, "norm_ff")
#define HEADS_NAMES(at)                                                            \
    at "query.linear.weight " at "key.linear.weight " at "value.linear.weight " at \
       "value.linear.bias " at "output.weight " at "output.bias "
#define NETWORK_NAMES(at) at "layer1.weight " at "layer2.weight " at "linear_v.weight "
#define NORM_NAMES(at)    at "weight " at "bias "
#define LAYER_NAMES(at)          \
    HEADS_NAMES(at "self_attn.") \
    NETWORK_NAMES(at "feed_forward.") NORM_NAMES(at "norm_self_attn.") NORM_NAMES(at "norm_ff.")
#define SOURCE_LAYER_NAMES(at)        \
    HEADS_NAMES(at "self_attn.")      \
    HEADS_NAMES(at "src_attn.")       \
    NETWORK_NAMES(at "feed_forward.") \
    NORM_NAMES(at "norm_self_attn.") NORM_NAMES(at "norm_src_attn.")

const module_case labml_transformer_module = {
    .name = "labml_transformer",
    .references = { "labml get_positional_encoding", "labml EmbeddingsWithPositionalEncoding",
        "labml EmbeddingsWithLearnedPositionalEncoding", "labml TransformerLayer", "labml Encoder",
        "labml Decoder", "labml EncoderDecoder", "labml AutoregressiveModel" },
    .from_config = from_config,
    .samples = { { fixed, "EmbeddingsWithPositionalEncoding(\n  (linear): Embedding(7, 4)\n)",
                     "positional_encodings linear.weight", { IDS(7, 3, 2) } },
        { learned, "EmbeddingsWithLearnedPositionalEncoding(\n  (linear): Embedding(7, 4)\n)",
            "positional_encodings linear.weight", { IDS(7, 3, 2) } },
        { layer, "TransformerLayer(\n" SOURCE_LAYER("  ", "0.3") ")",
            SOURCE_LAYER_NAMES("") "norm_ff.weight norm_ff.bias",
            { X(3, 2, 4), IDS(2, 3, 3, 2), X(2, 2, 4), IDS_NAMED("src_mask", 2, 1, 2, 1) } },
        { encoder,
            "Encoder(\n  (layers): ModuleList(\n    (0-1): 2 x TransformerLayer(\n" LAYER(
                "      ", "False", "Identity", "0.2") "    )\n  )\n" NORM("  ", "norm") ")",
            LAYER_NAMES("layers.0.") LAYER_NAMES("layers.1.") "norm.weight norm.bias",
            { X(2, 2, 4), IDS(2, 1, 2, 2) } },
        { decoder,
            "Decoder(\n  (layers): ModuleList(\n    (0): TransformerLayer(\n" SOURCE_LAYER(
                "      ", "0.0") "    )\n  )\n" NORM("  ", "norm") ")",
            SOURCE_LAYER_NAMES("layers.0.") NORM_NAMES("layers.0.norm_ff.") "norm.weight norm.bias",
            { X(2, 2, 4), X(3, 2, 4), IDS(2, 2, 3, 1), IDS_NAMED("tgt_mask", 2, 2, 2, 2) } },
        { generator,
            "Generator(\n  (projection): Linear(in_features=4, out_features=3, bias=True)\n)",
            "projection.weight projection.bias", { X(2, 2, 4) } },
        { both,
            "EncoderDecoder(\n  (encoder): Encoder(\n    (layers): ModuleList(\n"
            "      (0): TransformerLayer(\n" LAYER(
                "        ", "False", "Identity", "0.1") "      )\n    )\n" NORM("    ",
                "norm") "  )\n  (decoder): Decoder(\n    (layers): ModuleList(\n"
                        "      (0): TransformerLayer(\n" SOURCE_LAYER(
                            "        ", "0.1") "      )\n    )\n" NORM("    ",
                            "norm") "  )\n  (src_embed): EmbeddingsWithPositionalEncoding(\n"
                                    "    (linear): Embedding(7, 4)\n  )\n"
                                    "  (tgt_embed): EmbeddingsWithLearnedPositionalEncoding(\n"
                                    "    (linear): Embedding(7, 4)\n  )\n  (generator): Identity()\n)",
            LAYER_NAMES("encoder.layers.0.") NORM_NAMES("encoder.norm.") SOURCE_LAYER_NAMES(
                "decoder.layers.0.") NORM_NAMES("decoder.layers.0.norm_ff.")
                NORM_NAMES(
                    "decoder.norm.") "src_embed.positional_encodings src_embed.linear.weight tgt_embed.positional_encodings tgt_embed.linear.weight",
            { IDS(7, 3, 2), IDS(7, 2, 2), IDS(2, 1, 3, 2), IDS(2, 2, 2, 1) } },
        { characters,
            "AutoregressiveModel(\n  (src_embed): EmbeddingsWithPositionalEncoding(\n"
            "    (linear): Embedding(6, 4)\n  )\n  (encoder): Encoder(\n"
            "    (layers): ModuleList(\n      (0): TransformerLayer(\n" LAYER(
                "        ", "False", "SiLU", "0.1") "      )\n    )\n" NORM("    ",
                "norm") "  )\n  (generator): Linear(in_features=4, out_features=6, bias=True)\n)",
            "src_embed.positional_encodings src_embed.linear.weight " LAYER_NAMES(
                "encoder.layers.0.") NORM_NAMES("encoder.norm.") "generator.weight generator.bias",
            { IDS(6, 3, 2), IDS_NAMED("target", 6, 3, 2) } } },
    FACTS(labml_transformer_facts),
};
