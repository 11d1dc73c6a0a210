/**
 * @file pretrained.h
 * Networks with their weights, from the folders in which they are published: config.json with the
 * sizes, and model.safetensors, or shards with model.safetensors.index.json.
 *
 *     adz_module *model = adz_pretrained_open("SmolLM2-135M", NULL);
 *     adz_values *in = adz_values_new(), *out = adz_values_new();
 *     adz_values_add(in, "input_ids", ids); // i64[B, T]
 *     adz_module_call(model, in, out);
 *     adz_tensor *logits = adz_values_get(out, "logits"); // [B, T, V]
 *
 * The model is a module like others: it is trained, captured by plans, copied and saved. Names and
 * layouts of its parameters are those of the file.
 *
 * Language models: LlamaForCausalLM (Llama, SmolLM2, TinyLlama), Qwen2ForCausalLM,
 * Qwen3ForCausalLM. A call takes
 * - "input_ids" i64[B, T]
 * - "attention_mask" [B, S], bool or integers that are not 0 for tokens that count; may be left out
 * - "position_ids" i64[B, T]; left out: those behind the cache, from 0 on without one
 * - "cache", from adz_pretrained_cache_new, and "past", i64[], the P positions that it holds; both
 *   may be left out. The keys and values of the new positions are written behind them, and the call
 *   must be in an ADZ_NO_GRAD block. S = P + T
 * - "logits_to_keep", i64[]: only the last L positions, 0 to T, get logits, which is faster where
 *   the others are not needed; 0, the default, means all of them
 *
 * and returns "logits" [B, L or T, V] and "last_hidden_state" [B, T, D].
 *
 * GPT2LMHeadModel is the network of adze/zoo/gpt2.h. Its call takes and returns the same.
 *
 * Encoders: BertModel (BERT, MiniLM), RobertaModel, DistilBertModel. A call takes "input_ids"
 * i64[B, T], and may take "attention_mask" [B, T], "token_type_ids" i64[B, T] and "position_ids"
 * i64[B, T]. It returns "last_hidden_state" [B, T, D]; "pooler_output" [B, D] if the file has a
 * pooler; and "sentence_embedding" [B, D] if the folder has the modules.json of
 * sentence-transformers: the mean, the maxima or the first of the tokens, normalised if
 * modules.json says so.
 */
#ifndef ADZE_MODELS_PRETRAINED_H
#define ADZE_MODELS_PRETRAINED_H

#include "adze/nn/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a published network is read. Start from ADZ_PRETRAINED_OPTIONS. */
typedef struct adz_pretrained_options {
    size_t size;     /**< sizeof(adz_pretrained_options) */
    adz_dtype dtype; /**< of the parameters, ADZ_F32 or ADZ_F64; weights of the files that have
                          another dtype are converted. ADZ_F32 */
    bool as_stored;  /**< whether the weights of linear layers and tables stay f16, bf16 or Q8_0
                          where the files have them so, and are multiplied from there: 2 or 1.06
                          bytes each, and at no time more. Results have the bits of weights that
                          were widened. Biases and normalisations become f32, and so do GPT-2's
                          projections in Q8_0, because GGUF files have them transposed. It needs
                          the dtype ADZ_F32. False, because such weights cannot be trained, and a
                          program that trains all of a network gets one that it can train */
    bool map;        /**< whether the files are mapped into memory and not copied. Weights that need
                          no conversion are read from the file when they are first used. Changes
                          of them stay private, and nobody may change or shorten the files while
                          the model lives: a read behind the new end kills the program (SIGBUS).
                          False, because of that */
} adz_pretrained_options;

/** The defaults. */
#define ADZ_PRETRAINED_OPTIONS                                                        \
    {                                                                                 \
        ADZ_MEMBER(size, sizeof(adz_pretrained_options)), ADZ_MEMBER(dtype, ADZ_F32), \
            ADZ_MEMBER(as_stored, false), ADZ_MEMBER(map, false)                      \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_pretrained_options) as the caller knows it
 */
ADZ_API void adz_pretrained_options_init(adz_pretrained_options *options, size_t size);

/**
 * Reads a published network. It is in evaluation mode, as in transformers.
 *
 * Weights in f32, f16 and bf16 become f32, or f64, or stay as they are, by option. An entry of
 * config.json that would change the results and that adze does not know is an error that names it.
 * So is a tensor that is missing, that has another shape than the configuration says, or that
 * belongs to no part of the model. The model takes the memory of the tensors that are in the files,
 * and no other.
 *
 * @param folder   with config.json and the weights; or the path of a GGUF file of the architecture
 *                 llama, qwen2, qwen3, gpt2 or bert, which ends in .gguf
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; or NULL
 * @errors         ADZ_ERR_NULL, ADZ_ERR_IO, ADZ_ERR_FORMAT, ADZ_ERR_UNSUPPORTED (the architecture,
 * or an entry of the configuration), ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY; the message
 * names file and entry
 * @see            transformers.AutoModelForCausalLM.from_pretrained
 */
ADZ_API adz_module *adz_pretrained_open(const char *folder, const adz_pretrained_options *options);

/**
 * Writes a network that adz_pretrained_open has read, in the form in which it was published:
 * config.json and model.safetensors, which transformers opens. config.json has the ids of
 * adz_pretrained_eos_token_ids; generation_config.json is not written. A model with a pooling gets
 * modules.json, 1_Pooling/config.json and sentence_bert_config.json with
 * adz_pretrained_max_seq_length, too, for sentence-transformers. Each file is written atomically;
 * the weights come first. The files of tokenizers are not written.
 *
 * @param module  from adz_pretrained_open, or a copy of such a module
 * @param folder  made if it does not exist; its config.json and model.safetensors are replaced
 * @return        ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (another module, the path is too long, or
 *                the folder has a modules.json with a pooling and this model has none),
 *                ADZ_ERR_UNSUPPORTED (weights in blocks of Q8_0), ADZ_ERR_NUMERIC (a parameter is
 *                NaN or infinite), ADZ_ERR_IO, ADZ_ERR_MEMORY, or the code of an error that is
 *                pending
 * @see           transformers.PreTrainedModel.save_pretrained
 */
ADZ_API adz_status adz_pretrained_save(adz_module *module, const char *folder);

/**
 * A cache for the keys and values of a language model: zeros, [layers, 2, B, Hk, capacity, E] with
 * the heads of keys Hk and their features E. Each call of the model adds its positions behind those
 * of earlier calls ("cache" and "past", above).
 *
 * @param module    a language model from adz_pretrained_open
 * @param batch     sequences B, 0 or more
 * @param capacity  positions that it can hold, 0 or more
 * @return          of the dtype of the parameters, borrowed from the scope; NULL with ADZ_ERR_NULL,
 *                  ADZ_ERR_ARGUMENT (another module, a negative size) or ADZ_ERR_MEMORY recorded
 * @see             transformers.StaticCache
 */
ADZ_API adz_tensor *adz_pretrained_cache_new(adz_module *module, int64_t batch, int64_t capacity);

/**
 * The most tokens of a sequence for which a network was made: max_position_embeddings or
 * n_positions of its configuration, context_length of a GGUF file. Of a RoBERTa, whose positions
 * begin behind that of padding, it is fewer. Networks with a table of positions take no more;
 * rotary embeddings go on beyond.
 *
 * @param module  from adz_pretrained_open, or a copy of such a module
 * @return        1 or more; 0 if the configuration of a language model says no number; -1 with
 *                ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (another module), ADZ_ERR_FORMAT or ADZ_ERR_MEMORY
 *                recorded
 */
ADZ_API int64_t adz_pretrained_max_positions(adz_module *module);

/**
 * The tokens to which a text is cut before a network with a pooling embeds it, as in
 * sentence-transformers: max_seq_length of sentence_bert_config.json; without it, model_max_length
 * of tokenizer_config.json. It is at most adz_pretrained_max_positions, which other networks have.
 *
 * @param module  from adz_pretrained_open, or a copy of such a module
 * @return        as adz_pretrained_max_positions
 * @see           sentence_transformers.SentenceTransformer.max_seq_length
 */
ADZ_API int64_t adz_pretrained_max_seq_length(adz_module *module);

/**
 * The tokens that end a text of a language model, for adz_generate_options: eos_token_id of
 * generation_config.json, else of config.json; tokenizer.ggml.eos_token_id of a GGUF file. It is
 * read when the network is opened, and saved with it.
 *
 *     adz_tensor *ends = adz_pretrained_eos_token_ids(model);
 *     options.eos_token_ids = adz_tensor_data_constant(ends);
 *     options.n_eos_token_ids = (size_t)adz_tensor_numel(ends);
 *
 * @param module  from adz_pretrained_open, or a copy of such a module
 * @return        i64[N], N 0 or more, borrowed from the scope; NULL with ADZ_ERR_NULL,
 *                ADZ_ERR_ARGUMENT (another module), ADZ_ERR_FORMAT or ADZ_ERR_MEMORY recorded
 * @see           transformers.GenerationConfig
 */
ADZ_API adz_tensor *adz_pretrained_eos_token_ids(adz_module *module);

#ifdef __cplusplus
}
#endif

#endif
