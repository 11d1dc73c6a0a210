#!/usr/bin/env python3
"""Makes the elementary functions of double that files in C bring along from those of the library.

usage: elementary_f64.py KERNEL_FOLDER OUTPUT

KERNEL_FOLDER is src/tensor/kernel. OUTPUT becomes a table of C texts, one row for each function or array, which
src/export/c99/math.c includes. In a text, @name stands for another row of the table. So there is one formula for the
library and for its files. The functions are those without fused multiply-adds, as every C99 compiler has them.
"""

import re
import sys

HEADERS = ["vmath.h", "vmath_f64.h", "vmath_pow.h", "vmath_functions.h", "vmath_gamma.h", "vmath_activations.h", "real.c"]

# What the library takes from string.h and math.h.
OWN = {
    "bits": """/* The bits of x. */
static uint64_t @bits(double x)
{
    union {
        double value;
        uint64_t bits;
    } u;
    u.value = x;
    return u.bits;
}
""",
    "from_bits": """static double @from_bits(uint64_t bits)
{
    union {
        uint64_t bits;
        double value;
    } u;
    u.bits = bits;
    return u.value;
}
""",
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
}

# Rows of other names in the library.
NAMES = {"adzi_log_table": "pow_table", "two_over_pi": "sin_two_over_pi"}
SKIPPED = {"real_pow", "real_exp", "real_log", "real_sin", "real_cos", "real_erfc", "real_hypot"}


def decimal(match):
    """A hexadecimal number as a decimal one with the same value."""
    return repr(float.fromhex(match.group(0)))


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
        at = text.find("ADZI_FMA_F64(")
        if at < 0:
            return text
        (a, b, c), end = arguments(text, at + len("ADZI_FMA_F64("))
        text = f"{text[:at]}({in_brackets(a)} * {in_brackets(b)} + {in_brackets(c)}){text[end:]}"


def read(folder):
    """The text of all headers as that of one without macros."""
    text = ""
    for name in HEADERS:
        with open(f"{folder}/{name}", encoding="utf-8") as file:
            text += file.read()
    text = re.sub(r"VMATH\((\w+)\)", r"adzi_\1_f64", text)
    text = re.sub(r"\belem\b", "double", text)
    text = re.sub(r"#if ADZI_VMATH_FUSED\n.*?#else\n(.*?)#endif\n", r"\1", text, flags=re.S)
    constants = dict(re.findall(r"#define +(ADZI_(?:LN2|ROUND|PI|HALF_PI)\w*) +([0-9.xa-fp+-]+)", text))
    constants["LIMBS"] = re.search(r"enum \{ LIMBS = (\d+) \}", text).group(1)
    for name, value in constants.items():
        text = re.sub(rf"\b{name}\b", value, text)
    text = re.sub(r"0x[0-9a-f]+(?:\.[0-9a-f]+)?p[+-]?\d+(?!f)", decimal, text)
    text = text.replace("(double)INFINITY", "(1.0 / 0.0)").replace("(double)NAN", "(0.0 / 0.0)")
    text = re.sub(r"\bINFINITY\b", "(1.0 / 0.0)", re.sub(r"\bNAN\b", "(0.0 / 0.0)", text))
    text = re.sub(r"\bisnan\((\w+)\)", r"(\1 != \1)", text)
    text = re.sub(r"\bisinf\((\w+)\)", r"(\1 == \1 && \1 - \1 != 0.0)", text)
    text = re.sub(r"\bsignbit\((\w+)\)", r"(adzi_bits_f64(\1) >> 63)", text)
    return re.sub(r"\bbool\b", "int", text).replace("static inline", "static").replace("ADZI_VMATH_INLINE", "static")


def rows(text):
    """The functions and arrays of the text by name, each with the comment before it."""
    found = {}
    comment = r"(?P<comment>/\*(?:[^*]|\*(?!/))*\*/\n)?"
    function = r"(?:static )?(?:double|float|int|uint32_t|uint64_t|void) \*?(?P<f>\w+)\([^;{]*?\)\n\{\n.*?\n\}\n"
    array = r"(?:static )?const \w+ (?P<a>\w+)\[[^;]*?\};\n"
    for match in re.finditer(rf"^{comment}(?P<body>{function}|{array})", text, flags=re.S | re.M):
        name = match.group("f") or match.group("a")
        code = re.sub(r"/\*.*?\*/", "", match.group("body"), flags=re.S)
        if name.endswith("_f32") or re.sub(r"^adzi_", "", name) in SKIPPED or "float" in code:
            continue
        body = match.group("body")
        body = body if body.startswith("static") else f"static {body}"
        about = (match.group("comment") or "").replace("/**", "/*")
        found[name] = about + unfuse(body)
    return found


def short(name):
    return NAMES.get(name) or re.sub(r"^adzi_|_f64$", "", name)


def is_used(match, names):
    """Whether a word is the name of a row. Comments speak of sqrt as well."""
    return match[0] in names and (match[0] not in OWN or match.string[match.end()] == "(")


def mark(body, names):
    """Puts @ before the names of rows. In comments they only become short."""
    def of_part(part):
        comment = part.startswith("/*")
        return re.sub(r"(?<![\w.])\w+\b", lambda m: ("" if comment else "@") + names[m[0]]
                      if is_used(m, names) else m[0], part)

    return "".join(of_part(part) for part in re.split(r"(/\*.*?\*/)", body, flags=re.S))


def table(found):
    """The rows with @names, each behind those that it calls."""
    names = {name: short(name) for name in found}
    names.update({"adzi_bits_f64": "bits", "adzi_from_bits_f64": "from_bits", "ldexp": "ldexp", "sqrt": "sqrt"})
    texts = dict(OWN)
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

    for name in texts:
        visit(name)
    return [(name, texts[name]) for name in done]


def main():
    folder, output = sys.argv[1:3]
    lines = ["/* Made by tools/elementary_f64.py from src/tensor/kernel. */", ""]
    lines += ["static const function elementary_f64[] = {"]
    for name, text in table(rows(read(folder))):
        lines.append(f'    {{ "f64_{name}", NULL,')
        for line in re.sub(r"@(\w+)", r"@f64_\1", text).splitlines():
            escaped = line.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'      "{escaped}\\n"')
        lines[-1] += " },"
    lines += ["};", ""]
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    main()
