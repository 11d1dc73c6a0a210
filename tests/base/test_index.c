/* Names are found without comparing them one by one, however many there are and whoever chose them.
 * The tests count the slots of hash tables that are looked at, and measure no time. */
#include "adze/zoo.h"
#include "../nn.h"

#include "data/vocabulary.h"
#include "base/index.h"

/* ---- the table ------------------------------------------------------------------------------ */

/* The expected values are CPython's hashes of these bytes with PYTHONHASHSEED=0. That is
 * SipHash-1-3 under a key of zeros. */
static void the_hash_is_siphash(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t hash;
    } known[] = {
        { "a", UINT64_C(0x407448d2b89b1813) },
        { "abcdefg", UINT64_C(0x6db12aae9070f506) },
        { "abcdefgh", UINT64_C(0x3f7b849c0b8e35ea) },
        { "abcdefghi", UINT64_C(0xf89b34a3d11eb6e5) },
        { "model.layers.11.attention.weight", UINT64_C(0x35835e2bec641a0d) },
    };
    const uint64_t zeros[2] = { 0, 0 }, other[2] = { 0, 1 }, another[2] = { 1, 0 };
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        size_t n = strlen(known[i].text);
        assert_true(adzi_keyed_hash(zeros, known[i].text, n) == known[i].hash);
        assert_true(adzi_keyed_hash(other, known[i].text, n) != known[i].hash);
        assert_true(adzi_keyed_hash(another, known[i].text, n) != known[i].hash);
    }
}

static bool is_number(const void *list, size_t position, const void *key, size_t size)
{
    return memcmp(&((const int *)list)[position], key, size) == 0;
}

static void keys_are_found(void **state)
{
    (void)state;
    enum { N = 1000 };
    static int list[N];
    adzi_index index = { 0 };
    int key = 7;
    assert_true(adzi_index_find(&index, &key, sizeof key, is_number, list) == ADZI_NOWHERE);
    for (int i = 0; i < N; ++i) {
        list[i] = 3 * i;
        assert_true(adzi_index_reserve(&index, 1));
        assert_true(2 * (index.count + 1) <= index.n_slots);
        adzi_index_enter(&index, &list[i], sizeof list[i], (size_t)i);
    }
    assert_true(index.count == N);
    for (key = 0; key < 3 * N; ++key) {
        size_t wanted = key % 3 == 0 ? (size_t)key / 3 : ADZI_NOWHERE;
        assert_true(adzi_index_find(&index, &key, sizeof key, is_number, list) == wanted);
    }
    adzi_index_free(&index);
    assert_true(index.n_slots == 0 && index.count == 0);
}

static void addresses_are_a_set(void **state)
{
    (void)state;
    static const char things[100];
    adzi_index index = { 0 };
    assert_true(adzi_index_reserve(&index, 100));
    const size_t n_slots = index.n_slots;
    for (int i = 0; i < 100; i += 2) {
        adzi_index_enter_address(&index, &things[i]);
    }
    for (int i = 0; i < 100; ++i) {
        assert_true(adzi_index_has_address(&index, &things[i]) == (i % 2 == 0));
    }
    assert_true(adzi_index_reserve(&index, 50) && index.n_slots == n_slots);
    assert_false(adzi_index_reserve(&index, SIZE_MAX / 8));
    adzi_alloc_fail_at(1);
    assert_false(adzi_index_reserve(&index, 1000));
    adzi_alloc_fail_at(0);
    assert_true(adzi_index_has_address(&index, things) && index.n_slots == n_slots);
    adzi_index_free(&index);
}

/* ---- counting ------------------------------------------------------------------------------- */

static uint64_t probes_before;

static void begin_count(void)
{
    probes_before = adzi_index_probes();
}

/* Checks that since begin_count at least one and at most `most` slots were looked at for each of n
 * names. Fewer slots would mean that names were found in a way that is not counted. */
static void expect_linear(size_t n, size_t most)
{
    uint64_t probes = adzi_index_probes() - probes_before;
    if (probes < n || probes > n * most) {
        fail_msg(
            "%zu names took %llu slots, not 1 to %zu each", n, (unsigned long long)probes, most);
    }
}

/* FNV-1a, a hash without a secret. A table would use its low bits. */
static unsigned open_hash(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; ++text) {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    return (unsigned)(hash ^ hash >> 32);
}

/* The next name after `number` whose hash without a secret ends in 12 zeros. */
static const char *prepared_name(unsigned *number)
{
    static char name[16];
    do {
        snprintf(name, sizeof name, "n%u", (*number)++);
    } while ((open_hash(name) & 0xfff) != 0);
    return name;
}

static void prepared_names_do_not_collide(void **state)
{
    (void)state;
    enum { N = 1000 };
    adz_safetensors *file = adz_safetensors_new();
    adz_state_dict *entries = adz_state_dict_new();
    adzi_vocabulary words = { 0 };
    adz_tensor *t = adz_zeros(ADZ_SHAPE(1), ADZ_F32);
    unsigned number = 0;
    begin_count();
    for (int i = 0; i < N; ++i) {
        const char *name = prepared_name(&number);
        assert_int_equal(adz_safetensors_add(file, name, t), ADZ_OK);
        assert_int_equal(adz_safetensors_set_metadata(file, name, name), ADZ_OK);
        assert_int_equal(adz_state_dict_add(entries, name, t), ADZ_OK);
        assert_true(adzi_vocabulary_add(&words, (adz_text){ name, strlen(name) }));
    }
    expect_linear(4 * N, 20);
    adzi_vocabulary_free(&words);
    adz_state_dict_free(&entries);
    adz_safetensors_free(&file);
}

/* ---- files ---------------------------------------------------------------------------------- */

/* A file in memory with n empty tensors and n keys of metadata. */
static adz_tensor *file_of(size_t n)
{
    adz_safetensors *file = adz_safetensors_new();
    adz_tensor *nothing = adz_empty(ADZ_SHAPE(0), ADZ_F32);
    for (size_t i = 0; i < n; ++i) {
        char name[24];
        snprintf(name, sizeof name, "t%zu", i);
        assert_int_equal(adz_safetensors_add(file, name, nothing), ADZ_OK);
        assert_int_equal(adz_safetensors_set_metadata(file, name, name), ADZ_OK);
    }
    adz_tensor *bytes = adz_safetensors_to_memory(file);
    adz_safetensors_free(&file);
    return bytes;
}

static void files_of_many_names(void **state)
{
    (void)state;
    enum { N = 20000 };
    begin_count();
    adz_tensor *bytes = file_of(N);
    expect_linear(2 * N, 20);
    begin_count();
    adz_safetensors *file =
        adz_safetensors_from_memory(adz_tensor_data(bytes), (size_t)adz_tensor_numel(bytes));
    expect_linear(2 * N, 20);
    begin_count();
    for (size_t i = 0; i < N; ++i) {
        const char *name = adz_safetensors_name_at(file, i);
        assert_ptr_equal(adz_safetensors_get(file, name), adz_safetensors_at(file, i));
        assert_string_equal(adz_safetensors_get_metadata(file, name), name);
    }
    expect_linear(2 * N, 6);

    /* The file is loaded into a module that has none of the names. */
    adz_module *linear = adz_linear_new(2, 1, NULL);
    begin_count();
    assert_int_equal(adz_module_load_safetensors(linear, file, true), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "none of 20000 tensors has a name of the module");
    expect_linear(N, 20);
    adz_module_release(&linear);
    adz_safetensors_free(&file);
}

/* ---- modules -------------------------------------------------------------------------------- */

enum { WIDE = 100, PARAMETERS = WIDE * WIDE };

/* A tree of many parameters. Each tensor is a parameter under two names. */
static adz_module *tree_of_parameters(void)
{
    adz_module *root = adz_sequential_new(NULL, 0);
    for (int i = 0; i < WIDE; ++i) {
        adz_module *child = adz_sequential_new(NULL, 0);
        for (int k = 0; k < WIDE / 2; ++k) {
            char name[24];
            adz_tensor *t = adz_full(ADZ_SHAPE(1), WIDE * i + k, ADZ_F32);
            snprintf(name, sizeof name, "a%d", k);
            assert_non_null(adz_module_add_parameter(child, name, t));
            snprintf(name, sizeof name, "b%d", k);
            assert_non_null(adz_module_add_parameter(child, name, t));
        }
        char name[24];
        snprintf(name, sizeof name, "m%d", i);
        assert_non_null(adz_module_add_child(root, name, child));
    }
    return root;
}

static void modules_of_many_parameters(void **state)
{
    (void)state;
    adz_module *module = tree_of_parameters();
    begin_count();
    assert_int_equal(adz_module_parameters(module).count, PARAMETERS / 2);
    expect_linear(PARAMETERS, 20);

    begin_count();
    adz_module *copy = adz_module_copy(module);
    assert_int_equal(adz_module_parameters(copy).count, PARAMETERS / 2);
    expect_linear(2 * PARAMETERS, 20);

    begin_count();
    adz_state_dict *entries = adz_module_state_dict(module);
    assert_int_equal(adz_state_dict_count(entries), PARAMETERS);
    expect_linear(PARAMETERS, 20);
    begin_count();
    assert_int_equal(adz_module_load_state_dict(copy, entries, true), ADZ_OK);
    expect_linear(3 * PARAMETERS, 20);
    adz_state_dict_free(&entries);

    adz_module_save_options o = ADZ_MODULE_SAVE_OPTIONS;
    o.dedup = true;
    begin_count();
    adz_safetensors *file = adz_module_to_safetensors(module, &o);
    assert_int_equal(adz_safetensors_count(file), PARAMETERS / 2);
    assert_int_equal(adz_safetensors_metadata_count(file), PARAMETERS / 2 + 1);
    expect_linear(3 * PARAMETERS, 20);
    begin_count();
    assert_int_equal(adz_module_load_safetensors(copy, file, true), ADZ_OK);
    expect_linear(3 * PARAMETERS, 20);
    adz_safetensors_free(&file);

    begin_count();
    adz_optimizer *optimizer = adz_sgd_new(adz_module_parameters(module), 0.1, NULL);
    expect_linear(PARAMETERS / 2, 20);
    adz_optimizer_release(&optimizer);
    adz_module_release(&copy);
    adz_module_release(&module);
}

/* Groups of one parameter each. A new group is not compared with all groups before it. */
static void many_groups(void **state)
{
    (void)state;
    enum { N = 3000 };
    adz_tensor *w = adz_requires_grad_(adz_zeros(ADZ_SHAPE(1), ADZ_F32), true), *last = w;
    begin_count();
    adz_optimizer *o = adz_sgd_new(adz_tensor_list_of(&w, 1), 0.1, NULL);
    for (int i = 1; i < N; ++i) {
        last = adz_requires_grad_(adz_zeros(ADZ_SHAPE(1), ADZ_F32), true);
        assert_int_equal(adz_optimizer_add_param_group(o, adz_tensor_list_of(&last, 1)), i);
    }
    expect_linear(N, 20);
    adz_tensor *const known[] = { w, last };
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(adz_optimizer_add_param_group(o, adz_tensor_list_of(&known[i], 1)), -1);
        expect_error(ADZ_ERR_ARGUMENT, "in a group already");
    }
    adz_optimizer_release(&o);
}

/* ---- tables and words ----------------------------------------------------------------------- */

static void tables_of_many_columns(void **state)
{
    (void)state;
    enum { N = 5000 };
    static char text[16 * N], names[N][8];
    static const char *wanted[N];
    size_t used = 0;
    for (int i = 0; i < N; ++i) {
        wanted[N - 1 - i] = names[i];
        snprintf(names[i], sizeof names[i], "c%d", i);
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? "," : "", names[i]);
    }
    for (int i = 0; i < N; ++i) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", i > 0 ? "," : "\n", i);
    }
    adz_csv_options o = ADZ_CSV_OPTIONS;
    o.columns = wanted;
    o.n_columns = N;
    o.dtype = ADZ_F32;
    begin_count();
    adz_csv *csv = adz_csv_from_memory(text, used, &o);
    assert_int_equal(adz_csv_column_count(csv), N);
    expect_linear(4 * N, 20);
    begin_count();
    adz_tensor *all = adz_csv_select(csv, wanted, N);
    assert_true(adz_tensor_data_f32(all)[0] == N - 1 && adz_tensor_data_f32(all)[N - 1] == 0);
    expect_linear(N, 20);
    adz_csv_free(&csv);
}

static bool is_old(const int64_t *positions, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        if (positions[i] != (int64_t)(n - 1 - i)) {
            return false;
        }
    }
    return true;
}

static void many_words(void **state)
{
    (void)state;
    enum { N = 20000 };
    static char words[N][8];
    static const char *old_words[N], *new_words[N];
    static int64_t positions[N];
    adzi_vocabulary v = { 0 };
    begin_count();
    for (int i = 0; i < N; ++i) {
        snprintf(words[i], sizeof words[i], "w%d", i);
        old_words[i] = new_words[N - 1 - i] = words[i];
        assert_true(adzi_vocabulary_add(&v, (adz_text){ words[i], strlen(words[i]) }));
    }
    expect_linear(N, 20);
    begin_count();
    assert_int_equal(adzi_vocabulary_find(&v, (adz_text){ "w7", 2 }), 7);
    assert_int_equal(adzi_vocabulary_find(&v, (adz_text){ "w", 1 }), -1);
    expect_linear(2, 50);
    adzi_vocabulary_free(&v);

    /* adz_fastai_old_index sorts the words. It uses no index, so there are no slots to count. */
    assert_int_equal(adz_fastai_old_index(old_words, N, new_words, N, positions), ADZ_OK);
    assert_true(is_old(positions, N));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_is_siphash),
        cmocka_unit_test(keys_are_found),
        cmocka_unit_test(addresses_are_a_set),
        cmocka_unit_test(prepared_names_do_not_collide),
        cmocka_unit_test(files_of_many_names),
        cmocka_unit_test(modules_of_many_parameters),
        cmocka_unit_test(many_groups),
        cmocka_unit_test(tables_of_many_columns),
        cmocka_unit_test(many_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
