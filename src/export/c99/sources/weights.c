/* The functions of C files that read and write the file of weights (export/c99/weights). */
#include <stdint.h>

/* Copies n elements of `size` bytes to a file or from it. Its numbers are little-endian. */
static void net_weights_move(unsigned char *to, const unsigned char *from, long n, int size)
{
    const uint32_t one = 1;
    const long flip = *(const unsigned char *)&one == 1 ? 0 : size - 1;
    for (long i = 0; i < n * size; ++i) {
        to[i ^ flip] = from[i];
    }
}

/* Copies integers of an array to integers of 8 bytes. */
static void net_weights_put_whole(unsigned char *to, const int32_t *from, long n)
{
    for (long i = 0; i < n; ++i) {
        const int64_t x = from[i];
        net_weights_move(to + 8 * i, (const unsigned char *)&x, 1, 8);
    }
}

/* Copies integers of 8 bytes to an array; to none if `to` is 0. Returns 0 if one does not fit. */
static int net_weights_take_whole(int32_t *to, const unsigned char *from, long n)
{
    for (long i = 0; i < n; ++i) {
        int64_t x;
        net_weights_move((unsigned char *)&x, from + 8 * i, 1, 8);
        if (x < INT32_MIN || x > INT32_MAX) {
            return 0;
        }
        if (to != 0) {
            to[i] = (int32_t)x;
        }
    }
    return 1;
}

static int net_weights_same(const unsigned char *a, const unsigned char *b, long n)
{
    int same = 1;
    for (long i = 0; i < n && same; ++i) {
        same = a[i] == b[i];
    }
    return same;
}

/* Whether n elements of a file are those of an array. */
static int net_weights_equal(
    const unsigned char *file, const unsigned char *array, long n, int size)
{
    int equal = 1;
    for (long i = 0; i < n && equal; ++i) {
        unsigned char element[8];
        net_weights_move(element, array + i * size, 1, size);
        equal = net_weights_same(file + i * size, element, size);
    }
    return equal;
}

/* Gives the tensor of a state another name while there is no such state. */
static void net_weights_absent(unsigned char *name, int absent)
{
    for (int i = 0; i < 5 && absent; ++i) {
        name[i] = (unsigned char)"fresh"[i];
    }
}

/* Whether a count of steps can be that of all parameters, of which the earlier ones have *steps. */
static int net_weights_agree(int64_t x, int64_t *steps)
{
    const int agree = x >= 0 && x >> 53 == 0 && (*steps < 0 || *steps == x);
    *steps = x;
    return agree;
}

/* The count of steps in a file. */
static int64_t net_weights_steps(const unsigned char *from)
{
    int64_t x = 0;
    if (from != 0) {
        net_weights_move((unsigned char *)&x, from, 1, 8);
    }
    return x;
}

/* Where the member of a JSON object ends that begins at `at`; n if it does not end. */
static long net_weights_end(const unsigned char *text, long at, long n)
{
    int depth = 0, quoted = 0;
    for (; at < n; ++at) {
        const unsigned char x = text[at];
        if (quoted) {
            at += x == '\\';
            quoted = x != '"';
        } else if (depth == 0 && (x == ',' || x == '}')) {
            return at;
        } else if (x == '"') {
            quoted = 1;
        } else {
            depth += (x == '{' || x == '[') - (x == '}' || x == ']');
        }
    }
    return n;
}

/* Where the first member of an object goes on that begins with `key`; -1 if there is none. */
static long net_weights_member(
    const unsigned char *text, long at, long n, const unsigned char *key, long length)
{
    while (at >= 0 && at < n) {
        const long end = net_weights_end(text, at, n);
        if (end - at >= length && net_weights_same(text + at, key, length)) {
            return at + length;
        }
        at = end < n && text[end] == ',' ? end + 1 : n;
    }
    return -1;
}

/* Where the data of a file begins; 0 if it is too short. */
static long net_weights_data(const unsigned char *file, unsigned long bytes)
{
    long length = 0;
    for (int k = 7; k >= 0 && bytes > 8; --k) {
        if (length > 0x7fffff) {
            return 0;
        }
        length = length * 256 + file[k];
    }
    return bytes > 8 && (unsigned long)length <= bytes - 8 && file[8] == '{' ? length + 8 : 0;
}

/* Finds the elements of all tensors. For each there are the part of `header` that it has in a file,
 * as offset and length, its bytes, and whether it may be missing. Returns 0 if one is missing. */
static int net_weights_find(const unsigned char *file, unsigned long bytes, long n,
    const unsigned char *header, const uint32_t (*tensors)[4], int count, const unsigned char **at)
{
    const unsigned long data = bytes - (unsigned long)n;
    for (int k = 0; k < count; ++k) {
        const uint32_t *t = tensors[k];
        unsigned long offset = 0;
        long i = net_weights_member(file, 9, n, header + t[0], (long)t[1]);
        at[k] = 0;
        if (i < 0 && t[3] == 0) {
            return 0;
        }
        for (; i >= 0 && i < n && file[i] >= '0' && file[i] <= '9' && offset <= data; ++i) {
            offset = offset * 10 + (unsigned long)(file[i] - '0');
        }
        if (i >= 0 && (offset > data || t[2] > data - offset)) {
            return 0;
        }
        at[k] = i >= 0 ? file + n + offset : 0;
    }
    return 1;
}

/* A number from 0 on, exactly: pieces of 16 bits from the lowest on, of which net_weights_half are
 * behind the point. A float has net_weights_bits bits, is below 2 to the net_weights_range, and
 * needs net_weights_digits decimal digits. */
enum {
    net_weights_half = sizeof(float) == 8 ? 68 : 16,
    net_weights_bits = sizeof(float) == 8 ? 53 : 24,
    net_weights_range = sizeof(float) == 8 ? 1024 : 128,
    net_weights_digits = sizeof(float) == 8 ? 17 : 9,
    net_weights_tens = sizeof(float) == 8 ? 308 : 38
};

/* Multiplies a number by a power of ten. Returns 1 if something behind its last piece is left out.
 */
static int net_weights_scale(uint16_t *x, int power)
{
    int more = 0;
    for (; power > 0; --power) {
        uint32_t carry = 0;
        for (int i = 0; i < 2 * net_weights_half; ++i) {
            carry += (uint32_t)x[i] * 10;
            x[i] = (uint16_t)(carry & 0xffff);
            carry >>= 16;
        }
    }
    for (; power < 0; ++power) {
        uint32_t rest = 0;
        for (int i = 2 * net_weights_half - 1; i >= 0; --i) {
            rest = rest << 16 | x[i];
            x[i] = (uint16_t)(rest / 10);
            rest %= 10;
        }
        more |= rest != 0;
    }
    return more;
}

static int net_weights_bit(const uint16_t *x, int i)
{
    return x[i / 16] >> i % 16 & 1;
}

/* The float next to a number, to which `more` adds something small; -1 if that is infinite. */
static float net_weights_rounded(const uint16_t *x, int more)
{
    const int least = 16 * net_weights_half + 3 - net_weights_range -
                      net_weights_bits; /* the lowest bit of the smallest float */
    uint64_t whole = 0;
    int high = 32 * net_weights_half - 1, low;
    while (high >= least && net_weights_bit(x, high) == 0) {
        --high;
    }
    low = high - net_weights_bits + 1 > least ? high - net_weights_bits + 1 : least;
    for (int i = high; i >= low; --i) {
        whole = whole << 1 | (uint64_t)net_weights_bit(x, i);
    }
    for (int i = low - 2; i >= 0 && more == 0; --i) {
        more = net_weights_bit(x, i);
    }
    whole += net_weights_bit(x, low - 1) != 0 && (more != 0 || (whole & 1) != 0);
    float y = (float)whole;
    low -= 16 * net_weights_half;
    if (low + net_weights_bits + (int)(whole >> net_weights_bits) > net_weights_range) {
        return -1;
    }
    for (; low > 0; --low) {
        y *= 2;
    }
    for (; low < 0; ++low) {
        y *= 0.5f;
    }
    return y;
}

/* The float next to digits times a power of ten; -1 if that is infinite. */
static float net_weights_decimal(uint64_t digits, int power)
{
    uint16_t x[2 * net_weights_half] = { 0 };
    if (digits == 0 || power < -net_weights_tens - 36) {
        return 0;
    }
    if (power > net_weights_tens) {
        return -1;
    }
    for (int i = 0; i < 4; ++i) {
        x[net_weights_half + i] = (uint16_t)(digits >> 16 * i & 0xffff);
    }
    return net_weights_rounded(x, net_weights_scale(x, power));
}

/* Reads a number of JSON that is not below 0; -1 if it is infinite. Digits behind the 19th count as
 * zeros. Returns where the text goes on, or -1. */
static long net_weights_number(const unsigned char *text, long at, long n, float *x)
{
    uint64_t digits = 0;
    int any = 0, point = 0, scale = 0, power = 0, sign = 1;
    for (; at >= 0 && at < n && (text[at] == '.' || (text[at] >= '0' && text[at] <= '9')); ++at) {
        if (text[at] == '.') {
            point = 1;
        } else if (digits < UINT64_C(1000000000000000000)) {
            digits = digits * 10 + (uint64_t)(text[at] - '0');
            scale -= point;
            any = 1;
        } else {
            scale += 1 - point;
        }
    }
    if (any != 0 && at + 1 < n && (text[at] == 'e' || text[at] == 'E')) {
        ++at;
        sign = text[at] == '-' ? -1 : 1;
        at += text[at] == '-' || text[at] == '+';
        for (; at < n && text[at] >= '0' && text[at] <= '9' && power < 1000; ++at) {
            power = power * 10 + (text[at] - '0');
        }
    }
    *x = net_weights_decimal(digits, scale + sign * power);
    return any != 0 ? at : -1;
}

/* Skips a piece of `header`; -1 if the text has something else. */
static long net_weights_piece(const unsigned char *text, long at, long n,
    const unsigned char *header, const uint32_t piece[2])
{
    const long length = (long)(piece[1] - piece[0]);
    return at >= 0 && length <= n - at && net_weights_same(text + at, header + piece[0], length)
               ? at + length
               : -1;
}

/* Reads the rate of each group. The settings around it must be those of `header`, whose pieces are
 * what is before the first rate, and for each what follows it, up to the parameters of its group
 * and up to the next rate. Returns 1 if the optimizer is another one, 2 if its settings are. */
static int net_weights_read_rates(const unsigned char *file, long at, long n,
    const unsigned char *header, const uint32_t (*pieces)[2], int groups, float *rates)
{
    const unsigned char *initial = (const unsigned char *)",\\\"initial_lr\\\":";
    at =
        net_weights_member(file, at, n, header + pieces[0][0], (long)(pieces[0][1] - pieces[0][0]));
    if (at < 0) {
        return 1;
    }
    for (int g = 0; g < groups; ++g) {
        float initial_rate;
        at = net_weights_number(file, at, n, &rates[g]);
        if (at < 0 || !(rates[g] >= 0)) {
            return 2;
        }
        at = net_weights_piece(file, at, n, header, pieces[2 * g + 1]);
        if (at >= 0 && n - at > 16 && net_weights_same(file + at, initial, 16)) {
            at = net_weights_number(file, at + 16, n, &initial_rate);
        }
        at = net_weights_piece(file, at, n, header, pieces[2 * g + 2]);
    }
    return at < 0 ? 2 : 0;
}

/* What is before the point of a number; all bits if it has more than 64. */
static uint64_t net_weights_whole(const uint16_t *x)
{
    uint64_t whole = 0;
    int large = 0;
    for (int i = 2 * net_weights_half - 1; i >= net_weights_half; --i) {
        large |= i >= net_weights_half + 4 && x[i] != 0;
        whole = whole << 16 | x[i];
    }
    return large != 0 ? ~(uint64_t)0 : whole;
}

/* Puts a float into a number of zeros. */
static void net_weights_put_bits(uint16_t *x, float y)
{
    int at = 16 * net_weights_half;
    for (; y >= 1; ++at) {
        y *= 0.5f;
    }
    while (y > 0) {
        --at;
        y *= 2;
        if (y >= 1) {
            x[at / 16] = (uint16_t)(x[at / 16] | 1u << at % 16);
            y -= 1;
        }
    }
}

/* Writes a rate as `length` characters. They give it back, with fewer digits where these suffice. A
 * rate that is no number from 0 on is null, which nothing reads. */
static void net_weights_put_rate(unsigned char *to, float rate, int length)
{
    uint16_t x[2 * net_weights_half] = { 0 };
    uint64_t digits, most, unit = 1, some = 0;
    int power = 0;
    if (!(rate >= 0 && rate - rate == 0)) {
        for (int i = 0; i < length; ++i) {
            to[i] = (unsigned char)(i < 4 ? "null"[i] : ' ');
        }
        return;
    }
    for (int i = 1; i < net_weights_digits; ++i) {
        unit *= 10;
    }
    net_weights_put_bits(x, rate);
    for (; net_weights_whole(x) >= 10 * unit; ++power) {
        (void)net_weights_scale(x, -1);
    }
    for (; rate > 0 && net_weights_whole(x) < unit; --power) {
        (void)net_weights_scale(x, 1);
    }
    digits = net_weights_whole(x) + (x[net_weights_half - 1] >> 15);
    most = 10 * unit;
    for (; unit > 0; unit /= 10) {
        some = (digits + unit / 2) / unit * unit;
        if (net_weights_decimal(some, power) == rate) {
            break;
        }
    }
    if (some == most) { /* all digits were nines */
        some /= 10;
        ++power;
    }
    power = rate > 0 ? power + net_weights_digits - 1 : 0;
    for (int i = net_weights_digits; i >= 0; --i) {
        to[i] = (unsigned char)(i == 1 ? '.' : (int)('0' + some % 10));
        some /= i == 1 ? 1 : 10;
    }
    to[net_weights_digits + 1] = 'e';
    to[net_weights_digits + 2] = power < 0 ? '-' : '+';
    power = power < 0 ? -power : power;
    for (int i = length - 1; i > net_weights_digits + 2; --i) {
        to[i] = (unsigned char)('0' + power % 10);
        power /= 10;
    }
}
