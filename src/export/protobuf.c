/* Writes the wire format of protobuf, as far as ONNX files need it. */
#include "export/protobuf.h"

#include <string.h>

/* A field begins with its number and its wire type, as one varint. A varint has 7 bits per byte,
 * least significant first; the highest bit says that another byte follows. */
enum { VARINT = 0, LENGTH = 2, FIXED32 = 5 };

static void put_varint(adzi_message *m, uint64_t value)
{
    char bytes[10];
    size_t n = 0;
    do {
        const unsigned low = (unsigned)(value & 0x7f);
        value >>= 7;
        bytes[n++] = (char)(unsigned char)(low | (value != 0 ? 0x80u : 0));
    } while (value != 0);
    adzi_text_add_n(m, bytes, n);
}

static void put_tag(adzi_message *m, int field, unsigned type)
{
    put_varint(m, (uint64_t)field << 3 | type);
}

void adzi_pb_int(adzi_message *m, int field, int64_t value)
{
    put_tag(m, field, VARINT);
    put_varint(m, (uint64_t)value);
}

/* Little-endian, whatever the processor is. */
void adzi_pb_float(adzi_message *m, int field, float value)
{
    uint32_t bits;
    char bytes[4];
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; ++i) {
        bytes[i] = (char)(unsigned char)(bits >> (8 * i));
    }
    put_tag(m, field, FIXED32);
    adzi_text_add_n(m, bytes, sizeof bytes);
}

void adzi_pb_head(adzi_message *m, int field, uint64_t n)
{
    put_tag(m, field, LENGTH);
    put_varint(m, n);
}

static void add_bytes(adzi_message *m, int field, const void *bytes, size_t n)
{
    adzi_pb_head(m, field, n);
    if (n > 0) {
        adzi_text_add_n(m, bytes, n);
    }
}

void adzi_pb_string(adzi_message *m, int field, const char *text)
{
    add_bytes(m, field, text, strlen(text));
}

void adzi_pb_message(adzi_message *m, int field, adzi_message *inner)
{
    add_bytes(m, field, inner->data, inner->length);
    m->failed = m->failed || inner->failed;
    adzi_text_free(inner);
}

size_t adzi_pb_varint_size(uint64_t value)
{
    size_t n = 1;
    for (; value > 0x7f; value >>= 7) {
        ++n;
    }
    return n;
}
