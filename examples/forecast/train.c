/* Trains single networks, and whole ensembles in several threads. */
#include "train.h"

#include <stdlib.h>

#include "../shared/command_line.h"
#include "../shared/crew.h"
#include "../shared/steps.h"
#include "validation.h"

/* ---- one network ---------------------------------------------------------------------------- */

typedef struct trainer {
    const network *n;
    adz_module *net;
    adz_loader *loader;
    adz_optimizer *adam;
} trainer;

static trainer make_trainer(
    const options *o, const network *n, const series *s, const origins *windows)
{
    trainer t = { .n = n, .net = new_network(n) };
    adz_scope *scope = adz_scope_open();
    adz_tensor *known, *target = window_targets(s, n, windows, &known);
    adz_tensor *tensors[] = { window_inputs(s, n, windows), target, known };
    adz_dataset *rows = adz_dataset_new(tensors, 3);
    adz_loader_options l = ADZ_LOADER_OPTIONS;
    l.batch_size = o->batch_size;
    l.shuffle = true;
    t.loader = adz_loader_new(rows, &l);
    adz_adamw_options a = ADZ_ADAMW_OPTIONS;
    a.weight_decay = o->weight_decay;
    t.adam = adz_adamw_new(adz_module_parameters(t.net), o->lr, &a);
    adz_dataset_release(&rows);
    adz_scope_close(scope);
    return t;
}

/* A step on the inputs of windows, their targets, and which of these are known. */
static adz_tensor *step(adz_tensor *const *batch, void *user)
{
    const trainer *t = user;
    adz_tensor *loss = loss_of(t->net, t->n, batch[0], batch[1], batch[2]);
    adz_backward(loss);
    adz_clip_grads(adz_module_parameters(t->net), 1, 2);
    adz_optimizer_step(t->adam);
    adz_optimizer_zero_grad(t->adam);
    return loss;
}

static void train_epoch(const trainer *t, steps *each)
{
    adz_tensor *batch[3];
    adz_module_train(t->net, true);
    adz_scope *scope = adz_scope_open();
    while (adz_loader_next(t->loader, batch)) {
        make_step(each, batch);
        adz_scope_close(scope);
        scope = adz_scope_open();
    }
    adz_scope_close(scope);
}

/* Frees all but the network, which is the result. */
static adz_module *finish(trainer *t)
{
    adz_optimizer_release(&t->adam);
    adz_loader_free(&t->loader);
    return t->net;
}

/* Seeds the thread's generator. Each network and each round has another seed, so that it makes
 * no difference which thread trains it. */
static void seed_piece(const network *n, size_t piece, int64_t epoch)
{
    uint64_t seed = (uint64_t)n->seed * 1000003 + (uint64_t)n->model * 10007 + piece;
    adz_manual_seed(seed * 1000003 + (uint64_t)epoch);
}

/* ---- a trial -------------------------------------------------------------------------------- */

/* A trial goes on in rounds of 10 epochs until 20 epochs have brought no smaller error. */
enum { TRIAL_PASSES = 10, ROUND = 10, PATIENCE = 20 };

typedef struct trial_work {
    const options *o;
    const network *n;
    const series *s;
    validation *v;
    trainer *trainers; /* one for each block and member */
    int64_t epochs;    /* until which this round trains */
} trial_work;

/* Trains one network up to one block for a round, and forecasts the block after each epoch. */
static void try_piece(size_t piece, void *user)
{
    const trial_work *w = user;
    const network *n = w->n;
    size_t block = piece / (size_t)n->members, member = piece % (size_t)n->members;
    int64_t passes = n->passes < TRIAL_PASSES ? n->passes : TRIAL_PASSES;
    trainer *t = &w->trainers[piece];
    if (w->v->parts->blocks[block].count == 0) {
        return;
    }
    seed_piece(n, piece, w->v->epochs);
    if (t->net == NULL) {
        *t = make_trainer(w->o, n, w->s, &w->v->parts->learnt[block]);
    }
    steps *each = new_steps(step, t, 3, !w->o->no_capture);
    for (int64_t epoch = w->v->epochs; epoch < w->epochs; ++epoch) {
        train_epoch(t, each);
        *record_at(w->v, block, epoch, member) =
            predict_windows(t->net, n, w->s, &w->v->parts->blocks[block], passes);
    }
    free_steps(each); /* another thread may train the next round */
}

static void free_trainers(trainer *trainers, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        adz_module *net = finish(&trainers[i]);
        adz_module_release(&net);
    }
    free(trainers);
}

trial try_network(const options *o, const network *n, const parts *p, const series *s, double most)
{
    validation v = new_validation(n, p, o->epochs);
    size_t count = (size_t)(BLOCKS * n->members);
    trial_work w = { o, n, s, &v, allocate(count * sizeof *w.trainers), 0 };
    trial t = { .epochs = 0 };
    while (v.epochs < o->epochs && v.epochs < t.epochs + PATIENCE &&
           !(v.epochs >= PATIENCE && t.error >= most)) {
        w.epochs = v.epochs + ROUND < o->epochs ? v.epochs + ROUND : o->epochs;
        run_crew(o->jobs, count, try_piece, &w);
        v.epochs = w.epochs;
        free_trial(&t);
        t = judge(&v, n, s);
    }
    free_trainers(w.trainers, count);
    free_validation(&v);
    return t;
}

/* ---- an ensemble ---------------------------------------------------------------------------- */

typedef struct ensemble_work {
    const options *o;
    const trial *t;
    const parts *p;
    const series *s;
    adz_module **nets;
} ensemble_work;

static void train_piece(size_t piece, void *user)
{
    const ensemble_work *w = user;
    seed_piece(&w->t->n, piece, 0);
    trainer t = make_trainer(w->o, &w->t->n, w->s, &w->p->learnt[BLOCKS]);
    steps *each = new_steps(step, &t, 3, !w->o->no_capture);
    for (int64_t epoch = 0; epoch < w->t->epochs; ++epoch) {
        train_epoch(&t, each);
    }
    free_steps(each);
    w->nets[piece] = finish(&t);
}

ensemble train_ensemble(const options *o, const trial *t, const parts *p, const series *s)
{
    size_t members = t->n.model == MODEL_LINEAR ? 0 : (size_t)t->n.members;
    ensemble_work w = { o, t, p, s, allocate((members + 1) * sizeof *w.nets) };
    if (members > 0) {
        run_crew(o->jobs, members, train_piece, &w);
    }
    ensemble e = new_ensemble(&t->n, &p->linear, t->noise, &t->known, test_start(s->n));
    for (size_t i = 0; i < members; ++i) {
        adz_module_list_append(e.root, w.nets[i]);
    }
    free(w.nets);
    return e;
}
