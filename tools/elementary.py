#!/usr/bin/env python3
"""Makes the elementary functions that files in C bring along from those of the library.

usage: elementary.py KERNEL_FOLDER f32|f64 OUTPUT

KERNEL_FOLDER is src/tensor/kernel. OUTPUT becomes C99 with a function or an array for each one that files use, in the
order in which they call each other. So there is one formula for the library and for its files. The functions are those
without fused multiply-adds, as every C99 compiler has them. Their names begin with net_ (f32) or net_f64_, as in
src/export/c99/sources; tools/c_texts.py makes texts of them. What both forms have alike is described once here.

A file of floats may be compiled with -ffast-math, under which (x + c) - c is x, or for a processor that computes with
more bits. Sums whose rounding is needed are volatile there.
"""

import re
import struct
import sys

HEADERS = {"f64": ["vmath.h", "vmath_f64.h", "vmath_pow.h", "vmath_functions.h", "vmath_gamma.h", "vmath_activations.h",
                   "real.c"],
           "f32": ["vmath.h", "vmath_f32.h", "vmath_activations.h"]}
TYPES = {"f64": "double", "f32": "float"}

# What files of floats use: these functions, and what those call.
FLOATS = ["dot", "exp", "expm1", "log", "log1p", "tanh", "sigmoid", "erf", "gelu", "softplus"]

# What both forms have alike, with the words of each form.
WORDS = {"f64": {"NUMBER": "double", "BITS": "uint64_t"}, "f32": {"NUMBER": "float", "BITS": "uint32_t"}}
SHARED = {
    "bits": """/* The bits of x. */
static BITS @bits(NUMBER x)
{
    union {
        NUMBER value;
        BITS bits;
    } u;
    u.value = x;
    return u.bits;
}
""",
    "from_bits": """static NUMBER @from_bits(BITS bits)
{
    union {
        BITS bits;
        NUMBER value;
    } u;
    u.bits = bits;
    return u.value;
}
""",
    "dot": """/* The sum of a[i] * b[i], in eight lanes. Inlined into a loop over short rows, gcc takes the
 * loop for its vectors, and gathers their elements one by one. */
#if defined __GNUC__ && !defined __clang__
static NUMBER @dot(const NUMBER *a, const NUMBER *b, int n) __attribute__((noinline));
#endif

static NUMBER @dot(const NUMBER *a, const NUMBER *b, int n)
{
    NUMBER lane[8] = { 0, 0, 0, 0, 0, 0, 0, 0 }, rest = 0;
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int k = 0; k < 8; ++k) {
            lane[k] += a[i + k] * b[i + k];
        }
    }
    for (; i < n; ++i) {
        rest += a[i] * b[i];
    }
    for (int k = 0; k < 4; ++k) {
        lane[k] += lane[k + 4];
    }
    return ((lane[0] + lane[2]) + (lane[1] + lane[3])) + rest;
}
""",
}

# What the library takes from string.h and math.h.
OWN = {"f64": {
    "ldexp": """/* x 2^n for |n| <= 2000, rounded once. */
static double @ldexp(double x, int n)
{
    const int half = n / 2;
    return x * @from_bits((uint64_t)(1023 + half) << 52) * @from_bits((uint64_t)(1023 + n - half) << 52);
}
""",
    "sqrt": """/* The root by Newton's method, from a guess that halves the exponent. The last step computes with the
 * rest x - y^2, which Dekker's product gives exactly. */
static double @sqrt(double x)
{
    double scale = 1;
    if (!(x > 0) || x - x != 0) {
        return x < 0 ? 0.0 / 0.0 : x;
    }
    if (x < 1e-250) {
        x *= 1.3407807929942597e154;
        scale = 8.636168555094445e-78;
    } else if (x > 1e250) {
        x *= 7.458340731200207e-155;
        scale = 1.157920892373162e77;
    }
    double y = @from_bits((@bits(x) >> 1) + 0x1ff7a3bea91d9b1bu);
    for (int i = 0; i < 4; ++i) {
        y = 0.5 * (y + x / y);
    }
    const double square = y * y, rest = x - square;
    return (y + 0.5 * (rest - @product_error(y, y, square)) / y) * scale;
}
""",
    "round": """/* The even one of two nearest integers. */
static double @round(double x)
{
    const double a = x < 0 ? -x : x;
    const volatile double sum = a + 4503599627370496.0;
    if (!(a < 4503599627370496.0)) {
        return x;
    }
    return x < 0 || 1 / x < 0 ? -(sum - 4503599627370496.0) : sum - 4503599627370496.0;
}
""",
}, "f32": {
    "kept": """/* For sums whose rounding is needed: compilers that reorder sums or keep more bits would lose it. */
#if defined __FAST_MATH__ || (defined __FLT_EVAL_METHOD__ && __FLT_EVAL_METHOD__ != 0)
#define @kept volatile
#else
#define @kept
#endif
""",
    "sign_of": """/* The magnitude of one number with the sign of another. */
static float @sign_of(float magnitude, float sign)
{
    return @from_bits((@bits(magnitude) & 0x7fffffffu) | (@bits(sign) & 0x80000000u));
}
""",
}}

# In files of floats: what stands in the library, what stands for it, and how often that is.
KEPT = [
    ("    float z = (x * 1.44269504f + 12582912.0f);\n    float n = z - 12582912.0f;\n    float r = ",
     "    net_kept float z = (x * 1.44269504f + 12582912.0f);\n    net_kept float n = z - 12582912.0f;\n"
     "    net_kept float r = ", 1),
    ("    float z = 12582912.0f - p;\n    float r = (12582912.0f - z) - p;\n",
     "    net_kept float z = 12582912.0f - p;\n    net_kept float n = 12582912.0f - z;\n    float r = n - p;\n", 1),
    ("    float u = 1.0f + x;\n    float c = x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x);\n",
     "    net_kept float u = 1.0f + x;\n    net_kept float low = u - 1.0f, high = u - x;\n"
     "    float c = x < 1.0f ? x - low : 1.0f - high;\n", 1),
    ("    float u = 1.0f + x;\n    float c = x - (u - 1.0f);\n",
     "    net_kept float u = 1.0f + x;\n    net_kept float low = u - 1.0f;\n    float c = x - low;\n", 1),
]

# Rows of other names in the library.
NAMES = {"adzi_log_table": "pow_table", "two_over_pi": "sin_two_over_pi"}
SKIPPED = {"real_pow", "real_exp", "real_log", "real_sin", "real_cos", "real_erfc", "real_hypot"}


def decimal(match):
    """A hexadecimal number as a decimal one with the same value."""
    return repr(float.fromhex(match.group(1))) + (match.group(2) or "")


def literal(match):
    """A number of type double that is converted to float, as a number of type float."""
    text = f"{struct.unpack('f', struct.pack('f', float(match.group(1))))[0]:.9g}"
    return text + ("f" if "." in text else ".0f")


def arguments(text, at):
    """The arguments of the call whose bracket is open before `at`, and where the text goes on."""
    parts, depth, begin = [], 0, at
    while True:
        if text[at] in "([":
            depth += 1
        elif text[at] in ")]" and depth > 0:
            depth -= 1
        elif text[at] in ",)" and depth == 0:
            parts.append(" ".join(text[begin:at].split()))
            begin = at + 1
            if text[at] == ")":
                return parts, at + 1
        at += 1


def in_brackets(text):
    return text if re.fullmatch(r"[\w.]+|@?\w+\([^()]*\)", text) else f"({text})"


def unfuse(text):
    """Multiply-adds as a product and a sum."""
    while True:
        call = re.search(r"ADZI_FMA_F(32|64)\(", text)
        if call is None:
            return text
        at = call.start()
        (a, b, c), end = arguments(text, call.end())
        text = f"{text[:at]}({in_brackets(a)} * {in_brackets(b)} + {in_brackets(c)}){text[end:]}"


def read(folder, form):
    """The text of all headers as that of one without macros."""
    text = ""
    for name in HEADERS[form]:
        with open(f"{folder}/{name}", encoding="utf-8") as file:
            text += file.read()
    text = re.sub(r"VMATH\((\w+)\)", rf"adzi_\1_{form}", text)
    text = re.sub(r"\belem\b", TYPES[form], text)
    text = re.sub(r"#if ADZI_VMATH_FUSED\n.*?#else\n(.*?)#endif\n", r"\1", text, flags=re.S)
    constants = dict(re.findall(r"#define +(ADZI_(?:LN2|ROUND|PI|HALF_PI)\w*) +([0-9.xa-fp+-]+)", text))
    constants["LIMBS"] = (re.findall(r"enum \{ LIMBS = (\d+) \}", text) or ["0"])[0]
    for name, value in constants.items():
        text = re.sub(rf"\b{name}\b", value, text)
    text = re.sub(r"(0x[0-9a-f]+(?:\.[0-9a-f]+)?p[+-]?\d+)(f?)", decimal, text)
    text = text.replace("(double)INFINITY", "(1.0 / 0.0)").replace("(double)NAN", "(0.0 / 0.0)")
    mark = "" if form == "f64" else "f"
    text = re.sub(r"\bINFINITY\b", f"(1.0{mark} / 0.0{mark})", re.sub(r"\bNAN\b", f"(0.0{mark} / 0.0{mark})", text))
    text = re.sub(r"\bisnan\((\w+)\)", r"(\1 != \1)", text)
    text = re.sub(r"\bisinf\((\w+)\)", r"(\1 == \1 && \1 - \1 != 0.0)", text)
    text = re.sub(r"\bsignbit\((\w+)\)", r"(adzi_bits_f64(\1) >> 63)", text)
    text = re.sub(r"\bbool\b", "int", text).replace("static inline", "static").replace("ADZI_VMATH_INLINE", "static")
    return text if form == "f64" else of_floats(unfuse(text))


def of_floats(text):
    """The text for processors without double, whatever the compiler makes of sums."""
    text = re.sub(r"\(float\)(-?\d+(?:\.\d+)?)\b", literal, text)
    for there, instead, times in KEPT:
        if text.count(there) != times:
            sys.exit(f"elementary.py: the library has this {text.count(there)} times and not {times}:\n{there}")
        text = text.replace(there, instead.replace("net_", "@"))
    return text


def rows(text, form):
    """The functions and arrays of the text by name, each with the comment before it."""
    other = "float" if form == "f64" else "double"
    found = {}
    comment = r"(?P<comment>/\*(?:[^*]|\*(?!/))*\*/\n)?"
    function = r"(?:static )?(?:double|float|int|int32_t|uint32_t|uint64_t|void) \*?(?P<f>\w+)\([^;{]*?\)\n\{\n.*?\n\}\n"
    array = r"(?:static )?const \w+ (?P<a>\w+)\[[^;]*?\};\n"
    for match in re.finditer(rf"^{comment}(?P<body>{function}|{array})", text, flags=re.S | re.M):
        name = match.group("f") or match.group("a")
        code = re.sub(r"/\*.*?\*/", "", match.group("body"), flags=re.S)
        if (not name.endswith(form) and form == "f32") or name.endswith("_f32") != (form == "f32") or \
                re.sub(r"^adzi_", "", name) in SKIPPED or name.startswith("adz_") or other in code:
            continue
        body = match.group("body")
        body = body if body.startswith("static") else f"static {body}"
        about = (match.group("comment") or "").replace("/**", "/*")
        found[name] = about + unfuse(body)
    return found


def short(name):
    return NAMES.get(name) or re.sub(r"^adzi_|_f(32|64)$", "", name)


def is_used(match, names):
    """Whether a word is the name of a row. Comments speak of sqrt as well."""
    return match[0] in names and (match[0] not in ("ldexp", "sqrt") or match.string[match.end()] == "(")


def mark(body, names):
    """Puts @ before the names of rows. In comments they only become short."""
    def of_part(part):
        comment = part.startswith("/*")
        part = re.sub(r"\badzi_(abs|sign_of)\b", r"\1", part) if comment else part
        return re.sub(r"(?<![\w.])\w+\b", lambda m: ("" if comment else "@") + names[m[0]]
                      if is_used(m, names) else m[0], part)

    return "".join(of_part(part) for part in re.split(r"(/\*.*?\*/)", body, flags=re.S))


def table(found, form):
    """The rows with @names, each behind those that it calls."""
    names = {name: short(name) for name in found}
    names.update({f"adzi_{name}_{form}": name for name in [*SHARED, *OWN[form]]})
    names.update({"ldexp": "ldexp", "sqrt": "sqrt"} if form == "f64" else {})
    texts = {**SHARED, **OWN[form]}
    for name in SHARED:
        texts[name] = re.sub("|".join(WORDS[form]), lambda m: WORDS[form][m[0]], texts[name])
    for name, body in found.items():
        if names[name] in texts:
            continue
        texts[names[name]] = mark(body, names)
    done = []

    def visit(name):
        if name not in done:
            for called in re.findall(r"@(\w+)", texts[name]):
                if called != name:
                    visit(called)
            done.append(name)

    for name in texts if form == "f64" else FLOATS:
        visit(name)
    return [texts[name] for name in done]


def inlined(text):
    """A function of floats is a few lines, and a loop becomes vector code only if nothing is called in it. Those of
    doubles have branches, so they would only make files larger."""
    return re.sub(r"^static (?=(?:float|int32_t|uint32_t) @(?!dot\b)\w+\()", "static inline ", text, flags=re.M)


def main():
    folder, form, output = sys.argv[1:4]
    found = table(rows(read(folder, form), form), form)
    prefix = "net_f64_" if form == "f64" else "net_"
    with open(output, "w", encoding="utf-8") as file:
        file.write("/* Made by tools/elementary.py from src/tensor/kernel. */\n#include <stdint.h>\n")
        for text in found:
            text = inlined(text) if form == "f32" else text
            file.write("\n" + text.replace("@", prefix))


if __name__ == "__main__":
    main()
