/* The options of generate: the table, the defaults, and the checks. */
#include "options.h"

#include "../../examples/shared/arguments.h"
#include "../../examples/shared/plain_text.h"

const char program_name[] = "generate";

static const char help[] =
    "Goes on with texts by a published language model.\n"
    "\n"
    "usage: generate [MODEL] [options]\n"
    "\n"
    "  MODEL           a folder with config.json, model.safetensors and\n"
    "                  tokenizer.json of a Llama, Qwen2, Qwen3 or GPT-2; or a file\n"
    "                  .gguf. Without it, a small model is trained on the embedded\n"
    "                  text, to show what the program does\n"
    "  --tokenizer PATH  tokenizer.json, or a folder with it (MODEL)\n"
    "\n"
    "What is written\n"
    "  --prompt TEXT   a text to go on with; it can be given several times, and all\n"
    "                  prompts are computed together\n"
    "  --prompts FILE  a prompt in each line, in UTF-8; - is standard input\n"
    "  --tokens N      new tokens of a text at most (100)\n"
    "  --stop TEXT     a text ends with the token that completes this; it can be\n"
    "                  given several times\n"
    "Each prompt is written with what follows it, token by token, and a line --- is\n"
    "between two texts. Tokens a second go to standard error.\n"
    "\n"
    "How tokens are drawn\n"
    "  --temperature X  scores are divided by it (0.8); with 0 the most probable\n"
    "                  token is taken\n"
    "  --top-k N       from the N most probable tokens, 0 for all (0)\n"
    "  --top-p X       from the fewest tokens of this probability together (1)\n"
    "  --min-p X       from tokens with this share of the largest probability (0)\n"
    "  --repetition-penalty X  scores of tokens that the text has are divided by it,\n"
    "                  or multiplied if they are negative (1)\n"
    "  --seed N        of what is drawn (1)\n"
    "\n"
    "How it is computed\n"
    "  --no-cache      compute all earlier tokens again for each token\n"
    "  --threads N     threads of large loops (as many as there are processors)\n"
    "\n"
    "The small model\n"
    "  --steps N       steps of its training (200)\n"
    "  --save FOLDER   keep it as a folder that generate reads\n"
    "\n"
    "Examples:\n"
    "  generate SmolLM2-135M --prompt 'The sea is' --temperature 0 --tokens 30\n"
    "  generate model.gguf --prompt 'Once upon a time' --top-p 0.9 --seed 7\n";

static void check_text(const char *option, const char *text)
{
    if (*utf8_end(text) != '\0') {
        usage_error("--%s: it is not UTF-8", option);
    }
}

static void add_prompt(void *to, char *value)
{
    options *o = to;
    if (o->n_prompts == MOST_PROMPTS) {
        usage_error(
            "--prompt is given more than %d times; --prompts FILE takes more", MOST_PROMPTS);
    }
    check_text("prompt", value);
    o->prompts[o->n_prompts++] = value;
}

static void add_stop(void *to, char *value)
{
    options *o = to;
    if (o->n_stops == MOST_STOPS) {
        usage_error("--stop is given more than %d times", MOST_STOPS);
    }
    if (*value == '\0') {
        usage_error("--stop: the text is empty");
    }
    check_text("stop", value);
    o->stops[o->n_stops++] = value;
}

static bool is_given(argument *table, size_t n, const char *name)
{
    return find_argument(table, n, name)->given;
}

static void check_options(const options *o, argument *table, size_t n)
{
    static const char *const of_small[] = { "steps", "save" };
    for (int i = 0; i < 2 && o->model != NULL; ++i) {
        if (is_given(table, n, of_small[i])) {
            usage_error("--%s is for the small model, which is trained without MODEL", of_small[i]);
        }
    }
    if (o->model == NULL && o->tokenizer != NULL) {
        usage_error("--tokenizer is for a MODEL, which is missing");
    }
    if (o->file != NULL && o->n_prompts > 0) {
        usage_error("--prompts FILE has the prompts; leave out --prompt");
    }
    static const char *const of_drawing[] = { "top-k", "top-p", "min-p", "seed" };
    for (int i = 0; i < 4 && o->temperature == 0; ++i) {
        if (is_given(table, n, of_drawing[i])) {
            usage_error(
                "--%s has no effect with --temperature 0, which draws nothing", of_drawing[i]);
        }
    }
}

options read_options(int argc, char **argv)
{
    options o = {
        .tokens = 100, .temperature = 0.8, .top_p = 1, .penalty = 1, .seed = 1, .steps = 200
    };
    argument table[] = { OPTION_TEXT("tokenizer", &o.tokenizer),
        OPTION_READ("prompt", &o, add_prompt), OPTION_TEXT("prompts", &o.file),
        OPTION_WHOLE("tokens", &o.tokens, 1, 1000000), OPTION_READ("stop", &o, add_stop),
        OPTION_NUMBER("temperature", &o.temperature, 0, 1000),
        OPTION_WHOLE("top-k", &o.top_k, 0, 1000000000), OPTION_NUMBER("top-p", &o.top_p, 0, 1),
        OPTION_NUMBER("min-p", &o.min_p, 0, 1),
        OPTION_NUMBER("repetition-penalty", &o.penalty, 1e-3, 1e3),
        OPTION_WHOLE("seed", &o.seed, 0, 0x1p53), OPTION_FLAG("no-cache", &o.no_cache),
        OPTION_WHOLE("threads", &o.threads, 1, 1024), OPTION_WHOLE("steps", &o.steps, 1, 1000000),
        OPTION_TEXT("save", &o.save) };
    const size_t n = sizeof table / sizeof *table;
    const int first = read_arguments(argc, argv, table, n, help);
    if (argc - first > 1) {
        usage_error("%s: give one model; a text is given as --prompt TEXT", argv[first + 1]);
    }
    o.model = first < argc ? argv[first] : NULL;
    check_options(&o, table, n);
    if (o.model == NULL && o.n_prompts == 0 && o.file == NULL) {
        o.prompts[o.n_prompts++] = "Mr. Bingley";
    }
    if (o.n_prompts == 0 && o.file == NULL) {
        usage_error("give a text to go on with: --prompt TEXT or --prompts FILE");
    }
    return o;
}
