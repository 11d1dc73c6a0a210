/* Modules as arguments of the sweep: small ones of every family. */
#include "adze/models.h"
#include "adze/onnx.h"
#include "adze/zoo.h"
#include "objects.h"

const char *const module_names[MODULE_CHOICES] = { "linear", "sequential", "embedding", "lstm",
    "batch norm", "standardizer", "list", "attention", "layer", "decoder layer", "encoder",
    "decoder", "generator", "ed model", "ar model", "awd lm", "awd clas", "tfmer lm", "tfmer clas",
    "xl lm", "xl clas", "dropout", "custom", "module dict", "parameter list", "parametrized",
    "parameter dict", "adaptive softmax", "onnx", "recurrent cell", "published" };

static adz_module *sequential(void)
{
    adz_module *const parts[] = { adz_linear_new(3, 3, NULL), adz_relu_new(),
        adz_dropout_new(0.5, NULL) };
    return adz_sequential_new(parts, 3);
}

static adz_module *labml_layer(bool decoder)
{
    adz_labml_transformer_layer_options o = ADZ_LABML_TRANSFORMER_LAYER_OPTIONS;
    adz_module *source = decoder ? adz_labml_attention_new(1, 3, NULL) : NULL;
    o.src_attn = source;
    adz_module *layer = adz_labml_transformer_layer_new(
        3, adz_labml_attention_new(1, 3, NULL), adz_feed_forward_new(3, 4, NULL), 0.1, &o);
    if (source != NULL) {
        adz_module_release(&source);
    }
    return layer;
}

static adz_module *labml_model(bool both)
{
    adz_module *encoder = adz_labml_encoder_new(labml_layer(false), 1);
    adz_module *generator = adz_labml_generator_new(3, 3, NULL);
    adz_module *table = adz_embedding_new(3, 3, NULL);
    return both
               ? adz_labml_encoder_decoder_new(encoder, adz_labml_decoder_new(labml_layer(true), 1),
                     table, adz_embedding_new(3, 3, NULL), generator)
               : adz_labml_autoregressive_model_new(table, encoder, generator);
}

static adz_module *fastai_model(const char *name, bool classifier)
{
    adz_fastai_config config;
    adz_fastai_config_init(&config, sizeof config, name);
    config.n_layers = 1;
    config.emb_sz = config.n_hid = config.ctx_len = 4;
    config.n_heads = 2;
    config.d_model = config.d_inner = 4;
    config.d_head = 2;
    config.mem_len = 4;
    return classifier ? adz_fastai_text_classifier_new(4, 2, &config, NULL)
                      : adz_fastai_language_model_new(4, &config, 1);
}

static adz_tensor *twice(adz_module *self, adz_tensor *x)
{
    (void)self;
    return adz_mul_number(x, 2);
}

static const adz_module_type custom_type = {
    .size = sizeof(adz_module_type), .name = "Custom", .forward = twice
};

static adz_module *standardizer(void)
{
    adz_module *module = adz_standardizer_new(3, ADZ_F32);
    adz_standardizer_fit(module, tensor_make(0));
    return module;
}

static adz_module *basic_module(size_t choice)
{
    adz_module *one;
    switch (choice) {
    case 0:
        return adz_linear_new(3, 3, NULL);
    case 1:
        return sequential();
    case 2:
        return adz_embedding_new(3, 3, NULL);
    case 3:
        return adz_lstm_new(3, 3, NULL);
    case 4:
        return adz_batch_norm1d_new(3, NULL);
    case 5:
        return standardizer();
    default:
        one = adz_linear_new(3, 3, NULL);
        return adz_module_list_new(&one, 1);
    }
}

static adz_module *labml_module(size_t choice)
{
    switch (choice) {
    case 0:
        return adz_labml_attention_new(1, 3, NULL);
    case 1:
        return labml_layer(false);
    case 2:
        return labml_layer(true);
    case 3:
        return adz_labml_encoder_new(labml_layer(false), 1);
    case 4:
        return adz_labml_decoder_new(labml_layer(true), 1);
    case 5:
        return adz_labml_generator_new(3, 3, NULL);
    default:
        return labml_model(choice == 6);
    }
}

/* Containers whose parts have names of the sweep's texts. */
static adz_module *dict(size_t choice)
{
    const char *key = "weight";
    adz_module *one;
    adz_tensor *const t = adz_ones(ADZ_SHAPE(3), ADZ_F32);
    switch (choice) {
    case 0:
        one = adz_linear_new(3, 3, NULL);
        return adz_module_dict_new(&key, &one, 1);
    case 1:
        return adz_parameter_list_new(&t, 1);
    case 2:
        one = adz_linear_new(3, 3, NULL);
        adz_weight_norm(one, key, 0);
        return one;
    default:
        return adz_parameter_dict_new((const adz_named_tensor[]){ { key, t } }, 1);
    }
}

/* A network of a file, which the sweep's calls do not know. */
static adz_module *loaded(void)
{
    const char *path = "network.onnx";
    adz_module *written = adz_linear_new(3, 3, NULL);
    adz_status status =
        adz_module_write_onnx(written, adz_ones(ADZ_SHAPE(3, 3), ADZ_F32), path, NULL);
    adz_module_release(&written);
    return status == ADZ_OK ? adz_onnx_load(path, NULL) : NULL;
}

adz_module *module_make(size_t choice)
{
    /* The positions in module_names where the families begin. */
    enum {
        LABML = 7,
        FASTAI = 15,
        DROPOUT = 21,
        DICTS = 23,
        ADAPTIVE = 27,
        LOADED = 28,
        PUBLISHED = 30
    };
    static const char *const configs[] = { "awd_lstm_lm_config", "awd_lstm_clas_config",
        "tfmer_lm_config", "tfmer_clas_config", "tfmerXL_lm_config", "tfmerXL_clas_config" };
    if (choice < LABML) {
        return basic_module(choice);
    }
    if (choice < FASTAI) {
        return labml_module(choice - LABML);
    }
    if (choice < DROPOUT) {
        return fastai_model(configs[choice - FASTAI], (choice - FASTAI) % 2 != 0);
    }
    if (choice == PUBLISHED) {
        return adz_pretrained_open("published", NULL);
    }
    if (choice >= LOADED) {
        return choice == LOADED ? loaded() : adz_gru_cell_new(3, 3, NULL);
    }
    if (choice == ADAPTIVE) {
        return adz_adaptive_log_softmax_with_loss_new(3, 4, &(int64_t){ 2 }, 1, NULL);
    }
    if (choice >= DICTS) {
        return dict(choice - DICTS);
    }
    return choice == DROPOUT ? adz_dropout_new(0.5, NULL) : adz_module_new(&custom_type, 16);
}
