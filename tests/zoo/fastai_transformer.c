/* fastai's Transformer and Transformer-XL. */
#include "zoo/fastai_transformer.h"

static adz_module *from_config(const char *reference, const json_t *config)
{
    return case_fastai_encoder(strrchr(reference, ' ') + 1, config);
}

#define LINEAR(in, out, bias) "Linear(in_features=" #in ", out_features=" #out ", bias=" #bias ")\n"
#define NORM                  "LayerNorm((4,), eps=1e-05, elementwise_affine=True)\n"
#define DROPOUT(p)            "Dropout(p=" #p ", inplace=False)\n"
#define NAMES_OF_FF(at, second, norm)                                                            \
    at "layers.0.weight " at "layers.0.bias " at "layers." second ".weight " at "layers." second \
       ".bias " at "layers." norm ".weight " at "layers." norm ".bias"
#define NAMES_OF_ATTENTION(at) at "attention.weight " at "out.weight " at "ln.weight " at "ln.bias "
#define NAMES_OF_SINGLE(at)    NAMES_OF_ATTENTION(at "mhra.") NAMES_OF_FF(at "ff.", "2", "5")

const module_case fastai_transformer_module = {
    .name = "fastai_transformer",
    .references = { "fastai Transformer", "fastai TransformerXL" },
    .from_config = from_config,
    .renames = { "mem.#=raw.#" },
    .samples = { { transformer,
                     "Transformer(\n"
                     "  mask=True\n"
                     "  (encoder): Embedding(7, 4)\n"
                     "  (pos_enc): Embedding(5, 4)\n"
                     "  (drop_emb): " DROPOUT(
                         0.1) "  (layers): ModuleList(\n"
                              "    (0): DecoderLayer(\n"
                              "      (mhra): MultiHeadAttention(\n"
                              "        n_heads=2, d_head=2, scale=True\n"
                              "        (attention): " LINEAR(4, 12, True) "        (out): " LINEAR(4, 4, True) "        (drop_att): " DROPOUT(0.2) "        (drop_res): " DROPOUT(
                                  0.0) "        (ln): " NORM "      )\n"
                                       "      (ff): SequentialEx(\n"
                                       "        (layers): ModuleList(\n"
                                       "          (0): " LINEAR(4, 3,
                                           True) "          (1): ReLU(inplace=True)\n"
                                                 "          (2): " DROPOUT(
                                                     0.0) "          (3): " LINEAR(3, 4,
                                                     True) "          (4): " DROPOUT(0.0) "        "
                                                                                          "  (5): "
                                                                                          "MergeLay"
                                                                                          "er()\n"
                                                                                          "        "
                                                                                          "  "
                                                                                          "(6):"
                                                                                          " " NORM
                                                                                          "        "
                                                                                          ")\n"
                                                                                          "      "
                                                                                          ")\n"
                                                                                          "    )\n"
                                                                                          "  )\n"
                                                                                          ")",
                     "encoder.weight pos_enc.weight layers.0.mhra.attention.weight layers.0.mhra.attention.bias layers.0.mhra.out.weight layers.0.mhra.out.bias layers.0.mhra.ln.weight layers.0.mhra.ln.bias " NAMES_OF_FF(
                         "layers.0.ff.", "3", "6"),
                     { IDS(7, 2, 3) } },
        { sinusoidal,
            "Transformer(\n"
            "  mask=True\n"
            "  (encoder): Embedding(7, 4)\n"
            "  (pos_enc): PositionalEncoding()\n"
            "  (drop_emb): " DROPOUT(
                0.0) "  (layers): ModuleList(\n"
                     "    (0-1): 2 x DecoderLayer(\n"
                     "      (mhra): MultiHeadAttention(\n"
                     "        n_heads=2, d_head=2, scale=True\n"
                     "        (attention): " LINEAR(4, 12, False) "        (out): " LINEAR(4, 4, False) "        (drop_att): " DROPOUT(
                         0.0) "        (drop_res): " DROPOUT(0.0) "        (ln): " NORM "      )\n"
                                                                  "      (ff): SequentialEx(\n"
                                                                  "        (layers): ModuleList(\n"
                                                                  "          (0): " LINEAR(4, 3,
                                                                      True) "          (1): "
                                                                            "GELU(approximate='"
                                                                            "tanh')\n"
                                                                            "          "
                                                                            "(2): " LINEAR(3, 4, True) "          (3): " DROPOUT(
                                                                                0.0) "          "
                                                                                     "(4): "
                                                                                     "MergeLayer()"
                                                                                     "\n"
                                                                                     "          "
                                                                                     "(5): " NORM
                                                                                     "        )\n"
                                                                                     "      )\n"
                                                                                     "    )\n"
                                                                                     "  )\n"
                                                                                     ")",
            "encoder.weight pos_enc.freq " NAMES_OF_SINGLE("layers.0.") " " NAMES_OF_SINGLE(
                "layers.1."),
            { IDS(7, 1, 4) } },
        { xl,
            "TransformerXL(\n"
            "  mem_len=4, mask=True\n"
            "  (encoder): Embedding(7, 4)\n"
            "  (pos_enc): PositionalEncoding()\n"
            "  (drop_emb): " DROPOUT(
                0.0) "  (layers): ModuleList(\n"
                     "    (0): DecoderLayer(\n"
                     "      (mhra): MultiHeadRelativeAttention(\n"
                     "        n_heads=2, d_head=2, scale=True\n"
                     "        (attention): " LINEAR(4, 12, False) "        (out): " LINEAR(4, 4, False) "        (drop_att): " DROPOUT(
                         0.0) "        (drop_res): " DROPOUT(0.0) "        (ln): " NORM "        (r_attn): " LINEAR(4,
                         4,
                         False) "      )\n"
                                "      (ff): SequentialEx(\n"
                                "        (layers): ModuleList(\n"
                                "          (0): " LINEAR(4, 3,
                                    True) "          (1): ReLU(inplace=True)\n"
                                          "          (2): " DROPOUT(0.0) "          (3): " LINEAR(3,
                                              4,
                                              True) "          (4): " DROPOUT(0.0) "          (5): "
                                                                                   "MergeLayer()\n"
                                                                                   "          "
                                                                                   "(6): " NORM
                                                                                   "        )\n"
                                                                                   "      )\n"
                                                                                   "    )\n"
                                                                                   "  )\n"
                                                                                   ")",
            "u v encoder.weight pos_enc.freq " NAMES_OF_ATTENTION(
                "layers.0.mhra.") "layers.0.mhra.r_attn.weight " NAMES_OF_FF("layers.0.ff.", "3",
                "6"),
            { IDS(7, 2, 3) } },
        { forgetful,
            "TransformerXL(\n"
            "  mem_len=0, mask=False\n"
            "  (encoder): Embedding(7, 4)\n"
            "  (pos_enc): PositionalEncoding()\n"
            "  (drop_emb): " DROPOUT(
                0.0) "  (layers): ModuleList(\n"
                     "    (0): DecoderLayer(\n"
                     "      (mhra): MultiHeadRelativeAttention(\n"
                     "        n_heads=2, d_head=2, scale=True\n"
                     "        (attention): " LINEAR(4, 12, False) "        (out): " LINEAR(4, 4, False) "        (drop_att): " DROPOUT(
                         0.0) "        (drop_res): " DROPOUT(0.2) "        (ln): " NORM "        (r_attn): " LINEAR(4,
                         4, False) "      )\n"
                                   "      (ff): "
                                   "SequentialEx(\n"
                                   "        (layers): "
                                   "ModuleList(\n"
                                   "          "
                                   "(0): " LINEAR(
                                       4, 3, True) "          "
                                                   "(1): "
                                                   "ReLU("
                                                   "inplace="
                                                   "True)\n"
                                                   "          "
                                                   "(2):"
                                                   " " LINEAR(3, 4, True) "          (3): " DROPOUT(
                                                       0.0) "  "
                                                            "  "
                                                            "  "
                                                            "  "
                                                            "  "
                                                            "(4"
                                                            "):"
                                                            " M"
                                                            "er"
                                                            "ge"
                                                            "La"
                                                            "ye"
                                                            "r("
                                                            ")"
                                                            "\n"
                                                            "  "
                                                            "  "
                                                            "  "
                                                            "  "
                                                            "  "
                                                            "(5"
                                                            "):"
                                                            " " NORM "  "
                                                            "  "
                                                            "  "
                                                            "  "
                                                            ")"
                                                            "\n"
                                                            "  "
                                                            "  "
                                                            "  "
                                                            ")"
                                                            "\n"
                                                            "  "
                                                            "  "
                                                            ")"
                                                            "\n"
                                                            "  "
                                                            ")"
                                                            "\n"
                                                            ")",
            "u v encoder.weight pos_enc.freq " NAMES_OF_ATTENTION(
                "layers.0.mhra.") "layers.0.mhra.r_attn.weight " NAMES_OF_FF("layers.0.ff.", "2",
                "5"),
            { IDS(7, 1, 3) } } },
    FACTS(fastai_transformer_facts),
};
