/* One call of a public function inside a captured function, or between two runs. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "plans.h"

/* ---- digests --------------------------------------------------------------------------------- */

uint64_t digest_bytes(uint64_t digest, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < n; ++i) {
        digest = (digest ^ at[i]) * 0x100000001b3u;
    }
    return digest;
}

uint64_t digest_tensor(uint64_t digest, adz_tensor *t)
{
    if (t == NULL || t == ADZ_NONE) {
        return digest_bytes(digest, "none", 4);
    }
    const bool on = adz_set_grad_enabled(false);
    adz_tensor *c = adz_contiguous(t);
    adz_set_grad_enabled(on);
    const bool wants = adz_tensor_requires_grad(t);
    digest = digest_bytes(digest, &wants, sizeof wants);
    return c != NULL ? digest_bytes(digest, adz_tensor_data(c),
                           (size_t)adz_tensor_numel(c) * adz_dtype_size(adz_tensor_dtype(c)))
                     : digest;
}

static uint64_t digest_list(uint64_t digest, adz_tensor_list list)
{
    for (size_t i = 0; i < list.count && list.items != NULL; ++i) {
        digest = digest_tensor(digest, list.items[i]);
        digest = digest_tensor(digest, adz_tensor_grad(list.items[i]));
    }
    return digest;
}

uint64_t digest_module(uint64_t digest, adz_module *module)
{
    const bool training = adz_module_is_training(module);
    digest = digest_bytes(digest, &training, sizeof training);
    digest = digest_list(digest, adz_module_parameters(module));
    adz_state_dict *state = adz_module_state_dict(module);
    for (size_t i = 0; i < adz_state_dict_count(state); ++i) {
        digest = digest_tensor(digest, adz_state_dict_at(state, i));
    }
    adz_state_dict_free(&state);
    adz_error_clear();
    return digest;
}

static uint64_t digest_file(uint64_t digest, const char *path)
{
    struct stat about;
    const bool there = path != NULL && path[0] != '\0' && stat(path, &about) == 0;
    return digest_bytes(digest, &there, sizeof there);
}

uint64_t arguments_digest(world *w, uint64_t digest)
{
    const function *f = w->e->f;
    for (size_t i = 0; w->made && i < f->n_params; ++i) {
        const arg *a = &w->args[i];
        if (f->params[i].taken || f->params[i].address) {
            continue;
        }
        if (f->params[i].kind == KIND_TENSOR && a->v.p != NULL) {
            digest = digest_tensor(digest, a->v.p);
            digest = a->v.p != ADZ_NONE ? digest_tensor(digest, adz_tensor_grad(a->v.p)) : digest;
        } else if (f->params[i].kind == KIND_MODULE && a->v.p != NULL) {
            digest = digest_module(digest, a->v.p);
        } else if (f->params[i].kind == KIND_LIST) {
            digest = digest_list(digest, a->v.list);
        } else if (f->params[i].kind == KIND_PATH) {
            digest = digest_file(digest, a->v.p);
        }
    }
    return digest;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* The arguments are made for each call if the call ends them: scopes. */
bool is_fresh(const function *f)
{
    for (size_t i = 0; i < f->n_params; ++i) {
        if (f->params[i].kind == KIND_SCOPE) {
            return true;
        }
    }
    return false;
}

static adz_tensor *tensor_of_world(world *w)
{
    const adz_tensor_list parameters = adz_module_parameters(w->model);
    adz_tensor *grad = parameters.count > 0 ? adz_tensor_grad(parameters.items[0]) : NULL;
    if (w->e->variant == INPUT) {
        return w->x;
    }
    if (w->e->variant == GRADIENT) {
        adz_state_dict *state = adz_module_state_dict(w->model);
        adz_tensor *last = adz_state_dict_at(state, adz_state_dict_count(state) - 1);
        adz_state_dict_free(&state);
        return grad != NULL ? grad : last;
    }
    return parameters.count > 0 ? parameters.items[0] : NULL;
}

/* The object of the world that may stand for a parameter, or NULL. */
static void *of_world(world *w, kind k)
{
    switch (k) {
    case KIND_TENSOR:
        return tensor_of_world(w);
    case KIND_MODULE:
        return w->model;
    case KIND_OPTIMIZER:
        return w->optimizer;
    case KIND_SCHEDULER:
        return w->scheduler;
    case KIND_GENERATOR:
        return w->generator;
    case KIND_FLAT_PARAMETERS:
        return w->flat;
    default:
        return NULL;
    }
}

void arguments_make(world *w)
{
    const function *f = w->e->f;
    uint64_t random = 1;
    memset(w->args, 0, sizeof w->args);
    for (size_t i = 0; i < f->n_params; ++i) {
        make(&f->params[i], w->e->choices[i], random_from(&random), &w->args[i]);
        const bool other =
            w->e->variant >= OF_THE_WORLD && !f->params[i].taken && !f->params[i].address;
        void *object = other ? of_world(w, f->params[i].kind) : NULL;
        if (object != NULL) {
            w->args[i].v.p = object;
        }
        if (other && f->params[i].kind == KIND_LIST) {
            w->args[i].v.list = adz_module_parameters(w->model);
        }
    }
    bound_counts(f->params, f->n_params, w->args);
    w->made = true;
    adz_error_clear();
}

void arguments_end(world *w)
{
    const function *f = w->e->f;
    size_t count = 0;
    for (size_t i = 0; w->made && i < f->n_params; ++i) {
        count = f->params[i].kind == KIND_COUNT ? w->args[i].v.z : count;
    }
    for (size_t i = 0; w->made && i < f->n_params; ++i) {
        end(&f->params[i], &w->args[i], count);
    }
    w->made = false;
    adz_error_clear();
}

/* Other numbers between 0 and 1 in a contiguous tensor of floats; on its diagonal only, with zeros
 * elsewhere, if it must stay definite. */
static void write_tensor(adz_tensor *t, int k, bool definite)
{
    double values[128];
    if (t == NULL || t == ADZ_NONE || adz_tensor_numel(t) > 128 || !adz_tensor_is_contiguous(t) ||
        (adz_tensor_dtype(t) != ADZ_F32 && adz_tensor_dtype(t) != ADZ_F64)) {
        return;
    }
    float *floats = (float *)(void *)values;
    const int64_t n = adz_tensor_numel(t), row = definite ? adz_tensor_size(t, -1) : 0;
    for (int64_t i = 0; i < n; ++i) {
        const double y = 0.05 + 0.9 * fmod((double)(i + 1) * (k + 1) / ((double)n + 1), 1);
        const double x = definite && i % (row + 1) != 0 ? 0 : y;
        if (adz_tensor_dtype(t) == ADZ_F32) {
            floats[i] = (float)x;
        } else {
            values[i] = x;
        }
    }
    const bool on = adz_set_grad_enabled(false);
    adz_tensor_write(t, values, (size_t)n * adz_dtype_size(adz_tensor_dtype(t)));
    adz_set_grad_enabled(on);
}

void arguments_write(world *w, int k)
{
    const function *f = w->e->f;
    const bool ours = w->e->inside && w->e->variant <= COMPUTED;
    for (size_t i = 0; w->made && i < f->n_params && (w->e->inside || k == 0); ++i) {
        if (ours && f->params[i].kind == KIND_TENSOR && !f->params[i].address) {
            const char *name = choice_name(&f->params[i], w->e->choices[i]);
            if (name == NULL || strcmp(name, "times") != 0) { /* which have to increase */
                write_tensor(w->args[i].v.p, k, name != NULL && strcmp(name, "definite") == 0);
            }
        }
        for (size_t j = 0; ours && j < 4 && f->params[i].kind == KIND_TENSORS; ++j) {
            write_tensor(w->args[i].objects[j], k, false);
        }
        if (f->params[i].kind == KIND_PATH && w->args[i].v.p != NULL &&
            strncmp(w->args[i].v.p, "new", 3) == 0) {
            remove(w->args[i].v.p);
        }
    }
}

/* ---- the call -------------------------------------------------------------------------------- */

static bool failed(const function *f, const value *result)
{
    return adz_error_code() != ADZ_OK || (f->returns == RETURNS_STATUS && result->n != ADZ_OK) ||
           (f->returns == RETURNS_POINTER && result->p == NULL);
}

/* One number for all elements. */
static adz_tensor *folded(adz_tensor *t)
{
    t = adz_detach(t);
    t = adz_tensor_dtype(t) == ADZ_F64 ? adz_contiguous(t) : adz_to(adz_contiguous(t), ADZ_F64);
    const int64_t n = adz_tensor_numel(t);
    t = adz_mul(adz_reshape(t, ADZ_SHAPE(n)), adz_arange(1, (double)n + 1, 1, ADZ_F64));
    return adz_to(adz_sum(t, ADZ_ALL_DIMS, ADZ_DROPDIM), ADZ_F32);
}

/* What the call has written to memory of the program, as a number. */
static double rooms(const function *f, const arg *args)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < f->n_params; ++i) {
        const param *p = &f->params[i];
        const bool text = p->extra == 100 || p->extra == 1 << 16; /* structs may have padding */
        if (p->kind == KIND_ROOM && p->gives == KIND_NONE && args[i].v.p != NULL &&
            (p->extra == 0 || text)) {
            digest = digest_bytes(digest, args[i].v.p, 64);
        }
    }
    return (double)(digest % 1000);
}

static adz_tensor *with_result(
    const function *f, const arg *args, const value *result, adz_tensor *output)
{
    const bool undefined = strncmp(f->name, "adz_empty", strlen("adz_empty")) == 0;
    if (!undefined && (f->owned == KIND_TENSOR || f->owned == KIND_KEPT) && result->p != NULL &&
        result->p != ADZ_NONE) {
        output = adz_add(output, folded(result->p));
    }
    if (f->returns == RETURNS_NUMBER && result->d != 0) {
        output = adz_add_number(output, result->d);
    }
    for (size_t i = 0; i < f->n_params; ++i) {
        adz_tensor **given = f->params[i].gives == KIND_TENSOR ? args[i].v.p : NULL;
        if (given != NULL && *given != NULL) {
            output = adz_add(output, folded(*given));
        }
    }
    const double written = rooms(f, args);
    return written != 0 ? adz_add_number(output, written) : output;
}

static void end_result(const function *f, const value *result)
{
    if (result->p != NULL && f->owned != KIND_NONE && f->returns != RETURNS_NUMBER) {
        object_end(f->owned, result->p);
    }
}

adz_tensor *call_inside(world *w, adz_tensor *output)
{
    const function *f = w->e->f;
    value result = { 0 };
    if (is_fresh(f)) {
        arguments_make(w);
    }
    arg args[MOST_PARAMS];
    memcpy(args, w->args, sizeof args);
    for (size_t i = 0; i < f->n_params && w->e->variant == COMPUTED; ++i) {
        if (f->params[i].kind == KIND_TENSOR && !f->params[i].address && args[i].v.p != NULL &&
            args[i].v.p != ADZ_NONE) {
            args[i].v.p = adz_clone(args[i].v.p);
        }
    }
    f->call(f->params != NULL && w->e->variant == COMPUTED ? args : w->args, &result);
    w->failed = failed(f, &result);
    w->called = w->called || !w->failed;
    if (!w->failed) {
        output = with_result(f, w->args, &result, output);
        end_result(f, &result);
    } else if (adz_error_code() == ADZ_OK) {
        adz_error_set(f->name, ADZ_ERR_CANCELLED, "failed");
    }
    if (is_fresh(f)) {
        arguments_end(w);
    }
    return w->failed ? NULL : output;
}

void call_between(world *w)
{
    value result = { 0 };
    adz_scope *scope = adz_scope_open();
    if (!w->made) {
        arguments_make(w);
    }
    w->e->f->call(w->args, &result);
    w->failed = failed(w->e->f, &result);
    w->called = !w->failed;
    adz_error_clear();
    if (w->called) {
        end_result(w->e->f, &result);
    }
    if (w->e->kind == WORLD_KINDS || is_fresh(w->e->f)) {
        arguments_end(w);
    }
    adz_scope_close(scope);
    adz_error_clear();
}

/* ---- choices --------------------------------------------------------------------------------- */

static size_t hinted(const function *f, const param *p)
{
    size_t valid, n = choices_of(p, &valid);
    if (p->kind == KIND_ENUM && strncmp(f->name, "adz_set_", strlen("adz_set_")) == 0) {
        return valid - 1; /* the first value is what is set already */
    }
    for (size_t i = 0; p->hint != NULL && i < n; ++i) {
        const char *name = choice_name(p, i);
        if (strcmp(name != NULL ? name : "NULL", p->hint) == 0) {
            return i;
        }
    }
    return 0;
}

static bool succeeds(const function *f, const size_t *choices)
{
    example e = { .f = f, .kind = WORLD_KINDS };
    memcpy(e.choices, choices, sizeof e.choices);
    world w = { .e = &e };
    call_between(&w);
    return w.called;
}

bool find_choices(const function *f, size_t *choices)
{
    enum { TRIES = 500 };
    uint64_t random = 7;
    for (int t = 0; t < TRIES; ++t) {
        for (size_t i = 0; i < f->n_params; ++i) {
            size_t valid;
            choices_of(&f->params[i], &valid);
            choices[i] = hinted(f, &f->params[i]);
            if (t > 0 && random_from(&random) % 3 == 0) {
                choices[i] = random_from(&random) % valid;
            }
        }
        if (succeeds(f, choices)) {
            return true;
        }
    }
    return false;
}
