/*
 * search.c - see search.h. On the way down from the root, a set of bits has the
 * paths whose steps match all names so far; what no path leads to is skipped.
 * An array is left as soon as every path that leads into it has its value; an
 * object is read to its end, as a later member of the same name would count.
 * That is so rare that the search then begins again, path by path.
 */
#include "json/search.h"

#include "json/cursor.h"
#include "json/distinct.h"
#include "json/path.h"

#include <string.h>

/* The paths are followed together for so many steps, which bounds the
 * recursion, and one by one from there: no object that is not made to be deep
 * has as many levels. */
enum { TOGETHER = 64 };

typedef struct seeker {
    const kl__search *search;
    const char *end;
    uint64_t wanted;  /* paths of which more values are wanted */
    bool is_repeated; /* a path leads to a name that an object has twice */
    bool has_failed;  /* out of memory */
} seeker;

/* Where a walk stands. */
typedef struct level {
    uint64_t set;     /* the paths that lead into this array or object, and may
                         match one more of its parts */
    uint64_t named;   /* those that have matched a member by its name */
    size_t depth;     /* the number of the step that is next */
    size_t index;     /* of the current element */
    bool is_distinct; /* no name is there twice */
    bool is_read_on;  /* a name may be there twice: read to the end */
    kl_cursor part;
} level;

static bool is_match(const level *at, const kl__path_step *step)
{
    switch (step->kind) {
    case KL__STEP_NAME:
        return kl__cursor_has_name(&at->part, step->name, step->length);
    case KL__STEP_INDEX:
        return at->part.name == NULL && step->index == at->index;
    default:
        return true;
    }
}

/* True if a path of `set` matches the current part. */
static bool is_match_of(const seeker *self, const level *at, uint64_t set)
{
    for (; set != 0; set &= set - 1) {
        const kl_path *path = self->search->paths[__builtin_ctzll(set)];

        if (is_match(at, &path->steps[at->depth])) {
            return true;
        }
    }
    return false;
}

/* Returns the paths that the current part matches. Their names and indexes are
 * not expected again. */
static uint64_t match_part(const seeker *self, level *at)
{
    uint64_t found = 0;

    for (uint64_t left = at->set; left != 0; left &= left - 1) {
        uint64_t bit = left & (0 - left);
        const kl_path *path = self->search->paths[__builtin_ctzll(left)];
        const kl__path_step *step = &path->steps[at->depth];

        if (is_match(at, step)) {
            found |= bit;
            at->set &= step->kind == KL__STEP_ALL ? at->set : ~bit;
        }
    }
    at->named |=
        at->is_distinct || at->part.name == NULL ? 0 : found & ~at->set;
    return found;
}

/* Reports a value to the paths of `set` that end at it, `depth` steps deep;
 * returns the others. */
static uint64_t report(seeker *self, const char *value, size_t depth,
                       uint64_t set)
{
    const kl__search *search = self->search;
    uint64_t others = 0;

    for (uint64_t left = set; left != 0; left &= left - 1) {
        uint64_t bit = left & (0 - left);
        size_t i = (size_t)__builtin_ctzll(left);

        if (search->paths[i]->count > depth) {
            others |= bit;
        } else if (*value != 'n' && !search->take(search->context, i, value)) {
            self->wanted &= ~bit;
        }
    }
    return others;
}

/* True if a name that was found may come again in the bytes. */
static bool may_repeat(const seeker *self, const level *at, const char *from,
                       const char *to)
{
    for (uint64_t left = at->named; left != 0; left &= left - 1) {
        const kl_path *path = self->search->paths[__builtin_ctzll(left)];
        const kl__path_step *step = &path->steps[at->depth];

        if (kl__cursor_may_have(from, to, step->name, step->length)) {
            return true;
        }
    }
    return false;
}

/* Returns the end of the array or object that the current part is in; NULL: the
 * walk must go on, as a name that was found may come again. */
static const char *leave_part(const seeker *self, level *at)
{
    const char *end;

    if (at->depth == 0 && at->named == 0) {
        return self->end;
    }
    if (at->part.at == NULL) {
        at->part.at = kl_cursor_skip(at->part.value, self->end);
    }
    end = kl__cursor_leave(at->part.at, self->end);
    return may_repeat(self, at, at->part.at, end) ? NULL : end;
}

static void follow(seeker *self, size_t i, size_t depth, const char *value);

/* Follows one path into each element, or each member that counts. */
static void follow_all(seeker *self, size_t i, size_t depth, const char *value)
{
    uint64_t bit = UINT64_C(1) << i;
    kl__replaced replaced;
    kl_cursor part;

    if (!kl__replaced_in_text(&replaced, value, self->end)) {
        self->has_failed = true;
        return;
    }
    kl_cursor_begin(&part, value, self->end);
    for (size_t at = 0; (self->wanted & bit) != 0 && kl_cursor_next(&part);
         at++) {
        if (!kl__replaced_has(&replaced, at)) {
            follow(self, i, depth, part.value);
        }
    }
    kl__replaced_deinit(&replaced);
}

/* Follows one path, of which `depth` steps lead to the value. Recurses at [*]
 * only. */
static void follow(seeker *self, size_t i, size_t depth, const char *value)
{
    const kl__search *search = self->search;
    const kl_path *path = search->paths[i];

    for (; depth < path->count && value != NULL; depth++) {
        const kl__path_step *step = &path->steps[depth];

        if (step->kind == KL__STEP_NAME) {
            value =
                kl_cursor_member(value, self->end, step->name, step->length);
        } else if (step->kind == KL__STEP_INDEX) {
            value = kl_cursor_element(value, self->end, step->index);
        } else {
            follow_all(self, i, depth + 1, value);
            return;
        }
    }
    if (value != NULL) {
        report(self, value, depth, UINT64_C(1) << i);
    }
}

/* Follows the paths of `set` one by one. */
static void follow_each(seeker *self, const char *value, size_t depth,
                        uint64_t set)
{
    for (uint64_t left = set; left != 0; left &= left - 1) {
        follow(self, (size_t)__builtin_ctzll(left), depth, value);
    }
}

/* True if a path of the level has [*] as its next step. */
static bool wants_all(const seeker *self, const level *at)
{
    for (uint64_t left = at->set; left != 0; left &= left - 1) {
        const kl_path *path = self->search->paths[__builtin_ctzll(left)];

        if (path->steps[at->depth].kind == KL__STEP_ALL) {
            return true;
        }
    }
    return false;
}

/* Notes if an object of which all members are wanted has a name twice. */
static void check_all(seeker *self, const char *object)
{
    kl__replaced replaced;

    if (!kl__replaced_in_text(&replaced, object, self->end)) {
        self->has_failed = true;
    }
    self->is_repeated = self->is_repeated || replaced.count > 0;
    kl__replaced_deinit(&replaced);
}

/* True if the value below `above` is known to have no name twice: it is a whole
 * object of Kubernetes (NULL: nothing is above it), or its metadata. */
static bool is_head(const seeker *self, const level *above)
{
    static const char metadata[] = "metadata";

    return self->search->is_object &&
           (above == NULL ||
            (above->depth == 0 &&
             kl__cursor_has_name(&above->part, metadata, strlen(metadata))));
}

static const char *visit(seeker *self, const level *above, const char *value,
                         uint64_t set);

/* Walks over the parts of an array or object; returns its end. */
static const char *visit_parts(seeker *self, level *at)
{
    for (; kl_cursor_next(&at->part); at->index++) {
        uint64_t found;

        if (at->named != 0 && is_match_of(self, at, at->named)) {
            self->is_repeated = true;
        }
        if (self->is_repeated || self->has_failed) {
            return self->end;
        }
        found = match_part(self, at);
        if (found != 0) {
            at->part.at = visit(self, at, at->part.value, found);
            at->set &= self->wanted;
        }
        if (at->set == 0 && !at->is_read_on) {
            const char *end = leave_part(self, at);

            if (end != NULL) {
                return end;
            }
            at->is_read_on = true;
        }
    }
    return at->part.at;
}

/* Follows the paths of `set` to the value, a part of `above`. Returns the end
 * of the value, or NULL if it was not walked over. */
static const char *visit(seeker *self, const level *above, const char *value,
                         uint64_t set)
{
    level at = {.depth = above != NULL ? above->depth + 1 : 0};

    at.set = report(self, value, at.depth, set);
    if (at.set == 0 || (*value != '{' && *value != '[')) {
        return NULL;
    }
    if (at.depth == TOGETHER) {
        follow_each(self, value, at.depth, at.set);
        return NULL;
    }
    at.is_distinct = is_head(self, above);
    if (*value == '{' && !at.is_distinct && wants_all(self, &at)) {
        check_all(self, value);
    }
    kl_cursor_begin(&at.part, value, self->end);
    return visit_parts(self, &at);
}

bool kl__search_run(const kl__search *search, const char *text, const char *end)
{
    const uint64_t all = UINT64_MAX >> (KL__SEARCH_MOST - search->count);
    seeker self = {.search = search, .end = end, .wanted = all};

    visit(&self, NULL, text, all);
    if (self.is_repeated) {
        search->forget(search->context);
        self.wanted = all;
        follow_each(&self, text, 0, all);
    }
    return !self.has_failed;
}

/* What kl_cursor_paths has found. */
typedef struct places {
    const char **found;
    size_t count;
} places;

static bool take_first(void *context, size_t i, const char *value)
{
    const places *to = context;

    to->found[i] = value;
    return false;
}

static void forget_places(void *context)
{
    const places *to = context;

    for (size_t i = 0; i < to->count; i++) {
        to->found[i] = NULL;
    }
}

/* Runs a search of which the paths are known. */
static void find_places(const kl__search *of, const char *value,
                        const char *end, const char **found)
{
    places to = {found, of->count};
    kl__search search = *of;

    search.take = take_first;
    search.forget = forget_places;
    search.context = &to;
    forget_places(&to);
    if (value != NULL && !kl__search_run(&search, value, end)) {
        forget_places(&to);
    }
}

void kl_cursor_paths(const kl_path *const *paths, size_t count,
                     const char *value, const char *end, const char **found)
{
    kl__search search = {.paths = paths, .count = count};

    find_places(&search, value, end, found);
}

void kl_cursor_object_paths(const kl_path *const *paths, size_t count,
                            const char *text, const char *end,
                            const char **found)
{
    kl__search search = {.paths = paths, .count = count, .is_object = true};

    find_places(&search, text, end, found);
}

const char *kl_cursor_path(const kl_path *path, const char *value,
                           const char *end)
{
    const char *found;

    kl_cursor_paths(&path, 1, value, end, &found);
    return found;
}
