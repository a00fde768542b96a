/*
 * custom_duplicates.c - see custom.h: removes repeated members of objects. As
 * in Go, the last one stays.
 */
#include "sim/core/schema/custom.h"

#include "base/map.h"

#include <stdio.h>

typedef struct duplicates {
    kl__buf path;
    kl__buf *found;
    bool failed;
} duplicates;

static size_t enter_duplicates(duplicates *self, const char *name,
                               size_t length)
{
    size_t before = self->path.length;

    kl__buf_puts(&self->path, before != 0 ? "." : "");
    kl__buf_append(&self->path, name, length);
    return before;
}

static void leave_duplicates(duplicates *self, size_t before)
{
    self->path.length = before;
    if (self->path.bytes != NULL) {
        self->path.bytes[before] = '\0';
    }
}

/* Fills the map with the last member of each name, and reports repetitions. */
static bool note_last_members(duplicates *self, const kl__node *object,
                              kl__map *last)
{
    kl__node_iter iter = {0};
    const char *name;
    size_t length, before;
    kl__node *member;
    bool again = false;

    while ((member = kl__node_next(object, &iter, &name, &length)) != NULL) {
        void *old = NULL;

        if (!kl__map_put_n(last, name, length, member, &old)) {
            self->failed = true;
            return false;
        }
        again = again || old != NULL;
        if (old != NULL && self->found != NULL) {
            before = enter_duplicates(self, name, length);
            kl__buf_append(self->found, self->path.bytes, self->path.length);
            kl__buf_putc(self->found, '\n');
            leave_duplicates(self, before);
        }
    }
    return again;
}

static void drop_repeated(kl__node *object, const kl__map *last)
{
    kl__node_iter iter = {0};
    const char *name;
    size_t length;
    kl__node *member;

    while ((member = kl__node_next(object, &iter, &name, &length)) != NULL) {
        if (kl__map_get_n(last, name, length) != member) {
            kl__node_drop(&iter);
        }
    }
}

static void drop_duplicates(duplicates *self, kl__node *value);

static void drop_object_duplicates(duplicates *self, kl__node *object)
{
    kl__node_iter iter = {0};
    kl__map last = {0};
    const char *name;
    size_t length, before;
    kl__node *member;

    if (kl__node_size(object) > 1 && note_last_members(self, object, &last)) {
        drop_repeated(object, &last);
    }
    kl__map_deinit(&last);
    while ((member = kl__node_next(object, &iter, &name, &length)) != NULL) {
        before = enter_duplicates(self, name, length);
        drop_duplicates(self, member);
        leave_duplicates(self, before);
    }
}

static void drop_duplicates(duplicates *self, kl__node *value)
{
    kl__node_iter iter = {0};
    kl__node *element;
    char index[32];

    if (kl__node_is(value, KL_OBJECT)) {
        drop_object_duplicates(self, value);
    } else if (kl__node_is(value, KL_ARRAY)) {
        for (size_t i = 0;
             (element = kl__node_next(value, &iter, NULL, NULL)) != NULL; i++) {
            size_t before = self->path.length;

            snprintf(index, sizeof(index), "[%zu]", i);
            kl__buf_puts(&self->path, index);
            drop_duplicates(self, element);
            leave_duplicates(self, before);
        }
    }
}

kl_code kl__custom_duplicates(kl__node *value, kl__buf *paths, kl_error *err)
{
    duplicates self = {{0}, paths, false};

    drop_duplicates(&self, value);
    self.failed =
        self.failed || self.path.failed || (paths != NULL && paths->failed);
    kl__buf_deinit(&self.path);
    return self.failed
               ? kl_error_set(err, KL_ENOMEM, "out of memory for a path")
               : KL_OK;
}
