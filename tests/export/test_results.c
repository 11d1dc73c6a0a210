/* Functions with several results, as a trace, as ONNX and as C: which results a file has, under
 * which names, what they hold, and what is refused. onnx_check.py runs such a model. */
#include "c99/network.h"
#include "export/onnx.h"
#include "plan/plan.h"
#include "protobuf_reader.h"

enum { ROWS = 3, FEATURES = 5, RESULTS = 8 };

static const char *const result_names[] = { "boxes", "scores", "best", "sure", "wide", "image",
    "again", "turned" };

/* A network with its input, and the function of it that a test exports. */
typedef struct detector {
    adz_module *net;
    adz_tensor *x;
    adz_optimizer *optimizer; /* of a step */
    adz_status (*several)(adz_tensor **results, struct detector *d);
} detector;

/* Every dtype of a C file; an input, a result twice, and a view of a result. */
static adz_status detect(adz_tensor **results, detector *d)
{
    adz_tensor *h = adz_module_forward(d->net, d->x);
    results[0] = adz_exp(adz_narrow(h, 1, 0, 4));
    results[1] = adz_softmax(h, -1);
    results[2] = adz_argmax(h, ADZ_DIMS(-1), ADZ_DROPDIM);
    results[3] = adz_gt_number(h, 0);
    results[4] = adz_to(results[0], ADZ_F64);
    results[5] = d->x;
    results[6] = results[0];
    results[7] = adz_transpose(results[0], 0, 1);
    return adz_error_code();
}

static adz_status function(adz_tensor **results, void *user)
{
    detector *d = user;
    return d->several(results, d);
}

static detector begin(adz_status (*several)(adz_tensor **results, detector *d))
{
    adz_manual_seed(3);
    detector d = { .several = several };
    d.net = ADZ_SEQUENTIAL(
        adz_linear_new(FEATURES, 8, NULL), adz_tanh_new(), adz_linear_new(8, 6, NULL));
    adz_scope *scope = adz_scope_open();
    d.x = adz_keep(adz_randn(ADZ_SHAPE(ROWS, FEATURES), ADZ_F32));
    adz_scope_close(scope);
    return d;
}

static void end(detector *d)
{
    adz_optimizer_release(&d->optimizer);
    adz_release(&d->x);
    adz_module_release(&d->net);
}

static adz_plan *plan_of(detector *d, size_t count, const char *const *names)
{
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs = adz_tensor_list_of(&d->x, 1);
    o.module = d->net;
    o.result_names = names;
    adz_plan *plan = adz_plan_new_many(function, d, count, &o);
    if (plan == NULL) {
        fail_msg("%s", adz_error_message());
    }
    return plan;
}

/* ---- the trace ------------------------------------------------------------------------------- */

static void a_trace_has_all_results(void **state)
{
    (void)state;
    detector d = begin(detect);
    adz_plan *plan = plan_of(&d, RESULTS, NULL);
    adzi_export what = adzi_export_of(plan);
    assert_null(what.result_names);
    adzi_trace *trace = adzi_trace_new("test", &what, NULL);
    assert_non_null(trace);
    assert_int_equal(trace->n_outputs, RESULTS);
    assert_string_equal(trace->calls[trace->values[trace->outputs[1]].call].op->name, "softmax");
    assert_int_equal(trace->outputs[5], 0); /* the input */
    assert_int_equal(trace->outputs[6], trace->outputs[0]);
    for (size_t k = 0; k < RESULTS; ++k) {
        assert_true(trace->values[trace->outputs[k]].used);
    }
    adzi_trace_free(&trace);
    adz_plan_free(&plan);
    end(&d);
}

/* ---- ONNX ------------------------------------------------------------------------------------ */

static read_model *read_written(detector *d, size_t count, const char *const *names)
{
    adz_plan *plan = plan_of(d, count, names);
    assert_int_equal(adz_plan_write_onnx(plan, temporary_path("net.onnx"), NULL), ADZ_OK);
    adz_plan_free(&plan);
    return read_model_file(temporary_path("net.onnx"));
}

static void a_model_has_an_output_for_each_result(void **state)
{
    (void)state;
    static const int types[] = { 1, 1, 7, 9, 11, 1, 1, 1 }; /* of onnx.proto */
    static const int ranks[] = { 2, 2, 1, 2, 2, 2, 2, 2 };
    detector d = begin(detect);
    for (int named = 0; named < 2; ++named) {
        read_model *m = read_written(&d, RESULTS, named ? result_names : NULL);
        assert_int_equal(m->n_outputs, RESULTS);
        for (int k = 0; k < RESULTS; ++k) {
            char name[20];
            snprintf(name, sizeof name, "output%d", k);
            const read_tensor *y = &m->outputs[k];
            const int axis = k == 7 ? 1 : 0;
            assert_true(read_is(y->name, named ? result_names[k] : name));
            assert_int_equal(y->type, types[k]);
            assert_int_equal(y->rank, ranks[k]);
            assert_true(y->dims[axis] == -1 && read_is(y->param, "batch"));
        }
        assert_int_equal(m->outputs[7].dims[0], 4);
        read_model_free(m);
    }
    end(&d);
}

/* The type of the node that computes a value, and its first input. */
static const read_node *maker(const read_model *m, const char *name)
{
    const read_node *found = NULL;
    for (int i = 0; i < m->n_nodes; ++i) {
        for (int k = 0; k < m->nodes[i].n_out; ++k) {
            if (read_is(m->nodes[i].out[k], name)) {
                assert_null(found); /* one node makes it */
                found = &m->nodes[i];
            }
        }
    }
    assert_non_null(found);
    return found;
}

/* Each output is computed once; an input, and a result that is another one, are handed on. */
static void outputs_are_made_by_one_node_each(void **state)
{
    (void)state;
    detector d = begin(detect);
    read_model *m = read_written(&d, RESULTS, result_names);
    assert_true(read_is(maker(m, "boxes")->type, "Exp"));
    assert_true(read_is(maker(m, "scores")->type, "Softmax"));
    assert_true(read_is(maker(m, "image")->type, "Identity"));
    assert_true(read_is(maker(m, "image")->in[0], "input"));
    assert_true(read_is(maker(m, "again")->type, "Identity"));
    assert_true(read_is(maker(m, "again")->in[0], "boxes"));
    assert_true(read_is(maker(m, "turned")->in[0], "boxes"));
    read_model_free(m);
    end(&d);
}

/* The name of a single result, and of a module's. */
static void a_single_result_is_called_output(void **state)
{
    (void)state;
    detector d = begin(detect);
    read_model *m = read_written(&d, 1, NULL);
    assert_true(m->n_outputs == 1 && read_is(m->outputs[0].name, "output"));
    read_model_free(m);
    m = read_written(&d, 1, result_names);
    assert_true(m->n_outputs == 1 && read_is(m->outputs[0].name, "boxes"));
    read_model_free(m);
    end(&d);
}

/* ---- C --------------------------------------------------------------------------------------- */

static const char *file_text(const char *name)
{
    static char text[1 << 17];
    FILE *file = fopen(temporary_path(name), "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void write_c(detector *d, const char *file, size_t count, const char *const *names,
    const adz_c_options *options)
{
    adz_plan *plan = plan_of(d, count, names);
    assert_int_equal(adz_plan_write_c(plan, temporary_path(file), options), ADZ_OK);
    adz_plan_free(&plan);
}

typedef void detect_function(const float *x, float *boxes, float *scores, int32_t *best,
    unsigned char *sure, double *wide, float *image, float *again, float *turned);

static void expect_near(const float *ours, const adz_tensor *theirs)
{
    adz_tensor *t = adz_contiguous((adz_tensor *)(uintptr_t)theirs);
    for (int64_t i = 0; i < adz_tensor_numel(t); ++i) {
        assert_true(fabs((double)ours[i] - (double)adz_tensor_data_f32(t)[i]) <= 1e-5);
    }
}

/* What the compiled function computes is what the library computes. */
static void run_and_compare(const compiled *c, detector *d)
{
    float boxes[ROWS * 4], scores[ROWS * 6], image[ROWS * FEATURES], again[ROWS * 4],
        turned[ROWS * 4];
    int32_t best[ROWS];
    unsigned char sure[ROWS * 6];
    double wide[ROWS * 4];
    detect_function *run;
    memcpy(&run, &c->run, sizeof run);
    run(adz_tensor_data_f32(d->x), boxes, scores, best, sure, wide, image, again, turned);
    adz_scope *scope = adz_scope_open();
    adz_tensor *expected[RESULTS];
    assert_int_equal(detect(expected, d), ADZ_OK);
    expect_near(boxes, expected[0]);
    expect_near(scores, expected[1]);
    for (int i = 0; i < ROWS; ++i) {
        assert_int_equal(best[i], adz_tensor_data_i64(expected[2])[i]);
    }
    assert_memory_equal(sure, adz_tensor_data(expected[3]), sizeof sure);
    for (int i = 0; i < ROWS * 4; ++i) {
        assert_true(wide[i] == (double)boxes[i]);
    }
    assert_memory_equal(image, adz_tensor_data(d->x), sizeof image);
    assert_memory_equal(again, boxes, sizeof boxes);
    expect_near(turned, expected[7]);
    adz_scope_close(scope);
}

static void a_c_function_fills_all_results(void **state)
{
    (void)state;
    detector d = begin(detect);
    for (int named = 0; named < 2; ++named) {
        write_c(&d, "found.c", RESULTS, named ? result_names : NULL, NULL);
        assert_non_null(strstr(file_text("found.h"),
            named
                ? "void found_run(const float *x, float *y_boxes, float *y_scores, int32_t *y_best, unsigned char *y_sure, double *y_wide, float *y_image, float *y_again, float *y_turned);"
                : "void found_run(const float *x, float *y0, float *y1, int32_t *y2, unsigned char *y3, double *y4, float *y5, float *y6, float *y7);"));
        assert_non_null(strstr(file_text("found.h"),
            named ? " *     y_scores: scores [3, 6]\n" : " *     y1: result 1 [3, 6]\n"));
        const compiled c = compile("found", false);
        run_and_compare(&c, &d);
        run_and_compare(&c, &d); /* nothing is left over from the first call */
        dlclose(c.library);
    }
    write_c(&d, "found.c", 1, NULL, NULL);
    assert_non_null(strstr(file_text("found.h"), "void found_run(const float *x, float *y);"));
    assert_non_null(strstr(file_text("found.h"), " *     y: the result [3, 4]\n"));
    end(&d);
}

/* Names that are no identifiers, that are words of C, or that become the same identifier. */
static void any_name_becomes_an_argument(void **state)
{
    (void)state;
    static const char *const names[] = { "*/ #error", "int", "a.b", "a_b", "exp", "y0", "x",
        "9\n" };
    detector d = begin(detect);
    adz_c_options o = ADZ_C_OPTIONS;
    for (int i = 0; i < 3; ++i) { /* the file then has a function y_exp or y__exp */
        o.name = i == 0 ? NULL : i == 1 ? "y" : "y_";
        write_c(&d, "odd.c", RESULTS, names, &o);
        assert_null(strstr(file_text("odd.h"), "#error"));
        if (i == 0) {
            assert_non_null(strstr(file_text("odd.h"), "int32_t *y_a_b, unsigned char *y_a_b_"));
            const compiled c = compile("odd", false);
            run_and_compare(&c, &d);
            dlclose(c.library);
        } else {
            assert_non_null(strstr(file_text("odd.c"), i == 1 ? " y_exp(" : " y__exp("));
            assert_non_null(strstr(file_text("odd.h"), "double *result_exp"));
        }
    }
    end(&d);
}

/* A step whose third result no input reaches: the step changes it. The last one has been changed.
 */
static adz_status learn(adz_tensor **results, detector *d)
{
    adz_tensor *bias = adz_detach(adz_module_get_parameter(d->net, "2.bias"));
    adz_optimizer_zero_grad(d->optimizer);
    results[1] = adz_module_forward(d->net, d->x);
    results[0] = adz_mean(adz_square(results[1]), ADZ_ALL_DIMS, ADZ_DROPDIM);
    results[2] = adz_norm(bias, 2, ADZ_ALL_DIMS, ADZ_DROPDIM);
    if (adz_backward(results[0]) == ADZ_OK && adz_optimizer_step(d->optimizer) == ADZ_OK) {
        results[3] = adz_detach(adz_module_get_parameter(d->net, "2.bias"));
    }
    return adz_error_code();
}

/* A forward and a step in one file, each with its results and their names. */
static void a_step_fills_all_results(void **state)
{
    (void)state;
    static const char *const functions[] = { "run", "step" };
    static const char *const names[] = { "loss", "scores", "norm", "bias" };
    detector d = begin(detect);
    d.optimizer = adz_adam_new(adz_module_parameters(d.net), 0.01, NULL);
    detector learner = d;
    learner.several = learn;
    adz_plan *plans[] = { plan_of(&d, RESULTS, result_names), plan_of(&learner, 4, names) };
    assert_int_equal(
        adz_plan_write_c_many(plans, functions, 2, temporary_path("taught.c"), NULL), ADZ_OK);
    assert_non_null(strstr(file_text("taught.h"),
        "void taught_step(const float *x, float *y_loss, float *y_scores, float *y_norm, float *y_bias);"));
    assert_non_null(strstr(file_text("taught.h"), "Computes the results, and changes variables"));
    const compiled c = compile("taught", false);
    void (*step)(const float *, float *, float *, float *, float *);
    memcpy(&step, &c.step, sizeof step);
    for (int i = 0; i < 3; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *expected[4];
        float got[4][ROWS * 6];
        run_and_compare(&c, &d);
        step(adz_tensor_data_f32(d.x), got[0], got[1], got[2], got[3]);
        assert_int_equal(learn(expected, &learner), ADZ_OK);
        for (int k = 0; k < 4; ++k) {
            expect_near(got[k], expected[k]);
        }
        adz_scope_close(scope);
    }
    dlclose(c.library);
    adz_plan_free(&plans[0]);
    adz_plan_free(&plans[1]);
    end(&d);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static adz_status with_parameter(adz_tensor **results, detector *d)
{
    results[0] = adz_module_forward(d->net, d->x);
    results[1] = adz_exp(adz_module_get_parameter(d->net, "0.weight"));
    return adz_error_code();
}

static adz_status with_constant(adz_tensor **results, detector *d)
{
    results[0] = adz_module_forward(d->net, d->x);
    results[1] = adz_ones(ADZ_SHAPE(ROWS, 2), ADZ_F32);
    return adz_error_code();
}

/* The input is overwritten before it is read. */
static adz_status with_overwritten(adz_tensor **results, detector *d)
{
    results[0] = adz_module_forward(d->net, d->x);
    results[1] = adz_fill_(adz_exp(d->x), 3);
    return adz_error_code();
}

/* A result is read after its memory was changed through another tensor. */
static adz_status with_changed(adz_tensor **results, detector *d)
{
    results[0] = adz_module_forward(d->net, d->x);
    results[1] = adz_exp(d->x);
    adz_fill_(adz_select(results[1], 0, 0), 3);
    return adz_error_code();
}

static void expect_refused(detector *d, const char *const *names, adz_status code, const char *part)
{
    adz_plan *plan = plan_of(d, 2, names);
    temporary_files(true);
    assert_int_equal(adz_plan_write_c(plan, temporary_path("no.c"), NULL), code);
    expect_error(code, part);
    assert_int_equal(adz_plan_write_onnx(plan, temporary_path("no.onnx"), NULL), code);
    expect_error(code, part);
    assert_int_equal(temporary_files(false), 0);
    adz_plan_free(&plan);
}

static void a_result_must_depend_on_an_input(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    detector d = begin(with_parameter);
    expect_refused(&d, result_names, ADZ_ERR_UNSUPPORTED,
        "result 1 \"scores\" does not depend on input, so that it would be a constant; leave it out, or compute it from the input");
    d.several = with_constant;
    expect_refused(&d, NULL, ADZ_ERR_UNSUPPORTED, "result 1 does not depend on input");
    d.several = with_overwritten;
    expect_refused(&d, NULL, ADZ_ERR_UNSUPPORTED, "result 1 does not depend on input");
    d.several = with_changed;
    expect_refused(&d, NULL, ADZ_ERR_UNSUPPORTED, "is read after fill");
    end(&d);
    adz_scope_close(scope);
}

/* Names that a plan takes and ONNX does not. */
static void names_in_a_model(void **state)
{
    (void)state;
    static const char *const wrong[][2] = { { "a", "\xff\xfe" }, { "0.weight", "a" } };
    static const char *const says[] = { "not UTF-8", "\"0.weight\" is the name of two values" };
    detector d = begin(detect);
    for (int i = 0; i < 2; ++i) {
        adz_plan *plan = plan_of(&d, RESULTS, result_names);
        adzi_export what = adzi_export_of(plan);
        const char *names[RESULTS];
        memcpy(names, result_names, sizeof names);
        memcpy(names, wrong[i], sizeof wrong[i]);
        what.result_names = names;
        adzi_write_onnx("adz_plan_write_onnx", &what, temporary_path("no.onnx"), NULL);
        expect_error(ADZ_ERR_ARGUMENT, says[i]);
        adz_plan_free(&plan);
    }
    end(&d);
}

static adz_status step_with_constant(adz_tensor **results, detector *d)
{
    const adz_status status = learn(results, d);
    results[1] = adz_ones(ADZ_SHAPE(2), ADZ_F32);
    return status;
}

static void results_of_a_traced_step(void **state)
{
    (void)state;
    detector d = begin(learn);
    d.optimizer = adz_sgd_new(adz_module_parameters(d.net), 0.1, NULL);
    adz_plan *plan = plan_of(&d, 4, NULL);
    adzi_export what = adzi_export_of(plan);
    what.step = true;
    adzi_trace *trace = adzi_trace_new("test", &what, NULL);
    assert_non_null(trace);
    assert_int_equal(trace->n_outputs, 4);
    adzi_trace_free(&trace);
    d.several = step_with_constant;
    assert_null(adzi_trace_new("test", &what, NULL));
    expect_error(ADZ_ERR_UNSUPPORTED, "result 1 does not depend on input");
    adz_plan_free(&plan);
    end(&d);
}

/* Every request for memory may be refused: the error says so, and no file is left behind. */
static void refused_memory(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    detector d = begin(detect);
    adz_plan *plan = plan_of(&d, RESULTS, result_names);
    int refusals = 0;
    for (int onnx = 0; onnx < 2; ++onnx) {
        bool reached = true;
        for (int64_t k = 1; reached; ++k) {
            const int64_t before = adzi_live_tensors();
            temporary_files(true);
            adzi_alloc_fail_at(k);
            const adz_status status =
                onnx ? adz_plan_write_onnx(plan, temporary_path("memory.onnx"), NULL)
                     : adz_plan_write_c(plan, temporary_path("memory.c"), NULL);
            reached = adzi_alloc_failed();
            adzi_alloc_fail_at(0);
            if (status != ADZ_OK) {
                expect_error(ADZ_ERR_MEMORY, "");
                assert_int_equal(temporary_files(false), 0);
                ++refusals;
            }
            assert_int_equal(adzi_live_tensors(), before);
        }
    }
    assert_true(refusals > 100);
    adz_plan_free(&plan);
    end(&d);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_has_all_results),
        cmocka_unit_test(a_model_has_an_output_for_each_result),
        cmocka_unit_test(outputs_are_made_by_one_node_each),
        cmocka_unit_test(a_single_result_is_called_output),
        cmocka_unit_test(a_c_function_fills_all_results),
        cmocka_unit_test(any_name_becomes_an_argument),
        cmocka_unit_test(a_step_fills_all_results),
        cmocka_unit_test(a_result_must_depend_on_an_input),
        cmocka_unit_test(names_in_a_model),
        cmocka_unit_test(results_of_a_traced_step),
        cmocka_unit_test(refused_memory),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
