/* States of optimizers that are saved and loaded, and refused memory. */
#include "cases.h"
#include "tests.h"

static void state_continues_bit_for_bit(void **state)
{
    (void)state;
    for (int k = 0; k < n_cases; ++k) {
        for (int f32 = 0; f32 < 2; ++f32) {
            adz_tensor *w = start(f32 ? ADZ_F32 : ADZ_F64), *v = start(f32 ? ADZ_F32 : ADZ_F64);
            adz_optimizer *one_go = cases[k].make(one(&w)), *other = cases[k].make(one(&v));
            adz_optimizer_set(one_go, 0, "lr", 1.0 / 3);
            take_steps(one_go, w, 0, 4);
            assert_int_equal(save(one_go, "state"), ADZ_OK);
            take_steps(other, v, 5, 7); /* The load replaces the state that these steps make. */
            assert_int_equal(load(other, "state"), ADZ_OK);
            ADZ_NO_GRAD
            {
                adz_copy_(v, w);
            }
            assert_int_equal(save(other, "again"), ADZ_OK);
            assert_true(files_equal(temporary_path("state"), temporary_path("again")));
            take_steps(one_go, w, 4, 9);
            take_steps(other, v, 4, 9);
            if (!adz_equal(w, v)) {
                fail_msg("%s goes on differently after loading", cases[k].name);
            }
            adz_optimizer_release(&other);
            adz_optimizer_release(&one_go);
        }
    }
}

static void states_of_others_are_refused(void **state)
{
    (void)state;
    adz_tensor *w = start(ADZ_F64);
    for (int k = 0; k < n_cases; ++k) {
        adz_optimizer *one_kind = cases[k].make(one(&w));
        take_steps(one_kind, w, 0, 1);
        assert_int_equal(save(one_kind, "one"), ADZ_OK);
        for (int other = 0; other < n_cases; ++other) {
            adz_optimizer *o = cases[other].make(one(&w));
            bool same = strcmp(adz_optimizer_name(o), adz_optimizer_name(one_kind)) == 0;
            assert_int_equal(load(o, "one"), same ? ADZ_OK : ADZ_ERR_STATE);
            if (!same) {
                expect_error(ADZ_ERR_STATE, adz_optimizer_name(one_kind));
            }
            adz_optimizer_release(&o);
        }
        adz_optimizer_release(&one_kind);
    }
}

static bool is_count(const char *name)
{
    const char *last = strrchr(name, '.');
    return last != NULL && strcmp(last, ".step") == 0;
}

static bool counts_steps(adz_state_dict *all)
{
    bool counts = false;
    for (size_t i = 0; i < adz_state_dict_count(all); ++i) {
        counts = counts || is_count(adz_state_dict_name_at(all, i));
    }
    return counts;
}

/* Each entry of a state is left out in turn. An optimizer that counts no steps, such as SGD,
 * accepts a state without momentum, because before the first step there is none. */
static void incomplete_states_are_refused(void **state)
{
    (void)state;
    for (int k = 0; k < n_cases; ++k) {
        adz_tensor *w = start(ADZ_F64);
        adz_optimizer *o = cases[k].make(one(&w));
        take_steps(o, w, 0, 2);
        adz_state_dict *all = adz_state_dict_new();
        assert_int_equal(adzi_optimizer_collect(o, all), ADZ_OK);
        json_t *groups = adzi_optimizer_groups(o);
        const size_t entries = counts_steps(all) ? adz_state_dict_count(all) : 0;
        for (size_t out = 0; out < entries; ++out) {
            adz_state_dict *part = adz_state_dict_new();
            for (size_t i = 0; i < adz_state_dict_count(all); ++i) {
                if (i != out) {
                    adz_state_dict_add(
                        part, adz_state_dict_name_at(all, i), adz_state_dict_at(all, i));
                }
            }
            assert_int_equal(adzi_optimizer_restore(o, part, groups), ADZ_ERR_STATE);
            const char *name = adz_state_dict_name_at(all, out);
            expect_error(ADZ_ERR_STATE, is_count(name) ? "but no step" : name);
            adz_state_dict_free(&part);
        }
        assert_int_equal(adzi_optimizer_restore(o, all, groups), ADZ_OK);
        json_decref(groups);
        adz_state_dict_free(&all);
        adz_optimizer_release(&o);
    }
}

/* A setting may ask for one more state between two steps. A run that stops there continues with the
 * same bits. */
static void a_state_may_be_asked_for_later(void **state)
{
    (void)state;
    adz_tensor *w = start(ADZ_F64), *v = start(ADZ_F64);
    adz_optimizer *o = adz_adam_new(one(&w), 0.1, NULL), *p = adz_adam_new(one(&v), 0.1, NULL);
    take_steps(o, w, 0, 3);
    assert_int_equal(adz_optimizer_set(o, 0, "amsgrad", 1), ADZ_OK);
    assert_int_equal(save(o, "later"), ADZ_OK);
    assert_int_equal(load(p, "later"), ADZ_OK);
    ADZ_NO_GRAD
    {
        adz_copy_(v, w);
    }
    take_steps(o, w, 3, 6);
    take_steps(p, v, 3, 6);
    assert_true(adz_equal(w, v));
    adz_optimizer_release(&o);
    adz_optimizer_release(&p);
}

/* The names and bits of an optimizer's state, its settings and its parameters. */
typedef struct snapshot {
    char bytes[8192];
    size_t size;
} snapshot;

typedef struct attempt {
    const optimizer_case *c;
    adz_tensor *w[2];
    adz_optimizer *optimizer;
    snapshot before;
} attempt;

static void append(snapshot *s, const void *bytes, size_t size)
{
    assert_true(s->size + size <= sizeof s->bytes);
    memcpy(s->bytes + s->size, bytes, size);
    s->size += size;
}

static void take_snapshot(const attempt *a, snapshot *s)
{
    adz_state_dict *state = adz_state_dict_new();
    s->size = 0;
    assert_int_equal(adzi_optimizer_collect(a->optimizer, state), ADZ_OK);
    for (size_t i = 0; i < adz_state_dict_count(state); ++i) {
        const adz_tensor *t = adz_state_dict_at(state, i);
        append(s, adz_state_dict_name_at(state, i), strlen(adz_state_dict_name_at(state, i)));
        append(s, t->data, (size_t)t->numel * 8);
    }
    append(s, a->optimizer->groups[0]->settings, sizeof a->optimizer->groups[0]->settings);
    for (int k = 0; k < 2; ++k) {
        append(s, adz_tensor_data_f64(a->w[k]), N * sizeof(double));
    }
    adz_state_dict_free(&state);
}

static adz_status try_step(void *user)
{
    return adz_optimizer_step(((attempt *)user)->optimizer);
}

static adz_status try_load(void *user)
{
    return load(((attempt *)user)->optimizer, "kept");
}

static adz_status try_make(void *user)
{
    attempt *a = user;
    adz_optimizer *o = a->c->make(adz_tensor_list_of(a->w, 2));
    adz_optimizer_release(&o);
    return adz_error_code();
}

static bool unchanged(void *user)
{
    static snapshot now;
    const attempt *a = user;
    take_snapshot(a, &now);
    return now.size == a->before.size && memcmp(now.bytes, a->before.bytes, now.size) == 0;
}

static void refused_memory_changes_nothing(void **state)
{
    (void)state;
    int points = 0;
    for (int k = 0; k < n_cases; ++k) {
        static attempt a;
        a = (attempt){ .c = &cases[k], .w = { start(ADZ_F64), start(ADZ_F64) } };
        int made = refuse_each(try_make, NULL, &a);
        assert_true(made >= 3);
        a.optimizer = cases[k].make(adz_tensor_list_of(a.w, 2));
        give_gradient(a.w[0], 0);
        give_gradient(a.w[1], 1);
        take_snapshot(&a, &a.before);
        int stepped = refuse_each(try_step, unchanged, &a);
        assert_true(stepped >= 2); /* at least one request for the state of each parameter */
        assert_false(unchanged(&a));
        assert_int_equal(save(a.optimizer, "kept"), ADZ_OK);
        take_steps(a.optimizer, a.w[0], 2, 3);
        take_snapshot(&a, &a.before);
        int loaded = refuse_each(try_load, unchanged, &a);
        assert_true(loaded > 10);
        assert_false(unchanged(&a));
        points += made + stepped + loaded;
        adz_optimizer_release(&a.optimizer);
    }
    printf("%d failure points\n", points);
}

int state_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(state_continues_bit_for_bit),
        TEST(states_of_others_are_refused),
        TEST(incomplete_states_are_refused),
        TEST(a_state_may_be_asked_for_later),
        TEST(refused_memory_changes_nothing),
    };
    return cmocka_run_group_tests_name("optimizers: state", tests, temporary_begin, temporary_end);
}
