/*
 * apply.c - see managers.h: server-side apply
 * (docs/KUBERNETES.md#server-side-apply). The configuration is merged into the
 * object, and fields that its manager applied before but does not list now are
 * removed. Other managers lose the fields that change; without `force`, such a
 * field is a conflict.
 */
#include "sim/core/patch/managers.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "json/quote.h"
#include "sim/core/patch/field_set.h"
#include "sim/core/patch/typed.h"

#include <stdlib.h>
#include <string.h>

void kl__conflicts_deinit(kl__conflicts *conflicts)
{
    for (size_t i = 0; i < conflicts->count; i++) {
        kl__free(conflicts->items[i].manager);
        kl__free(conflicts->items[i].path);
    }
    kl__free(conflicts->items);
    *conflicts = (kl__conflicts){0};
}

/* Takes both texts, also when it fails. */
static bool add_one(kl__conflicts *conflicts, char *manager, char *path)
{
    if (conflicts->count == conflicts->capacity) {
        size_t capacity = conflicts->capacity * 2 + 8;
        kl__conflict *items =
            kl__realloc(conflicts->items, capacity * sizeof(*items));

        if (items != NULL) {
            conflicts->items = items;
            conflicts->capacity = capacity;
        }
    }
    if (manager == NULL || path == NULL ||
        conflicts->count == conflicts->capacity) {
        kl__free(manager);
        kl__free(path);
        return false;
    }
    conflicts->items[conflicts->count++] = (kl__conflict){manager, path};
    return true;
}

/* `"x" with subresource "status" using apps/v1`. */
static char *put_in_words(const kl__manager *manager)
{
    kl__buf out = {0};
    char *text;

    kl__quote(&out, manager->name, strlen(manager->name));
    if (*manager->subresource != '\0') {
        kl__buf_puts(&out, " with subresource ");
        kl__quote(&out, manager->subresource, strlen(manager->subresource));
    }
    if (!manager->applies) {
        kl__buf_printf(&out, " using %s", manager->api_version);
    }
    text = kl__buf_take(&out, NULL);
    kl__buf_deinit(&out);
    return text;
}

/* Adds the fields of an element, below a path: the element itself first, if it
 * is in the set. */
static bool add_fields(kl__conflicts *conflicts, const char *manager,
                       const kl__node *fields, kl__buf *path)
{
    size_t before = path->length;

    for (int pass = 0; pass < 2; pass++) {
        kl__node_iter iter = {0};
        const kl__node *element;
        const char *name;
        size_t length;

        while ((element = kl__node_next(fields, &iter, &name, &length)) !=
               NULL) {
            bool done = true;

            if (length == 1) {
                continue;
            }
            kl__fields_text(path, name, length);
            if (path->failed) {
                return false;
            }
            if (pass == 0 && kl__fields_has(element)) {
                done = add_one(conflicts, kl__strdup(manager),
                               kl__strdup(path->bytes));
            } else if (pass == 1) {
                done = add_fields(conflicts, manager, element, path);
            }
            path->length = before;
            path->bytes[before] = '\0';
            if (!done) {
                return false;
            }
        }
    }
    return true;
}

/* Adds a manager's fields that conflict. False: out of memory. */
static bool conflicts_add(kl__conflicts *conflicts, const kl__manager *manager,
                          const kl__node *fields)
{
    char *words = put_in_words(manager);
    kl__buf path = {0};
    bool done = words != NULL && add_fields(conflicts, words, fields, &path);

    kl__buf_deinit(&path);
    kl__free(words);
    return done;
}

char *kl__conflicts_text(const kl__conflicts *conflicts)
{
    const char *manager = "";
    kl__buf out = {0};
    char *text;

    kl__buf_printf(&out, "Apply failed with %zu conflict%s: ", conflicts->count,
                   conflicts->count == 1 ? "" : "s");
    for (size_t i = 0; i < conflicts->count; i++) {
        const kl__conflict *one = &conflicts->items[i];

        if (conflicts->count == 1) {
            kl__buf_printf(&out, "conflict with %s: %s", one->manager,
                           one->path);
            break;
        }
        if (strcmp(manager, one->manager) != 0) {
            kl__buf_printf(&out, "%sconflicts with %s:\n", i > 0 ? "\n" : "",
                           one->manager);
        } else {
            kl__buf_putc(&out, '\n');
        }
        kl__buf_printf(&out, "- %s", one->path);
        manager = one->manager;
    }
    text = kl__buf_take(&out, NULL);
    kl__buf_deinit(&out);
    return text;
}

/* ---- apply ---- */

/* One apply in progress. */
typedef struct applying {
    const kl__author *author;
    const kl__node *live; /* NULL: the object does not exist yet */
    const kl__node *config;
    kl__managers managers;
    /* the applying manager, in `managers`; set after the last call of
     * kl__managers_add, which may move the array */
    kl__manager *self;
    kl__node *last;   /* fields of its last apply; NULL: none */
    kl__node *object; /* the result */
    kl__difference difference;
} applying;

static kl_code apply_out_of_memory(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for an apply");
}

/* If a live object has no managers, gives its fields to a manager named
 * "before-first-apply". */
static kl_code begin_managing(applying *self, kl_error *err)
{
    const kl__author *author = self->author;
    kl__manager before = {.name = "before-first-apply",
                          .api_version = author->api_version,
                          .subresource = author->subresource,
                          .time = author->now};
    kl__difference difference;

    if (self->live == NULL || self->managers.count > 0) {
        return KL_OK;
    }
    if (!kl__typed_compare(author->edit, author->schema, author->nothing,
                           self->live, &difference)) {
        return apply_out_of_memory(err);
    }
    if (author->ignored != NULL) {
        kl__fields_subtract(difference.changed, author->ignored, true);
    }
    kl__managers_strip(difference.changed);
    before.fields = difference.changed;
    if (kl__node_size(before.fields) == 0) {
        return KL_OK;
    }
    return kl__managers_add(&self->managers, &before) != NULL
               ? KL_OK
               : apply_out_of_memory(err);
}

static kl_code read_managers(applying *self, kl_error *err)
{
    static const char *const path[] = {"metadata", "managedFields", NULL};
    const kl__node *list = kl__node_find(self->live, path);
    kl__node *copy;
    kl_code code;

    if (list == NULL) {
        return KL_OK;
    }
    copy = kl__edit_copy(self->author->edit, list);
    if (copy == NULL) {
        return apply_out_of_memory(err);
    }
    code = kl__managers_read(&self->managers, self->author->edit, copy, false,
                             err);
    return code == KL_ENOMEM ? code : KL_OK;
}

static int compare_manager_names(const void *a, const void *b)
{
    return strcmp(((const kl__manager *)a)->name,
                  ((const kl__manager *)b)->name);
}

/* Sorts the managers by name: conflicts are listed in this order. */
static void sort_managers(applying *self)
{
    if (self->managers.count > 0) {
        qsort(self->managers.items, self->managers.count,
              sizeof(*self->managers.items), compare_manager_names);
    }
}

/* Gives the fields of the configuration to the manager. */
static kl_code take_fields(applying *self, kl_error *err)
{
    const kl__author *author = self->author;
    kl__manager applier = {.name = author->name,
                           .api_version = author->api_version,
                           .subresource = author->subresource,
                           .applies = true};

    applier.fields =
        kl__typed_fields(author->edit, author->schema, self->config);
    if (applier.fields == NULL) {
        return apply_out_of_memory(err);
    }
    if (author->ignored != NULL) {
        kl__fields_subtract(applier.fields, author->ignored, true);
    }
    self->self = kl__managers_find(&self->managers, &applier);
    if (self->self != NULL) {
        self->last = self->self->fields;
        self->self->fields = applier.fields;
        self->self->api_version = author->api_version;
        return KL_OK;
    }
    self->self = kl__managers_add(&self->managers, &applier);
    return self->self != NULL ? KL_OK : apply_out_of_memory(err);
}

/* The fields of an object, and the structs that contain them. */
static kl__node *marked_fields(const applying *self, const kl__node *object)
{
    const kl__author *author = self->author;
    kl__node *fields = kl__typed_fields(author->edit, author->schema, object);

    return fields != NULL &&
                   kl__typed_mark(author->edit, author->schema, fields)
               ? fields
               : NULL;
}

/* A copy of the merged object without some fields. */
static kl__node *copy_without(const applying *self, const kl__node *merged,
                              const kl__node *fields)
{
    const kl__author *author = self->author;
    kl__node *copy = kl__edit_copy(author->edit, merged);

    return copy != NULL &&
                   kl__typed_remove(author->edit, author->schema, copy, fields)
               ? copy
               : NULL;
}

/* The fields of all managers, and the structs that contain them. */
static kl__node *all_managed(const applying *self)
{
    const kl__author *author = self->author;
    kl__node *all = kl__edit_object(author->edit);

    for (size_t i = 0; i < self->managers.count && all != NULL; i++) {
        if (!kl__fields_unite(author->edit, all,
                              self->managers.items[i].fields)) {
            return NULL;
        }
    }
    return all != NULL && kl__typed_mark(author->edit, author->schema, all)
               ? all
               : NULL;
}

/*
 * Removes the fields that the manager applied last time and that no manager has
 * now. Pass 0 removes all fields of the last apply from a copy, and finds the
 * missing fields that have no manager. Pass 1 removes only these from a new
 * copy, and finds what is missing then. Of this, the object loses the fields of
 * the last apply; all others stay.
 */
static bool prune_fields(applying *self)
{
    kl__edit *edit = self->author->edit;
    const kl__node *merged = self->object;
    kl__node *last = kl__edit_copy(edit, self->last), *gone, *pruned;
    kl__node *managed = all_managed(self);
    kl__node *fields = marked_fields(self, merged);

    if (last == NULL || managed == NULL || fields == NULL ||
        !kl__typed_mark(edit, self->author->schema, last)) {
        return false;
    }
    for (int pass = 0; pass < 2; pass++) {
        const kl__node *removed = pass == 0 ? last : gone;
        kl__node *left;

        pruned = copy_without(self, merged, removed);
        left = pruned != NULL ? marked_fields(self, pruned) : NULL;
        gone = kl__edit_copy(edit, fields);
        if (left == NULL || gone == NULL) {
            return false;
        }
        kl__fields_subtract(gone, left, false);
        if (pass == 0) {
            kl__fields_subtract(gone, managed, false);
        }
    }
    gone = kl__fields_intersect(edit, gone, last);
    self->object = gone != NULL ? copy_without(self, merged, gone) : NULL;
    return self->object != NULL;
}

/* Sets *less if the last apply had a field that this apply lacks. */
static bool says_less(const applying *self, bool *less)
{
    kl__node *rest;

    *less = false;
    if (self->last == NULL) {
        return true;
    }
    rest = kl__edit_copy(self->author->edit, self->last);
    if (rest == NULL) {
        return false;
    }
    kl__fields_subtract(rest, self->self->fields, false);
    *less = kl__node_size(rest) > 0;
    return true;
}

/* Merges the configuration, and removes the fields that it no longer has. */
static kl_code merge_config(applying *self, kl_error *err)
{
    const kl__author *author = self->author;
    bool less;

    self->object = self->live != NULL ? kl__edit_copy(author->edit, self->live)
                                      : kl__edit_object(author->edit);
    if (self->object == NULL) {
        return apply_out_of_memory(err);
    }
    kl__node_remove(kl__node_get(self->object, "metadata"), "managedFields");
    if (!kl__typed_merge(author->edit, author->schema, self->object,
                         self->config) ||
        !says_less(self, &less) || (less && !prune_fields(self))) {
        return apply_out_of_memory(err);
    }
    return KL_OK;
}

/* Removes the changed fields from all other managers. Without `force`, a field
 * that another manager has is a conflict. */
static kl_code settle_conflicts(applying *self, bool force,
                                kl__conflicts *conflicts, kl_error *err)
{
    const kl__author *author = self->author;
    kl__difference *difference = &self->difference;

    if (!kl__typed_compare(author->edit, author->schema, self->live,
                           self->object, difference)) {
        return apply_out_of_memory(err);
    }
    if (author->ignored != NULL) {
        kl__fields_subtract(difference->changed, author->ignored, true);
        kl__fields_subtract(difference->removed, author->ignored, true);
    }
    for (size_t i = 0; i < self->managers.count && !force; i++) {
        const kl__manager *one = &self->managers.items[i];
        kl__node *both;

        if (one == self->self) {
            continue;
        }
        both = kl__fields_intersect(author->edit, one->fields,
                                    difference->changed);
        if (both == NULL || !conflicts_add(conflicts, one, both)) {
            return apply_out_of_memory(err);
        }
    }
    if (conflicts->count > 0) {
        return kl_error_set(err, KL_ECONFLICT, "others manage these fields");
    }
    kl__managers_yield(&self->managers, self->self, difference->changed,
                       difference->removed);
    return KL_OK;
}

/* True if the apply changes the object, managedFields aside. */
static bool is_changed(const applying *self)
{
    kl__node *metadata;
    kl__node *before;

    if (self->live == NULL) {
        return true;
    }
    before = kl__edit_copy(self->author->edit, self->live);
    metadata = kl__node_get(before, "metadata");
    kl__node_remove(metadata, "managedFields");
    return before == NULL || !kl__node_equal(before, self->object);
}

static kl_code finish_apply(applying *self, kl__applied *applied, kl_error *err)
{
    applied->object = self->object;
    applied->is_changed = is_changed(self);
    if (applied->is_changed) {
        self->self->time = self->author->now;
    }
    kl__managers_strip(self->self->fields);
    kl__managers_drop_idle(&self->managers);
    if (self->managers.count > 0) {
        applied->managed =
            kl__managers_write(&self->managers, self->author->edit);
        return applied->managed != NULL ? KL_OK : apply_out_of_memory(err);
    }
    return KL_OK;
}

kl_code kl__track_apply(const kl__author *author, const kl__node *live,
                        const kl__node *config, bool force,
                        kl__applied *applied, kl_error *err)
{
    applying self = {.author = author, .live = live, .config = config};
    kl_code code = kl__typed_check(author->edit, author->schema, config, err);

    *applied = (kl__applied){0};
    if (code == KL_OK) {
        code = read_managers(&self, err);
    }
    if (code == KL_OK) {
        code = begin_managing(&self, err);
    }
    if (code == KL_OK) {
        kl__managers_drop_foreign(&self.managers, author->api_version);
        sort_managers(&self);
        code = take_fields(&self, err);
    }
    if (code == KL_OK) {
        code = merge_config(&self, err);
    }
    if (code == KL_OK) {
        code = settle_conflicts(&self, force, &applied->conflicts, err);
    }
    if (code == KL_OK) {
        code = finish_apply(&self, applied, err);
    }
    kl__managers_deinit(&self.managers);
    return code;
}
