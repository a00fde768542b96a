/*
 * view.h - objects as Lua sees them: read-only userdata over the JSON of an
 * object. whole.c makes them; view_text.c finds values in the text of an object
 * or in its parsed tree; view_index.c reads single fields and the values at
 * paths; view.c has their metatables, pairs, ipairs and copies.
 *
 * The first reads of an object look into its text: a script that reads a few
 * fields needs no tree, which would cost more than all else. Once such reads
 * have cost as much as a tree does, the tree is parsed, and stays until the
 * userdata is collected.
 */
#ifndef KUBELUA_VIEW_H
#define KUBELUA_VIEW_H

#include "binding.h"

#include <stddef.h>

#pragma GCC visibility push(hidden) /* a rock is built without that flag */

/* Where a value stands: in the object's tree, or if `value` is NULL, in its
 * text. */
typedef struct place {
    const kl_value *value;
    uint32_t offset; /* of its first byte in the text; or one of these two */
} place;

#define NOWHERE 0 /* nothing was found; the object itself is at offset 0 */
/* The metadata of an object, wherever it is: a script may read only names and
 * versions of it, which needs no text. Texts are shorter. */
#define METADATA UINT32_MAX

/*
 * A userdata of TYPE_OBJECT is a `whole`, an object; a userdata of TYPE_VIEW is
 * a `view`, a part of an object. A part owns nothing of the core: its user
 * value keeps the whole alive, so a part needs no __gc.
 */
typedef struct view {
    struct whole *whole; /* of a whole: itself */
    place at; /* of a whole: offset 0, and the value once it is open */
} view;

typedef struct whole {
    view view;
    /* One reference; NULL while the whole is made, and once it is collected,
     * which a finalizer of the script may see. */
    kl_object *object;
    const char *text; /* NULL: not open. See open_text. */
    /* How many bytes of the text may still be passed by before a tree is
     * opened; set when the text is opened first. */
    int64_t patience;
    bool was_read; /* the text has been open before */
    /* Before Lua 5.3: the whole has a user value, a table that holds it. Its
     * parts share that table. */
    bool is_anchored;
    size_t charged; /* bytes that the account has charged for it */
} whole;

/* account.c: the memory in C that only the script keeps alive */

typedef struct account account;

/* Pushes the account of the lua_State, a userdata; the first call makes it. */
account *push_account(lua_State *L);
/* Charges bytes for the whole, which must be on the stack. May run the
 * collector, and so finalizers. */
void account_charge(lua_State *L, whole *owner, size_t bytes);
/* Undoes the charges of a whole, in its __gc. */
void account_release(account *account, whole *owner);

/* whole.c */

/* Pushes a whole without an object, which the caller stores in it. */
whole *new_whole(lua_State *L);
/* The object or part at `index`; NULL (test) or an error (check) if it is
 * neither. */
view *test_view(lua_State *L, int index);
view *check_view(lua_State *L, int index);

/* The object, or the object that the part belongs to. Borrowed. */
kl_object *object_of(lua_State *L, const view *self);

/* Replaces the metatable of TYPE_VIEW on top of the stack by a view of a part
 * of the view at `index` (absolute, or an upvalue). */
void push_part(lua_State *L, int index, view *self, place at);

/* view_text.c */

/* The value of a view in the tree; opens the tree first, unless that was
 * done. */
const kl_value *opened(lua_State *L, view *self);
/* True for a small part of an object whose text is open. */
bool is_near(const view *self);
/* True if the view is to be read in the tree: it is open, or it pays. Never for
 * a part that is near: to find each of thousands of them in a large tree takes
 * the longer the more there are. */
static inline bool reads_tree(const view *self)
{
    const whole *owner = self->whole;

    return self->at.value != NULL ||
           ((owner->view.at.value != NULL ||
             (owner->was_read && owner->patience < 0)) &&
            !is_near(self));
}

/* The pointers that these functions return are valid until a lua_* call that
 * allocates, since that may run a finalizer which reads other objects. */

typedef struct texts texts;

/* Pushes the open texts of the lua_State, a userdata; the first call makes
 * it. */
texts *push_open_texts(lua_State *L);
/* Closes the text of a whole, in its __gc, if it is open. */
void texts_release(texts *self, whole *owner);
/* Closes all texts. */
void texts_close(lua_State *L);

/* The text of the view's object, and its end. Allocates nothing in Lua. */
const char *open_text(lua_State *L, whole *owner);
const char *end_of_text(const whole *owner);
/* The first byte of the view's value in the text, which it opens. */
const char *locate(lua_State *L, const view *self);
/* Ends a search that began at `from`: returns the place of `found`, which may
 * be NULL, and counts what the search has passed by. */
place end_search(const view *self, const char *from, const char *found);
/* The member of the view with this name. */
place find_member_in_text(lua_State *L, const view *self, const char *name,
                          size_t length);
/* The values at up to KL_CURSOR_PATHS paths, by one search: sets places[i]. */
void find_paths_in_text(lua_State *L, const view *self,
                        const kl_path *const *paths, size_t count,
                        place *places);
/* Pushes a scalar of the text, nil for null; false: it is an array or
 * object. */
bool push_text_scalar(lua_State *L, whole *owner, uint32_t offset);
/* Parses the text of the view's value, and pushes a userdata with the tree of
 * it. Its __gc unrefs the tree, unless the caller has done so and set it to
 * NULL. */
kl_doc **push_text_doc(lua_State *L, const view *self);
/* Pushes a deep copy of a view that is read in the text. */
void push_text_copy(lua_State *L, const view *self);

typedef struct visits visits;

/* Pushes what is remembered of arrays that were read, a userdata; the first
 * call makes it. */
visits *push_visits(lua_State *L);
/* Forgets the arrays of a whole, in its __gc. */
void visits_release(visits *self, const whole *owner);
/* The element of the view at `number`, from 0; NOWHERE if it is no array. */
place find_element(lua_State *L, view *self, size_t number);

/* view_large.c */

typedef struct large large;

/* Pushes what is remembered of the large map that was read last, a userdata;
 * the first call makes it. */
large *push_large(lua_State *L);
/* Forgets a map of a whole, in its __gc. */
void large_release(lua_State *L, large *self, const whole *owner);
/* True for an object of a tree with so many members that an index pays. */
bool is_large(const kl_value *map);
/* Its member whose name is at the index `name` (absolute), or NULL. `self` is a
 * view of the same whole. */
const kl_value *find_in_large(lua_State *L, const view *self,
                              const kl_value *map, int name);

/* view_index.c: single fields. Functions that scripts call often are made by
 * push_reader, and have these upvalues. */
enum {
    UP_OWN = 1, /* metatable of the type that the function is made for */
    UP_PART,    /* metatable of TYPE_VIEW */
    UP_RECENT,  /* weak table of parts that were read last */
    UP_EXTRA    /* a table of that function, or nil */
};

/* Replaces the value on top of the stack, UP_EXTRA, by such a function. */
void push_reader(lua_State *L, const char *type, lua_CFunction function);
/* Inside of such a function: the object or part at 1; raises otherwise. */
view *check_reader_view(lua_State *L);
/* The same as push_place, for the view at 1. Uses a recent view if it can. */
void push_member(lua_State *L, view *self, place at);

/* These are made by push_reader. UP_EXTRA of whole_index: the methods. */
int part_index(lua_State *L);
int whole_index(lua_State *L);
int view_len(lua_State *L);

/* Adds get to the module on top of the stack, and pushes the table
 * of methods: get. */
void bind_view_path(lua_State *L);

#pragma GCC visibility pop

#endif
