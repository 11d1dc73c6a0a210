/* Products while a program has threads, and in a child process. */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "problem.h"
#include "tests.h"

static int threads_of_this_process(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    while (tasks != NULL && readdir(tasks) != NULL) {
        ++count;
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return count;
}

/* Runs first, before any other test starts threads. */
void one_thread_means_one(void **state)
{
    (void)state;
    adzi_blas_missing(); /* an OpenBLAS with threads of its own starts them when it is loaded */
    int before = threads_of_this_process();
    if (before == 0) {
        skip();
    }
    adz_set_num_threads(1);
    float *x = random_storage(ADZ_F32, 500 * 500), *y = calloc(500 * 500, sizeof *y);
    adzi_gemm((adzi_gemm_size){ ADZ_F32, 500, 500, 500 }, (adzi_operand){ x, 500, false },
        (adzi_operand){ x, 500, true }, y, 500);
    adzi_gemm((adzi_gemm_size){ ADZ_F32, 500, 1, 500 }, (adzi_operand){ x, 500, false },
        (adzi_operand){ x, 500, true }, y, 1);
    assert_int_equal(threads_of_this_process(), before);
    free(x);
    free(y);
    adz_set_num_threads(0);
}

void openmp_settings_stay(void **state)
{
    (void)state;
    int (*max_threads)(void) = NULL;
    adzi_blas_missing(); /* loads OpenBLAS, which may bring OpenMP along for itself alone */
    void *openmp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *symbol = openmp != NULL ? dlsym(openmp, "omp_get_max_threads") : NULL;
    if (symbol == NULL) {
        skip();
    }
    memcpy(&max_threads, &symbol, sizeof symbol);
    int before = max_threads();
    float *x = random_storage(ADZ_F32, 500 * 500), *y = calloc(500 * 500, sizeof *y);
    for (int threads = 1; threads <= 3; ++threads) {
        adz_set_num_threads(threads);
        adzi_gemm((adzi_gemm_size){ ADZ_F32, 500, 500, 500 }, (adzi_operand){ x, 500, false },
            (adzi_operand){ x, 500, false }, y, 500);
        assert_int_equal(max_threads(), before);
    }
    free(x);
    free(y);
    adz_set_num_threads(0);
}

/* The hash of a product that is divided among threads. */
static uint64_t product_hash(void)
{
    int64_t n = 300;
    float *x = malloc((size_t)(n * n) * sizeof *x), *y = malloc((size_t)(n * n) * sizeof *y);
    for (int64_t i = 0; i < n * n; ++i) {
        x[i] = (float)(i * 7919 % 1009) / 1009.0f - 0.5f;
    }
    adzi_gemm((adzi_gemm_size){ ADZ_F32, n, n, n }, (adzi_operand){ x, n, false },
        (adzi_operand){ x, n, true }, y, n);
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < (size_t)(n * n) * sizeof *y; ++i) {
        hash = (hash ^ ((unsigned char *)y)[i]) * 1099511628211u;
    }
    free(x);
    free(y);
    return hash;
}

static void *hash_often(void *wanted)
{
    bool same = true;
    for (int i = 0; i < 10; ++i) {
        same = same && product_hash() == *(uint64_t *)wanted;
    }
    return same ? wanted : NULL;
}

void several_users_multiply_at_once(void **state)
{
    (void)state;
    adz_set_num_threads(2);
    uint64_t wanted = product_hash();
    pthread_t users[4];
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(pthread_create(&users[i], NULL, hash_often, &wanted), 0);
    }
    for (int i = 0; i < 4; ++i) {
        void *same = NULL;
        pthread_join(users[i], &same);
        assert_non_null(same);
    }
    adz_set_num_threads(0);
}

enum { SHORT_SIDE = 50, SHORT_PRODUCTS = 20000 };

/* Computes many short products, so that several threads often allocate memory in BLAS at once. */
static void *multiply_often(void *opaque)
{
    const float *x = opaque, *want = x + SHORT_SIDE * SHORT_SIDE;
    float y[SHORT_SIDE * SHORT_SIDE];
    bool same = true;
    for (int i = 0; i < SHORT_PRODUCTS && same; ++i) {
        adzi_gemm((adzi_gemm_size){ ADZ_F32, SHORT_SIDE, SHORT_SIDE, SHORT_SIDE },
            (adzi_operand){ x, SHORT_SIDE, false }, (adzi_operand){ x, SHORT_SIDE, false }, y,
            SHORT_SIDE);
        same = memcmp(y, want, sizeof y) == 0;
    }
    return same ? opaque : NULL;
}

/* Runs early: a BLAS without locks fails most often while it has allocated little memory. */
void several_users_call_blas_at_once(void **state)
{
    (void)state;
    adzi_gemm_choice used = adzi_gemm_backend_choice;
    adzi_gemm_backend_choice = ADZI_GEMM_BLAS_ALONE;
    float *x = random_storage(ADZ_F32, 2 * SHORT_SIDE * SHORT_SIDE);
    adzi_gemm((adzi_gemm_size){ ADZ_F32, SHORT_SIDE, SHORT_SIDE, SHORT_SIDE },
        (adzi_operand){ x, SHORT_SIDE, false }, (adzi_operand){ x, SHORT_SIDE, false },
        x + SHORT_SIDE * SHORT_SIDE, SHORT_SIDE);
    pthread_t users[4];
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(pthread_create(&users[i], NULL, multiply_often, x), 0);
    }
    int wrong = 0;
    for (int i = 0; i < 4; ++i) {
        void *same = NULL;
        pthread_join(users[i], &same);
        wrong += same == NULL;
    }
    free(x);
    adzi_gemm_backend_choice = used;
    assert_int_equal(wrong, 0);
}

/* A signal may come at any time, also while a product is computed. The operating system then writes
 * the registers below the stack pointer, and the handler runs there. Code that keeps another
 * address in the stack pointer has the memory at that address overwritten. */
enum { STACK = 1 << 20, SIGNALS = 300 };

static struct {
    char *stack; /* of the thread that multiplies */
    atomic_int handled, outside;
    atomic_bool done;
} interrupted;

static void note_where(int signal_number)
{
    (void)signal_number;
    const char *here = __builtin_frame_address(0);
    if (here < interrupted.stack || here >= interrupted.stack + STACK) {
        atomic_fetch_add(&interrupted.outside, 1);
    }
    atomic_fetch_add(&interrupted.handled, 1);
}

static void *multiply_until_done(void *user)
{
    while (!atomic_load(&interrupted.done)) {
        product_hash();
    }
    return user;
}

void signal_handlers_run_on_the_stack(void **state)
{
    (void)state;
    adz_set_num_threads(1);
    struct sigaction action = { .sa_handler = note_where, .sa_flags = SA_RESTART }, before;
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    memset(&interrupted, 0, sizeof interrupted);
    assert_int_equal(posix_memalign((void **)&interrupted.stack, 4096, STACK), 0);
    pthread_attr_t attributes;
    pthread_t user;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstack(&attributes, interrupted.stack, STACK), 0);
    assert_int_equal(pthread_create(&user, &attributes, multiply_until_done, NULL), 0);
    pthread_attr_destroy(&attributes);
    const struct timespec pause = { .tv_nsec = 200000 };
    while (atomic_load(&interrupted.handled) < SIGNALS) { /* a blocked signal arrives later */
        pthread_kill(user, SIGUSR1);
        nanosleep(&pause, NULL);
    }
    atomic_store(&interrupted.done, true);
    pthread_join(user, NULL);
    sigaction(SIGUSR1, &before, NULL);
    free(interrupted.stack);
    adz_set_num_threads(0);
    assert_int_equal(interrupted.outside, 0);
}

void a_forked_child_multiplies(void **state)
{
    (void)state;
    adz_set_num_threads(2);
    uint64_t wanted = product_hash();
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        _exit(product_hash() == wanted ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    adz_set_num_threads(0);
}
