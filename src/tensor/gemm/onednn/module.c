/* libadze-onednn: oneDNN behind adze's interface for matrix products (tensor/gemm/backend.h).
 *
 * Prepared code is a matmul primitive for one shape. It is made while OpenMP allows the calling
 * thread a single thread. So it computes on the thread that runs it, and sums in one order.
 *
 * A table keeps the primitives of MOST_PREPARED shapes until the process ends. Each primitive also
 * keeps the oneDNN objects that a run needs: one set for each thread that has run it at one time.
 * The caller gives the working memory.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dnnl.h>

#include "tensor/gemm/backend.h"

enum {
    MOST_PREPARED = 128, /* shapes that are kept; a new one replaces the least recently used */
    ALIGNMENT = 64,      /* parts of the working memory begin at multiples of this */
    OPERANDS = 4         /* A, B, C and oneDNN's scratchpad */
};

/* The oneDNN objects for one run of a primitive: memory objects, which hold the pointers, and a
 * stream. */
typedef struct operands {
    struct operands *next;
    dnnl_memory_t memory[OPERANDS];
    dnnl_stream_t stream;
} operands;

struct adzi_gemm_prepared {
    adzi_gemm_shape shape;
    dnnl_primitive_t primitive;
    dnnl_memory_desc_t description[OPERANDS];
    size_t scratch; /* bytes of the scratchpad, in whole cache lines */
    operands *free; /* sets of objects that no run uses */
    int users;      /* calls of prepare() not yet followed by release() */
    bool kept;      /* the table holds it */
    uint64_t used;  /* the clock when it was last used */
};

static struct {
    pthread_mutex_t lock;
    dnnl_engine_t engine;
    adzi_gemm_prepared *table[MOST_PREPARED];
    uint64_t clock;
    bool slow_bf16;
    int (*max_threads)(void);
    void (*set_threads)(int threads);
} module = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- one thread ----------------------------------------------------------------------------- */

/* Allows oneDNN a single thread until leave(), which gets the returned value. OpenMP's setting
 * belongs to the calling thread. */
static int enter(void)
{
    int before = module.max_threads != NULL ? module.max_threads() : 1;
    if (before != 1) {
        module.set_threads(1);
    }
    return before;
}

static void leave(int before)
{
    if (before != 1) {
        module.set_threads(before);
    }
}

/* ---- making and ending ---------------------------------------------------------------------- */

static void free_operands(operands *o)
{
    for (int i = 0; i < OPERANDS; ++i) {
        if (o->memory[i] != NULL) {
            dnnl_memory_destroy(o->memory[i]);
        }
    }
    if (o->stream != NULL) {
        dnnl_stream_destroy(o->stream);
    }
    free(o);
}

/* A set of objects for the memory layouts of prepared code. NULL if oneDNN refuses. */
static operands *make_operands(const adzi_gemm_prepared *p)
{
    operands *o = calloc(1, sizeof *o);
    bool done = o != NULL && dnnl_stream_create(&o->stream, module.engine,
                                 dnnl_stream_default_flags) == dnnl_success;
    for (int i = 0; done && i < OPERANDS; ++i) {
        done = dnnl_memory_create(&o->memory[i], &p->description[i], module.engine,
                   DNNL_MEMORY_NONE) == dnnl_success;
    }
    if (o != NULL && !done) {
        free_operands(o);
        o = NULL;
    }
    return o;
}

static void free_prepared(adzi_gemm_prepared *p)
{
    while (p->free != NULL) {
        operands *o = p->free;
        p->free = o->next;
        free_operands(o);
    }
    if (p->primitive != NULL) {
        dnnl_primitive_destroy(p->primitive);
    }
    free(p);
}

/* Rounds up to whole cache lines. */
static size_t in_lines(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Describes a matrix [rows, columns] without gaps, stored transposed or not. */
static bool describe(
    dnnl_memory_desc_t *out, int64_t rows, int64_t columns, bool transposed, dnnl_data_type_t type)
{
    dnnl_dims_t sizes = { rows, columns };
    dnnl_dims_t steps = { transposed ? 1 : columns, transposed ? rows : 1 };
    return dnnl_memory_desc_init_by_strides(out, 2, sizes, type, steps) == dnnl_success;
}

/* Whether the code for a shape is fast. oneDNN has code for every shape, but only its blocked code
 * is fast. */
static bool is_fast(const_dnnl_primitive_desc_t d)
{
    const char *name = NULL;
    return dnnl_primitive_desc_query(d, dnnl_query_impl_info_str, 0, (void *)&name) ==
               dnnl_success &&
           name != NULL && strncmp(name, "brg", 3) == 0;
}

/* Makes the primitive for p->shape. False, without a primitive, if oneDNN has no fast code for it.
 */
static bool make_primitive(adzi_gemm_prepared *p)
{
    const adzi_gemm_shape *f = &p->shape;
    dnnl_data_type_t type = f->bf16 ? dnnl_bf16 : dnnl_f32;
    dnnl_matmul_desc_t matmul;
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_primitive_desc_t made = NULL;
    bool done = false;
    if (!describe(&p->description[0], f->m, f->k, f->ta, type) ||
        !describe(&p->description[1], f->k, f->n, f->tb, type) ||
        !describe(&p->description[2], f->m, f->n, false, dnnl_f32) ||
        dnnl_matmul_desc_init(&matmul, &p->description[0], &p->description[1], NULL,
            &p->description[2]) != dnnl_success ||
        dnnl_primitive_attr_create(&attributes) != dnnl_success) {
        return false;
    }
    if (dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user) ==
            dnnl_success &&
        dnnl_primitive_desc_create(&made, &matmul, attributes, module.engine, NULL) ==
            dnnl_success) {
        if (is_fast(made) || (f->bf16 && module.slow_bf16)) {
            p->description[3] = *dnnl_primitive_desc_query_md(made, dnnl_query_scratchpad_md, 0);
            p->scratch = in_lines(dnnl_memory_desc_get_size(&p->description[3]));
            done = dnnl_primitive_create(&p->primitive, made) == dnnl_success;
        }
        dnnl_primitive_desc_destroy(made);
    }
    dnnl_primitive_attr_destroy(attributes);
    return done;
}

/* ---- the table ------------------------------------------------------------------------------ */

static bool same_shape(const adzi_gemm_shape *a, const adzi_gemm_shape *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->ta == b->ta && a->tb == b->tb &&
           a->bf16 == b->bf16;
}

/* The place of the shape's entry. If there is none, the place for a new entry: an empty one, or
 * that of the least recently used entry. The caller holds the lock. */
static adzi_gemm_prepared **place_of(const adzi_gemm_shape *shape)
{
    adzi_gemm_prepared **best = &module.table[0];
    for (int i = 0; i < MOST_PREPARED; ++i) {
        adzi_gemm_prepared **place = &module.table[i];
        if (*place != NULL && same_shape(&(*place)->shape, shape)) {
            return place;
        }
        if (*best != NULL && (*place == NULL || (*place)->used < (*best)->used)) {
            best = place;
        }
    }
    return best;
}

static bool holds(adzi_gemm_prepared *const *place, const adzi_gemm_shape *shape)
{
    return *place != NULL && same_shape(&(*place)->shape, shape);
}

/* Takes an entry out of the table. It is freed when its last user releases it. The caller holds the
 * lock. */
static void drop_from_table(adzi_gemm_prepared **place)
{
    adzi_gemm_prepared *p = *place;
    *place = NULL;
    p->kept = false;
    if (p->users == 0) {
        free_prepared(p);
    }
}

/* Puts a new entry into the table and returns it. If another thread has entered the shape in the
 * meantime, the new entry is freed and the other one returned. The caller holds the lock. */
static adzi_gemm_prepared *keep(adzi_gemm_prepared *made)
{
    adzi_gemm_prepared **place = place_of(&made->shape);
    if (holds(place, &made->shape)) {
        free_prepared(made);
        return *place;
    }
    if (*place != NULL) {
        drop_from_table(place);
    }
    *place = made;
    made->kept = true;
    return made;
}

/* The module's function `prepare`. A shape without fast code gets an entry without a primitive, so
 * that it is not tried again in every call. */
static adzi_gemm_prepared *prepare(const adzi_gemm_shape *shape)
{
    pthread_mutex_lock(&module.lock);
    adzi_gemm_prepared **place = place_of(shape);
    adzi_gemm_prepared *found = holds(place, shape) ? *place : NULL;
    if (found == NULL) { /* the primitive is made without the lock, as that takes a millisecond */
        pthread_mutex_unlock(&module.lock);
        adzi_gemm_prepared *made = calloc(1, sizeof *made);
        if (made == NULL) {
            return NULL;
        }
        made->shape = *shape;
        int before = enter();
        make_primitive(made);
        leave(before);
        pthread_mutex_lock(&module.lock);
        found = keep(made);
    }
    found->used = ++module.clock;
    if (found->primitive != NULL) {
        ++found->users;
    } else {
        found = NULL;
    }
    pthread_mutex_unlock(&module.lock);
    return found;
}

static void release(adzi_gemm_prepared *p)
{
    pthread_mutex_lock(&module.lock);
    if (--p->users == 0 && !p->kept) {
        free_prepared(p);
    }
    pthread_mutex_unlock(&module.lock);
}

/* ---- computing ------------------------------------------------------------------------------ */

/* C = alpha S + beta C + bias for S[m, n] without gaps. */
static void finish(const adzi_gemm_shape *f, const float *s, const adzi_gemm_target *to)
{
    for (int64_t i = 0; i < f->m; ++i) {
        const float *sum = s + i * f->n;
        float *c = to->c + i * to->ldc;
        if (to->alpha == 1 && to->beta == 0 && to->bias == NULL) {
            memcpy(c, sum, (size_t)f->n * sizeof *c);
        } else if (to->alpha == 1 && to->beta == 0) {
            for (int64_t j = 0; j < f->n; ++j) {
                c[j] = sum[j] + to->bias[j];
            }
        } else {
            for (int64_t j = 0; j < f->n; ++j) {
                float old = to->beta != 0 ? to->beta * c[j] : 0;
                c[j] = to->alpha * sum[j] + (old + (to->bias != NULL ? to->bias[j] : 0));
            }
        }
    }
}

/* Takes a set of objects for a run: an unused one if there is one, else a new one. */
static operands *take_operands(adzi_gemm_prepared *p)
{
    pthread_mutex_lock(&module.lock);
    operands *o = p->free;
    if (o != NULL) {
        p->free = o->next;
    }
    pthread_mutex_unlock(&module.lock);
    return o != NULL ? o : make_operands(p);
}

static void put_back(adzi_gemm_prepared *p, operands *o)
{
    pthread_mutex_lock(&module.lock);
    o->next = p->free;
    p->free = o;
    pthread_mutex_unlock(&module.lock);
}

static bool execute(const adzi_gemm_prepared *p, const operands *o, const void *a, const void *b,
    float *c, void *scratch)
{
    /* oneDNN's pointers are not const because one function serves inputs and outputs. */
    void *handles[OPERANDS] = { (void *)(uintptr_t)a, (void *)(uintptr_t)b, c, scratch };
    static const int names[OPERANDS] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST,
        DNNL_ARG_SCRATCHPAD };
    dnnl_exec_arg_t args[OPERANDS];
    for (int i = 0; i < OPERANDS; ++i) {
        if (dnnl_memory_set_data_handle(o->memory[i], handles[i]) != dnnl_success) {
            return false;
        }
        args[i] = (dnnl_exec_arg_t){ names[i], o->memory[i] };
    }
    int before = enter();
    bool done = dnnl_primitive_execute(p->primitive, o->stream, OPERANDS, args) == dnnl_success;
    leave(before);
    return done;
}

/* Whether the primitive can write to C directly: C has no gaps, and there is no alpha, beta or
 * bias.
 */
static bool is_direct(const adzi_gemm_shape *f, const adzi_gemm_target *to)
{
    return (to->ldc == f->n || f->m == 1) && to->alpha == 1 && to->beta == 0 && to->bias == NULL;
}

static size_t working_bytes(const adzi_gemm_prepared *p, const adzi_gemm_target *to)
{
    const adzi_gemm_shape *f = &p->shape;
    return p->scratch + (is_direct(f, to) ? 0 : (size_t)(f->m * f->n) * sizeof(float));
}

static bool run(
    adzi_gemm_prepared *p, const void *a, const void *b, const adzi_gemm_target *to, void *working)
{
    operands *o = take_operands(p);
    if (o == NULL) {
        return false;
    }
    bool direct = is_direct(&p->shape, to);
    float *c = direct ? to->c : (float *)((char *)working + p->scratch);
    bool done = execute(p, o, a, b, c, working);
    if (done && !direct) {
        finish(&p->shape, c, to);
    }
    put_back(p, o);
    return done;
}

/* The signals that may come at any time. Signals that an instruction raises are not among them, so
 * that debuggers and crash handlers see those at once. */
static sigset_t signals_from_outside(void)
{
    static const int raised[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT };
    sigset_t set;
    sigfillset(&set);
    for (size_t i = 0; i < sizeof raised / sizeof *raised; ++i) {
        sigdelset(&set, raised[i]);
    }
    return set;
}

/* The kernels of dnnl_sgemm keep the address of a buffer on the heap in the stack pointer (oneDNN's
 * issue 4845, mended in March 2026). The frame of a signal would be written over the memory below
 * that buffer, so signals wait until the product is computed. */
static bool multiply(const adzi_gemm_call *g)
{
    const sigset_t from_outside = signals_from_outside();
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &from_outside, &before);
    int threads = enter();
    bool done = dnnl_sgemm(g->ta ? 'T' : 'N', g->tb ? 'T' : 'N', g->m, g->n, g->k, g->alpha, g->a,
                    g->lda, g->b, g->ldb, g->beta, g->c, g->ldc) == dnnl_success;
    leave(threads);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return done;
}

static void take_slow_bf16(bool on)
{
    pthread_mutex_lock(&module.lock);
    module.slow_bf16 = on;
    for (int i = 0; i < MOST_PREPARED; ++i) {
        if (module.table[i] != NULL && module.table[i]->shape.bf16) {
            drop_from_table(&module.table[i]);
        }
    }
    pthread_mutex_unlock(&module.lock);
}

/* ---- opening and closing -------------------------------------------------------------------- */

static const char *isa_name(dnnl_cpu_isa_t isa)
{
    switch ((unsigned)isa) {
    case dnnl_cpu_isa_sse41:
        return "sse4.1";
    case dnnl_cpu_isa_avx:
        return "avx";
    case dnnl_cpu_isa_avx2:
        return "avx2";
    case dnnl_cpu_isa_avx2_vnni:
        return "avx2_vnni";
    case dnnl_cpu_isa_avx512_core:
        return "avx512_core";
    case dnnl_cpu_isa_avx512_core_vnni:
        return "avx512_core_vnni";
    case dnnl_cpu_isa_avx512_core_bf16:
        return "avx512_core_bf16";
    case dnnl_cpu_isa_avx512_core_amx:
        return "avx512_core_amx";
    default:
        return "other instructions";
    }
}

/* Whether oneDNN can be kept to the calling thread. It can if it is built without threads or with
 * OpenMP, whose functions are found here. */
static bool find_threads(const dnnl_version_t *version)
{
    if (version->cpu_runtime == DNNL_RUNTIME_SEQ) {
        return true;
    }
    void *max_threads = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    void *set_threads = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    if (version->cpu_runtime != DNNL_RUNTIME_OMP || max_threads == NULL || set_threads == NULL) {
        return false;
    }
    memcpy(&module.max_threads, &max_threads, sizeof max_threads);
    memcpy(&module.set_threads, &set_threads, sizeof set_threads);
    return true;
}

__attribute__((visibility("default"))) const adzi_gemm_backend *adzi_gemm_backend_open(void);

const adzi_gemm_backend *adzi_gemm_backend_open(void)
{
    static char name[48];
    static adzi_gemm_backend backend = { .version = ADZI_GEMM_BACKEND_VERSION,
        .size = sizeof backend,
        .name = name,
        .multiply = multiply,
        .prepare = prepare,
        .release = release,
        .working_bytes = working_bytes,
        .run = run,
        .take_slow_bf16 = take_slow_bf16 };
    const dnnl_version_t *version = dnnl_version();
    if (version == NULL || !find_threads(version) ||
        (module.engine == NULL &&
            dnnl_engine_create(&module.engine, dnnl_cpu, 0) != dnnl_success)) {
        return NULL;
    }
    snprintf(name, sizeof name, "oneDNN %d.%d.%d", version->major, version->minor, version->patch);
    unsigned isa = (unsigned)dnnl_get_effective_cpu_isa();
    const unsigned core = dnnl_cpu_isa_avx512_core, amx = dnnl_cpu_isa_avx512_core_amx;
    backend.isa = isa_name((dnnl_cpu_isa_t)isa);
    backend.avx512 = (isa & core) == core;
    backend.amx = (isa & amx) == amx;
    backend.bf16 = backend.amx ? "AMX" : NULL; /* Intel's vdpbf16ps takes longer than an FMA */
    return &backend;
}
