/*
 * search.c - see search.h. On the way down from the root, a set of bits has the
 * paths whose steps match all names so far; what no path leads to is skipped.
 * An array or object is left as soon as every path that leads into it has its
 * value.
 */
#include "json/search.h"

#include "json/cursor.h"
#include "json/path.h"

/* The paths are followed together for so many steps, which bounds the
 * recursion, and one by one from there: no object that is not made to be deep
 * has as many levels. */
enum { TOGETHER = 64 };

typedef struct seeker {
    const kl__search *search;
    const char *end;
    uint64_t wanted; /* paths of which more values are wanted */
} seeker;

/* Where a walk stands. */
typedef struct level {
    uint64_t set; /* the paths that lead into this array or object, and may
                     match one more of its parts */
    size_t depth; /* the number of the step that is next */
    size_t index; /* of the current element */
    kl_cursor part;
} level;

static bool is_match(const level *at, const kl__step *step)
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

/* Returns the paths that the current part matches. As the first of duplicate
 * names wins, a name or an index is not looked for again. */
static uint64_t match_part(const seeker *self, level *at)
{
    uint64_t found = 0;

    for (uint64_t left = at->set; left != 0; left &= left - 1) {
        uint64_t bit = left & (0 - left);
        const kl_path *path = self->search->paths[__builtin_ctzll(left)];
        const kl__step *step = &path->steps[at->depth];

        if (is_match(at, step)) {
            found |= bit;
            at->set &= step->kind == KL__STEP_ALL ? at->set : ~bit;
        }
    }
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

static const char *leave_part(const seeker *self, const level *at)
{
    const char *behind = at->part.at;

    if (self->wanted == 0 || at->depth == 0) {
        return self->end;
    }
    if (behind == NULL) {
        behind = kl_cursor_skip(at->part.value, self->end);
    }
    return kl__cursor_leave(behind, self->end);
}

/* Follows one path, of which `depth` steps lead to the value. Recurses at [*]
 * only. */
static void follow(seeker *self, size_t i, size_t depth, const char *value)
{
    const kl__search *search = self->search;
    const kl_path *path = search->paths[i];
    uint64_t bit = UINT64_C(1) << i;
    kl_cursor part;

    for (; depth < path->count && value != NULL; depth++) {
        const kl__step *step = &path->steps[depth];

        if (step->kind == KL__STEP_NAME) {
            value =
                kl_cursor_member(value, self->end, step->name, step->length);
        } else if (step->kind == KL__STEP_INDEX) {
            value = kl_cursor_element(value, self->end, step->index);
        } else {
            kl_cursor_begin(&part, value, self->end);
            while ((self->wanted & bit) != 0 && kl_cursor_next(&part)) {
                follow(self, i, depth + 1, part.value);
            }
            return;
        }
    }
    if (value != NULL) {
        report(self, value, depth, bit);
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

/* Follows the paths of `set`, of which `depth` steps lead to the value. Returns
 * the end of the value, or NULL if it was not walked over. */
static const char *visit(seeker *self, const char *value, size_t depth,
                         uint64_t set)
{
    level at = {.depth = depth, .set = report(self, value, depth, set)};

    if (at.set == 0 || (*value != '{' && *value != '[')) {
        return NULL;
    }
    if (depth == TOGETHER) {
        follow_each(self, value, depth, at.set);
        return NULL;
    }
    kl_cursor_begin(&at.part, value, self->end);
    for (; kl_cursor_next(&at.part); at.index++) {
        uint64_t found = match_part(self, &at);

        if (found != 0) {
            at.part.at = visit(self, at.part.value, depth + 1, found);
            at.set &= self->wanted;
        }
        if (at.set == 0) {
            return leave_part(self, &at);
        }
    }
    return at.part.at;
}

void kl__search_run(const kl__search *search, const char *text, const char *end)
{
    seeker self = {.search = search, .end = end};

    self.wanted = UINT64_MAX >> (KL__SEARCH_MOST - search->count);
    visit(&self, text, 0, self.wanted);
}

static bool take_first(void *context, size_t i, const char *value)
{
    const char **found = context;

    found[i] = value;
    return false;
}

void kl_cursor_paths(const kl_path *const *paths, size_t count,
                     const char *value, const char *end, const char **found)
{
    kl__search search = {
        .paths = paths, .count = count, .take = take_first, .context = found};

    for (size_t i = 0; i < count; i++) {
        found[i] = NULL;
    }
    if (value != NULL) {
        kl__search_run(&search, value, end);
    }
}

const char *kl_cursor_path(const kl_path *path, const char *value,
                           const char *end)
{
    const char *found;

    kl_cursor_paths(&path, 1, value, end, &found);
    return found;
}
