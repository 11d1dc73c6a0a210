/* Protocol Buffers, as far as ONNX files need them: messages are written into memory, field by
 * field (https://protobuf.dev/programming-guides/encoding). */
#ifndef ADZI_EXPORT_PROTOBUF_H
#define ADZI_EXPORT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/** A message that is being written; all zeros is empty. `failed` is set if memory was refused. */
typedef adzi_text adzi_message;

/** Fields of a message: an integer, a float, bytes or text, and a message inside the message. */
void adzi_pb_int(adzi_message *m, int field, int64_t value);
void adzi_pb_float(adzi_message *m, int field, float value);
void adzi_pb_string(adzi_message *m, int field, const char *text);

/** Adds `inner` as a field and frees it. */
void adzi_pb_message(adzi_message *m, int field, adzi_message *inner);

/** Adds what stands before `n` bytes of a field that are written later. */
void adzi_pb_head(adzi_message *m, int field, uint64_t n);

/** Bytes of a number as a varint. */
size_t adzi_pb_varint_size(uint64_t value);

#endif
