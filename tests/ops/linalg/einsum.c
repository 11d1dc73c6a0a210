#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_einsum(a->text, a->in[0], a->n > 1 ? a->in[1] : ADZ_NONE), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->text = config_text(config, "equation", "");
    return true;
}

FACT(it_agrees_with_matmul_and_sums)
{
    adz_manual_seed(1);
    adz_tensor *a = adz_randn(ADZ_SHAPE(2, 3, 4), ADZ_F64),
               *b = adz_randn(ADZ_SHAPE(2, 4, 5), ADZ_F64);
    adz_tensor *y = adz_matmul(a, b);
    assert_true(adz_allclose(adz_einsum("bij,bjk->bik", a, b), y, 1e-12, 1e-12, false));
    assert_true(adz_allclose(adz_einsum(" ...ij , ...jk ", a, b), y, 1e-12, 1e-12, false));
    assert_true(adz_allclose(
        adz_einsum("bij,bjk->kib", a, b), adz_permute(y, ADZ_DIMS(2, 1, 0)), 1e-12, 1e-12, false));
    adz_tensor *square = adz_matmul(a, adz_transpose(a, 1, 2));
    double trace = 0;
    for (int64_t i = 0; i < 2; ++i) {
        for (int64_t j = 0; j < 3; ++j) {
            trace += adz_tensor_at(square, (int64_t[]){ i, j, j });
        }
    }
    assert_float_equal(adz_item(adz_einsum("bii->", square, ADZ_NONE)), trace, 1e-12);
    assert_float_equal(adz_item(adz_einsum("bij,bij->", a, a)), trace, 1e-12);
}

FACT(a_letter_in_both_and_not_in_the_result_is_summed)
{
    adz_tensor *a = adz_ones(ADZ_SHAPE(2, 3), ADZ_F64), *b = adz_ones(ADZ_SHAPE(2, 4), ADZ_F64);
    adz_tensor *y = adz_einsum("bi,bk", a, b);
    assert_true(adz_equal(y, adz_full(ADZ_SHAPE(3, 4), 2, ADZ_F64)));
    y = adz_einsum("Ba,bB", a, adz_transpose(b, 0, 1));
    assert_true(adz_equal(y, adz_full(ADZ_SHAPE(3, 4), 2, ADZ_F64)));
}

FACT(eight_letters_of_a_batch)
{
    adz_tensor *a = adz_ones(ADZ_SHAPE(1, 2, 1, 2, 1, 1, 2, 3), ADZ_F32);
    adz_tensor *y = adz_einsum("abcdefgh,abcdefgh->abcdefg", a, a);
    assert_true(adz_equal(y, adz_full(ADZ_SHAPE(1, 2, 1, 2, 1, 1, 2), 3, ADZ_F32)));
}

FACT(a_view_or_the_operand_itself_can_be_the_result)
{
    adz_tensor *a = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32);
    assert_ptr_equal(adz_einsum("ij->ij", a, ADZ_NONE), a);
    assert_ptr_equal(adz_tensor_data(adz_einsum("ij->ji", a, ADZ_NONE)), adz_tensor_data(a));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(it_agrees_with_matmul_and_sums),
    cmocka_unit_test(a_letter_in_both_and_not_in_the_result_is_summed),
    cmocka_unit_test(eight_letters_of_a_batch),
    cmocka_unit_test(a_view_or_the_operand_itself_can_be_the_result),
};

const op_case einsum_case = {
    .name = "einsum",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(4, 2) }, .text = "ij,jk->ik" },
        { .in = { IN_T(3, 4), IN_T(4, 2) }, .text = "ij,jk->ki" },
        { .in = { IN(2, 3, 2, 2), IN(4, 3, 2, 2) }, .text = "ibhd,jbhd->ijbh" },
        { .in = { IN(3), IN(4) }, .text = "i,j->ij" },
        { .in = { IN(3, 2), IN(3, 2) }, .text = "ij,ij->j" },
        { .in = { IN(3, 2), IN(2, 3) }, .text = "ij,ji->ij" },
        { .in = { IN(1, 2, 3), IN(4, 3, 2) }, .text = "...ij,...jk" },
        { .in = { IN(2, 3, 2), IN(3, 4) }, .text = "iji,jk->ik" },
        { .in = { IN(3, 2, 2), IN(1, 5) }, .text = "iab,ij->aj" },
        { .in = { IN(3, 2, 3) }, .text = "iji->j" },
        { .in = { IN_T(3, 4) }, .text = "ba" },
        { .in = { IN(3, 0), IN(0, 2) }, .text = "ij,jk->ik" },
        { .in = { IN(2, 2), IN_0 }, .text = "ii,->i" },
        { .in = { IN(2, 3), IN(2, 3) }, .text = "ij,kl->" },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(5, 2) }, .text = "ij,jk->ik", .status = ADZ_ERR_SHAPE, .says = "'ij,jk->ik': 'j' has size 5" },
        { .in = { IN(3, 4), IN(4, 2) }, .text = "ij,jk,k->i", .status = ADZ_ERR_ARGUMENT, .says = "2 operands" },
        { .in = { IN(3, 4), IN(4, 2) }, .text = "ij->i", .status = ADZ_ERR_ARGUMENT },
        { .in = { IN(3, 4), IN(4, 2) }, .text = "ij,jk->il", .status = ADZ_ERR_ARGUMENT, .says = "'l' of the result" },
        { .in = { IN(3, 4), IN(4, 2) }, .text = "ij,jk->ii", .status = ADZ_ERR_ARGUMENT, .says = "twice" },
        { .in = { IN(3, 4), IN(4, 2) }, .text = "ij,j->i", .status = ADZ_ERR_SHAPE, .says = "1 letters" },
        { .in = { IN(3, 4), IN(4, 2) }, .text = "i1,jk->i", .status = ADZ_ERR_ARGUMENT, .says = "character 1" },
        { .in = { IN(3, 4), IN(4, 2) }, .text = "ij,jk->i->k", .status = ADZ_ERR_ARGUMENT },
        { .in = { IN(3, 4), IN(4, 2) }, .text = "ij,jk-i", .status = ADZ_ERR_ARGUMENT },
        { .in = { IN(3, 4) }, .text = "ii->i", .status = ADZ_ERR_SHAPE, .says = "'i'" },
        { .in = { IN(1, 1, 1, 1, 1), IN(1, 1, 1, 1, 1) }, .text = "abcde,fghij", .status = ADZ_ERR_SHAPE, .says = "more than 8" },
        { .in = { IN(3, 4) }, .text = "i->", .status = ADZ_ERR_SHAPE, .says = "no '...'" },
    },
    .broadcasts = true,
    .vectors = { "einsum" },
    .inputs = { "a", "b" },
    .config = config,
    FACTS(facts),
};
