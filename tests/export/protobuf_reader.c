#include "protobuf_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- fields --------------------------------------------------------------------------------- */

/* One field of a message: a number, or bytes. */
typedef struct {
    int number, type;
    uint64_t whole;
    read_bytes bytes;
} field;

static uint64_t take_varint(read_bytes *m)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        assert_true(m->size > 0);
        const unsigned char byte = *m->at++;
        --m->size;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
    fail_msg("a varint of more than 10 bytes");
    return 0;
}

/* Takes the next field. False at the end of the message. */
static bool take(read_bytes *m, field *f)
{
    if (m->size == 0) {
        return false;
    }
    const uint64_t tag = take_varint(m);
    memset(f, 0, sizeof *f);
    f->number = (int)(tag >> 3);
    f->type = (int)(tag & 7);
    if (f->type == 0) {
        f->whole = take_varint(m);
        return true;
    }
    assert_true(f->type == 2 || f->type == 5);
    f->bytes.size = f->type == 5 ? 4 : (size_t)take_varint(m);
    assert_true(f->bytes.size <= m->size);
    f->bytes.at = m->at;
    m->at += f->bytes.size;
    m->size -= f->bytes.size;
    return true;
}

/* ---- messages ------------------------------------------------------------------------------- */

static void read_attribute_message(read_bytes m, read_attribute *a)
{
    for (field f; take(&m, &f);) {
        if (f.number == 1) {
            a->name = f.bytes;
        } else if (f.number == 2) {
            memcpy(&a->number, f.bytes.at, 4);
        } else if (f.number == 3) {
            a->whole = (int64_t)f.whole;
        } else if (f.number == 4 || f.number == 9) { /* a text, or a list of one */
            a->text = f.bytes;
        } else if (f.number == 8) {
            assert_true(a->n < READ_LISTED);
            a->list[a->n++] = (int64_t)f.whole;
        } else {
            assert_int_equal(f.number, 20);
            a->type = (int64_t)f.whole;
        }
    }
}

static void read_node_message(read_bytes m, read_node *n)
{
    for (field f; take(&m, &f);) {
        if (f.number == 1 || f.number == 2) {
            int *count = f.number == 1 ? &n->n_in : &n->n_out;
            assert_true(*count < READ_LISTED);
            (f.number == 1 ? n->in : n->out)[(*count)++] = f.bytes;
        } else if (f.number == 3) {
            n->name = f.bytes;
        } else if (f.number == 4) {
            n->type = f.bytes;
        } else {
            assert_true(f.number == 5 && n->n_attributes < 8);
            read_attribute_message(f.bytes, &n->attributes[n->n_attributes++]);
        }
    }
}

static void read_tensor_message(read_bytes m, read_tensor *t)
{
    for (field f; take(&m, &f);) {
        if (f.number == 1) {
            assert_true(t->rank < 8);
            t->dims[t->rank++] = (int64_t)f.whole;
        } else if (f.number == 2) {
            t->type = (int64_t)f.whole;
        } else if (f.number == 8) {
            t->name = f.bytes;
        } else {
            assert_int_equal(f.number, 9);
            t->raw = f.bytes;
        }
    }
}

static void read_shape_message(read_bytes m, read_tensor *t)
{
    for (field f; take(&m, &f);) {
        assert_true(f.number == 1 && t->rank < 8);
        field dim;
        int64_t size = -1;
        while (take(&f.bytes, &dim)) {
            size = dim.number == 1 ? (int64_t)dim.whole : size;
            t->param = dim.number == 2 ? dim.bytes : t->param;
        }
        t->dims[t->rank++] = size;
    }
}

/* ValueInfoProto, with its TypeProto and the TypeProto.Tensor inside. */
static void read_info_message(read_bytes m, read_tensor *t)
{
    for (field f; take(&m, &f);) {
        if (f.number == 1) {
            t->name = f.bytes;
            continue;
        }
        field type, part;
        assert_int_equal(f.number, 2);
        assert_true(take(&f.bytes, &type) && type.number == 1);
        while (take(&type.bytes, &part)) {
            if (part.number == 1) {
                t->type = (int64_t)part.whole;
            } else {
                read_shape_message(part.bytes, t);
            }
        }
    }
}

static void read_graph_message(read_bytes m, read_model *model)
{
    for (field f; take(&m, &f);) {
        switch (f.number) {
        case 1:
            assert_true(model->n_nodes < READ_NODES);
            read_node_message(f.bytes, &model->nodes[model->n_nodes++]);
            break;
        case 5:
            assert_true(model->n_initialisers < READ_TENSORS);
            read_tensor_message(f.bytes, &model->initialisers[model->n_initialisers++]);
            break;
        case 11:
            assert_true(model->n_inputs < 40);
            read_info_message(f.bytes, &model->inputs[model->n_inputs++]);
            break;
        case 12:
            assert_true(model->n_outputs < 8);
            read_info_message(f.bytes, &model->outputs[model->n_outputs++]);
            break;
        default:
            assert_int_equal(f.number, 2); /* the graph's name */
        }
    }
}

/* ---- the file ------------------------------------------------------------------------------- */

static void read_file(read_model *model, const char *path)
{
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    assert_int_equal(fseek(stream, 0, SEEK_END), 0);
    model->size = (size_t)ftell(stream);
    rewind(stream);
    model->file = malloc(model->size + 1);
    assert_non_null(model->file);
    assert_true(fread(model->file, 1, model->size, stream) == model->size);
    fclose(stream);
}

read_model *read_model_file(const char *path)
{
    read_model *model = calloc(1, sizeof *model);
    assert_non_null(model);
    read_file(model, path);
    read_bytes m = { model->file, model->size };
    for (field f; take(&m, &f);) {
        if (f.number == 1) {
            model->ir_version = (int64_t)f.whole;
        } else if (f.number == 2) {
            model->producer = f.bytes;
        } else if (f.number == 8) {
            for (field part; take(&f.bytes, &part);) {
                model->opset = part.number == 2 ? (int64_t)part.whole : model->opset;
            }
        } else if (f.number == 7) {
            read_graph_message(f.bytes, model);
        } else {
            assert_int_equal(f.number, 3); /* the producer's version */
        }
    }
    return model;
}

void read_model_free(read_model *model)
{
    free(model->file);
    free(model);
}

bool read_is(read_bytes bytes, const char *text)
{
    return bytes.size == strlen(text) &&
           (bytes.size == 0 || memcmp(bytes.at, text, bytes.size) == 0);
}

const read_attribute *read_attribute_of(const read_node *node, const char *name)
{
    for (int i = 0; i < node->n_attributes; ++i) {
        if (read_is(node->attributes[i].name, name)) {
            return &node->attributes[i];
        }
    }
    return NULL;
}

const read_tensor *read_initialiser(const read_model *model, const char *name)
{
    for (int i = 0; i < model->n_initialisers; ++i) {
        if (read_is(model->initialisers[i].name, name)) {
            return &model->initialisers[i];
        }
    }
    return NULL;
}
