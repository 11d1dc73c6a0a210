/* Arguments of the sweep that are objects of the library, such as optimizers. They are freed after
 * the call. */
#include <stdio.h>
#include <string.h>

#include "adze/models.h"
#include "adze/zoo.h"
#include "objects.h"

adz_node *node_of_backward;

/* ---- optimizers and schedulers --------------------------------------------------------------- */

/* Leaves the gradients as they are. */
static adz_tensor *constant_loss(void *user)
{
    (void)user;
    return adz_ones(ADZ_SHAPE(1), ADZ_F32);
}

static const char *const optimizer_names[] = { "SGD", "Adam", "LabML RAdam", "L-BFGS", "LM",
    "after a step" };
static const char *const scheduler_names[] = { "StepLR", "ReduceLROnPlateau", "OneCycleLR",
    "CosineAnnealingWarmRestarts" };

adz_optimizer *optimizer_make(size_t choice)
{
    adz_tensor *leaves[] = { tensor_make(1), tensor_make(1) };
    adz_tensor_list list = { leaves, 2 };
    for (int i = 0; i < 2; ++i) {
        adz_tensor_set_grad(leaves[i], tensor_make(12));
    }
    adz_optimizer *o = choice == 0                  ? adz_sgd_new(list, 0.1, NULL)
                       : choice == 1                ? adz_adam_new(list, 0.1, NULL)
                       : choice == 2                ? adz_labml_radam_new(list, 0.1, NULL)
                       : choice == 3 || choice == 5 ? adz_lbfgs_new(list, 0.1, NULL)
                                                    : adz_levenberg_marquardt_new(list, 1, NULL);
    if (choice == 5) {
        adz_optimizer_step_closure(o, constant_loss, NULL, NULL);
    }
    return o;
}

static adz_scheduler *scheduler_make(size_t choice)
{
    adz_optimizer *optimizer = optimizer_make(0);
    adz_scheduler *scheduler = choice == 0   ? adz_step_lr_new(optimizer, 2, 0.5)
                               : choice == 1 ? adz_reduce_lr_on_plateau_new(optimizer, NULL)
                               : choice == 2
                                   ? adz_one_cycle_lr_new(optimizer, 0.1, 10, NULL)
                                   : adz_cosine_annealing_warm_restarts_new(optimizer, 2, 2, 0);
    adz_optimizer_release(&optimizer);
    return scheduler;
}

/* ---- data ------------------------------------------------------------------------------------ */

const char csv_text[] = "a,b,c\n1,2,3\n4,5,6\n7,8,9\n";

static adz_dataset *dataset_make(void)
{
    adz_tensor *const tensors[] = { tensor_make(0), tensor_make(4) };
    return adz_dataset_new(tensors, 2);
}

static adz_loader *loader_make(void)
{
    adz_dataset *dataset = dataset_make();
    adz_loader *loader = adz_loader_new(dataset, NULL);
    adz_dataset_release(&dataset);
    return loader;
}

const char tokenizer_json[] =
    "{\"normalizer\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":\"Whitespace\"},\"model\":{\"type\":"
    "\"WordPiece\",\"unk_token\":\"a\",\"continuing_subword_prefix\":\"##\","
    "\"max_input_chars_per_word\":9,\"vocab\":{\"a\":0,\"b\":1,\"##b\":2}}}";

adz_tokenizer *tokenizer_make(size_t choice)
{
    const adz_text text = { "a b c abc", 9 };
    const adz_token_kind kinds[] = { ADZ_TOKENS_CHARACTERS, ADZ_TOKENS_BYTES, ADZ_TOKENS_WORDS };
    if (choice == COUNT_OF(kinds)) {
        return adz_pretrained_tokenizer_from_memory(tokenizer_json, strlen(tokenizer_json), NULL);
    }
    return adz_tokenizer_build(kinds[choice], &text, 1, NULL);
}

static adz_token_stream *stream_make(void)
{
    static adz_tokenizer *tokenizer; /* kept for all streams, which use it */
    tokenizer = tokenizer != NULL ? tokenizer : tokenizer_make(0);
    return adz_token_stream_new(tokenizer);
}

adz_safetensors *safetensors_make(void)
{
    adz_safetensors *file = adz_safetensors_new();
    adz_safetensors_add(file, "weight", tensor_make(0));
    adz_safetensors_add(file, "bias", tensor_make(4));
    adz_safetensors_set_metadata(file, "a", "b");
    return file;
}

static adz_state_dict *state_make(size_t choice)
{
    adz_state_dict *state = adz_state_dict_new();
    adz_state_dict_add(state, choice == 0 ? "weight" : "0.encoder.weight", tensor_make(0));
    adz_state_dict_add(state, choice == 0 ? "bias" : "1.decoder.bias", tensor_make(4));
    return state;
}

static adz_values *values_make(size_t choice)
{
    adz_values *values = adz_values_new();
    if (choice == 0) {
        adz_values_add(values, "x", tensor_make(0));
    }
    return values;
}

static adz_fastai_groups *groups_make(void)
{
    adz_module *model = module_make(15);
    adz_fastai_groups *groups = adz_fastai_awd_lstm_lm_split(model);
    adz_module_release(&model);
    return groups;
}

static adz_flat_parameters *flat_parameters_make(void)
{
    adz_tensor *const leaves[] = { tensor_make(1), tensor_make(16) };
    return adz_flat_parameters_new((adz_tensor_list){ leaves, 2 });
}

/* Trainings on one rank. Their group lives as long as the program. */
static adz_data_parallel *data_parallel_make(size_t choice)
{
    static adz_group *group;
    group = group != NULL ? group : adz_group_single();
    adz_module *model = adz_linear_new(3, 3, NULL);
    adz_data_parallel_options o = ADZ_DATA_PARALLEL_OPTIONS;
    adz_micro_batch micro;
    o.micro_batches = 1;
    o.fast = choice == 0;
    adz_data_parallel *parallel = adz_data_parallel_new(group, model, &o);
    if (choice > 0) {
        adz_data_parallel_begin(parallel, 0, 3);
    }
    if (choice > 1) {
        adz_data_parallel_next(parallel, &micro);
    }
    if (choice > 2) {
        adz_tensor *y = adz_module_forward(model, tensor_make(0));
        adz_data_parallel_backward(parallel, adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM), micro.weight);
    }
    adz_module_release(&model);
    return parallel;
}

static adz_tensor *captured_function(void *user)
{
    return adz_relu(user);
}

/* The input of all plans lives as long as the program. */
static adz_tensor *captured_input;

void objects_begin(void)
{
    adz_scope *scope = adz_scope_open();
    captured_input = adz_keep(adz_ones(ADZ_SHAPE(2, 2), ADZ_F32));
    adz_scope_close(scope);
}

/* Plans that have been called once, or that replay. */
static adz_plan *plan_make(size_t choice)
{
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs = adz_tensor_list_of(&captured_input, 1);
    adz_plan *plan = adz_plan_new(captured_function, captured_input, &o);
    if (choice > 0) {
        adz_plan_run(plan);
    }
    return plan;
}

/* ---- of every kind --------------------------------------------------------------------------- */

static const char *const one_name[] = { "valid" };
static const char *const tokenizer_names[] = { "characters", "bytes", "words", "pretrained" };
static const char *const state_names[] = { "plain", "language model" };
/* The report of a load in which every name fitted. */
static adz_load_report *load_report_make(void)
{
    adz_load_options options = ADZ_LOAD_OPTIONS;
    options.report = adz_load_report_new();
    adz_module *m = adz_linear_new(3, 3, NULL);
    adz_state_dict *dict = adz_module_state_dict(m);
    adz_module_load_state_dict_with(m, dict, &options);
    adz_state_dict_free(&dict);
    adz_module_release(&m);
    return options.report;
}

static const char *const values_names[] = { "x", "empty" };
static const char *const parallel_names[] = { "between steps", "in a step", "in a micro-batch",
    "with gradients" };
static const char *const plan_names[] = { "called once", "captured" };
static const char *const file_names[] = { "for writing", "for reading" };

static const struct {
    const char *const *names;
    size_t n, valid;
} objects[] = {
    [KIND_TENSOR] = { tensor_names, TENSOR_CHOICES, SENSIBLE_TENSORS },
    [KIND_MODULE] = { module_names, MODULE_CHOICES, MODULE_CHOICES },
    [KIND_OPTIMIZER] = { optimizer_names, COUNT_OF(optimizer_names), COUNT_OF(optimizer_names) },
    [KIND_SCHEDULER] = { scheduler_names, COUNT_OF(scheduler_names), COUNT_OF(scheduler_names) },
    [KIND_TOKENIZER] = { tokenizer_names, COUNT_OF(tokenizer_names), COUNT_OF(tokenizer_names) },
    [KIND_STATE] = { state_names, COUNT_OF(state_names), COUNT_OF(state_names) },
    [KIND_VALUES] = { values_names, COUNT_OF(values_names), 1 },
    [KIND_DATA_PARALLEL] = { parallel_names, COUNT_OF(parallel_names), COUNT_OF(parallel_names) },
    [KIND_PLAN] = { plan_names, COUNT_OF(plan_names), COUNT_OF(plan_names) },
    [KIND_FILE] = { file_names, COUNT_OF(file_names), 1 },
    [KIND_NONE] = { NULL, 0, 0 },
};

size_t object_choices(kind k, size_t *valid)
{
    bool several = objects[k].n > 0;
    *valid = several ? objects[k].valid : 1;
    return several ? objects[k].n : 1;
}

const char *object_name(kind k, size_t choice)
{
    return objects[k].n > 0 ? objects[k].names[choice] : one_name[0];
}

/* Objects of the process, which nothing has to make. */
static void *present(kind k, size_t choice)
{
    if (k == KIND_FILE) {
        return choice == 0 ? fopen("/dev/null", "w") : fopen("/dev/zero", "r");
    }
    return k == KIND_NODE ? node_of_backward : NULL;
}

void *object_make(kind k, size_t choice)
{
    switch (k) {
    case KIND_TENSOR:
        return tensor_make(choice);
    case KIND_MODULE:
        return module_make(choice);
    case KIND_OPTIMIZER:
        return optimizer_make(choice);
    case KIND_SCHEDULER:
        return scheduler_make(choice);
    case KIND_GENERATOR:
        return adz_generator_new(1);
    case KIND_CONTEXT:
        return adz_context_new();
    case KIND_SCOPE:
        return adz_scope_open();
    case KIND_CSV:
        return adz_csv_from_memory(csv_text, sizeof csv_text - 1, NULL);
    case KIND_DATASET:
        return dataset_make();
    case KIND_LOADER:
        return loader_make();
    case KIND_TOKENIZER:
        return tokenizer_make(choice);
    case KIND_TOKEN_STREAM:
        return stream_make();
    case KIND_SAFETENSORS:
        return safetensors_make();
    case KIND_STATE:
        return state_make(choice);
    case KIND_VALUES:
        return values_make(choice);
    case KIND_GROUPS:
        return groups_make();
    case KIND_FLAT_PARAMETERS:
        return flat_parameters_make();
    case KIND_GROUP:
        return adz_group_single();
    case KIND_DATA_PARALLEL:
        return data_parallel_make(choice);
    case KIND_LOAD_REPORT:
        return load_report_make();
    default:
        return k == KIND_PLAN ? plan_make(choice) : present(k, choice);
    }
}

#define END(kind, type, end) \
    case kind: {             \
        type *object = p;    \
        end(&object);        \
        break;               \
    }

static void end_dlpack(adz_dl_managed_tensor *managed)
{
    if (managed->deleter != NULL) {
        managed->deleter(managed);
    }
}

void object_end(kind k, void *p)
{
    switch (k) {
    case KIND_FILE:
        fclose(p);
        break;
        END(KIND_MODULE, adz_module, adz_module_release)
        END(KIND_OPTIMIZER, adz_optimizer, adz_optimizer_release)
        END(KIND_SCHEDULER, adz_scheduler, adz_scheduler_release)
        END(KIND_GENERATOR, adz_generator, adz_generator_free)
        END(KIND_CONTEXT, adz_context, adz_context_free)
        END(KIND_CSV, adz_csv, adz_csv_free)
        END(KIND_DATASET, adz_dataset, adz_dataset_release)
        END(KIND_LOADER, adz_loader, adz_loader_free)
        END(KIND_TOKENIZER, adz_tokenizer, adz_tokenizer_free)
        END(KIND_TOKEN_STREAM, adz_token_stream, adz_token_stream_free)
        END(KIND_SAFETENSORS, adz_safetensors, adz_safetensors_free)
        END(KIND_STATE, adz_state_dict, adz_state_dict_free)
        END(KIND_VALUES, adz_values, adz_values_free)
        END(KIND_LOAD_REPORT, adz_load_report, adz_load_report_free)
        END(KIND_GROUPS, adz_fastai_groups, adz_fastai_groups_free)
        END(KIND_FLAT_PARAMETERS, adz_flat_parameters, adz_flat_parameters_free)
        END(KIND_GROUP, adz_group, adz_group_free)
        END(KIND_DATA_PARALLEL, adz_data_parallel, adz_data_parallel_free)
        END(KIND_PLAN, adz_plan, adz_plan_free)
    case KIND_DLPACK:
        end_dlpack(p);
        break;
    case KIND_KEPT:
        if (p != ADZ_NONE) {
            adz_release(&(adz_tensor *){ p });
        }
        break;
    default:
        break; /* the scope owns the object, or it needs no owner */
    }
}

/* ---- using results --------------------------------------------------------------------------- */

static void use_module(adz_module *module)
{
    char text[64];
    static const size_t inputs[] = { 0, 9, 6 };
    adz_module_to_string(module, text, sizeof text);
    for (size_t i = 0; i < COUNT_OF(inputs); ++i) {
        adz_tensor *y = adz_module_forward(module, tensor_make(inputs[i]));
        if (y != NULL && y != ADZ_NONE && adz_tensor_requires_grad(y)) {
            adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM));
        }
        adz_error_clear();
    }
}

static void use_scheduler(adz_scheduler *scheduler)
{
    for (int i = 0; i < 3; ++i) {
        adz_scheduler_step(scheduler);
        adz_scheduler_step_metric(scheduler, 1);
        adz_error_clear();
    }
    adz_scheduler_step_to(scheduler, 2.5);
    adz_scheduler_last_lr(scheduler, 0);
}

static void use_tensor(adz_tensor *t)
{
    char text[64];
    adz_tensor_to_string(t, text, sizeof text);
    if (t != ADZ_NONE && adz_tensor_requires_grad(t) && !adz_tensor_is_leaf(t)) {
        adz_backward(adz_sum(t, ADZ_ALL_DIMS, ADZ_DROPDIM));
    }
}

void object_use(kind k, void *object)
{
    adz_tensor *batch[4];
    if (k == KIND_TENSOR) {
        use_tensor(object);
    } else if (k == KIND_MODULE) {
        use_module(object);
    } else if (k == KIND_OPTIMIZER) {
        for (int i = 0; i < 2; ++i) {
            adz_optimizer_step(object);
            adz_optimizer_step_closure(object, constant_loss, NULL, NULL);
            adz_error_clear();
        }
    } else if (k == KIND_SCHEDULER) {
        use_scheduler(object);
    } else if (k == KIND_LOADER) {
        adz_loader_batch_count(object);
        adz_loader_next(object, batch);
        adz_loader_next(object, batch);
    }
    adz_error_clear();
}
