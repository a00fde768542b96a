/*
 * sim_merge.c - values compared and merged: see sim_compose.h.
 */
#include "sim/sim_compose.h"

#include "base/map.h"

#include <string.h>

enum { FEW_NAMES = 16 };

/*
 * The members of an object, to be looked up by name. Where there are more than
 * a few, a map knows them: a patch of a megabyte would take minutes else.
 * Without memory for it they are gone through.
 */
typedef struct names {
    const kl_value *object;
    kl__map by_name; /* empty: there is no map */
} names;

const char *kl__sim_text(const kl_value *object, const char *name)
{
    return kl_value_string(kl_value_get(object, name), NULL);
}

static void names_init(names *self, const kl_value *object)
{
    size_t count = kl_value_size(object);
    const kl_value *name, *value;
    kl_value_iter iter = {0};

    *self = (names){.object = object};
    if (kl_value_type(object) != KL_OBJECT || count <= FEW_NAMES ||
        !kl__map_reserve(&self->by_name, count)) {
        return;
    }
    while ((value = kl_value_next(object, &iter, &name)) != NULL) {
        size_t length;
        const char *bytes = kl_value_string(name, &length);

        /* Of several of a name the first one counts. */
        if (kl__map_get_n(&self->by_name, bytes, length) == NULL) {
            kl__map_put_n(&self->by_name, bytes, length,
                          (void *)(uintptr_t)value, NULL);
        }
    }
}

static void names_deinit(names *self)
{
    kl__map_deinit(&self->by_name);
}

static const kl_value *member(const names *self, const kl_value *name)
{
    size_t length;
    const char *bytes = kl_value_string(name, &length);

    return self->by_name.count != 0
               ? kl__map_get_n(&self->by_name, bytes, length)
               : kl_value_get_n(self->object, bytes, length);
}

static void write_name(kl_writer *writer, const kl_value *name)
{
    size_t length;
    const char *bytes = kl_value_string(name, &length);

    kl_writer_name(writer, bytes, length);
}

void kl__sim_merge(kl_writer *writer, const kl_value *target,
                   const kl_value *patch)
{
    const kl_value *name, *value;
    kl_value_iter iter = {0};
    names old, new;

    if (kl_value_type(patch) != KL_OBJECT) {
        kl_writer_value(writer, patch);
        return;
    }
    if (kl_value_type(target) != KL_OBJECT) {
        target = NULL;
    }
    names_init(&old, target);
    names_init(&new, patch);
    kl_writer_begin_object(writer);
    while ((value = kl_value_next(target, &iter, &name)) != NULL) {
        const kl_value *change = member(&new, name);

        if (change == NULL) {
            write_name(writer, name);
            kl_writer_value(writer, value);
        } else if (kl_value_type(change) != KL_NULL) {
            write_name(writer, name);
            kl__sim_merge(writer, value, change);
        }
    }
    iter = (kl_value_iter){0};
    while ((value = kl_value_next(patch, &iter, &name)) != NULL) {
        if (member(&old, name) == NULL && kl_value_type(value) != KL_NULL) {
            write_name(writer, name);
            kl__sim_merge(writer, NULL, value);
        }
    }
    kl_writer_end_object(writer);
    names_deinit(&old);
    names_deinit(&new);
}

static kl_doc *finish(kl_writer *writer, kl_error *err)
{
    size_t length;
    const char *json = kl_writer_finish(writer, &length, err);
    kl_doc *doc = json != NULL ? kl_doc_parse(json, length, err) : NULL;

    kl_writer_free(writer);
    return doc;
}

/* A document of the members of an object but for "status". */
static kl_doc *without_status(const kl_value *object, kl_error *err)
{
    kl_writer *writer = kl_writer_new();
    const kl_value *name, *value;
    kl_value_iter iter = {0};

    if (writer == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for an object");
        return NULL;
    }
    kl_writer_begin_object(writer);
    while ((value = kl_value_next(object, &iter, &name)) != NULL) {
        if (strcmp(kl_value_string(name, NULL), "status") != 0) {
            write_name(writer, name);
            kl_writer_value(writer, value);
        }
    }
    kl_writer_end_object(writer);
    return finish(writer, err);
}

kl_doc *kl__sim_merged(const kl_value *target, bool keep_status,
                       const kl_value *patch, kl_error *err)
{
    kl_doc *stripped = NULL, *merged;
    kl_writer *writer;

    if (!keep_status && kl_value_get(target, "status") != NULL) {
        stripped = without_status(target, err);
        if (stripped == NULL) {
            return NULL;
        }
        target = kl_doc_root(stripped);
    }
    writer = kl_writer_new();
    if (writer == NULL) {
        kl_doc_unref(stripped);
        kl_error_set(err, KL_ENOMEM, "out of memory for an object");
        return NULL;
    }
    kl__sim_merge(writer, target, patch);
    merged = finish(writer, err);
    kl_doc_unref(stripped);
    return merged;
}

static bool equal_members(const kl_value *a, const kl_value *b)
{
    const kl_value *name, *value;
    kl_value_iter iter = {0};
    bool equal = true;
    names others;

    names_init(&others, b);
    while (equal && (value = kl_value_next(a, &iter, &name)) != NULL) {
        const kl_value *other = member(&others, name);

        equal = other != NULL && kl__sim_equal(value, other);
    }
    names_deinit(&others);
    return equal;
}

static bool equal_elements(const kl_value *a, const kl_value *b)
{
    kl_value_iter at_a = {0}, at_b = {0};
    const kl_value *element;

    while ((element = kl_value_next(a, &at_a, NULL)) != NULL) {
        if (!kl__sim_equal(element, kl_value_next(b, &at_b, NULL))) {
            return false;
        }
    }
    return true;
}

static bool equal_text(const kl_value *a, const kl_value *b)
{
    size_t a_length, b_length;
    const char *a_text = kl_value_string(a, &a_length);
    const char *b_text = kl_value_string(b, &b_length);

    return a_length == b_length && memcmp(a_text, b_text, a_length) == 0;
}

bool kl__sim_equal(const kl_value *a, const kl_value *b)
{
    if (kl_value_type(a) != kl_value_type(b) ||
        kl_value_size(a) != kl_value_size(b)) {
        return false;
    }
    switch (kl_value_type(a)) {
    case KL_NULL:
        return true;
    case KL_BOOL:
        return kl_value_bool(a) == kl_value_bool(b);
    case KL_INTEGER:
        return kl_value_integer(a) == kl_value_integer(b);
    case KL_UNSIGNED:
        return kl_value_unsigned(a) == kl_value_unsigned(b);
    case KL_REAL:
        return !(kl_value_real(a) < kl_value_real(b)) &&
               !(kl_value_real(a) > kl_value_real(b));
    case KL_NUMBER:
    case KL_STRING:
        return equal_text(a, b);
    case KL_ARRAY:
        return equal_elements(a, b);
    case KL_OBJECT:
        return equal_members(a, b);
    }
    return false;
}
