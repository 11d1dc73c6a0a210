/* Pretrained tokenizers whose memory is refused, and one that several threads use. */
#include <pthread.h>

#include "temporary.h"
#include "tokenizers.h"

static const char json[] =
    "{" BERT "\"added_tokens\":[{\"id\":2,\"content\":\"[CLS]\",\"single_word\":false,"
    "\"lstrip\":true,\"rstrip\":false,\"normalized\":false,\"special\":true},"
    "{\"id\":8,\"content\":\"bb\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"
    "\"normalized\":true,\"special\":false}]," MODEL "}";

static const char text[] = "A bc [CLS] e\xcc\x81 \xff bb";

static adz_status load_and_use(void *user)
{
    (void)user;
    adz_scope *scope = adz_scope_open();
    adz_status status = ADZ_ERR_MEMORY;
    adz_tokenizer *t = scope != NULL ? from_json(json) : NULL;
    const adz_text one = { text, sizeof text - 1 };
    adz_encoding e;
    adz_tensor *ids = t != NULL ? adz_tokenizer_encode(t, one.bytes, one.size) : NULL;
    if (ids != NULL && adz_pretrained_encode(t, &one, NULL, 1, NULL, &e) == ADZ_OK) {
        char back[64];
        IDS(ids, 2, 4, 5, 6, 2, 1, 8, 3);
        status = adz_tokenizer_decode(t, ids, back, sizeof back) > 0 ? ADZ_OK : ADZ_ERR_MEMORY;
    }
    adz_tokenizer_free(&t);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return status;
}

static void refused_memory(void **state)
{
    (void)state;
    assert_int_equal(load_and_use(NULL), ADZ_OK);
    assert_true(refuse_each(load_and_use, NULL, NULL) > 20);
}

enum { THREADS = 4, TURNS = 200 };

/* Encodes texts that differ, so that caches of words do. */
static void *encode_often(void *tokenizer)
{
    static const char *const words[] = { "a", "b", "bc", "acc", "!", "bb", "bcc a" };
    const adz_tokenizer *t = tokenizer;
    intptr_t wrong = 0;
    for (int i = 0; i < TURNS; ++i) {
        adz_scope *scope = adz_scope_open();
        char line[64];
        snprintf(line, sizeof line, "%s %s %d", words[i % 7], words[i % 5], i % 3);
        adz_tensor *once = adz_tokenizer_encode(t, line, strlen(line));
        adz_tensor *again = adz_tokenizer_encode(t, line, strlen(line));
        char back[64];
        wrong += !adz_equal(once, again) || adz_tensor_data_i64(once)[0] != 2 ||
                 adz_tokenizer_decode(t, once, back, sizeof back) == 0;
        adz_scope_close(scope);
    }
    return (void *)wrong;
}

static void threads_share_a_tokenizer(void **state)
{
    (void)state;
    adz_tokenizer *t = from_json(json);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; ++i) {
        assert_int_equal(pthread_create(&threads[i], NULL, encode_often, t), 0);
    }
    for (int i = 0; i < THREADS; ++i) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    adz_tokenizer_free(&t);
}

int robust_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_memory),
        cmocka_unit_test(threads_share_a_tokenizer),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
