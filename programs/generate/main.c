/* Goes on with texts by a published language model. generate --help lists the options. */
#include <adze/adze.h>
#include <adze/models.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/pretrained/entry.h"
#include "../../examples/pretrained/results.h"
#include "../../examples/pretrained/small.h"
#include "../../examples/shared/command_line.h"
#include "../../examples/shared/files.h"
#include "../../examples/shared/program.h"
#include "../../examples/shared/progress.h"
#include "options.h"
#include "prompts.h"
#include "small.h"
#include "writer.h"

typedef struct language_model {
    adz_module *module;
    adz_tokenizer *tokenizer;
} language_model;

/* ---- the model ------------------------------------------------------------------------------ */

static language_model open_model(const options *o)
{
    adz_pretrained_options p = ADZ_PRETRAINED_OPTIONS;
    p.as_stored = true; /* nothing is trained, so half precision and Q8_0 stay as they are */
    check_model_path(o->model);
    language_model m = { .module = adz_pretrained_open(o->model, &p) };
    if (!model_gives(m.module, "logits")) {
        fail("%s: a %s is no language model, and writes no text; embed makes vectors with it",
            o->model, adz_module_name(m.module));
    }
    m.tokenizer =
        adz_pretrained_tokenizer_open(o->tokenizer != NULL ? o->tokenizer : o->model, NULL);
    return m;
}

static language_model small_model(const options *o)
{
    tell_what_to_fetch("text of sense", "huggingface.co/HuggingFaceTB",
        "config.json, generation_config.json, model.safetensors and tokenizer.json of SmolLM2-135M",
        "generate FOLDER --prompt TEXT");
    language_model m;
    m.module = train_small(o->steps, o->save, &m.tokenizer);
    return m;
}

/* ---- generation ----------------------------------------------------------------------------- */

/* Encodes the prompts, padded on the left. Ends the program for a prompt that is empty or too long
 * for the model. */
static adz_encoding encode(
    const language_model *m, const options *o, const adz_text *texts, size_t n)
{
    adz_pretrained_encode_options e = ADZ_PRETRAINED_ENCODE_OPTIONS;
    e.truncation = ADZ_TRUNCATION_NONE;
    e.padding = ADZ_PADDING_LONGEST;
    e.padding_side = ADZ_SIDE_LEFT;
    adz_encoding encoding;
    adz_pretrained_encode(m->tokenizer, texts, NULL, n, &e, &encoding);
    const int64_t columns = adz_tensor_size(encoding.input_ids, 1);
    const int64_t *counts =
        adz_tensor_data_i64(adz_sum(encoding.attention_mask, ADZ_DIMS(1), ADZ_DROPDIM));
    for (size_t i = 0; i < n; ++i) {
        if (counts[i] == 0) {
            fail("prompt %zu has no tokens, so there is nothing to go on with", i + 1);
        }
    }
    const int64_t positions = adz_pretrained_max_positions(m->module);
    if (positions > 0 && columns + o->tokens > positions) {
        fail(
            "a prompt of %lld tokens and --tokens %lld are more than the %lld positions of the model; lower --tokens",
            (long long)columns, (long long)o->tokens, (long long)positions);
    }
    return encoding;
}

static void generate(const language_model *m, const options *o, adz_generator *generator,
    const adz_encoding *prompt, writer *w)
{
    adz_generate_options g = ADZ_GENERATE_OPTIONS;
    g.max_new_tokens = o->tokens;
    g.do_sample = o->temperature > 0;
    g.temperature = o->temperature > 0 ? o->temperature : 1;
    g.top_k = o->top_k;
    g.top_p = o->top_p;
    g.min_p = o->min_p;
    g.repetition_penalty = o->penalty;
    adz_tensor *ends = adz_pretrained_eos_token_ids(m->module);
    g.eos_token_ids = adz_tensor_data_constant(ends);
    g.n_eos_token_ids = (size_t)adz_tensor_numel(ends);
    g.stop_strings = o->stops;
    g.n_stop_strings = o->n_stops;
    g.attention_mask = prompt->attention_mask;
    g.generator = generator;
    g.tokenizer = m->tokenizer;
    g.on_token = hear_token;
    g.user = w;
    if (!o->no_cache) {
        const int64_t rows = adz_tensor_size(prompt->input_ids, 0);
        g.cache = adz_pretrained_cache_new(
            m->module, rows, adz_tensor_size(prompt->input_ids, 1) + o->tokens);
    }
    adz_generate(m->module, prompt->input_ids, &g);
}

/* Writes all texts, as one batch. */
static void write_texts(const language_model *m, const options *o, const prompts *p)
{
    adz_generator *generator = adz_generator_new((uint64_t)o->seed);
    writer w = begin_writing();
    adz_scope *scope = adz_scope_open();
    const adz_encoding prompt = encode(m, o, p->texts, p->count);
    const int64_t read =
        (int64_t)adz_item(adz_sum(prompt.attention_mask, ADZ_ALL_DIMS, ADZ_DROPDIM));
    const double began = seconds_now();
    write_batch(&w, p->texts, p->count);
    generate(m, o, generator, &prompt, &w);
    end_batch(&w);
    adz_scope_close(scope);
    adz_generator_free(&generator);
    const double before = w.first - began, after = w.last - w.first;
    const int64_t made = w.tokens;
    const int64_t later = made - (int64_t)p->count; /* without each text's first token */
    char speed[64] = "";
    if (later > 0 && after > 0) {
        snprintf(speed, sizeof speed, ", %.1f tokens a second", (double)later / after);
    }
    remark("%lld token%s of prompts in %.2f s; %lld token%s of text%s", (long long)read,
        plural(read), before, (long long)made, plural(made), speed);
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C"); /* numbers have a decimal point, whatever the locale is */
    const options o = read_options(argc, argv);
    report_errors();
    seed_and_threads(1, o.threads);
    language_model m = { 0 };
    if (o.model != NULL) { /* before a wait for standard input */
        m = open_model(&o);
    }
    prompts p = read_prompts(&o);
    if (o.model == NULL) {
        m = small_model(&o);
    }
    write_texts(&m, &o, &p);
    free_prompts(&p);
    adz_module_release(&m.module);
    adz_tokenizer_free(&m.tokenizer);
    return finish_output();
}
