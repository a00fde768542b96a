/*
 * view_element.c - finds the elements of an array by their numbers. An array
 * has no table of its elements, neither in the text nor in the tree; so those
 * that were found last are remembered, and a loop from the first element to the
 * last takes one step for each. See view.h.
 */
#include "view.h"

enum {
    ARRAYS = 4, /* for loops inside of loops */
    FIRST = 8,  /* up to here it is as well to count from the beginning */
    AHEAD = 64  /* elements of a tree that are passed by one after the other */
};

/* The element of an array that was found last. */
typedef struct visit {
    const whole *owner; /* NULL: of no array */
    place array;
    size_t number; /* from 0 */
    place element; /* neither in a tree nor in a text: nothing was found yet */
    /* In a tree: behind the element, and so `index` is number + 1. Or 0: it is
     * not known where the next element is. */
    kl_value_iter iter;
} visit;

struct visits {
    visit kept[ARRAYS];
    size_t oldest;
};

visits *push_visits(lua_State *L)
{
    static const char address = 0;

    return push_kept(L, &address, sizeof(visits));
}

void visits_release(visits *self, const whole *owner)
{
    for (size_t i = 0; i < ARRAYS; i++) {
        if (self->kept[i].owner == owner) {
            self->kept[i].owner = NULL;
        }
    }
}

static visit *visit_of(visits *self, const whole *owner, place array)
{
    visit *found;

    for (size_t i = 0; i < ARRAYS; i++) {
        found = &self->kept[i];
        if (found->owner == owner && found->array.value == array.value &&
            found->array.offset == array.offset) {
            return found;
        }
    }
    found = &self->kept[self->oldest];
    self->oldest = (self->oldest + 1) % ARRAYS;
    *found = (visit){.owner = owner, .array = array};
    return found;
}

/* Goes on to the element, if it is not far ahead, or if it is the next one of
 * one that was found without a walk. Else asks for it: that counts from the
 * beginning, or takes one step if all elements are scalars. */
static const kl_value *go_on_in_tree(visit *self, const kl_value *array,
                                     size_t number)
{
    size_t index = self->iter.index;
    bool is_next = self->element.value != NULL && number == self->number + 1;
    const kl_value *element;

    if (index > number + 1 || number + 1 - index > AHEAD) {
        index = 0;
        self->iter = (kl_value_iter){0};
    }
    if (index == 0 && !is_next) {
        element = kl_value_at(array, number);
        if (element != NULL) {
            self->number = number;
            self->element.value = element;
        }
        return element;
    }
    while (self->iter.index < number + 1) {
        element = kl_value_next(array, &self->iter, NULL);
        if (element == NULL) {
            return NULL;
        }
        self->number = self->iter.index - 1;
        self->element.value = element;
    }
    return self->element.value;
}

/* Sets *from to where the search begins. */
static const char *go_on_in_text(const visit *self, const char **from,
                                 size_t number)
{
    const char *end = end_of_text(self->owner);
    kl_cursor walk;

    if (self->element.offset == NOWHERE || number < self->number) {
        return kl_cursor_element(*from, end, number);
    }
    *from = self->owner->text + self->element.offset;
    walk = (kl_cursor){.value = *from, .end = end};
    for (size_t at = self->number; at < number; at++) {
        if (!kl_cursor_next(&walk)) {
            return NULL;
        }
    }
    return walk.value;
}

static place find_in_tree(visits *all, const view *self, const kl_value *array,
                          size_t number)
{
    visit *last;

    if (number < FIRST || kl_value_type(array) != KL_ARRAY) {
        return (place){kl_value_at(array, number), NOWHERE};
    }
    last = visit_of(all, self->whole, self->at);
    return (place){go_on_in_tree(last, array, number), NOWHERE};
}

static place find_in_text(visits *all, const view *self, const char *array,
                          size_t number)
{
    const char *from = array, *element;
    visit *last;
    place found;

    if (number < FIRST || *array != '[') {
        return end_search(
            self, from,
            kl_cursor_element(array, end_of_text(self->whole), number));
    }
    last = visit_of(all, self->whole, self->at);
    element = go_on_in_text(last, &from, number);
    found = end_search(self, from, element);
    if (found.offset != NOWHERE) {
        last->number = number;
        last->element = found;
    }
    return found;
}

place find_element(lua_State *L, view *self, size_t number)
{
    visits *all = NULL;

    if (number >= FIRST) {
        all = push_visits(L);
        lua_pop(L, 1);
    }
    /* What opens a tree or a text may run finalizers, and these may read other
     * arrays: a visit is looked for afterwards. */
    if (reads_tree(self)) {
        return find_in_tree(all, self, opened(L, self), number);
    }
    return find_in_text(all, self, locate(L, self), number);
}
