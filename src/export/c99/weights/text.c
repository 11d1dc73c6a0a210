/* The functions in C that read and write the file of weights. A file in C gets those that it calls.
 */
#include <stdio.h>
#include <string.h>

#include "export/c99/weights/weights.h"

/* In the text @name is another function of this table. A function stands behind those that it
 * calls. */
typedef struct {
    const char *name, *text;
} helper;

/* clang-format off */
static const helper helpers[] = {
    { "move",
      "/* Copies n elements of `size` bytes to a file or from it. Its numbers are little-endian. */\n"
      "static void @move(unsigned char *to, const unsigned char *from, long n, int size)\n"
      "{\n"
      "    const uint32_t one = 1;\n"
      "    const long flip = *(const unsigned char *)&one == 1 ? 0 : size - 1;\n"
      "    for (long i = 0; i < n * size; ++i) {\n"
      "        to[i ^ flip] = from[i];\n"
      "    }\n"
      "}\n" },
    { "put_whole",
      "/* Copies integers of an array to integers of 8 bytes. */\n"
      "static void @put_whole(unsigned char *to, const int32_t *from, long n)\n"
      "{\n"
      "    for (long i = 0; i < n; ++i) {\n"
      "        const int64_t x = from[i];\n"
      "        @move(to + 8 * i, (const unsigned char *)&x, 1, 8);\n"
      "    }\n"
      "}\n" },
    { "take_whole",
      "/* Copies integers of 8 bytes to an array; to none if `to` is 0. Returns 0 if one does not fit. */\n"
      "static int @take_whole(int32_t *to, const unsigned char *from, long n)\n"
      "{\n"
      "    for (long i = 0; i < n; ++i) {\n"
      "        int64_t x;\n"
      "        @move((unsigned char *)&x, from + 8 * i, 1, 8);\n"
      "        if (x < INT32_MIN || x > INT32_MAX) {\n"
      "            return 0;\n"
      "        }\n"
      "        if (to != 0) {\n"
      "            to[i] = (int32_t)x;\n"
      "        }\n"
      "    }\n"
      "    return 1;\n"
      "}\n" },
    { "same",
      "static int @same(const unsigned char *a, const unsigned char *b, long n)\n"
      "{\n"
      "    int same = 1;\n"
      "    for (long i = 0; i < n && same; ++i) {\n"
      "        same = a[i] == b[i];\n"
      "    }\n"
      "    return same;\n"
      "}\n" },
    { "equal",
      "/* Whether n elements of a file are those of an array. */\n"
      "static int @equal(const unsigned char *file, const unsigned char *array, long n, int size)\n"
      "{\n"
      "    int equal = 1;\n"
      "    for (long i = 0; i < n && equal; ++i) {\n"
      "        unsigned char element[8];\n"
      "        @move(element, array + i * size, 1, size);\n"
      "        equal = @same(file + i * size, element, size);\n"
      "    }\n"
      "    return equal;\n"
      "}\n" },
    { "absent",
      "/* Gives the tensor of a state another name while there is no such state. */\n"
      "static void @absent(unsigned char *name, int absent)\n"
      "{\n"
      "    for (int i = 0; i < 5 && absent; ++i) {\n"
      "        name[i] = (unsigned char)\"fresh\"[i];\n"
      "    }\n"
      "}\n" },
    { "agree",
      "/* Whether a count of steps can be that of all parameters, of which the earlier ones have *steps. */\n"
      "static int @agree(int64_t x, int64_t *steps)\n"
      "{\n"
      "    const int agree = x >= 0 && x >> 53 == 0 && (*steps < 0 || *steps == x);\n"
      "    *steps = x;\n"
      "    return agree;\n"
      "}\n" },
    { "steps",
      "/* The count of steps in a file. */\n"
      "static int64_t @steps(const unsigned char *from)\n"
      "{\n"
      "    int64_t x = 0;\n"
      "    if (from != 0) {\n"
      "        @move((unsigned char *)&x, from, 1, 8);\n"
      "    }\n"
      "    return x;\n"
      "}\n" },
    { "end",
      "/* Where the member of a JSON object ends that begins at `at`; n if it does not end. */\n"
      "static long @end(const unsigned char *text, long at, long n)\n"
      "{\n"
      "    int depth = 0, quoted = 0;\n"
      "    for (; at < n; ++at) {\n"
      "        const unsigned char x = text[at];\n"
      "        if (quoted) {\n"
      "            at += x == '\\\\';\n"
      "            quoted = x != '\"';\n"
      "        } else if (depth == 0 && (x == ',' || x == '}')) {\n"
      "            return at;\n"
      "        } else if (x == '\"') {\n"
      "            quoted = 1;\n"
      "        } else {\n"
      "            depth += (x == '{' || x == '[') - (x == '}' || x == ']');\n"
      "        }\n"
      "    }\n"
      "    return n;\n"
      "}\n" },
    { "member",
      "/* Where the first member of an object goes on that begins with `key`; -1 if there is none. */\n"
      "static long @member(\n"
      "    const unsigned char *text, long at, long n, const unsigned char *key, long length)\n"
      "{\n"
      "    while (at >= 0 && at < n) {\n"
      "        const long end = @end(text, at, n);\n"
      "        if (end - at >= length && @same(text + at, key, length)) {\n"
      "            return at + length;\n"
      "        }\n"
      "        at = end < n && text[end] == ',' ? end + 1 : n;\n"
      "    }\n"
      "    return -1;\n"
      "}\n" },
    { "data",
      "/* Where the data of a file begins; 0 if it is too short. */\n"
      "static long @data(const unsigned char *file, unsigned long bytes)\n"
      "{\n"
      "    long length = 0;\n"
      "    for (int k = 7; k >= 0 && bytes > 8; --k) {\n"
      "        if (length > 0x7fffff) {\n"
      "            return 0;\n"
      "        }\n"
      "        length = length * 256 + file[k];\n"
      "    }\n"
      "    return bytes > 8 && (unsigned long)length <= bytes - 8 && file[8] == '{' ? length + 8 : 0;\n"
      "}\n" },
    { "find",
      "/* Finds the elements of all tensors. For each there are the part of `header` that it has in a file,\n"
      " * as offset and length, its bytes, and whether it may be missing. Returns 0 if one is missing. */\n"
      "static int @find(const unsigned char *file, unsigned long bytes, long n, const unsigned char *header,\n"
      "    const uint32_t (*tensors)[4], int count, const unsigned char **at)\n"
      "{\n"
      "    const unsigned long data = bytes - (unsigned long)n;\n"
      "    for (int k = 0; k < count; ++k) {\n"
      "        const uint32_t *t = tensors[k];\n"
      "        unsigned long offset = 0;\n"
      "        long i = @member(file, 9, n, header + t[0], (long)t[1]);\n"
      "        at[k] = 0;\n"
      "        if (i < 0 && t[3] == 0) {\n"
      "            return 0;\n"
      "        }\n"
      "        for (; i >= 0 && i < n && file[i] >= '0' && file[i] <= '9' && offset <= data; ++i) {\n"
      "            offset = offset * 10 + (unsigned long)(file[i] - '0');\n"
      "        }\n"
      "        if (i >= 0 && (offset > data || t[2] > data - offset)) {\n"
      "            return 0;\n"
      "        }\n"
      "        at[k] = i >= 0 ? file + n + offset : 0;\n"
      "    }\n"
      "    return 1;\n"
      "}\n" },
    { "scale",
      "/* A number from 0 on, exactly: pieces of 16 bits from the lowest on, of which @half are behind the point.\n"
      " * A float has @bits bits, is below 2 to the @range, and needs @digits decimal digits. */\n"
      "enum {\n"
      "    @half = sizeof(float) == 8 ? 68 : 16,\n"
      "    @bits = sizeof(float) == 8 ? 53 : 24,\n"
      "    @range = sizeof(float) == 8 ? 1024 : 128,\n"
      "    @digits = sizeof(float) == 8 ? 17 : 9,\n"
      "    @tens = sizeof(float) == 8 ? 308 : 38\n"
      "};\n"
      "\n"
      "/* Multiplies a number by a power of ten. Returns 1 if something behind its last piece is left out. */\n"
      "static int @scale(uint16_t *x, int power)\n"
      "{\n"
      "    int more = 0;\n"
      "    for (; power > 0; --power) {\n"
      "        uint32_t carry = 0;\n"
      "        for (int i = 0; i < 2 * @half; ++i) {\n"
      "            carry += (uint32_t)x[i] * 10;\n"
      "            x[i] = (uint16_t)(carry & 0xffff);\n"
      "            carry >>= 16;\n"
      "        }\n"
      "    }\n"
      "    for (; power < 0; ++power) {\n"
      "        uint32_t rest = 0;\n"
      "        for (int i = 2 * @half - 1; i >= 0; --i) {\n"
      "            rest = rest << 16 | x[i];\n"
      "            x[i] = (uint16_t)(rest / 10);\n"
      "            rest %= 10;\n"
      "        }\n"
      "        more |= rest != 0;\n"
      "    }\n"
      "    return more;\n"
      "}\n" },
    { "bit",
      "static int @bit(const uint16_t *x, int i)\n"
      "{\n"
      "    return x[i / 16] >> i % 16 & 1;\n"
      "}\n" },
    { "rounded",
      "/* The float next to a number, to which `more` adds something small; -1 if that is infinite. */\n"
      "static float @rounded(const uint16_t *x, int more)\n"
      "{\n"
      "    const int least = 16 * @half + 3 - @range - @bits; /* the lowest bit of the smallest float */\n"
      "    uint64_t whole = 0;\n"
      "    int high = 32 * @half - 1, low;\n"
      "    while (high >= least && @bit(x, high) == 0) {\n"
      "        --high;\n"
      "    }\n"
      "    low = high - @bits + 1 > least ? high - @bits + 1 : least;\n"
      "    for (int i = high; i >= low; --i) {\n"
      "        whole = whole << 1 | (uint64_t)@bit(x, i);\n"
      "    }\n"
      "    for (int i = low - 2; i >= 0 && more == 0; --i) {\n"
      "        more = @bit(x, i);\n"
      "    }\n"
      "    whole += @bit(x, low - 1) != 0 && (more != 0 || (whole & 1) != 0);\n"
      "    float y = (float)whole;\n"
      "    low -= 16 * @half;\n"
      "    if (low + @bits + (int)(whole >> @bits) > @range) {\n"
      "        return -1;\n"
      "    }\n"
      "    for (; low > 0; --low) {\n"
      "        y *= 2;\n"
      "    }\n"
      "    for (; low < 0; ++low) {\n"
      "        y *= 0.5f;\n"
      "    }\n"
      "    return y;\n"
      "}\n" },
    { "decimal",
      "/* The float next to digits times a power of ten; -1 if that is infinite. */\n"
      "static float @decimal(uint64_t digits, int power)\n"
      "{\n"
      "    uint16_t x[2 * @half] = { 0 };\n"
      "    if (digits == 0 || power < -@tens - 36) {\n"
      "        return 0;\n"
      "    }\n"
      "    if (power > @tens) {\n"
      "        return -1;\n"
      "    }\n"
      "    for (int i = 0; i < 4; ++i) {\n"
      "        x[@half + i] = (uint16_t)(digits >> 16 * i & 0xffff);\n"
      "    }\n"
      "    return @rounded(x, @scale(x, power));\n"
      "}\n" },
    { "number",
      "/* Reads a number of JSON that is not below 0; -1 if it is infinite. Digits behind the 19th count as zeros.\n"
      " * Returns where the text goes on, or -1. */\n"
      "static long @number(const unsigned char *text, long at, long n, float *x)\n"
      "{\n"
      "    uint64_t digits = 0;\n"
      "    int any = 0, point = 0, scale = 0, power = 0, sign = 1;\n"
      "    for (; at >= 0 && at < n && (text[at] == '.' || (text[at] >= '0' && text[at] <= '9')); ++at) {\n"
      "        if (text[at] == '.') {\n"
      "            point = 1;\n"
      "        } else if (digits < UINT64_C(1000000000000000000)) {\n"
      "            digits = digits * 10 + (uint64_t)(text[at] - '0');\n"
      "            scale -= point;\n"
      "            any = 1;\n"
      "        } else {\n"
      "            scale += 1 - point;\n"
      "        }\n"
      "    }\n"
      "    if (any != 0 && at + 1 < n && (text[at] == 'e' || text[at] == 'E')) {\n"
      "        ++at;\n"
      "        sign = text[at] == '-' ? -1 : 1;\n"
      "        at += text[at] == '-' || text[at] == '+';\n"
      "        for (; at < n && text[at] >= '0' && text[at] <= '9' && power < 1000; ++at) {\n"
      "            power = power * 10 + (text[at] - '0');\n"
      "        }\n"
      "    }\n"
      "    *x = @decimal(digits, scale + sign * power);\n"
      "    return any != 0 ? at : -1;\n"
      "}\n" },
    { "piece",
      "/* Skips a piece of `header`; -1 if the text has something else. */\n"
      "static long @piece(\n"
      "    const unsigned char *text, long at, long n, const unsigned char *header, const uint32_t piece[2])\n"
      "{\n"
      "    const long length = (long)(piece[1] - piece[0]);\n"
      "    return at >= 0 && length <= n - at && @same(text + at, header + piece[0], length) ? at + length\n"
      "                                                                                    : -1;\n"
      "}\n" },
    { "read_rates",
      "/* Reads the rate of each group. The settings around it must be those of `header`, whose pieces are\n"
      " * what is before the first rate, and for each what follows it, up to the parameters of its group and\n"
      " * up to the next rate. Returns 1 if the optimizer is another one, 2 if its settings are. */\n"
      "static int @read_rates(const unsigned char *file, long at, long n, const unsigned char *header,\n"
      "    const uint32_t (*pieces)[2], int groups, float *rates)\n"
      "{\n"
      "    const unsigned char *initial = (const unsigned char *)\",\\\\\\\"initial_lr\\\\\\\":\";\n"
      "    at = @member(file, at, n, header + pieces[0][0], (long)(pieces[0][1] - pieces[0][0]));\n"
      "    if (at < 0) {\n"
      "        return 1;\n"
      "    }\n"
      "    for (int g = 0; g < groups; ++g) {\n"
      "        float initial_rate;\n"
      "        at = @number(file, at, n, &rates[g]);\n"
      "        if (at < 0 || !(rates[g] >= 0)) {\n"
      "            return 2;\n"
      "        }\n"
      "        at = @piece(file, at, n, header, pieces[2 * g + 1]);\n"
      "        if (at >= 0 && n - at > 16 && @same(file + at, initial, 16)) {\n"
      "            at = @number(file, at + 16, n, &initial_rate);\n"
      "        }\n"
      "        at = @piece(file, at, n, header, pieces[2 * g + 2]);\n"
      "    }\n"
      "    return at < 0 ? 2 : 0;\n"
      "}\n" },
    { "whole",
      "/* What is before the point of a number; all bits if it has more than 64. */\n"
      "static uint64_t @whole(const uint16_t *x)\n"
      "{\n"
      "    uint64_t whole = 0;\n"
      "    int large = 0;\n"
      "    for (int i = 2 * @half - 1; i >= @half; --i) {\n"
      "        large |= i >= @half + 4 && x[i] != 0;\n"
      "        whole = whole << 16 | x[i];\n"
      "    }\n"
      "    return large != 0 ? ~(uint64_t)0 : whole;\n"
      "}\n" },
    { "put_bits",
      "/* Puts a float into a number of zeros. */\n"
      "static void @put_bits(uint16_t *x, float y)\n"
      "{\n"
      "    int at = 16 * @half;\n"
      "    for (; y >= 1; ++at) {\n"
      "        y *= 0.5f;\n"
      "    }\n"
      "    while (y > 0) {\n"
      "        --at;\n"
      "        y *= 2;\n"
      "        if (y >= 1) {\n"
      "            x[at / 16] = (uint16_t)(x[at / 16] | 1u << at % 16);\n"
      "            y -= 1;\n"
      "        }\n"
      "    }\n"
      "}\n" },
    { "put_rate",
      "/* Writes a rate as `length` characters. They give it back, with fewer digits where these suffice. A rate\n"
      " * that is no number from 0 on is null, which nothing reads. */\n"
      "static void @put_rate(unsigned char *to, float rate, int length)\n"
      "{\n"
      "    uint16_t x[2 * @half] = { 0 };\n"
      "    uint64_t digits, most, unit = 1, some = 0;\n"
      "    int power = 0;\n"
      "    if (!(rate >= 0 && rate - rate == 0)) {\n"
      "        for (int i = 0; i < length; ++i) {\n"
      "            to[i] = (unsigned char)(i < 4 ? \"null\"[i] : ' ');\n"
      "        }\n"
      "        return;\n"
      "    }\n"
      "    for (int i = 1; i < @digits; ++i) {\n"
      "        unit *= 10;\n"
      "    }\n"
      "    @put_bits(x, rate);\n"
      "    for (; @whole(x) >= 10 * unit; ++power) {\n"
      "        (void)@scale(x, -1);\n"
      "    }\n"
      "    for (; rate > 0 && @whole(x) < unit; --power) {\n"
      "        (void)@scale(x, 1);\n"
      "    }\n"
      "    digits = @whole(x) + (x[@half - 1] >> 15);\n"
      "    most = 10 * unit;\n"
      "    for (; unit > 0; unit /= 10) {\n"
      "        some = (digits + unit / 2) / unit * unit;\n"
      "        if (@decimal(some, power) == rate) {\n"
      "            break;\n"
      "        }\n"
      "    }\n"
      "    if (some == most) { /* all digits were nines */\n"
      "        some /= 10;\n"
      "        ++power;\n"
      "    }\n"
      "    power = rate > 0 ? power + @digits - 1 : 0;\n"
      "    for (int i = @digits; i >= 0; --i) {\n"
      "        to[i] = (unsigned char)(i == 1 ? '.' : (int)('0' + some % 10));\n"
      "        some /= i == 1 ? 1 : 10;\n"
      "    }\n"
      "    to[@digits + 1] = 'e';\n"
      "    to[@digits + 2] = power < 0 ? '-' : '+';\n"
      "    power = power < 0 ? -power : power;\n"
      "    for (int i = length - 1; i > @digits + 2; --i) {\n"
      "        to[i] = (unsigned char)('0' + power % 10);\n"
      "        power /= 10;\n"
      "    }\n"
      "}\n" },
};
/* clang-format on */

enum { COUNT = sizeof helpers / sizeof *helpers };

/* Adds the text of a helper, in which `@` becomes "NAME_weights_". */
static void expand(const adzi_c99 *c, const char *text, adzi_text *to)
{
    for (const char *at = text; *at != '\0';) {
        const size_t plain = strcspn(at, "@");
        adzi_c99_add_plain(c, to, at, plain);
        at += plain;
        if (*at == '@') {
            adzi_text_format(to, "%s_weights_", c->name);
            ++at;
        }
    }
    adzi_text_add(to, "\n");
}

void adzi_weights_add_helpers(const adzi_c99 *c, const char *calls, adzi_text *to)
{
    const char *name = c->name;
    bool used[COUNT] = { false };
    for (int i = COUNT - 1; i >= 0; --i) {
        char call[ADZI_C99_NAME + 40];
        snprintf(call, sizeof call, "%s_weights_%s(", name, helpers[i].name);
        used[i] = strstr(calls, call) != NULL;
        snprintf(call, sizeof call, "@%s(", helpers[i].name);
        for (int k = i + 1; k < COUNT && !used[i]; ++k) {
            used[i] = used[k] && strstr(helpers[k].text, call) != NULL;
        }
    }
    for (int i = 0; i < COUNT; ++i) {
        if (used[i]) {
            expand(c, helpers[i].text, to);
        }
    }
}
