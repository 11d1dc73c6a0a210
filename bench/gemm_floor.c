#define _GNU_SOURCE /* madvise */
#include "gemm_floor.h"

#include <cblas.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Matrices of 2 MB and more ask for huge pages, as adze's own do. */
static float *numbers(int64_t count)
{
    const size_t unit = 1 << 21, bytes = ((size_t)count * sizeof(float) + unit - 1) / unit * unit;
    float *x = aligned_alloc(unit, bytes);
    if (x != NULL) {
        (void)madvise(x, bytes, MADV_HUGEPAGE);
    }
    for (int64_t i = 0; x != NULL && i < count; ++i) {
        x[i] = (float)(i % 17) / 17 - 0.5f;
    }
    return x;
}

bool gemm_floor_begin(gemm_floor *f)
{
    int64_t counts[MOST_MATRICES] = { 0 };
    for (int i = 0; i < f->count; ++i) {
        const product *p = &f->products[i];
        counts[p->a] = larger(counts[p->a], p->m * p->k);
        counts[p->b] = larger(counts[p->b], p->k * p->n);
        counts[p->c] = larger(counts[p->c], p->m * p->n);
    }
    bool done = true;
    for (int i = 0; i < MOST_MATRICES && done; ++i) {
        f->matrices[i] = counts[i] > 0 ? numbers(counts[i]) : NULL;
        done = counts[i] == 0 || f->matrices[i] != NULL;
    }
    return done;
}

void gemm_floor_end(gemm_floor *f)
{
    for (int i = 0; i < MOST_MATRICES; ++i) {
        free(f->matrices[i]);
    }
}

double gemm_floor_openblas(const gemm_floor *f, int threads)
{
    openblas_set_num_threads(threads);
    double start = now();
    for (int i = 0; i < f->count; ++i) {
        const product *p = &f->products[i];
        cblas_sgemm(CblasRowMajor, p->ta ? CblasTrans : CblasNoTrans,
            p->tb ? CblasTrans : CblasNoTrans, (blasint)p->m, (blasint)p->n, (blasint)p->k, 1.0f,
            f->matrices[p->a], (blasint)(p->ta ? p->m : p->k), f->matrices[p->b],
            (blasint)(p->tb ? p->k : p->n), 0.0f, f->matrices[p->c], (blasint)p->n);
    }
    return now() - start;
}

/* MKL's interface, from the library that ADZE_BENCH_MKL names. MKL_THREADING_LAYER=GNU gives it the
 * OpenMP of OpenBLAS and oneDNN. */
typedef void (*mkl_sgemm)(int order, int ta, int tb, int m, int n, int k, float alpha,
    const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

typedef struct {
    mkl_sgemm sgemm;
    void (*set_threads)(int threads);
} mkl;

static mkl find_mkl(void)
{
    static bool looked;
    static mkl found;
    const char *path = getenv("ADZE_BENCH_MKL");
    if (!looked && path != NULL) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        void *sgemm = library != NULL ? dlsym(library, "cblas_sgemm") : NULL;
        void *threads = library != NULL ? dlsym(library, "MKL_Set_Num_Threads") : NULL;
        if (sgemm != NULL && threads != NULL) {
            memcpy(&found.sgemm, &sgemm, sizeof sgemm);
            memcpy(&found.set_threads, &threads, sizeof threads);
        }
    }
    looked = true;
    return found;
}

double gemm_floor_mkl(const gemm_floor *f, int threads)
{
    const mkl library = find_mkl();
    if (f->bf16 || library.sgemm == NULL) {
        return -1;
    }
    library.set_threads(threads);
    double start = now();
    for (int i = 0; i < f->count; ++i) {
        const product *p = &f->products[i];
        library.sgemm(CblasRowMajor, p->ta ? CblasTrans : CblasNoTrans,
            p->tb ? CblasTrans : CblasNoTrans, (int)p->m, (int)p->n, (int)p->k, 1.0f,
            f->matrices[p->a], (int)(p->ta ? p->m : p->k), f->matrices[p->b],
            (int)(p->tb ? p->k : p->n), 0.0f, f->matrices[p->c], (int)p->n);
    }
    return now() - start;
}

/* dnnl_sgemm of oneDNN's C interface, which takes matrices stored by rows. */
typedef int (*onednn_sgemm)(char ta, char tb, int64_t m, int64_t n, int64_t k, float alpha,
    const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

static onednn_sgemm find_onednn(void)
{
    static const char *const names[] = { "libdnnl.so.3", "libdnnl.so.2", "libdnnl.so" };
    static bool looked;
    static onednn_sgemm found;
    for (int i = 0; i < 3 && !looked && found == NULL; ++i) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        void *symbol = library != NULL ? dlsym(library, "dnnl_sgemm") : NULL;
        memcpy(&found, &symbol, sizeof found);
    }
    looked = true;
    return found;
}

/* oneDNN takes OpenMP's number of threads, as OpenBLAS's OpenMP build does. */
static void set_openmp_threads(int threads)
{
    void (*set)(int);
    void *symbol = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    memcpy(&set, &symbol, sizeof set);
    if (set != NULL) {
        set(threads);
    }
}

/* bf16_floor.c's, which is built where oneDNN is. */
typedef bool (*products_of)(const product *products, int count);

static double onednn_bf16(const gemm_floor *f)
{
    static products_of multiply;
    static bool looked;
    if (!looked) {
        looked = true;
        void *module = BF16_FLOOR[0] != '\0' ? dlopen(BF16_FLOOR, RTLD_NOW | RTLD_LOCAL) : NULL;
        void *symbol = module != NULL ? dlsym(module, "bf16_products") : NULL;
        memcpy(&multiply, &symbol, sizeof multiply);
        if (multiply != NULL && !multiply(f->products, f->count)) {
            multiply = NULL;
        }
    }
    double start = now();
    return multiply != NULL && multiply(f->products, f->count) ? now() - start : -1;
}

double gemm_floor_onednn(const gemm_floor *f, int threads)
{
    if (f->bf16) {
        set_openmp_threads(threads);
        return onednn_bf16(f);
    }
    onednn_sgemm sgemm = find_onednn();
    if (sgemm == NULL) {
        return -1;
    }
    set_openmp_threads(threads);
    double start = now();
    for (int i = 0; i < f->count; ++i) {
        const product *p = &f->products[i];
        sgemm(p->ta ? 'T' : 'N', p->tb ? 'T' : 'N', p->m, p->n, p->k, 1.0f, f->matrices[p->a],
            p->ta ? p->m : p->k, f->matrices[p->b], p->tb ? p->k : p->n, 0.0f, f->matrices[p->c],
            p->n);
    }
    return now() - start;
}

double update_floor(float *w, const float *dw, int64_t count)
{
    double start = now();
    for (int64_t i = 0; i < count; ++i) {
        w[i] -= 1e-9f * dw[i];
    }
    return now() - start;
}
