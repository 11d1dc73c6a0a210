/* See wire.h. */
#include "wire.h"

bool adzi_reader_varint(reader_bytes *bytes, uint64_t *value)
{
    uint64_t all = 0;
    for (unsigned shift = 0; shift < 70 && bytes->size > 0; shift += 7) {
        const uint8_t byte = *bytes->at;
        ++bytes->at;
        --bytes->size;
        if (shift == 63 && byte > 1) {
            return false;
        }
        all |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = all;
            return true;
        }
    }
    return false;
}

/* Reads a little-endian number of n bytes. */
static bool fixed(reader_bytes *bytes, size_t n, uint64_t *value)
{
    if (bytes->size < n) {
        return false;
    }
    *value = 0;
    for (size_t i = 0; i < n; ++i) {
        *value |= (uint64_t)bytes->at[i] << (8 * i);
    }
    bytes->at += n;
    bytes->size -= n;
    return true;
}

int adzi_reader_next(reader_bytes *message, reader_field *field)
{
    uint64_t key;
    *field = (reader_field){ 0 };
    if (message->size == 0) {
        return 0;
    }
    if (!adzi_reader_varint(message, &key) || key >> 3 == 0 || key >> 3 > 0x1fffffff) {
        return -1;
    }
    field->number = (uint32_t)(key >> 3);
    field->kind = (int)(key & 7);
    switch (field->kind) {
    case WIRE_VARINT:
        return adzi_reader_varint(message, &field->value) ? 1 : -1;
    case WIRE_FIXED64:
        return fixed(message, 8, &field->value) ? 1 : -1;
    case WIRE_FIXED32:
        return fixed(message, 4, &field->value) ? 1 : -1;
    case WIRE_BYTES:
        if (!adzi_reader_varint(message, &field->value) || field->value > message->size) {
            return -1;
        }
        field->bytes = (reader_bytes){ message->at, (size_t)field->value };
        message->at += field->value;
        message->size -= (size_t)field->value;
        return 1;
    default:
        return -1;
    }
}
