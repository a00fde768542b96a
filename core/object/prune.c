/*
 * prune.c - reads the paths that an informer drops or keeps, and refuses a path
 * that would remove what the informer itself needs; and removes from the text
 * of an object what they say. The text is walked only where a path leads; all
 * other values are copied or skipped as bytes. On the way down from the root, a
 * set of bits has the paths whose steps match all names so far. See prune.h.
 */
#include "object/prune.h"

#include "base/mem.h"
#include "json/cursor.h"
#include "json/path.h"
#include "json/skip.h"
#include "json/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <stdatomic.h>
#include <string.h>

/* Steps of one path at most: a walk recurses at each of them. */
enum { PATH_STEPS = 64 };

typedef struct paths {
    kl_path *items[KL__PRUNE_MAX]; /* sorted by text, each once */
    size_t count;
} paths;

struct kl__prune {
    atomic_uint references;
    paths drop;
    paths keep;
};

static bool is_name(const kl_path *path, size_t at, const char *name)
{
    const kl__path_step *step = &path->steps[at];

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
    if (path->count > PATH_STEPS) {
        return kl_error_set(err, KL_EINVAL,
                            "%s: %.40s... has more than %d steps",
                            is_drop ? "drop" : "keep", text, PATH_STEPS);
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

static void sort_paths(paths *self)
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

static kl_code read_paths(paths *self, const char *const *texts, bool is_drop,
                          kl_error *err)
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

static void free_paths(paths *self)
{
    for (size_t i = 0; i < self->count; i++) {
        kl_path_free(self->items[i]);
    }
}

static bool same_paths(const paths *a, const paths *b)
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

/* Of a value at some depth: bit i is set if the first steps of path i lead to
 * it. */
typedef struct place {
    size_t depth;
    uint64_t drop;
    uint64_t keep;
    bool is_kept;    /* a path of `keep` has ended here or above */
    bool is_dropped; /* a path of `drop` ends here */
} place;

static uint64_t all_of(const paths *self)
{
    return self->count == KL__PRUNE_MAX ? UINT64_MAX
                                        : (UINT64_C(1) << self->count) - 1;
}

static place place_of_root(const kl__prune *prune)
{
    return (place){.drop = all_of(&prune->drop),
                   .keep = all_of(&prune->keep),
                   .is_kept = prune->keep.count == 0};
}

/* A member's name; `bytes` NULL: an element of an array. */
typedef struct label {
    const char *bytes;
    size_t length;
    bool has_escapes; /* the bytes are those between the quotes */
} label;

static bool has_name(const label *self, const char *name, size_t length)
{
    if (self->has_escapes) {
        return kl__cursor_is(self->bytes - 1, self->bytes + self->length + 1,
                             name, length);
    }
    return self->length == length && memcmp(self->bytes, name, length) == 0;
}

/* The paths of `set` whose next step, at `depth`, matches the label; sets *ends
 * if that step is the last one of a path. */
static uint64_t follow_paths(const paths *self, uint64_t set, size_t depth,
                             const label *to, bool *ends)
{
    uint64_t found = 0;

    for (size_t i = 0; i < self->count; i++) {
        const kl__path_step *step;

        if ((set >> i & 1) == 0 || self->items[i]->count <= depth) {
            continue;
        }
        step = &self->items[i]->steps[depth];
        if (step->kind == KL__STEP_ALL ||
            (to->bytes != NULL && step->kind == KL__STEP_NAME &&
             has_name(to, step->name, step->length))) {
            found |= UINT64_C(1) << i;
            *ends = *ends || self->items[i]->count == depth + 1;
        }
    }
    return found;
}

static bool is_among(const label *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (has_name(name, names[i], strlen(names[i]))) {
            return true;
        }
    }
    return false;
}

static place enter(const kl__prune *prune, const place *from, const label *to)
{
    static const char *const always[] = {"apiVersion", "kind", "metadata"};
    place next = {.depth = from->depth + 1, .is_kept = from->is_kept};

    next.drop = follow_paths(&prune->drop, from->drop, from->depth, to,
                             &next.is_dropped);
    if (!next.is_kept) {
        next.keep = follow_paths(&prune->keep, from->keep, from->depth, to,
                                 &next.is_kept);
        next.is_kept =
            next.is_kept || (from->depth == 0 && is_among(to, always, 3));
    }
    return next;
}

static bool is_removed(const place *at)
{
    return at->is_dropped || (!at->is_kept && at->keep == 0);
}

bool kl__prune_hides(const kl__prune *prune, const kl_path *path)
{
    place at;

    if (prune == NULL) {
        return false;
    }
    at = place_of_root(prune);
    for (size_t i = 0; i < path->count; i++) {
        const kl__path_step *step = &path->steps[i];
        label to = {.bytes = step->kind == KL__STEP_NAME ? step->name : NULL,
                    .length = step->length};

        at = enter(prune, &at, &to);
        if (is_removed(&at)) {
            return true;
        }
    }
    return false;
}

/* Reads from `at`, writes to `to`. The output is never longer than the input,
 * so a buffer of the input's length has room for it. */
typedef struct cutter {
    const kl__prune *prune;
    const char *at;
    const char *end;
    char *to;
} cutter;

static void skip_spaces(cutter *self)
{
    while (self->at < self->end && (*self->at == ' ' || *self->at == '\n' ||
                                    *self->at == '\t' || *self->at == '\r')) {
        self->at++;
    }
}

/* Skips spaces, then this byte; false: there is another one. */
static bool skip_byte(cutter *self, char byte)
{
    skip_spaces(self);
    if (self->at == self->end || *self->at != byte) {
        return false;
    }
    self->at++;
    return true;
}

static void copy_bytes(cutter *self, const char *from, const char *to)
{
    size_t length = (size_t)(to - from);

    memcpy(self->to, from, length);
    self->to += length;
}

/* self->at is at the opening quote. */
static bool skip_string(cutter *self)
{
    self->at++;
    while (self->at < self->end) {
        self->at = kl__string_stop(self->at, self->end);
        if (self->at < self->end && *self->at == '"') {
            self->at++;
            return true;
        }
        self->at += self->end - self->at >= 2 ? 2 : self->end - self->at;
    }
    return false;
}

static bool skip_value(cutter *self)
{
    kl__skip_levels levels;
    kl__skip skip;

    if (self->at == self->end) {
        return false;
    }
    if (*self->at == '"') {
        return skip_string(self);
    }
    if (*self->at == '{' || *self->at == '[') {
        return kl__skip_begin(&skip, &levels, *self->at) &&
               kl__skip_run(&skip, &self->at, self->end) == KL__SKIP_DONE;
    }
    while (self->at < self->end && strchr(",]} \n\t\r", *self->at) == NULL) {
        self->at++;
    }
    return true;
}

static bool copy_value(cutter *self, const place *at);

/* Copies one member (with its name) or one element, unless it is removed.
 * *count is the number of parts that were copied before it. */
static bool copy_part(cutter *self, const place *from, const label *name,
                      size_t *count)
{
    place at = enter(self->prune, from, name);

    if (is_removed(&at)) {
        return skip_value(self);
    }
    if ((*count)++ > 0) {
        *self->to++ = ',';
    }
    if (name->bytes != NULL) {
        copy_bytes(self, name->bytes - 1, name->bytes + name->length + 1);
        *self->to++ = ':';
    }
    return copy_value(self, &at);
}

static bool copy_member(cutter *self, const place *at, size_t *count)
{
    label name;

    if (self->at == self->end || *self->at != '"') {
        return false;
    }
    name.bytes = self->at + 1;
    if (!skip_string(self)) {
        return false;
    }
    name.length = (size_t)(self->at - 1 - name.bytes);
    name.has_escapes = memchr(name.bytes, '\\', name.length) != NULL;
    if (!skip_byte(self, ':')) {
        return false;
    }
    skip_spaces(self);
    return copy_part(self, at, &name, count);
}

/* Copies an object or an array, part by part. */
static bool copy_parts(cutter *self, const place *at, char closing)
{
    static const label element = {0};
    size_t count = 0;

    *self->to++ = *self->at++;
    while (!skip_byte(self, closing)) {
        if (!(closing == '}' ? copy_member(self, at, &count)
                             : copy_part(self, at, &element, &count))) {
            return false;
        }
        if (!skip_byte(self, ',') &&
            (self->at == self->end || *self->at != closing)) {
            return false;
        }
        skip_spaces(self);
    }
    *self->to++ = closing;
    return true;
}

/* Copies a value. The recursion is at most as deep as the longest path has
 * steps: PATH_STEPS. */
static bool copy_value(cutter *self, const place *at)
{
    const char *begin = self->at;
    bool leads_on = at->drop != 0 || !at->is_kept;

    if (leads_on && self->at < self->end &&
        (*self->at == '{' || *self->at == '[')) {
        return copy_parts(self, at, *self->at == '{' ? '}' : ']');
    }
    if (!skip_value(self)) {
        return false;
    }
    copy_bytes(self, begin, self->at);
    return true;
}

kl_code kl__prune_text(const kl__prune *prune, const char *json, size_t length,
                       kl__buf *out)
{
    cutter self = {.prune = prune, .at = json, .end = json + length};
    place root = place_of_root(prune);

    kl__buf_reset(out);
    self.to = kl__buf_reserve(out, length);
    if (self.to == NULL) {
        return KL_ENOMEM;
    }
    skip_spaces(&self);
    if (self.at == self.end || *self.at != '{' || !copy_value(&self, &root)) {
        return KL_EPARSE;
    }
    out->length = (size_t)(self.to - out->bytes);
    out->bytes[out->length] = '\0';
    return KL_OK;
}
