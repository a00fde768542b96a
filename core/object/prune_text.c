/*
 * prune_text.c - removes from the text of an object what a kl__prune says. The
 * text is walked only where a path leads; all other values are copied or
 * skipped as bytes. On the way down from the root, a set of bits has the paths
 * whose steps match all names so far. See prune.h.
 */
#include "object/prune_paths.h"

#include "json/cursor.h"
#include "json/path.h"
#include "json/skip.h"
#include "json/text.h"

#include <stdint.h>
#include <string.h>

/* Of a value at some depth: bit i is set if the first steps of path i lead to
 * it. */
typedef struct place {
    size_t depth;
    uint64_t drop;
    uint64_t keep;
    bool is_kept;    /* a path of `keep` has ended here or above */
    bool is_dropped; /* a path of `drop` ends here */
} place;

static uint64_t all_of(const kl__paths *self)
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
static uint64_t follow_paths(const kl__paths *self, uint64_t set, size_t depth,
                             const label *to, bool *ends)
{
    uint64_t found = 0;

    for (size_t i = 0; i < self->count; i++) {
        const kl__step *step;

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
        const kl__step *step = &path->steps[i];
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
 * steps: KL__PRUNE_STEPS. */
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
