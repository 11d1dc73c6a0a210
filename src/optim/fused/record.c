/* Putting the launches of an update off: Note [Updates by blocks] in fused.c. */
#include "optim/fused/record.h"

#include <string.h>

static adzi_fused *of(adzi_capture *capture)
{
    return (adzi_fused *)(void *)capture;
}

/* ---- launches that cannot wait -------------------------------------------------------------- */

void adzi_fused_end_capture(adzi_fused *f)
{
    if (f->running) {
        f->running = false;
        adzi_capture_end();
    }
}

void adzi_fused_run_all(adzi_fused *f)
{
    f->done = true;
    for (int i = 0; i < f->n_steps; ++i) {
        const adzi_fused_step *s = &f->steps[i];
        adzi_launch_sized(s->kernel, &s->args, s->size, f->count, ADZI_FUSED_GRAIN);
    }
}

static void interrupted(adzi_capture *capture)
{
    adzi_fused *f = of(capture);
    adzi_fused_end_capture(f);
    if (!f->done) {
        adzi_fused_run_all(f);
    }
}

/* ---- operands ------------------------------------------------------------------------------- */

/* The temporary whose memory has this address, or -1. */
int adzi_fused_temporary_at(const adzi_fused *f, const char *address)
{
    for (int i = f->n_temporaries - 1; i >= 0; --i) {
        const adzi_fused_temporary *t = &f->temporaries[i];
        if (address >= t->begin && address < t->begin + (size_t)f->count * t->item) {
            return i;
        }
    }
    return -1;
}

int adzi_fused_input_at(const adzi_fused *f, const char *address)
{
    int found = -1;
    for (int i = 0; i < f->n_inputs && found < 0; ++i) {
        found = f->inputs[i] == address ? i : -1;
    }
    return found;
}

static bool was_allocated(const adzi_fused *f, const char *begin, size_t bytes)
{
    bool found = false;
    for (int i = 0; i < f->n_blocks && !found; ++i) {
        found = begin >= f->blocks[i].begin && begin + bytes <= f->blocks[i].end;
    }
    return found;
}

static void move(adzi_fused_step *s, size_t at, int i)
{
    s->moved[s->n_moved++] = (adzi_fused_moved){ at, i };
}

/* The address at an offset of the arguments. */
static const char *address_at(const adzi_fused_step *s, size_t at)
{
    const char *address;
    memcpy(&address, (const char *)&s->args + at, sizeof address);
    return address;
}

/* A contiguous input. */
static bool add_array(adzi_fused *f, adzi_fused_step *s, size_t at, size_t item)
{
    const char *address = address_at(s, at);
    const int i = adzi_fused_temporary_at(f, address);
    if (i < 0) {
        const int input = adzi_fused_input_at(f, address);
        if (input >= 0) {
            f->last_read[input] = f->n_steps;
        }
        return input >= 0 && item == f->item;
    }
    adzi_fused_temporary *t = &f->temporaries[i];
    t->last = f->n_steps;
    move(s, at, i);
    return address == t->begin && item == t->item;
}

/* An input of one element, which keeps the value that it has now. */
static bool add_number(adzi_fused *f, adzi_fused_step *s, size_t at, size_t item)
{
    const char *address = address_at(s, at);
    if (f->n_numbers == ADZI_FUSED_NUMBERS || adzi_fused_temporary_at(f, address) >= 0) {
        return false;
    }
    uint64_t *number = &f->numbers[f->n_numbers++];
    memcpy(number, address, item);
    memcpy((char *)&s->args + at, &number, sizeof number);
    return true;
}

static bool add_output(adzi_fused *f, adzi_fused_step *s, size_t at, size_t item)
{
    const char *address = address_at(s, at);
    const int before = adzi_fused_temporary_at(f, address);
    if (before >= 0) { /* changed in place */
        return add_array(f, s, at, item);
    }
    if (f->n_temporaries == ADZI_FUSED_TEMPORARIES ||
        !was_allocated(f, address, (size_t)f->count * item)) {
        return false;
    }
    f->temporaries[f->n_temporaries] = (adzi_fused_temporary){
        .begin = address, .item = item, .first = f->n_steps, .last = f->n_steps
    };
    move(s, at, f->n_temporaries++);
    return true;
}

static bool is_scalar(const adzi_pointwise_args *a, int k)
{
    bool scalar = !a->flat;
    for (int d = 0; d < a->rank && scalar; ++d) {
        scalar = a->in_strides[k][d] == 0;
    }
    return scalar;
}

static bool add_input(adzi_fused *f, adzi_fused_step *s, int k, size_t item)
{
    const adzi_pointwise_args *a = &s->args.pointwise;
    const size_t at = offsetof(adzi_pointwise_args, in) + (size_t)k * sizeof *a->in;
    if (is_scalar(a, k)) {
        return add_number(f, s, at, item);
    }
    return (a->flat || adzi_operand_is_contiguous(a, a->in_strides[k])) &&
           add_array(f, s, at, item);
}

static bool add_operands(adzi_fused *f, adzi_fused_step *s, const uint8_t *items)
{
    if (f->fills) {
        return s->args.fill.rank == 0 && add_output(f, s, offsetof(adzi_fill_args, out), items[0]);
    }
    const adzi_pointwise_args *a = &s->args.pointwise;
    bool good = a->flat || adzi_operand_is_contiguous(a, a->out_strides);
    for (int k = 0; k < ADZI_POINTWISE_INPUTS && items[1 + k] != 0 && good; ++k) {
        good = add_input(f, s, k, items[1 + k]);
    }
    if (good && a->factor != NULL) {
        good = add_number(f, s, offsetof(adzi_pointwise_args, factor), items[1]);
    }
    return good && add_output(f, s, offsetof(adzi_pointwise_args, out), items[0]);
}

/* ---- the capture ---------------------------------------------------------------------------- */

static bool add_step(adzi_fused *f, adzi_kernel kernel, const void *args, size_t size)
{
    if (f->n_steps == ADZI_FUSED_STEPS) {
        return false;
    }
    adzi_fused_step *s = &f->steps[f->n_steps];
    *s = (adzi_fused_step){ .kernel = kernel, .size = size };
    memcpy(&s->args, args, size);
    if (!add_operands(f, s, f->items)) {
        return false;
    }
    ++f->n_steps;
    return true;
}

/* Whether a launch uses nothing that waits. */
static bool is_apart(
    const adzi_fused *f, const void *args, const adzi_args_layout *layout, size_t size)
{
    bool apart = true;
    size_t at;
    for (adzi_address_cursor all = { layout->addresses, size, 0 };
         apart && adzi_next_address(&all, &at);) {
        const char *address;
        memcpy(&address, (const char *)args + at, sizeof address);
        apart = adzi_fused_temporary_at(f, address) < 0;
    }
    return apart;
}

static void launched(adzi_capture *capture, adzi_kernel kernel, const void *args,
    const adzi_args_layout *layout, size_t size, int64_t units, int64_t grain)
{
    adzi_fused *f = of(capture);
    (void)grain;
    const bool elementwise = f->items[0] != 0;
    if (elementwise && units == f->count) {
        capture->delays = add_step(f, kernel, args, size);
    }
    const bool may_run = elementwise && units == 1 && is_apart(f, args, layout, size);
    memset(f->items, 0, sizeof f->items);
    if (!capture->delays && !may_run) {
        interrupted(capture);
    }
}

static void elementwise(adzi_capture *capture, const uint8_t *items, bool fills)
{
    memcpy(of(capture)->items, items, ADZI_ELEMENTWISE_OPERANDS);
    of(capture)->fills = fills;
}

static void allocated(adzi_capture *capture, char *block, size_t bytes)
{
    adzi_fused *f = of(capture);
    if (bytes < (size_t)f->count) {
        return;
    }
    if (f->n_blocks == ADZI_FUSED_TEMPORARIES) {
        interrupted(capture);
        return;
    }
    f->blocks[f->n_blocks++] = (adzi_fused_range){ block, block + bytes };
}

static void freed(adzi_capture *capture, char *block, size_t bytes)
{
    if (bytes >= (size_t)of(capture)->count) {
        interrupted(capture);
    }
    (void)block;
}

static void repeated(adzi_capture *capture, adzi_host_function function, const void *args,
    const adzi_args_layout *layout, size_t size)
{
    (void)function, (void)args, (void)layout, (void)size;
    interrupted(capture);
}

static void updates(adzi_capture *capture, adz_tensor *const *tensors, int n)
{
    (void)tensors, (void)n;
    interrupted(capture);
}

static bool host_may(adzi_capture *capture, const adz_tensor *t)
{
    (void)t;
    interrupted(capture);
    return true;
}

static bool computed(adzi_capture *capture, const adz_tensor *t)
{
    (void)capture, (void)t;
    return true;
}

static void ignore_bytes(adzi_capture *capture, char *data, size_t bytes)
{
    (void)capture, (void)data, (void)bytes;
}

static void ignore_tensor(adzi_capture *capture, adz_tensor *t)
{
    (void)capture, (void)t;
}

static void ignore_number(adzi_capture *capture, double value)
{
    (void)capture, (void)value;
}

static void ignore_gradient(adzi_capture *capture, struct adzi_gradient *gradient)
{
    (void)capture, (void)gradient;
}

static void ignore_site(adzi_capture *capture, const char *file, int line)
{
    (void)capture, (void)file, (void)line;
}

static void replaced(
    adzi_capture *capture, struct adz_module *module, const char *name, adz_tensor *old)
{
    (void)module, (void)name, (void)old;
    interrupted(capture);
}

static void ignore_call(adzi_capture *capture, const char *op, adz_tensor *const *in, int n)
{
    (void)capture, (void)op, (void)in, (void)n;
}

void adzi_fused_begin_capture(adzi_fused *f)
{
    f->capture = (adzi_capture){ .launched = launched,
        .elementwise = elementwise,
        .repeated = repeated,
        .updates = updates,
        .allocated = allocated,
        .freed = freed,
        .stored = ignore_bytes,
        .constant = ignore_tensor,
        .written = ignore_tensor,
        .host_may_use = host_may,
        .host_may_read = host_may,
        .number = ignore_number,
        .gradient = ignore_gradient,
        .sited = ignore_site,
        .replaced = replaced,
        .entered = ignore_call,
        .computed = computed,
        .interrupted = interrupted };
    f->running = true;
    adzi_capture_begin(&f->capture);
}
