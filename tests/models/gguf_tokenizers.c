/* Tokenizers of GGUF files that the test writes. */
#include "tokenizers.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "gguf_writer.h"
#include "temporary.h"

#define KEY(name) "tokenizer.ggml." name

enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER = 4, UNUSED = 5, BYTE = 6, MOST = 24 };

typedef struct { /* a token of a file */
    const char *text;
    int type;
    float score;
} token;

/* What a file says. */
typedef struct {
    const char *model, *pre;
    token tokens[MOST];
    const char *merges[8]; /* none: no list of merges */
    const char *flags[4];  /* values that are true; "-" before the name: false */
    int bos, eos;          /* -1: the file has none */
} vocabulary;

static void texts(writer *w, const char *name, uint64_t n)
{
    key(w, name, 9);
    number(w, 8, 4);
    number(w, n, 8);
}

static void numbers(writer *w, const char *name, unsigned type, uint64_t n)
{
    key(w, name, 9);
    number(w, type, 4);
    number(w, n, 8);
}

static void integer(writer *w, const char *name, int value)
{
    key(w, name, 4);
    number(w, (uint64_t)value, 4);
}

/* The elements of a list before the first NULL. */
static size_t count(const char *const *list, size_t most)
{
    size_t n = 0;
    while (n < most && list[n] != NULL) {
        ++n;
    }
    return n;
}

static void put_tokens(writer *w, const vocabulary *v)
{
    size_t n = 0;
    while (n < MOST && v->tokens[n].text != NULL) {
        ++n;
    }
    texts(w, KEY("tokens"), n);
    for (size_t i = 0; i < n; ++i) {
        text(w, v->tokens[i].text);
    }
    numbers(w, KEY("token_type"), 5, n);
    for (size_t i = 0; i < n; ++i) {
        number(w, (uint64_t)v->tokens[i].type, 4);
    }
    numbers(w, KEY("scores"), 6, n);
    for (size_t i = 0; i < n; ++i) {
        put(w, &v->tokens[i].score, 4);
    }
}

static void put_merges(writer *w, const vocabulary *v, size_t n)
{
    if (n > 0) {
        texts(w, KEY("merges"), n);
    }
    for (size_t i = 0; i < n; ++i) {
        text(w, v->merges[i]);
    }
}

static void put_flag(writer *w, const char *flag)
{
    const bool off = flag[0] == '-';
    char name[64];
    snprintf(name, sizeof name, KEY("%s"), flag + off);
    key(w, name, 7);
    number(w, !off, 1);
}

static const char *written(const vocabulary *v)
{
    static writer w;
    static char path[512];
    const size_t merges = count(v->merges, 8), flags = count(v->flags, 4);
    w.size = 0;
    head(
        &w, 0, 4 + (size_t)(v->pre != NULL) + (merges > 0) + flags + (v->bos >= 0) + (v->eos >= 0));
    key(&w, KEY("model"), 8);
    text(&w, v->model);
    if (v->pre != NULL) {
        key(&w, KEY("pre"), 8);
        text(&w, v->pre);
    }
    put_tokens(&w, v);
    put_merges(&w, v, merges);
    for (size_t i = 0; i < flags; ++i) {
        put_flag(&w, v->flags[i]);
    }
    if (v->bos >= 0) {
        integer(&w, KEY("bos_token_id"), v->bos);
    }
    if (v->eos >= 0) {
        integer(&w, KEY("eos_token_id"), v->eos);
    }
    snprintf(path, sizeof path, "%s", temporary_path("tokenizer.gguf"));
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(w.bytes, 1, w.size, file), w.size);
    fclose(file);
    return path;
}

static adz_tokenizer *opened(const vocabulary *v)
{
    adz_tokenizer *t = adz_pretrained_tokenizer_open(written(v), NULL);
    assert_non_null(t);
    return t;
}

static void refuse(const vocabulary *v, adz_status code, const char *says)
{
    assert_null(adz_pretrained_tokenizer_open(written(v), NULL));
    expect_error(code, says);
}

static adz_tensor *encoded(const adz_tokenizer *t, const char *text)
{
    return adz_tokenizer_encode(t, text, strlen(text));
}

/* ---- bytes ---------------------------------------------------------------------------------- */

/* G with a dot stands for a space. */
static const vocabulary bytes = { "gpt2", "gpt-2",
    { { "a", NORMAL, 0 }, { "b", NORMAL, 0 }, { "\xc4\xa0", NORMAL, 0 },
        { "\xc4\xa0"
          "b",
            NORMAL, 0 },
        { "ab", NORMAL, 0 }, { "<end>", CONTROL, 0 }, { "<tool>", USER, 0 }, { "1", NORMAL, 0 },
        { "11", NORMAL, 0 }, { "111", NORMAL, 0 } },
    { "a b", "\xc4\xa0 b", "1 1", "11 1" }, { NULL }, 5, 5 };

static void bytes_are_merged(void **state)
{
    (void)state;
    vocabulary v = bytes;
    adz_tokenizer *t = opened(&v);
    ADZ_SCOPE
    {
        IDS(encoded(t, "ab b<end>a<tool>"), 4, 3, 5, 0, 6);
        IDS(encoded(t, "1111"), 8, 8);
        char back[32];
        adz_tensor *ids = encoded(t, "ab b<end>a<tool>");
        adz_tokenizer_decode(t, ids, back, sizeof back);
        assert_string_equal(back, "ab ba<tool>"); /* special tokens are left out */
    }
    adz_tokenizer_free(&t);
}

/* Pre-tokenizers cut numbers in different ways, and Llama 3 begins a text with a token. */
static void pre_tokenizers_differ(void **state)
{
    (void)state;
    vocabulary v = bytes;
    ADZ_SCOPE
    {
        v.pre = "qwen2";
        adz_tokenizer *t = opened(&v);
        IDS(encoded(t, "1111"), 7, 7, 7, 7);
        adz_tokenizer_free(&t);
        v.pre = "smollm";
        t = opened(&v);
        IDS(encoded(t, "1111 b"), 7, 7, 7, 7, 3);
        adz_tokenizer_free(&t);
        v.pre = "default";
        t = opened(&v);
        IDS(encoded(t, "11111"), 9, 8);
        adz_tokenizer_free(&t);
        /* U+09FD is punctuation since Unicode 11, and no space before it belongs to it. */
        v.tokens[7] = (token){ "\xc4\xa0\xc4\xa0", NORMAL, 0 };
        v.merges[2] = "\xc4\xa0 \xc4\xa0";
        v.merges[3] = NULL;
        t = opened(&v);
        IDS(encoded(t, "  b"), 2, 3);
        adz_tensor *signs = encoded(t, "  \xe0\xa7\xbd");
        assert_int_equal(adz_tensor_data_i64(signs)[0], 7);
        adz_tokenizer_free(&t);
        v = bytes;
        v.pre = "llama-bpe";
        t = opened(&v);
        IDS(encoded(t, "ab"), 5, 4);
        adz_tokenizer_free(&t);
        v.flags[0] = "-add_bos_token";
        v.flags[1] = "add_eos_token";
        t = opened(&v);
        IDS(encoded(t, "ab"), 4, 5);
        adz_tokenizer_free(&t);
    }
}

/* ---- scores --------------------------------------------------------------------------------- */

#define SIGN "\xe2\x96\x81"

/* "bc" is better than "ab". */
static const vocabulary scores = { "llama", NULL,
    { { "<unk>", UNKNOWN, 0 }, { "<s>", CONTROL, 0 }, { "</s>", CONTROL, 0 }, { "<0xC3>", BYTE, 0 },
        { "<0xA9>", BYTE, 0 }, { SIGN, NORMAL, -9 }, { "a", NORMAL, -10 }, { "b", NORMAL, -11 },
        { "c", NORMAL, -12 }, { "ab", NORMAL, -2 }, { "bc", NORMAL, -1 }, { SIGN "a", NORMAL, -5 },
        { "aa", NORMAL, -3 }, { "aaa", NORMAL, -4 }, { "[PAD]", UNUSED, -1000 } },
    { NULL }, { NULL }, 1, 2 };

static void scores_are_merged(void **state)
{
    (void)state;
    adz_tokenizer *t = opened(&scores);
    ADZ_SCOPE
    {
        IDS(encoded(t, "abc"), 1, 11, 10);
        IDS(encoded(t, "ab"), 1, 5, 9);
        IDS(encoded(t, "b<unk>b"), 1, 5, 7, 0, 5, 7);
        IDS(encoded(t, "b\xc3\xa9"), 1, 5, 7, 3, 4); /* bytes */
        IDS(encoded(t, "bdd"), 1, 5, 7, 0);          /* unknown characters are one token */
        IDS(encoded(t, ""), 1);
        char back[32];
        adz_tokenizer_decode(t, encoded(t, "ab \xc3\xa9"), back, sizeof back);
        assert_string_equal(back, "ab \xc3\xa9");
    }
    adz_tokenizer_free(&t);
}

/* Of equal scores the leftmost pair comes first, wherever the tokens stand in the file, in short
 * texts and in long ones. A tokenizer that was saved does the same. */
static void ties_go_to_the_left(void **state)
{
    (void)state;
    vocabulary v = scores;
    v.tokens[9] = (token){ "bc", NORMAL, -1 };
    v.tokens[10] = (token){ "ab", NORMAL, -1 };
    v.flags[0] = "-add_space_prefix";
    v.flags[1] = "-add_bos_token";
    adz_tokenizer *t = opened(&v);
    ADZ_SCOPE
    {
        IDS(encoded(t, "cabc"), 8, 10, 8);
        adz_tensor *saved = adz_tokenizer_to_memory(t);
        adz_tokenizer *again = adz_pretrained_tokenizer_from_memory(
            adz_tensor_data_constant(saved), (size_t)adz_tensor_numel(saved), NULL);
        assert_non_null(again);
        IDS(encoded(again, "cabc"), 8, 10, 8);
        adz_tokenizer_free(&again);
        enum { TIMES = 40 };
        char text[4 * TIMES + 1] = { 0 };
        for (size_t i = 0; i < TIMES; ++i) {
            memcpy(text + 4 * i, "cabc", 4);
        }
        adz_tensor *ids = encoded(t, text);
        assert_int_equal(adz_tensor_numel(ids), 3 * TIMES);
        for (size_t i = 0; i < TIMES; ++i) {
            assert_int_equal(adz_tensor_data_i64(ids)[3 * i + 1], 10);
        }
    }
    adz_tokenizer_free(&t);
}

/* ---- "bert" --------------------------------------------------------------------------------- */

/* Words begin with the sign, and what goes on has none. */
static const vocabulary pieces = { "bert", NULL,
    { { "[PAD]", CONTROL, 0 }, { "[UNK]", CONTROL, 0 }, { "[CLS]", CONTROL, 0 },
        { "[SEP]", CONTROL, 0 }, { SIGN "run", NORMAL, 0 }, { "ning", NORMAL, 0 },
        { SIGN "!", NORMAL, 0 }, { SIGN "[", NORMAL, 0 }, { SIGN "]", NORMAL, 0 },
        { "[unused0]", NORMAL, 0 }, { SIGN "\xe6\xbc\xa2", NORMAL, 0 },
        { SIGN "<mask>", CONTROL, 0 } },
    { NULL }, { NULL }, -1, -1 };

static void words_are_cut_into_pieces(void **state)
{
    (void)state;
    adz_tokenizer *t = opened(&pieces);
    ADZ_SCOPE
    {
        IDS(encoded(t, "RUNNING r\xc3\xban! runn"), 2, 4, 5, 4, 6, 1, 3);
        IDS(encoded(t, "running \xe6\xbc\xa2\xe6\xbc\xa2"), 2, 4, 5, 10, 10, 3);
        IDS(encoded(t, "[unused0] run<mask>[SEP]"), 2, 7, 1, 8, 4, 11, 3, 3);
        const adz_text ning = adz_tokenizer_token(t, 5), run = adz_tokenizer_token(t, 4);
        assert_true(ning.size == 6 && memcmp(ning.bytes, "##ning", 6) == 0);
        assert_true(run.size == 3 && memcmp(run.bytes, "run", 3) == 0);
    }
    adz_tokenizer_free(&t);
    vocabulary v = pieces;
    v.tokens[5].text = "ni";
    v.tokens[6].text = "n";
    v.bos = 3; /* of "bert" it is the token [CLS] */
    v.flags[0] = "-add_bos_token";
    t = opened(&v);
    ADZ_SCOPE
    {
        IDS(encoded(t, "runnin"), 3, 4, 5, 6, 3);
    }
    adz_tokenizer_free(&t);
}

static void bad_pieces_are_refused(void **state)
{
    (void)state;
    vocabulary v = pieces;
    v.tokens[4].text = SIGN "Run";
    refuse(&v, ADZ_ERR_UNSUPPORTED, "token 4, \"Run\", has capitals");
    v = pieces;
    v.tokens[3].text = "[END]";
    refuse(&v, ADZ_ERR_FORMAT, "there is no value tokenizer.ggml.seperator_token_id");
    v.eos = 12;
    refuse(&v, ADZ_ERR_FORMAT, "tokenizer.ggml.eos_token_id is 12, but there are 12 tokens");
    v = pieces;
    v.tokens[5].text = SIGN "run";
    refuse(&v, ADZ_ERR_FORMAT, "tokenizer.ggml.tokens: token 5 is there twice");
    v.tokens[5].text = SIGN;
    refuse(&v, ADZ_ERR_FORMAT, "tokenizer.ggml.tokens: token 5 is empty");
}

/* ---- bad files ------------------------------------------------------------------------------ */

static void bad_files_are_refused(void **state)
{
    (void)state;
    vocabulary v = bytes;
    v.model = "t5";
    refuse(&v, ADZ_ERR_UNSUPPORTED, "tokenizer.ggml.model is \"t5\", but gpt2, llama and bert");
    v = bytes;
    v.pre = "tekken";
    refuse(&v, ADZ_ERR_UNSUPPORTED, "tokenizer.ggml.pre is the pre-tokenizer \"tekken\"");
    v.pre = NULL;
    refuse(&v, ADZ_ERR_UNSUPPORTED, "there is no value tokenizer.ggml.pre");
    v = bytes;
    v.merges[0] = NULL;
    refuse(&v, ADZ_ERR_ARGUMENT, "there is no value tokenizer.ggml.merges");
    v = bytes;
    v.merges[3] = "11 b";
    refuse(&v, ADZ_ERR_FORMAT, "names the token \"11b\"");
    v = bytes;
    v.tokens[3].text = "a";
    refuse(&v, ADZ_ERR_FORMAT, "tokenizer.ggml.tokens: token 3 is there twice");
    v.tokens[3].text = "\xff";
    refuse(&v, ADZ_ERR_FORMAT, "tokenizer.ggml.tokens: token 3 is no text in UTF-8");
    v.tokens[3].text = "";
    refuse(&v, ADZ_ERR_FORMAT, "tokenizer.ggml.tokens: token 3 is empty");
    v = bytes;
    v.tokens[2].type = 7;
    refuse(&v, ADZ_ERR_FORMAT, "tokenizer.ggml.token_type of token 2 is 7");
    v = bytes;
    v.flags[0] = "add_eos_token";
    v.eos = 99;
    refuse(&v, ADZ_ERR_FORMAT, "tokenizer.ggml.eos_token_id is 99, but there are 10 tokens");
    v.eos = -1;
    refuse(&v, ADZ_ERR_ARGUMENT, "there is no value tokenizer.ggml.eos_token_id");
    v.flags[0] = "add_sep_token";
    refuse(&v, ADZ_ERR_UNSUPPORTED, "tokenizer.ggml.add_sep_token is true");
}

static void bad_scores_are_refused(void **state)
{
    (void)state;
    vocabulary v = scores;
    v.tokens[9].score = NAN;
    refuse(&v, ADZ_ERR_FORMAT, "token 9 has a score that is not finite");
    v = scores;
    v.tokens[14].text = "abc";
    refuse(&v, ADZ_ERR_UNSUPPORTED, "\"abc\" is unused, but other tokens make it");
    v = scores;
    v.tokens[10].text = "bd"; /* SentencePiece joins characters that are no tokens, too */
    refuse(&v, ADZ_ERR_UNSUPPORTED, "\"bd\" has the character \"d\", which is no token");
    v = scores;
    v.flags[0] = "remove_extra_whitespaces";
    refuse(&v, ADZ_ERR_UNSUPPORTED, "remove_extra_whitespaces is true");
    static const char ranks[] =
        "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"aa\":1},\"merges\":[\"a a\"],"
        "\"merge_ranks\":[0,1]}}";
    assert_null(from_json(ranks));
    expect_error(ADZ_ERR_FORMAT, "merge_ranks has 2 elements for 1 merges");
    assert_null(adz_pretrained_tokenizer_open("/nowhere/file.gguf", NULL));
    expect_error(ADZ_ERR_IO, "/nowhere/file.gguf cannot be read: there is no such file");
}

/* Writes a file with the unknown token, and a token of each length from `least` to `most`. */
static const char *runs(size_t least, size_t most)
{
    static char path[512];
    const size_t n = most - least + 2;
    snprintf(path, sizeof path, "%s", temporary_path("runs.gguf"));
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    writer *w = calloc(1, sizeof *w);
    char *run = malloc(most);
    assert_non_null(w);
    assert_non_null(run);
    memset(run, 'a', most);
    head(w, 0, 4);
    key(w, KEY("model"), 8);
    text(w, "llama");
    numbers(w, KEY("token_type"), 0, n);
    for (size_t i = 0; i < n; ++i) {
        number(w, i == 0 ? UNKNOWN : NORMAL, 1);
    }
    numbers(w, KEY("scores"), 1, n);
    for (size_t i = 0; i < n; ++i) {
        number(w, 0, 1);
    }
    texts(w, KEY("tokens"), n);
    text(w, "<unk>");
    for (size_t i = least; i <= most; ++i) {
        number(w, i, 8);
        fwrite(w->bytes, 1, w->size, file);
        fwrite(run, 1, i, file);
        w->size = 0;
    }
    fclose(file);
    free(run);
    free(w);
    return path;
}

/* The merges of runs take memory by the cube of their longest one, but their file by its square. */
static void runs_take_no_memory(void **state)
{
    (void)state;
    assert_null(adz_pretrained_tokenizer_open(runs(1, 600), NULL));
    expect_error(ADZ_ERR_UNSUPPORTED, "are made of others in more ways than a vocabulary of");
    assert_null(adz_pretrained_tokenizer_open(runs(1025, 1025), NULL));
    expect_error(ADZ_ERR_UNSUPPORTED, "token 1 has 1025 bytes; at most 1024 are known");
}

static size_t json_requests, json_granted;

static void *granted_malloc(size_t size)
{
    return json_requests++ < json_granted ? malloc(size) : NULL;
}

/* Memory that jansson is refused is ADZ_ERR_MEMORY, whatever it was for, and not a bad file. */
static void memory_for_json_is_refused(void **state)
{
    static const vocabulary *const all[] = { &bytes, &scores, &pieces };
    json_malloc_t old_malloc;
    json_free_t old_free;
    (void)state;
    json_get_alloc_funcs(&old_malloc, &old_free);
    for (int i = 0; i < 3; ++i) {
        const char *path = written(all[i]);
        bool done = false;
        for (json_granted = 0; !done && json_granted < 2000; ++json_granted) {
            json_requests = 0;
            json_set_alloc_funcs(granted_malloc, free);
            adz_tokenizer *t = adz_pretrained_tokenizer_open(path, NULL);
            json_set_alloc_funcs(old_malloc, old_free);
            done = t != NULL;
            if (!done) {
                expect_error(ADZ_ERR_MEMORY, "refused");
            }
            adz_tokenizer_free(&t);
        }
        assert_true(done && json_granted > 20);
    }
}

int gguf_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_merged),
        cmocka_unit_test(pre_tokenizers_differ),
        cmocka_unit_test(scores_are_merged),
        cmocka_unit_test(ties_go_to_the_left),
        cmocka_unit_test(words_are_cut_into_pieces),
        cmocka_unit_test(bad_pieces_are_refused),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(bad_scores_are_refused),
        cmocka_unit_test(runs_take_no_memory),
        cmocka_unit_test(memory_for_json_is_refused),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
