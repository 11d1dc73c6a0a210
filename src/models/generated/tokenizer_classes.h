/* Written by tools/tokenizer_tables.py: the characters as tokenizers 0.23.3 sees them. */
/* clang-format off */
enum {
    CLASS_LETTER = 1 << 0,
    CLASS_NUMBER = 1 << 1,
    CLASS_SPACE = 1 << 2,
    CLASS_MARK = 1 << 3,
    CLASS_UPPER = 1 << 4,
    CLASS_LOWER = 1 << 5,
    CLASS_WORD = 1 << 6,
    CLASS_PUNCTUATION = 1 << 7,
    CLASS_DIGIT = 1 << 8,
    CLASS_CONTROL = 1 << 9,
    CLASS_NONSPACING = 1 << 10,
    CLASS_COMBINING = 1 << 11,
    CLASS_CHINESE = 1 << 12,
    CLASS_LOWERED = 1 << 13,
    CLASS_DECOMPOSED = 1 << 14,
    CLASS_COMPATIBLE = 1 << 15,
    CLASS_REORDERED = 1 << 16,
    CLASS_JOINS = 1 << 17,
    CLASS_UNSTABLE = 1 << 18,
    CLASS_SIGN = 1 << 19,
};
