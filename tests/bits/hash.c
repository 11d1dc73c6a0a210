/* SHA-256 of FIPS 180-4. */
#include "hash.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t rounds[64] = { 0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b,
    0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74,
    0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3,
    0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354,
    0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
    0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3,
    0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa,
    0xa4506ceb, 0xbef9a3f7, 0xc67178f2 };

static uint32_t rotate(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static void compress(hash *h)
{
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; ++i) {
        const unsigned char *b = h->block + 4 * i;
        w[i] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    }
    for (int i = 16; i < 64; ++i) {
        const uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(s, h->state, sizeof s);
    for (int i = 0; i < 64; ++i) {
        const uint32_t e = s[4], a = s[0];
        const uint32_t t = s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                           ((e & s[5]) ^ (~e & s[6])) + rounds[i] + w[i];
        const uint32_t u = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                           ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t;
        s[0] = t + u;
    }
    for (int i = 0; i < 8; ++i) {
        h->state[i] += s[i];
    }
}

void hash_begin(hash *h)
{
    static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
        0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    memcpy(h->state, first, sizeof first);
    h->length = 0;
}

void hash_bytes(hash *h, const void *bytes, size_t n)
{
    for (const unsigned char *b = bytes; n > 0; --n, ++b) {
        h->block[h->length++ % 64] = *b;
        if (h->length % 64 == 0) {
            compress(h);
        }
    }
}

static void hash_integer(hash *h, int64_t x)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; ++i) {
        bytes[i] = (unsigned char)((uint64_t)x >> (8 * i));
    }
    hash_bytes(h, bytes, sizeof bytes);
}

/* The bits of an element, with one NaN for all. */
static uint64_t bits_of(const unsigned char *element, size_t size, bool is_float)
{
    uint64_t bits = 0;
    memcpy(&bits, element, size); /* all processors of the table are little-endian */
    if (is_float) {
        const uint64_t infinity = size == 8 ? 0x7ff0000000000000u : 0x7f800000u;
        const uint64_t sign = size == 8 ? 0x8000000000000000u : 0x80000000u;
        bits = (bits & ~sign) > infinity ? infinity | 1 : bits;
    }
    return bits;
}

void hash_tensor(hash *h, adz_tensor *t)
{
    if (t == NULL || t == ADZ_NONE) {
        hash_integer(h, -1);
        return;
    }
    adz_scope *scope = adz_scope_open();
    const bool recording = adz_set_grad_enabled(false);
    const adz_dtype dtype = adz_tensor_dtype(t);
    const adz_shape shape = adz_tensor_shape(t);
    hash_integer(h, dtype);
    for (int i = 0; i < shape.rank; ++i) {
        hash_integer(h, shape.sizes[i]);
    }
    const bool half = dtype == ADZ_F16 || dtype == ADZ_BF16;
    adz_tensor *whole = adz_contiguous(half ? adz_to(t, ADZ_F32) : adz_detach(t));
    const size_t size = adz_dtype_size(adz_tensor_dtype(whole));
    const bool is_float = half || dtype == ADZ_F32 || dtype == ADZ_F64;
    const unsigned char *data = adz_tensor_data(whole);
    for (int64_t i = 0; i < adz_tensor_numel(t); ++i) {
        hash_integer(h, (int64_t)bits_of(data + (size_t)i * size, size, is_float));
    }
    adz_set_grad_enabled(recording);
    adz_scope_close(scope);
}

void hash_end(hash *h, char text[65])
{
    const uint64_t bits = 8 * h->length;
    hash_bytes(h, "\x80", 1);
    while (h->length % 64 != 56) {
        hash_bytes(h, "", 1);
    }
    for (int i = 7; i >= 0; --i) {
        const unsigned char byte = (unsigned char)(bits >> (8 * i));
        hash_bytes(h, &byte, 1);
    }
    for (int i = 0; i < 8; ++i) {
        snprintf(text + 8 * i, 9, "%08x", h->state[i]);
    }
}
