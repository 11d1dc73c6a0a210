/* Tokenizers: rules, vocabularies, files, and the way there and back. */
#include "tests.h"

int main(void)
{
    return words_tests() + characters_tests() + files_tests() + rules_tests() + types_tests();
}
