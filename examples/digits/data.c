/* Images as datasets, their split, and whether they fit a model. */
#include "data.h"

#include <stdio.h>
#include <stdlib.h>

#include "../shared/command_line.h"
#include "../shared/row_list.h"
#include "idx.h"
#include "strokes.h"
#include "table.h"

/* ---- datasets -------------------------------------------------------------------------------- */

/* Makes a dataset of the images and frees them. */
static adz_dataset *dataset_of(images *all)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *tensors[TENSORS];
    const int64_t n = all->count;
    tensors[PIXELS] =
        adz_tensor_from(all->pixels, ADZ_SHAPE(n, 1, all->height, all->width), ADZ_F32);
    tensors[NUMBERS] = adz_arange(0, (double)n, 1, ADZ_I64);
    size_t count = 2;
    if (all->digits != NULL) {
        tensors[DIGITS] = adz_tensor_from(all->digits, ADZ_SHAPE(n), ADZ_I64);
        count = TENSORS;
    }
    adz_dataset *rows = adz_dataset_new(tensors, count);
    adz_scope_close(scope);
    free_images(all);
    return rows;
}

/* The largest pixel of the images of a dataset. */
static double brightest(adz_dataset *rows)
{
    adz_scope *scope = adz_scope_open();
    double most = adz_item(adz_max(adz_dataset_at(rows, PIXELS)));
    adz_scope_close(scope);
    return most;
}

/* ---- whether images fit a model -------------------------------------------------------------- */

static void check_size(const char *path, const images *all, const options *o, const model *m)
{
    if (m != NULL && (all->height != m->height || all->width != m->width)) {
        fail(
            "%s: has images of %lld x %lld pixels, and %s reads images of %lld x %lld; resize them, or train a model on such images",
            path, (long long)all->height, (long long)all->width, o->load, (long long)m->height,
            (long long)m->width);
    }
}

/* Ends the program if a pixel is more than twice as bright as all that the model was trained on,
 * and warns if all pixels are below a quarter of that. The numbers are then probably on another
 * scale. */
static void check_range(const char *path, const images *all, const options *o, const model *m)
{
    const int64_t size = all->height * all->width;
    float most = 0;
    for (int64_t i = 0; i < all->count * size && m != NULL; ++i) {
        most = all->pixels[i] > most ? all->pixels[i] : most;
        if ((double)all->pixels[i] > 2 * m->range) {
            char text[64];
            snprintf(text, sizeof text, "image %lld (from 0)", (long long)(i / size));
            fail(
                "%s: %s: a pixel is %g, and %s was trained on pixels from 0 to %g; bring them to that scale, or train a model on such images",
                path, all->range > 0 ? text : text_of_row(path, i / size, text),
                (double)all->pixels[i], o->load, m->range);
        }
    }
    if (m != NULL && (double)most < m->range / 4) {
        remark(
            "%s: its brightest pixel is %g, and %s was trained on pixels from 0 to %g; are they on another scale?",
            path, (double)most, o->load, m->range);
    }
}

static void check_fit(const char *path, const images *all, const options *o, const model *m)
{
    check_size(path, all, o, m);
    check_range(path, all, o, m);
}

/* ---- sources of images ----------------------------------------------------------------------- */

static wanted_size size_of_table(const options *o, const model *m)
{
    if (m != NULL && o->height == 0) {
        return (wanted_size){ m->height, m->width, o->load };
    }
    return (wanted_size){ o->height, o->width, "--size" };
}

static images load_images(const options *o, const model *m, const char *name)
{
    images all;
    if (o->data != NULL) {
        all = read_pixel_table(o->data, o->target, size_of_table(o, m), false);
    } else if (o->images != NULL) {
        all = read_idx(o->images, o->labels);
    } else {
        all = draw_digits(o->examples, (uint64_t)o->seed);
        if (o->write_data != NULL) {
            write_pixel_table(o->write_data, &all);
        }
    }
    check_fit(name, &all, o, m);
    return all;
}

adz_dataset *load_unknown(const options *o, const model *m)
{
    images all = is_idx(o->predict)
                     ? read_idx(o->predict, NULL)
                     : read_pixel_table(o->predict, o->target, size_of_table(o, m), true);
    check_fit(o->predict, &all, o, m);
    return dataset_of(&all);
}

/* ---- the split ------------------------------------------------------------------------------- */

/* Cuts a random share from the rows. Both parts are for adz_dataset_release. */
static void cut_share(adz_dataset *rows, double share, adz_generator *generator, adz_dataset **rest,
    adz_dataset **cut)
{
    const double shares[] = { 1 - share, share };
    adz_dataset *parts[2];
    adz_dataset_split(rows, shares, 2, generator, parts);
    *rest = parts[0];
    *cut = parts[1];
}

static void load_test_images(const options *o, const model *m, problem *p)
{
    images all = read_idx(o->test_images, o->test_labels);
    if (all.height != p->height || all.width != p->width) {
        fail("%s: has images of %lld x %lld pixels, and %s has %lld x %lld", o->test_images,
            (long long)all.height, (long long)all.width, o->images, (long long)p->height,
            (long long)p->width);
    }
    check_fit(o->test_images, &all, o, m);
    p->test = dataset_of(&all);
}

static void split(const options *o, const model *m, adz_dataset *all, problem *p)
{
    adz_dataset *rest = NULL;
    adz_generator *generator = adz_generator_new((uint64_t)o->seed);
    if (o->test_images != NULL) {
        load_test_images(o, m, p);
        rest = adz_dataset_keep(all);
    } else if (o->test_rows != NULL) {
        row_list list = read_row_list(o->test_rows, o->split);
        check_row_list(o->test_rows, &list, o->data, adz_dataset_row_count(all));
        adz_dataset_split_rows(all, list.rows, list.count, &p->test, &rest);
        free_row_list(&list);
    } else {
        cut_share(all, o->test_share, generator, &rest, &p->test);
    }
    cut_share(rest, o->validation_share, generator, &p->train, &p->validation);
    adz_dataset_release(&rest);
    adz_generator_free(&generator);
}

static void check_problem(const problem *p)
{
    const int64_t train = adz_dataset_row_count(p->train), test = adz_dataset_row_count(p->test);
    if (train < 2 || test < 1) {
        fail("%s: %lld images to train on and %lld to test on are too few", p->name,
            (long long)train, (long long)test);
    }
    adz_scope *scope = adz_scope_open();
    const int64_t *digits = adz_tensor_data_i64(adz_dataset_at(p->train, DIGITS));
    int64_t same = 1;
    while (same < train && digits[same] == digits[0]) {
        ++same;
    }
    if (same == train) {
        fail("%s: every training image is a %lld: there is nothing to learn", p->name,
            (long long)digits[0]);
    }
    if (p->range <= 0) {
        fail("%s: every pixel of the training images is 0", p->name);
    }
    adz_scope_close(scope);
}

problem load_problem(const options *o, const model *m)
{
    problem p = { .name = o->data != NULL     ? o->data
                          : o->images != NULL ? o->images
                                              : "drawn digits" };
    images all = load_images(o, m, p.name);
    p.height = all.height;
    p.width = all.width;
    p.range = all.range;
    adz_dataset *rows = dataset_of(&all);
    split(o, m, rows, &p);
    adz_dataset_release(&rows);
    if (p.range == 0 && adz_dataset_row_count(p.train) > 0) {
        p.range = brightest(p.train);
    }
    check_problem(&p);
    return p;
}

void free_problem(problem *p)
{
    adz_dataset_release(&p->train);
    adz_dataset_release(&p->validation);
    adz_dataset_release(&p->test);
}
