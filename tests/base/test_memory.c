/* Memory: the limit, the caches of threads, a small model's memory, and allocators of the user. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "base/alloc.h"
#include "base/threads/thread.h"

static adz_scope *scope;

static int open_scope(void **state)
{
    (void)state;
    adz_error_clear();
    scope = adz_scope_open();
    return scope == NULL;
}

static int close_scope(void **state)
{
    (void)state;
    adz_set_memory_limit(0);
    adz_scope_close(scope);
    adz_error_clear();
    adz_empty_cache();
    return 0;
}

static adz_memory_info memory_now(void)
{
    adz_memory_info info;
    adz_get_memory_info(&info, sizeof info);
    return info;
}

/* ---- the limit ------------------------------------------------------------------------------- */

static void a_limit_gives_an_error(void **state)
{
    (void)state;
    size_t limit = memory_now().live_bytes + (1 << 20);
    assert_int_equal(adz_get_memory_limit(), 0);
    assert_int_equal(adz_set_memory_limit(limit), ADZ_OK);
    assert_int_equal(adz_get_memory_limit(), limit);
    assert_null(adz_zeros(ADZ_SHAPE(1 << 20), ADZ_F32));
    assert_int_equal(adz_error_code(), ADZ_ERR_MEMORY);
    adz_memory_info info = memory_now();
    char text[300];
    snprintf(text, sizeof text,
        "memory was refused: 4194304 bytes were asked for; %zu bytes are live, %zu bytes cached; adz_set_memory_limit allows %zu bytes live",
        info.live_bytes, info.cached_bytes, limit);
    assert_non_null(strstr(adz_error_message(), text));
    adz_error_clear();
    assert_non_null(adz_zeros(ADZ_SHAPE(1 << 15), ADZ_F32));
    adz_set_memory_limit(0);
    assert_non_null(adz_zeros(ADZ_SHAPE(1 << 20), ADZ_F32));
}

/* A block that was cached under a larger limit is given back when a smaller limit is set. */
static void a_lowered_limit_is_kept(void **state)
{
    (void)state;
    enum { LARGE = 8 << 20, LIMIT = 3 << 20 };
    adz_scope *inner = adz_scope_open();
    assert_non_null(adz_empty(ADZ_SHAPE(LARGE), ADZ_U8));
    adz_scope_close(inner);
    assert_true(memory_now().cached_bytes >= LARGE);
    adz_set_memory_limit(LIMIT);
    adz_memory_info info = memory_now();
    assert_true(info.live_bytes + info.cached_bytes <= LIMIT);
    assert_null(adz_empty(ADZ_SHAPE(LARGE), ADZ_U8));
    assert_int_equal(adz_error_code(), ADZ_ERR_MEMORY);
    adz_error_clear();
    /* The cache does not grow beyond the limit again. */
    for (int i = 1; i <= 10; ++i) {
        inner = adz_scope_open();
        assert_non_null(adz_empty(ADZ_SHAPE(i * 200000), ADZ_U8));
        adz_scope_close(inner);
        info = memory_now();
        assert_true(info.live_bytes + info.cached_bytes <= LIMIT);
    }
}

/* The limit also holds for small blocks that the thread's own cache can serve. */
static void small_blocks_keep_to_the_limit(void **state)
{
    (void)state;
    enum { ROOM = 1 << 20 };
    adz_scope *inner = adz_scope_open();
    for (int i = 0; i < 5000; ++i) { /* fills the cache */
        assert_non_null(adz_empty(ADZ_SHAPE(25), ADZ_F32));
    }
    adz_scope_close(inner);
    for (int round = 0; round < 3; ++round) {
        size_t limit = memory_now().live_bytes + ROOM;
        adz_set_memory_limit(limit);
        inner = adz_scope_open();
        while (adz_empty(ADZ_SHAPE(25), ADZ_F32) != NULL) {
        }
        assert_int_equal(adz_error_code(), ADZ_ERR_MEMORY);
        adz_error_clear();
        size_t live = memory_now().live_bytes;
        assert_true(live <= limit);
        assert_true(live > limit - ROOM / 8); /* the stack of temporaries doubles now and then */
        adz_scope_close(inner);
        adz_set_memory_limit(0);
    }
}

/* ---- threads --------------------------------------------------------------------------------- */

/* A thread that makes tensors and ends them. */
typedef struct {
    int64_t block;  /* bytes of a tensor */
    int64_t blocks; /* how many tensors to make */
    int64_t made;   /* how many were made */
    size_t kept;    /* bytes in the thread's cache after they ended */
    pthread_barrier_t done, end;
} user_of_memory;

/* The bytes in the calling thread's cache, counted block by block. */
static size_t own_cache(void)
{
    const adzi_cache *cache = &adzi_self()->cache;
    size_t bytes = 0;
    for (size_t cls = 1; cls <= ADZI_SMALL_CLASSES; ++cls) {
        size_t blocks = cache->fresh_left[cls] + (size_t)cache->full_count[cls];
        for (const adzi_block *b = cache->free[cls]; b != NULL;) {
            ADZI_UNPOISON(b, sizeof *b);
            const adzi_block *next = b->next;
            ADZI_POISON(b, cls * ADZI_SMALL_STEP);
            ++blocks;
            b = next;
        }
        bytes += blocks * cls * ADZI_SMALL_STEP;
    }
    return bytes;
}

static void use_memory(user_of_memory *u)
{
    adz_scope *inner = adz_scope_open();
    for (u->made = 0; u->made < u->blocks; ++u->made) {
        if (adz_empty(ADZ_SHAPE(u->block), ADZ_U8) == NULL) {
            break;
        }
    }
    adz_scope_close(inner);
    u->kept = own_cache();
    adz_error_clear();
}

static void *use_and_idle(void *user)
{
    user_of_memory *u = user;
    use_memory(u);
    pthread_barrier_wait(&u->done);
    pthread_barrier_wait(&u->end);
    return NULL;
}

/* Memory in the cache of an idle thread does not count, so it leads to no refusal. */
static void idle_threads_take_nothing_away(void **state)
{
    (void)state;
    enum { ROOM = 1 << 20, USED = 700000, AROUND = 400 /* of header and storage */ };
    static const int64_t sizes[] = { 100, 1000, 4000, 10000, 100000 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        user_of_memory idle = { .block = sizes[i], .blocks = USED / (sizes[i] + AROUND) },
                       own = idle;
        assert_int_equal(pthread_barrier_init(&idle.done, NULL, 2), 0);
        assert_int_equal(pthread_barrier_init(&idle.end, NULL, 2), 0);
        adz_set_memory_limit(memory_now().live_bytes + ROOM);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, use_and_idle, &idle), 0);
        pthread_barrier_wait(&idle.done);
        use_memory(&own);
        pthread_barrier_wait(&idle.end);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(idle.made, idle.blocks);
        assert_int_equal(own.made, own.blocks);
        adz_set_memory_limit(0);
        adz_empty_cache();
    }
}

/* A thread that has freed many small tensors, of one size or of many sizes, keeps a bounded number
 * of bytes in its cache. */
static void a_thread_keeps_a_bounded_cache(void **state)
{
    (void)state;
    enum { BOUND = ADZI_CACHE_BYTES + ADZI_FLUSH_BYTES };
    for (int64_t size = 1; size < 8000; size = size * 5 + 3) {
        user_of_memory u = { .block = size, .blocks = (4 << 20) / (size + 300) };
        use_memory(&u);
        assert_int_equal(u.made, u.blocks);
        assert_true(u.kept <= BOUND);
    }
    adz_scope *inner = adz_scope_open();
    for (int64_t i = 0; i < 4000; ++i) {
        assert_non_null(adz_empty(ADZ_SHAPE(1 + i * 37 % 4000), ADZ_U8));
        assert_true(own_cache() <= BOUND);
    }
    adz_scope_close(inner);
    assert_true(own_cache() <= BOUND);
    /* Every second tensor stays alive, so no slab can be given back. The thread still takes no more
     * of the shared free blocks than its bound. */
    static adz_tensor *kept[10000];
    inner = adz_scope_open();
    for (int i = 0; i < 20000; ++i) {
        adz_tensor *t = adz_empty(ADZ_SHAPE(10), ADZ_F32);
        kept[i / 2] = i % 2 == 0 ? adz_keep(t) : kept[i / 2];
    }
    adz_scope_close(inner);
    adz_empty_cache();
    assert_non_null(adz_empty(ADZ_SHAPE(10), ADZ_F32));
    assert_true(own_cache() <= BOUND);
    for (int i = 0; i < 10000; ++i) {
        adz_release(&kept[i]);
    }
}

/* ---- a small model; a loop without a scope --------------------------------------------------- */

/* A model of 3 kB with its optimizer holds less than 160 kB after 20 training steps. */
static void a_small_model_holds_little(void **state)
{
    (void)state;
    adz_empty_cache();
    adz_memory_info before = memory_now();
    adz_scope *inner = adz_scope_open();
    adz_manual_seed(1);
    adz_module *model =
        ADZ_SEQUENTIAL(adz_linear_new(8, 32, NULL), adz_relu_new(), adz_linear_new(32, 1, NULL));
    adz_optimizer *optimizer = adz_adam_new(adz_module_parameters(model), 1e-2, NULL);
    for (int step = 0; step < 20; ++step) {
        adz_scope *s = adz_scope_open();
        adz_tensor *y = adz_module_forward(model, adz_randn(ADZ_SHAPE(16, 8), ADZ_F32));
        adz_tensor *loss = adz_mse_loss(y, adz_zeros(ADZ_SHAPE(16, 1), ADZ_F32), ADZ_REDUCE_MEAN);
        adz_optimizer_zero_grad(optimizer);
        assert_int_equal(adz_backward(loss), ADZ_OK);
        assert_int_equal(adz_optimizer_step(optimizer), ADZ_OK);
        adz_scope_close(s);
    }
    adz_memory_info after = memory_now();
    adz_optimizer_release(&optimizer);
    adz_module_release(&model);
    adz_scope_close(inner);
    assert_true(after.live_bytes + after.cached_bytes <
                before.live_bytes + before.cached_bytes + (160 << 10));
}

typedef struct {
    int warnings;
    char warning[300], error[600];
    adz_status status;
} listener;

static void hear(adz_status status, const char *message, void *user)
{
    listener *l = user;
    (void)status;
    ++l->warnings;
    snprintf(l->warning, sizeof l->warning, "%s", message);
}

/* A loop that opens no scope. It runs on a new thread, whose root scope is empty. */
static void *loop_without_a_scope(void *user)
{
    listener *l = user;
    adz_context *own = adz_context_new();
    adz_context_use(own);
    adz_on_warning(hear, l);
    for (int i = 0; i < 40000; ++i) {
        if (adz_ones(ADZ_SHAPE(2), ADZ_F32) == NULL) {
            break;
        }
    }
    adz_set_memory_limit(memory_now().live_bytes);
    while (adz_ones(ADZ_SHAPE(2), ADZ_F32) != NULL) {
    }
    l->status = adz_error_take(l->error, sizeof l->error);
    adz_set_memory_limit(0);
    adz_context_free(&own);
    return NULL;
}

static void a_loop_without_a_scope_is_told(void **state)
{
    (void)state;
    listener l = { 0 };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, loop_without_a_scope, &l), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(l.warnings, 1);
    assert_non_null(strstr(l.warning, "root scope holds 16384 tensors"));
    assert_non_null(strstr(l.warning, "adz_scope_open"));
    assert_int_equal(l.status, ADZ_ERR_MEMORY);
    assert_non_null(strstr(l.error, "root scope holds 4"));
    assert_non_null(strstr(l.error, "open a scope around each step"));
}

/* ---- the user's allocator, and memory that goes back ----------------------------------------- */

/* What an allocator of the user's has handed out and not got back. */
typedef struct {
    size_t blocks, bytes;
} ledger;

static void *ledger_allocate(size_t bytes, size_t alignment, void *user)
{
    ledger *l = user;
    void *block = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    l->blocks += block != NULL;
    l->bytes += block != NULL ? bytes : 0;
    return block;
}

static void ledger_deallocate(void *block, size_t bytes, void *user)
{
    ledger *l = user;
    --l->blocks;
    l->bytes -= bytes;
    free(block);
}

static void allocators_come_and_go(void **state)
{
    (void)state;
    ledger l = { 0 };
    adz_allocator own = { ledger_allocate, ledger_deallocate, &l };
    assert_non_null(adz_zeros(ADZ_SHAPE(3), ADZ_F32));
    const adz_allocator half = { ledger_allocate, NULL, &l };
    assert_int_equal(adz_set_allocator(&half), ADZ_ERR_NULL);
    adz_error_clear();
    assert_int_equal(adz_set_allocator(&own), ADZ_ERR_STATE);
    assert_non_null(strstr(adz_error_message(), "of the present allocator are still held"));
    adz_error_clear();
    adz_scope_close(scope); /* after this, nothing is live */
    assert_int_equal(adz_set_allocator(&own), ADZ_OK);
    adz_allocator set;
    assert_true(adz_get_allocator(&set));
    assert_true(set.allocate == own.allocate && set.deallocate == own.deallocate);
    assert_ptr_equal(set.user, &l);
    scope = adz_scope_open();
    adz_manual_seed(3);
    adz_tensor *large = adz_rand(ADZ_SHAPE(1000, 1000), ADZ_F32);
    assert_int_equal((uintptr_t)adz_tensor_data(large) % 64, 0);
    adz_memory_info info;
    adz_get_memory_info(&info, sizeof info);
    assert_true(info.live_bytes >= 4000000);
    assert_int_equal(l.bytes, info.live_bytes + info.cached_bytes);
    adz_scope_close(scope);
    assert_int_equal(adz_set_allocator(NULL), ADZ_OK);
    assert_false(adz_get_allocator(&set));
    assert_true(set.allocate == NULL && set.deallocate == NULL && set.user == NULL);
    assert_int_equal(l.blocks, 0);
    assert_int_equal(l.bytes, 0);
    scope = adz_scope_open();
}

/* Large blocks are mapped. All their bytes can be written, and they can be given back and taken
 * again. The sizes lie around 128 kB, from which blocks are mapped, and 2 MB, a huge page. */
static void large_blocks_come_and_go(void **state)
{
    (void)state;
    static const int64_t sizes[] = { (128 << 10) - 64, 128 << 10, (128 << 10) + 1, 200000,
        (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 5 << 20 };
    for (int round = 0; round < 3; ++round) {
        adz_scope *inner = adz_scope_open();
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
            adz_tensor *t = adz_empty(ADZ_SHAPE(sizes[i]), ADZ_U8);
            memset(adz_tensor_data(t), 1, (size_t)sizes[i]);
            assert_int_equal((uintptr_t)adz_tensor_data(t) % 64, 0);
        }
        adz_scope_close(inner);
        adz_empty_cache();
    }
}

#if defined(__linux__) && !defined(ADZI_ASAN) /* AddressSanitizer keeps freed memory */
static long long mapped_bytes(void)
{
    long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL) {
        skip();
    }
    assert_int_equal(fscanf(f, "%lld", &pages), 1);
    fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

static void what_goes_back_leaves_the_process(void **state)
{
    (void)state;
    enum { EACH = 5 << 20, ROUNDS = 50 };
    long long before = mapped_bytes();
    for (int i = 0; i < ROUNDS; ++i) {
        adz_scope *inner = adz_scope_open();
        assert_non_null(adz_empty(ADZ_SHAPE(EACH), ADZ_U8));
        adz_scope_close(inner);
        adz_empty_cache();
    }
    assert_true(mapped_bytes() - before < 2 * EACH);
}
#endif

/* After three training steps, further steps take no more memory from the system. */
static void a_warm_step_asks_nobody(void **state)
{
    (void)state;
    adz_memory_info before, after;
    for (int i = 0; i < 6; ++i) {
        adz_scope *step = adz_scope_open();
        adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(200, 50), ADZ_F32), true);
        assert_int_equal(adz_backward(adz_sum(adz_mul(x, x), ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
        adz_scope_close(step);
        adz_get_memory_info(i < 3 ? &before : &after, sizeof before);
    }
    assert_int_equal(after.live_bytes, before.live_bytes);
    assert_int_equal(
        after.live_bytes + after.cached_bytes, before.live_bytes + before.cached_bytes);
    assert_true(after.requests > before.requests);
    assert_true(after.peak_bytes >= after.live_bytes + 200 * 50 * 4);
    adz_empty_cache();
    adz_get_memory_info(&after, sizeof after);
    assert_true(after.cached_bytes < before.cached_bytes);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_scope, close_scope)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_small_model_holds_little),
        TEST(a_limit_gives_an_error),
        TEST(a_lowered_limit_is_kept),
        TEST(small_blocks_keep_to_the_limit),
        TEST(idle_threads_take_nothing_away),
        TEST(a_thread_keeps_a_bounded_cache),
        TEST(a_loop_without_a_scope_is_told),
        TEST(allocators_come_and_go),
        TEST(large_blocks_come_and_go),
#if defined(__linux__) && !defined(ADZI_ASAN)
        TEST(what_goes_back_leaves_the_process),
#endif
        TEST(a_warm_step_asks_nobody),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
