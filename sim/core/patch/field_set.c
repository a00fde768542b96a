/*
 * field_set.c - see field_set.h. Each operation walks through two sorted sets
 * side by side, so its time is linear.
 */
#include "sim/core/patch/field_set.h"

#include "sim/core/patch/field_name.h"

#include "base/map.h"

#include <string.h>

/* One of the two sets, and where the walk is in it. */
typedef struct set_side {
    const kl__node *set;
    kl__node_iter iter;
    kl__node *element; /* NULL at the end */
    const char *name;
    size_t length;
} set_side;

static bool is_self(const char *name, size_t length)
{
    return length == 1 && *name == '.';
}

static void advance_side(set_side *side)
{
    do {
        side->element =
            kl__node_next(side->set, &side->iter, &side->name, &side->length);
    } while (side->element != NULL && is_self(side->name, side->length));
}

static set_side side_of(const kl__node *set)
{
    set_side first = {.set = set};

    advance_side(&first);
    return first;
}

/* Moves `other` forward to the name of the element of `at`; true if `other` has
 * an element of that name. */
static bool catch_up(set_side *other, const set_side *at)
{
    int order = -1;

    while (other->element != NULL &&
           (order = kl__field_compare(other->name, other->length, at->name,
                                      at->length)) < 0) {
        advance_side(other);
    }
    return other->element != NULL && order == 0;
}

static bool has_self(const kl__node *element)
{
    kl__node_iter iter = {0};
    const char *name;
    size_t length;

    return kl__node_next(element, &iter, &name, &length) != NULL &&
           is_self(name, length);
}

bool kl__fields_has(const kl__node *element)
{
    return kl__node_size(element) == 0 || has_self(element);
}

kl__node *kl__fields_begin(kl__edit *edit, bool is_member)
{
    kl__node *element = kl__edit_object(edit);

    if (element != NULL && is_member &&
        !kl__node_add_n(edit, element, ".", 1, kl__edit_object(edit))) {
        return NULL;
    }
    return element;
}

bool kl__fields_end(kl__edit *edit, kl__node *parent, const char *name,
                    size_t length, kl__node *element)
{
    if (element == NULL || !kl__fields_sort(edit, element)) {
        return false;
    }
    if (kl__node_size(element) == 0) {
        return true;
    }
    if (kl__node_size(element) == 1 && has_self(element)) {
        kl__node_clear(element);
    }
    return kl__node_add_n(edit, parent, name, length, element);
}

/* --- Sorting. ------------------------------------------------------------- */

bool kl__fields_sort(kl__edit *edit, kl__node *set)
{
    return kl__node_sort(edit, set, kl__field_compare);
}

/* --- Subtracting. --------------------------------------------------------- */

/* Removes the fields of `other` from an element; true if nothing is left. */
static bool reduce_element(kl__node *element, const kl__node *other, bool deep)
{
    bool remains = kl__fields_has(element) && !kl__fields_has(other);
    bool has_dot = has_self(element);

    if (deep && kl__fields_has(other)) {
        return true;
    }
    kl__fields_subtract(element, other, deep);
    if (kl__node_size(element) == (has_dot ? 1 : 0)) {
        kl__node_clear(element);
        return !remains;
    }
    if (has_dot && !remains) {
        kl__node_remove(element, ".");
    }
    return false;
}

void kl__fields_subtract(kl__node *set, const kl__node *other, bool deep)
{
    set_side at = side_of(set), theirs = side_of(other);

    while (at.element != NULL && theirs.element != NULL) {
        if (catch_up(&theirs, &at) &&
            reduce_element(at.element, theirs.element, deep)) {
            kl__node_drop(&at.iter);
        }
        advance_side(&at);
    }
}

/* --- Uniting. ------------------------------------------------------------- */

bool kl__fields_mark(kl__edit *edit, kl__node *element)
{
    kl__node *marked;
    kl__node_iter iter = {0};
    kl__node *child;
    const char *name;
    size_t length;

    if (kl__fields_has(element)) {
        return true;
    }
    marked = kl__fields_begin(edit, true);
    while (marked != NULL &&
           (child = kl__node_next(element, &iter, &name, &length)) != NULL) {
        kl__node_drop(&iter);
        if (!kl__node_add_n(edit, marked, name, length, child)) {
            return false;
        }
    }
    if (marked != NULL) {
        kl__node_become(element, marked);
    }
    return marked != NULL;
}

static bool unite_element(kl__edit *edit, kl__node *element,
                          const kl__node *other)
{
    if (kl__node_size(element) == 0) {
        if (kl__node_size(other) == 0) {
            return true;
        }
        if (!kl__node_add_n(edit, element, ".", 1, kl__edit_object(edit))) {
            return false;
        }
    } else if (kl__fields_has(other) && !kl__fields_mark(edit, element)) {
        return false;
    }
    return kl__fields_unite(edit, element, other);
}

bool kl__fields_unite(kl__edit *edit, kl__node *set, const kl__node *other)
{
    kl__node *extra = kl__edit_object(edit), *element;
    set_side at = side_of(set), theirs = side_of(other);
    kl__node_iter iter = {0};
    const char *name;
    size_t length;

    for (; extra != NULL && theirs.element != NULL; advance_side(&theirs)) {
        bool done =
            catch_up(&at, &theirs)
                ? unite_element(edit, at.element, theirs.element)
                : kl__node_add_n(edit, extra, theirs.name, theirs.length,
                                 kl__edit_copy(edit, theirs.element));

        if (!done) {
            return false;
        }
    }
    while ((element = kl__node_next(extra, &iter, &name, &length)) != NULL) {
        kl__node_drop(&iter);
        if (!kl__node_add_n(edit, set, name, length, element)) {
            return false;
        }
    }
    return extra != NULL && kl__fields_sort(edit, set);
}

static bool intersect_into(kl__edit *edit, kl__node *into, const kl__node *a,
                           const kl__node *b)
{
    set_side at = side_of(a), theirs = side_of(b);

    for (; at.element != NULL && theirs.element != NULL; advance_side(&at)) {
        kl__node *both;

        if (!catch_up(&theirs, &at)) {
            continue;
        }
        both = kl__fields_begin(edit, kl__fields_has(at.element) &&
                                          kl__fields_has(theirs.element));
        if (both == NULL ||
            !intersect_into(edit, both, at.element, theirs.element) ||
            !kl__fields_end(edit, into, at.name, at.length, both)) {
            return false;
        }
    }
    return true;
}

kl__node *kl__fields_intersect(kl__edit *edit, const kl__node *a,
                               const kl__node *b)
{
    kl__node *both = kl__edit_object(edit);

    return both != NULL && intersect_into(edit, both, a, b) ? both : NULL;
}

/* --- Sets sent by clients. ------------------------------------------------ */

/* An element of a set that a client has sent. */
typedef struct named {
    const char *name;
    size_t length;
    kl__node *element;
} named;

/* Puts an element into a set; `seen` has the names that are in it. Of two
 * elements with the same name the last counts. */
static bool adopt_element(kl__edit *edit, kl__node *set, kl__map *seen,
                          const named *one)
{
    kl__node *first = kl__map_get_n(seen, one->name, one->length);

    if (first != NULL) {
        kl__node_become(first, one->element);
        return true;
    }
    return kl__map_put_n(seen, one->name, one->length, one->element, NULL) &&
           kl__node_add_n(edit, set, one->name, one->length, one->element);
}

kl_code kl__fields_adopt(kl__edit *edit, kl__node *set, kl_error *err)
{
    kl__node *canonical = kl__edit_object(edit);
    kl__node_iter iter = {0};
    kl_code code = KL_OK;
    kl__map seen = {0};
    named one;

    if (!kl__node_is(set, KL_OBJECT)) {
        return kl_error_set(err, KL_EPARSE, "a set of fields is an object");
    }
    while (canonical != NULL && code == KL_OK &&
           (one.element = kl__node_next(set, &iter, &one.name, &one.length)) !=
               NULL) {
        kl__node_drop(&iter);
        code = kl__field_canonical(edit, &one.name, &one.length, err);
        if (code == KL_OK) {
            code = kl__fields_adopt(edit, one.element, err);
        }
        if (code == KL_OK && !adopt_element(edit, canonical, &seen, &one)) {
            canonical = NULL;
        }
    }
    kl__map_deinit(&seen);
    if (canonical == NULL ||
        (code == KL_OK && !kl__fields_sort(edit, canonical))) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for fields");
    }
    kl__node_become(set, canonical);
    return code;
}
