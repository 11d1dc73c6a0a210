"""Reads C well enough to break it: definitions, and the rules by which mutants.py makes mutants."""
import collections
import re

# Folders of src whose decisions are mutated too.
ROOMS = ("optim", "data", "io", "nn", "base", "plan", "solvers", "zoo", "solvers/functional",
    "solvers/roots")

# ---- reading C ----------------------------------------------------------------------------------

Item = collections.namedtuple("Item", "file name first last text is_static is_code")
TOKEN = re.compile(r"[A-Za-z_]\w*")
KERNEL = re.compile(r"\b[A-Z_]*KERNEL\w*\((\w+)")
ENTERED = re.compile(r"\bADZI_ENTER\w*\(&?\w+, (\w+)")
DEFINED = re.compile(r"(?:\b(?:KERNEL|VMATH)\((\w+(?:##\w+)?)\)|(\w+))\s*\((?![^()]*\)\()")


def in_room(file):
    """Whether a file of src is in one of the rooms."""
    return file.startswith(tuple(room + "/" for room in ROOMS))


def without_comments(text):
    """The text with comments and strings blanked, each line and column where it was."""
    def blank(match):
        return re.sub(r"[^\n\\]", " ", match.group(0))
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", blank, text,
                  flags=re.S)


def item_of(file, chunk, first, last):
    """What the top-level piece of C defines, or None."""
    text = "\n".join(chunk)
    macro = re.match(r"#\s*define\s+(\w+)", text)
    if macro:
        return Item(file, macro.group(1), first, last, text, True, True)
    called = re.match(r"([A-Z][A-Z_0-9]+)\((\w+)", text)
    if called:
        table = "TABLE" in called.group(1)
        return None if table else Item(file, called.group(2), first, last, text, False, True)
    value = re.match(r"(static )?(?:const )?[^({]*?\b(\w+)(?:\[[^\]]*\])*\s*=", text)
    if value:
        return Item(file, value.group(2), first, last, text, bool(value.group(1)), False)
    function = DEFINED.search(text.split("{")[0])
    if "{" in text and function and not text.startswith(("typedef", "enum", "struct", "extern")):
        name = function.group(1) or function.group(2)
        return Item(file, name, first, last, text, text.startswith("static"), True)
    return None


def items(file, text):
    """The top-level definitions of a file."""
    lines = without_comments(text).split("\n")
    chunk, first, depth, continued = [], 0, 0, False
    for number, line in enumerate(lines):
        if not chunk and not line.strip():
            continue
        if not chunk:
            first = number
            directive = line.startswith("#")
        chunk.append(line)
        if directive:
            ended = not line.rstrip().endswith("\\")
        else:
            depth += sum(line.count(c) for c in "({[") - sum(line.count(c) for c in ")}]")
            ended = depth == 0 and re.search(r"[;})]\s*$", line) and not (
                number + 1 < len(lines) and lines[number + 1].startswith("{"))
        if ended:
            item = item_of(file, chunk, first, number)
            if item is not None:
                yield item
            chunk, depth = [], 0


def words(item):
    """The names an item uses that may be definitions, and among them those of kernels."""
    kernels = set(KERNEL.findall(item.text)) | set(re.findall(r"\b(\w+)_kernels\b", item.text))
    found = set(TOKEN.findall(item.text)) | kernels
    return found | {"adzi_op_" + name for name in ENTERED.findall(item.text)}, kernels


# ---- the rules ----------------------------------------------------------------------------------

# An operand stands before and behind; a type or a cast before a star does not make a product.
BINARY = re.compile(r"(?P<before>[\w\])]) ?(?P<sign>[-+*/])(?P<after>=? ?)(?=[\w(*-])")
SIGNS = {"+": "-", "-": "+", "*": "/", "/": "*"}
TYPE_BEFORE = re.compile(r"(?:\b(?:elem|TY|S|const|void|char|int|float|double|restrict|\w+_t|"
                         r"adz_tensor|adzi?_\w+_args|\w*_attr|adzi?_node|\w*_kernels?|size_t)|"
                         r"\bKERNEL\(\w+\)) ?$|[*(,=] ?$|[eE]$")
NUMBER = re.compile(r"(?<![\w.])(?:\d+\.?\d*(?:[eE][-+]?\d+)?)(?![\w.])")
RULES = [(re.compile(pattern), new) for pattern, new in [
    (r"\badz_add\(", "adz_sub("),
    (r"\badz_sub\(", "adz_add("),
    (r"\badz_mul\(", "adz_div("),
    (r"\badz_div\(", "adz_mul("),
    (r"\badz_neg\(", "adz_clone("),
    (r"\badz_mul_number\(", "adz_div_number("),
    # the gradient that arrives, scaled, negated and shifted
    (r"\bdy\[(\d|k)\](?=[,);])", r"adz_mul_number(dy[\1], 2)"),
    (r"\bdy\[(\d|k)\](?=[,);])", r"adz_mul_number(dy[\1], -1)"),
    (r"\bdy\[(\d|k)\](?=[,);])", r"adz_add_number(dy[\1], 1)"),
    (r"(?<=->)(dim\d?)\b", r"\1 - 1"),
    (r"\bADZ_DIMS\((-?\d+)\)", lambda m: f"ADZ_DIMS({int(m.group(1)) + 1})"),
]]
# Numbers that these take say which input or how many, not how much.
COUNTING = re.compile(r"\b(?:adzi_(?!gemm|fill)\w*|(?:UNROLLED_)?POINTWISE\d|KERNEL_FOR|KERNEL|VMATH)$")
DROP = re.compile(r"(\bd[a-z]{0,5}\[[^]]+\]) = (?!NULL|0;|\{)(?=.)")
SKIP = re.compile(r"^\s*(?:for \(|#\s*(?!define)|if \(.*== NULL|.*adzi_fail|.*adzi_error|.*sizeof|"
                  r".*adz_ones_like\(dy\[0\]\)|enum\b|.*\bgrain|.*\b(?:KERNEL\()?fetch|.*\bFETCH)")


def called(before):
    """The name before the innermost parenthesis that is open at the end of the text."""
    depth = 0
    for at in range(len(before) - 1, -1, -1):
        depth += (before[at] in ")}]") - (before[at] in "({[")
        if depth < 0:
            return re.search(r"\w*$", before[:at]).group(0) if before[at] == "(" else ""
    return ""


def by_one(arguments):
    """Whether a call's last argument is 1 or -1: times it and over it are the same."""
    depth = 1
    for at, c in enumerate(arguments):
        depth += (c in "({[") - (c in ")}]")
        if depth == 0:
            return re.search(r", -?1$", arguments[:at]) is not None
    return False


def changes(code, above):
    """(from, to, replacement) within a line without comments; `above` is what stands before it."""
    for match in BINARY.finditer(code):
        at = match.start("sign")
        if TYPE_BEFORE.search(code[:at]) and match.group("sign") in "*-":
            continue
        if code[at:at + 2] in ("->", "--", "++", "**", "*)") or code[at - 1:at + 1] in ("--", "++"):
            continue
        yield at, at + 1, SIGNS[match.group("sign")]
    for pattern, new in RULES:
        for match in pattern.finditer(code):
            if match.group(0) == "adz_mul_number(" and by_one(code[match.end():]):
                continue
            yield match.start(), match.end(), new(match) if callable(new) else match.expand(new)
    for match in NUMBER.finditer(code):
        number = match.group(0)
        counts = COUNTING.search(called(above + code[:match.start()]))
        index = code[:match.start()].endswith("[") and code[match.end():].startswith("]")
        compared = re.search(r"[=!<>]= ?$|[<>] ?$|case $", code[:match.start()])
        if float(number) == 0 or index or compared or counts:
            continue
        yield match.start(), match.end(), repr(2 * float(number)) \
            if re.search(r"[.eE]", number) else str(2 * int(number))


COMPARED = re.compile(r"(?<=[\w)\]] )(<=|>=|<|>|==|!=|&&|\|\|)(?=(?: |$))")
OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||",
         "||": "&&"}
GUARD = re.compile(r"\bif \(")
NEGATED = re.compile(r"!(?=[\w(])")
CONSTANT = re.compile(r"\b(?:true|false)\b(?=[;,)])")
STATEMENT = re.compile(r"^(\s*)(?:(?:\+\+|--|\*)?[A-Za-z_][\w.>\[\]*() -]*(?: [-+*/|&^]?= .*|\+\+|--)|"
                       r"(?:\(void\))?[a-z_]\w*\(.*\)|(?:\+\+|--)[A-Za-z_][\w.>\[\]-]*);$")
DECLARED = re.compile(r"^\s*(?:return|goto|break|continue|case|default|else|do|typedef|struct|enum|"
                      r"static|const|unsigned|extern|[A-Za-z_]\w*(?: \*+| )[*]*\w+(?:\[.*\])?(?:,| =|;))")
# What is released too late or never, the sanitizers see.
RELEASES = re.compile(r"\b\w*(?:free|drop|release|decref|unmap|close|destroy|discard|unlock|lock)\w*\(")
LOOPS = re.compile(r"^\s*(?:for \(|#|.*\bassert\(|.*_Static_assert)")


def guarded(code, at):
    """Where the condition that begins at `at` ends in its line, or None."""
    depth = 1
    for end in range(at, len(code)):
        depth += (code[end] == "(") - (code[end] == ")")
        if depth == 0:
            return end
    return None


def decisions(line, code):
    """The line with another decision in it, or with its statement left out."""
    if LOOPS.match(code):
        return
    for match in COMPARED.finditer(code):
        yield line[:match.start()] + OTHER[match.group(0)] + line[match.end():]
    for match in GUARD.finditer(code):
        end = guarded(code, match.end())
        inside = line[match.end():] if end is None else f"({line[match.end():end]}){line[end:]}"
        yield line[:match.end()] + "0 && " + inside
    for match in NEGATED.finditer(code):
        yield line[:match.start()] + line[match.end():]
    for match in CONSTANT.finditer(code):
        other = "false" if match.group(0) == "true" else "true"
        yield line[:match.start()] + other + line[match.end():]
    if STATEMENT.match(code) and not DECLARED.match(code) and not RELEASES.search(code):
        yield re.match(r"\s*", line).group(0) + "(void)0; // " + line.strip()


def all_mutants(text, item):
    """mutants(), of a room those of decisions too."""
    seen = set()
    for mutant in mutants(text, item):
        seen.add(mutant[:2])
        yield mutant
    if not in_room(item.file):
        return
    lines, plain = text.split("\n"), without_comments(text).split("\n")
    first = item.first
    while not re.match(r"#|[A-Z]", item.text) and plain[first].strip() != "{":
        first += 1
    for number in range(first, item.last + 1):
        whole = number == 0 or re.search(r"(?:[;{}:]|^|\*/)\s*$", plain[number - 1])
        for changed in decisions(lines[number], plain[number]):
            if (whole or "(void)0; //" not in changed) and (number, changed) not in seen:
                seen.add((number, changed))
                yield number, changed, "\n".join(lines[:number] + [changed] + lines[number + 1:])


def mutants(text, item):
    """(line number, the line as mutated, the file as mutated)"""
    lines, plain = text.split("\n"), without_comments(text).split("\n")
    first = item.first
    while not re.match(r"#|[A-Z]", item.text) and plain[first].strip() != "{":
        first += 1 # past the function's head
    for number in range(first, item.last + 1):
        line, code = lines[number], plain[number]
        if SKIP.match(code):
            continue
        if code.startswith("#"): # the words `#define NAME(a, b)` are no code
            head = re.match(r"#\s*define\s+\w+(\([^)]*\))?", code).end()
            code = " " * head + code[head:]
        seen = set()
        above = "\n".join(plain[first:number]) + "\n"
        for start, end, new in changes(code, above):
            changed = line[:start] + new + line[end:]
            if changed not in seen:
                seen.add(changed)
                yield number, changed, "\n".join(lines[:number] + [changed] + lines[number + 1:])
        for match in DROP.finditer(code):
            changed = line[:match.end()] + "1 ? 0 : " + line[match.end():]
            rest = [re.sub(r"return adzi_status\(\w+(?:\[\w+\])?\)", "return ADZ_OK", l)
                    for l in lines[number + 1:item.last + 1]] + lines[item.last + 1:]
            yield number, changed, "\n".join(lines[:number] + [changed] + rest)
