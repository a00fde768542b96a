/*
 * prune.c - reads the paths that an informer drops or keeps, and refuses a path
 * that would remove what the informer itself needs. See prune.h.
 */
#include "object/prune_paths.h"

#include "base/mem.h"
#include "json/path.h"

#include <stdlib.h>
#include <string.h>

static bool is_name(const kl_path *path, size_t at, const char *name)
{
    const kl__step *step = &path->steps[at];

    return step->kind == KL__STEP_NAME && step->length == strlen(name) &&
           memcmp(step->name, name, step->length) == 0;
}

/* True if the path removes what identifies an object, or what is read of it in
 * the cache: lists are filtered by labels, and controllers read the others. */
static bool removes_identity(const kl_path *path)
{
    static const char *const needed[] = {"name",
                                         "namespace",
                                         "uid",
                                         "resourceVersion",
                                         "generation",
                                         "labels",
                                         "finalizers",
                                         "ownerReferences",
                                         "deletionTimestamp"};

    if (is_name(path, 0, "apiVersion") || is_name(path, 0, "kind")) {
        return true;
    }
    if (!is_name(path, 0, "metadata")) {
        return false;
    }
    if (path->count == 1 || path->steps[1].kind == KL__STEP_ALL) {
        return true;
    }
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        if (is_name(path, 1, needed[i])) {
            return true;
        }
    }
    return false;
}

static kl_code check_path(const kl_path *path, bool is_drop, kl_error *err)
{
    const char *text = kl_path_text(path);

    if (path->steps[0].kind != KL__STEP_NAME) {
        return kl_error_set(err, KL_EINVAL,
                            "%s: a path begins with a field, as in spec.%s",
                            is_drop ? "drop" : "keep", text);
    }
    if (path->count > KL__PRUNE_STEPS) {
        return kl_error_set(err, KL_EINVAL,
                            "%s: %.40s... has more than %d steps",
                            is_drop ? "drop" : "keep", text, KL__PRUNE_STEPS);
    }
    for (size_t i = 0; i < path->count; i++) {
        if (path->steps[i].kind == KL__STEP_INDEX) {
            return kl_error_set(err, KL_EINVAL,
                                "%s: %s has an index; write [*], which is "
                                "every element",
                                is_drop ? "drop" : "keep", text);
        }
    }
    if (is_drop && removes_identity(path)) {
        return kl_error_set(err, KL_EINVAL,
                            "drop: %s cannot be dropped, as the informer and "
                            "controllers need it",
                            text);
    }
    return KL_OK;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(kl_path_text(*(kl_path *const *)a),
                  kl_path_text(*(kl_path *const *)b));
}

static void sort_paths(kl__paths *self)
{
    size_t kept = 0;

    qsort(self->items, self->count, sizeof(self->items[0]), compare_paths);
    for (size_t i = 0; i < self->count; i++) {
        if (kept > 0 &&
            compare_paths(&self->items[kept - 1], &self->items[i]) == 0) {
            kl_path_free(self->items[i]);
        } else {
            self->items[kept++] = self->items[i];
        }
    }
    self->count = kept;
}

static kl_code read_paths(kl__paths *self, const char *const *texts,
                          bool is_drop, kl_error *err)
{
    for (size_t i = 0; texts != NULL && texts[i] != NULL; i++) {
        kl_path *path;

        if (i == KL__PRUNE_MAX) {
            return kl_error_set(err, KL_EINVAL, "%s: more than %d paths",
                                is_drop ? "drop" : "keep", KL__PRUNE_MAX);
        }
        path = kl_path_parse(texts[i], err);
        if (path == NULL) {
            return err->code == KL_ENOMEM ? KL_ENOMEM : KL_EINVAL;
        }
        self->items[self->count++] = path;
        if (check_path(path, is_drop, err) != KL_OK) {
            return KL_EINVAL;
        }
    }
    sort_paths(self);
    return KL_OK;
}

static void free_paths(kl__paths *self)
{
    for (size_t i = 0; i < self->count; i++) {
        kl_path_free(self->items[i]);
    }
}

static bool same_paths(const kl__paths *a, const kl__paths *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (compare_paths(&a->items[i], &b->items[i]) != 0) {
            return false;
        }
    }
    return true;
}

kl_code kl__prune_new(const char *const *drop, const char *const *keep,
                      kl__prune **prune, kl_error *err)
{
    kl__prune *self;
    kl_error own = {0};
    kl_code code;

    *prune = NULL;
    if ((drop == NULL || drop[0] == NULL) &&
        (keep == NULL || keep[0] == NULL)) {
        return KL_OK;
    }
    self = kl__calloc(1, sizeof(*self));
    if (self == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for paths");
    }
    atomic_init(&self->references, 1);
    code = read_paths(&self->drop, drop, true, &own);
    if (code == KL_OK) {
        code = read_paths(&self->keep, keep, false, &own);
    }
    if (code != KL_OK) {
        kl__prune_unref(self);
        return kl_error_set(err, code, "%s", own.message);
    }
    *prune = self;
    return KL_OK;
}

kl__prune *kl__prune_ref(kl__prune *prune)
{
    if (prune != NULL) {
        /* The caller has a reference: nothing has to be ordered. */
        atomic_fetch_add_explicit(&prune->references, 1, memory_order_relaxed);
    }
    return prune;
}

void kl__prune_unref(kl__prune *prune)
{
    /* Release and acquire: the last unref sees the end of all uses. */
    if (prune == NULL || atomic_fetch_sub_explicit(&prune->references, 1,
                                                   memory_order_acq_rel) != 1) {
        return;
    }
    free_paths(&prune->drop);
    free_paths(&prune->keep);
    kl__free(prune);
}

bool kl__prune_equals(const kl__prune *a, const kl__prune *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    return same_paths(&a->drop, &b->drop) && same_paths(&a->keep, &b->keep);
}
