/* The wire format of Protocol Buffers, read in place
 * (https://protobuf.dev/programming-guides/encoding). */
#ifndef ADZI_ONNX_WIRE_H
#define ADZI_ONNX_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of a message that have not been read yet, or of a text. */
typedef struct reader_bytes {
    const uint8_t *at;
    size_t size;
} reader_bytes;

/** The kinds of fields. */
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/** One field of a message. */
typedef struct reader_field {
    uint32_t number;
    int kind;
    uint64_t value;     /* of WIRE_VARINT, WIRE_FIXED64 and WIRE_FIXED32 */
    reader_bytes bytes; /* of WIRE_BYTES: lies inside the message */
} reader_field;

/** Reads the next field. Returns 1, 0 at the end of the message, and -1 if the bytes are no field
 * or end inside it. */
int adzi_reader_next(reader_bytes *message, reader_field *field);

/** Reads one number of a packed list; false if the bytes end inside it. */
bool adzi_reader_varint(reader_bytes *bytes, uint64_t *value);

#endif
