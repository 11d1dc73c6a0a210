/* Chains: elementwise calls that follow each other, as one loop. A result that only calls of the
 * chain read is a local variable of the loop and takes no memory.
 *
 * In a separate loop, a call reads its inputs before later calls write anything. In a joined loop
 * an element is read and written by all calls before the next element. So both compute the same
 * where all calls that use a memory, of which one writes to it, use it by the same layout. */
#include <stdio.h>
#include <string.h>

#include "export/c99/program.h"

/* Compilers give up on vectors where a loop has too many arrays. */
enum { MOST_CALLS = 32, MOST_ACCESSES = 4 * MOST_CALLS, MOST_ELEMENTS = 16 };

/* A call reads or writes a memory. Strides are those of the loop's dimensions. */
typedef struct {
    int call;  /* in the chain */
    int input; /* -1: the result */
    adzi_c99_value value;
} access;

typedef struct {
    const adzi_trace *trace;
    const adzi_c99_call *calls;
    int n;
    access accesses[MOST_ACCESSES];
    int n_accesses;
} chain;

/* ---- what a call uses ----------------------------------------------------------------------- */

/* The value, with the dimensions of `shape`, to which it broadcasts. */
static adzi_c99_value broadcast(const adzi_c99_value *value, const adzi_c99_value *shape)
{
    adzi_c99_value wide = *shape;
    const int missing = shape->rank - value->rank;
    wide.memory = value->memory;
    wide.offset = value->offset;
    wide.dtype = value->dtype;
    for (int d = 0; d < shape->rank; ++d) {
        const bool stays = d < missing || value->sizes[d - missing] == 1;
        wide.strides[d] = stays ? 0 : value->strides[d - missing];
    }
    return wide;
}

static bool same_layout(const adzi_c99_value *a, const adzi_c99_value *b)
{
    bool same = a->memory == b->memory && a->offset == b->offset;
    for (int d = 0; d < a->rank && same; ++d) {
        same = a->strides[d] == b->strides[d];
    }
    return same;
}

static bool same_shape(const adzi_c99_value *a, const adzi_c99_value *b)
{
    bool same = a->rank == b->rank;
    for (int d = 0; d < a->rank && same; ++d) {
        same = a->sizes[d] == b->sizes[d];
    }
    return same;
}

/* Adds the accesses of the next call: the inputs that its expression reads, and the result. */
static void add_accesses(const adzi_c99 *c, chain *h, const adzi_c99_call *call)
{
    const adzi_c99_value *y = adzi_c99_out(c, call, 0);
    const unsigned reads = adzi_c99_reads(c, call);
    for (int i = 0; i < 3; ++i) {
        if (reads >> i & 1u) {
            h->accesses[h->n_accesses++] = (access){
                .call = h->n, .input = i, .value = broadcast(adzi_c99_in(c, call, i), y)
            };
        }
    }
    h->accesses[h->n_accesses++] = (access){ .call = h->n, .input = -1, .value = broadcast(y, y) };
    ++h->n;
}

static void remove_last(chain *h)
{
    --h->n;
    while (h->n_accesses > 0 && h->accesses[h->n_accesses - 1].call == h->n) {
        --h->n_accesses;
    }
}

/* ---- which calls are joined ----------------------------------------------------------------- */

static bool writes(const access *a)
{
    return a->input < 0;
}

/* True if the last call can be joined: two calls of the chain use a memory that one of them writes
 * only by the same layout. */
static bool last_agrees(const chain *h)
{
    for (int i = 0; i < h->n_accesses; ++i) {
        for (int k = 0; k < i; ++k) {
            const access *a = &h->accesses[i], *b = &h->accesses[k];
            if (a->call == h->n - 1 && a->value.memory == b->value.memory &&
                (writes(a) || writes(b)) && !same_layout(&a->value, &b->value)) {
                return false;
            }
        }
    }
    return true;
}

static bool uses(const adzi_c99 *c, const adzi_c99_call *call, int memory)
{
    bool used = false;
    for (int k = 0; k < call->n_in && !used; ++k) {
        used = call->in[k] >= 0 && c->values[call->in[k]].memory == memory;
    }
    for (int k = 0; k < call->n_out && !used; ++k) {
        used = c->values[call->out[k]].memory == memory;
    }
    return used;
}

/* True if something outside the chain uses the memory: another call, the end of the function, or
 * whoever called it. */
static bool is_kept(const adzi_c99 *c, const chain *h, int memory)
{
    const adzi_c99_memory *m = &c->memories[memory];
    bool kept =
        m->kind != ADZI_C99_BUFFER || m->start >= 0 || adzi_c99_is_read_last(c, h->trace, memory);
    for (size_t i = 0; i < c->n_calls && !kept; ++i) {
        const adzi_c99_call *call = &c->calls[i];
        if (call >= h->calls && call < h->calls + h->n) {
            continue;
        }
        kept = uses(c, call, memory);
    }
    return kept;
}

/* The call of the chain that writes the memory before `call`; -1 if there is none. */
static int writer_before(const chain *h, int memory, int call)
{
    int writer = -1;
    for (int i = 0; i < h->n_accesses; ++i) {
        const access *a = &h->accesses[i];
        if (writes(a) && a->call < call && a->value.memory == memory) {
            writer = a->call;
        }
    }
    return writer;
}

/* What the chain does with a result: it stores the last one of a memory that is kept, and gives a
 * name to one that a later call reads. */
static bool is_last_writer(const chain *h, int call, int memory)
{
    return writer_before(h, memory, h->n) == call;
}

/* The first access with the same layout. */
static int first_of(const chain *h, int i)
{
    int first = 0;
    while (!same_layout(&h->accesses[first].value, &h->accesses[i].value)) {
        ++first;
    }
    return first;
}

/* True if the loop reads or stores the element of an access, and does not keep it to itself. */
static bool is_outside(const adzi_c99 *c, const chain *h, const access *a)
{
    const int memory = a->value.memory;
    return writes(a) ? is_last_writer(h, a->call, memory) && is_kept(c, h, memory)
                     : writer_before(h, memory, a->call) < 0;
}

/* How many different elements the loop reads and stores. */
static int elements_of(const adzi_c99 *c, const chain *h)
{
    int n = 0;
    for (int i = 0; i < h->n_accesses; ++i) {
        bool known = !is_outside(c, h, &h->accesses[i]);
        for (int k = 0; k < i && !known; ++k) {
            known = first_of(h, k) == first_of(h, i) && is_outside(c, h, &h->accesses[k]);
        }
        n += !known;
    }
    return n;
}

/* How many memories calls before number `cut` write and calls from there on use. */
static int crossing(const chain *h, int cut)
{
    int n = 0;
    for (int i = 0; i < h->n_accesses; ++i) {
        bool used = false;
        for (int k = 0; k < h->n_accesses; ++k) {
            used = used || (h->accesses[k].call >= cut &&
                               h->accesses[k].value.memory == h->accesses[i].value.memory);
        }
        n += h->accesses[i].call < cut && writes(&h->accesses[i]) && used;
    }
    return n;
}

/* Ends a chain before the calls that use nothing of it. Where the loop had no room for the call
 * that followed, it ends where the fewest results have to be stored. */
static void cut_chain(chain *h, bool full)
{
    int best = h->n, least = full ? MOST_ACCESSES : 0;
    for (int cut = 1; cut < h->n; ++cut) {
        const int results = crossing(h, cut);
        if (results == 0) {
            best = cut;
            break;
        }
        if (full && results <= least) {
            best = cut;
            least = results;
        }
    }
    while (h->n > best) {
        remove_last(h);
    }
}

/* The longest chain that begins with a call; at least that call. */
static void find_chain(const adzi_c99 *c, size_t first, chain *h)
{
    const adzi_c99_call *calls = &c->calls[first];
    const adzi_c99_value *shape = adzi_c99_out(c, calls, 0);
    bool full = false;
    h->calls = calls;
    h->n = h->n_accesses = 0;
    for (size_t i = 0; first + i < c->n_calls && !full; ++i) {
        if (!adzi_c99_is_elementwise(&calls[i]) ||
            !same_shape(adzi_c99_out(c, &calls[i], 0), shape)) {
            break;
        }
        full = h->n == MOST_CALLS;
        if (!full) {
            add_accesses(c, h, &calls[i]);
            const bool agrees = last_agrees(h);
            full = agrees && elements_of(c, h) > MOST_ELEMENTS;
            if (!agrees || full) {
                remove_last(h);
            }
            if (!agrees) {
                break;
            }
        }
    }
    if (h->n > 0) {
        cut_chain(h, full);
    }
    while (
        h->n > 1 && elements_of(c, h) > ADZI_C99_OPERANDS) { /* cutting has more of them stored */
        remove_last(h);
    }
}

/* ---- printing ------------------------------------------------------------------------------- */

static bool is_read(const chain *h, int call)
{
    for (int i = 0; i < h->n_accesses; ++i) {
        const access *a = &h->accesses[i];
        if (!writes(a) && writer_before(h, a->value.memory, a->call) == call) {
            return true;
        }
    }
    return false;
}

/* Adds the elements that the loop reads or stores. operand[i] is that of access i, or -1. */
static void add_operands(
    const adzi_c99 *c, const chain *h, adzi_c99_nest *nest, int operand[MOST_ACCESSES])
{
    for (int i = 0; i < h->n_accesses; ++i) {
        const access *a = &h->accesses[i];
        operand[i] = -1;
        for (int k = first_of(h, i); k < i && operand[i] < 0; ++k) {
            operand[i] = same_layout(&h->accesses[k].value, &a->value) ? operand[k] : -1;
        }
        if (operand[i] < 0 && is_outside(c, h, a)) {
            operand[i] = adzi_c99_nest_add(nest, &a->value);
        }
    }
}

/* Prints the call whose accesses begin with number `at`. */
static void print_call(adzi_c99 *c, const chain *h, int at, const adzi_c99_nest *nest,
    const int operand[MOST_ACCESSES])
{
    const int k = h->accesses[at].call;
    const adzi_c99_call *call = &h->calls[k];
    char names[3][16];
    const char *parts[3] = { NULL, NULL, NULL };
    const access *a = &h->accesses[at];
    for (; !writes(a); ++a) {
        const int writer = writer_before(h, a->value.memory, k);
        snprintf(names[a->input], sizeof names[0], "e%d", writer);
        parts[a->input] =
            writer >= 0 ? names[a->input] : nest->operand[operand[a - h->accesses]].text;
    }
    adzi_text text = { 0 };
    c->current = call->op->name;
    adzi_c99_add_element(c, call, parts, &text);
    const int memory = a->value.memory, to = operand[a - h->accesses];
    const bool stored = is_last_writer(h, k, memory) && is_kept(c, h, memory);
    const bool named = is_read(h, k);
    if (named) {
        adzi_c99_line(
            c, "const %s e%d = %s;", adzi_c99_type(a->value.dtype), k, adzi_text_get(&text));
    }
    if (stored && named) {
        adzi_c99_line(c, "%s = e%d;", nest->operand[to].text, k);
    } else if (stored) {
        adzi_c99_line(c, "%s = %s;", nest->operand[to].text, adzi_text_get(&text));
    }
    if (text.failed) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the text of the C file");
    }
    adzi_text_free(&text);
}

/* True if the value is all of a buffer, in row-major order. */
static bool is_whole_buffer(const adzi_c99 *c, const adzi_c99_value *value)
{
    const adzi_c99_memory *m = &c->memories[value->memory];
    int64_t stride = 1;
    bool whole = m->kind == ADZI_C99_BUFFER && value->offset == 0 && m->count == value->numel;
    for (int d = value->rank - 1; d >= 0 && whole; --d) {
        whole = value->sizes[d] == 1 || value->strides[d] == stride;
        stride *= value->sizes[d];
    }
    return whole;
}

/* Whether the loop has read all that it reads of a memory when call number `call` stores its
 * element, and has read it there alone. */
static bool is_read_before(const adzi_c99 *c, const chain *h, int memory, int call)
{
    bool read = false, before = true;
    for (int i = 0; i < h->n_accesses; ++i) {
        const access *a = &h->accesses[i];
        if (a->value.memory == memory) {
            read = true;
            before = before && !writes(a) && a->call <= call && is_whole_buffer(c, &a->value);
        }
    }
    return read && before;
}

/* Whether a buffer is needed after the chain. */
static bool is_needed_later(const adzi_c99 *c, const chain *h, int memory)
{
    bool needed = adzi_c99_is_read_last(c, h->trace, memory);
    for (const adzi_c99_call *call = h->calls + h->n; call < c->calls + c->n_calls; ++call) {
        needed = needed || uses(c, call, memory);
    }
    return needed;
}

/* The buffer of an operand whose elements call number `call` may overwrite with its own; -1: none.
 */
static int replaced_by(const adzi_c99 *c, const chain *h, int call, adz_dtype dtype)
{
    for (int i = 0; i < h->n_accesses; ++i) {
        const int memory = h->accesses[i].value.memory;
        const adzi_c99_memory *m = &c->memories[memory];
        bool free = m->kind == ADZI_C99_BUFFER && m->dtype == dtype && m->first >= 0 &&
                    m->first > adzi_c99_loop_step(c) && is_read_before(c, h, memory, call) &&
                    !is_needed_later(c, h, memory);
        for (size_t k = 0; k < c->n_memories && free; ++k) {
            free = c->memories[k].replaces != memory;
        }
        if (free) {
            return memory;
        }
    }
    return -1;
}

/* Notes which of the stored results can lie where an operand of the loop lies. */
static void note_replacements(adzi_c99 *c, const chain *h)
{
    for (int i = 0; i < h->n_accesses; ++i) {
        const access *a = &h->accesses[i];
        adzi_c99_memory *m = &c->memories[a->value.memory];
        if (writes(a) && m->first == c->step && m->start < 0 && is_whole_buffer(c, &a->value)) {
            m->replaces = replaced_by(c, h, a->call, m->dtype);
        }
    }
}

static void print_chain(adzi_c99 *c, const chain *h)
{
    const adzi_c99_value *shape = adzi_c99_out(c, h->calls, 0);
    int operand[MOST_ACCESSES];
    adzi_c99_nest nest = adzi_c99_nest_of(shape->rank, shape->sizes);
    ++c->step;
    for (int k = 0; k < h->n; ++k) {
        if (!adzi_c99_begin_call(c, &h->calls[k])) {
            return;
        }
    }
    add_operands(c, h, &nest, operand);
    adzi_c99_nest_open(c, &nest);
    if (nest.loops == 0) {
        adzi_c99_open(c, "{");
    }
    for (int i = 0; i < h->n_accesses; ++i) {
        if (i == 0 || h->accesses[i].call != h->accesses[i - 1].call) {
            print_call(c, h, i, &nest, operand);
        }
    }
    if (nest.loops == 0) {
        adzi_c99_close(c);
    }
    adzi_c99_nest_close(c, &nest);
    note_replacements(c, h);
}

void adzi_c99_forward_all(adzi_c99 *c, const adzi_trace *trace)
{
    for (size_t i = 0; i < c->n_calls && !c->failed;) {
        chain h = { .trace = trace };
        find_chain(c, i, &h);
        if (h.n > 1) {
            print_chain(c, &h);
            i += (size_t)h.n;
        } else {
            adzi_c99_forward(c, &c->calls[i++]);
            if (h.n == 1) {
                note_replacements(c, &h);
            }
        }
    }
}
