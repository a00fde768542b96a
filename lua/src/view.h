/*
 * view.h - objects and what is inside them, as Lua sees them; shared by view.c,
 * which makes them and reads fields, and view_walk.c, which goes through them.
 */
#ifndef KUBELUA_VIEW_H
#define KUBELUA_VIEW_H

#include "binding.h"

#include <stddef.h>

/*
 * A userdata of TYPE_OBJECT is a `whole`, one of TYPE_VIEW, which is a part of
 * it, just a `view`. A part holds nothing of the core's: Lua keeps its whole
 * alive as its user value, so parts need no collector of their own.
 */
typedef struct view {
    struct whole *whole;   /* of a whole: itself */
    const kl_value *value; /* NULL in a whole that nobody has looked into */
} view;

typedef struct whole {
    view view;
    kl_object *object; /* one reference; NULL while being made, and once
                          collected, which a finalizer of a script may see */
    bool is_anchored;  /* what its parts have as user value is its own, too */
    size_t charged;    /* bytes of the account that are its own */
} whole;

/* account.c: the memory in C that only the script keeps alive */

typedef struct account account;

/* Pushes the account of the lua_State, a userdata; makes it the first time. */
void push_account(lua_State *L);
/* Charges bytes to the whole, which is on the stack; may run the collector, and
 * so finalizers. */
void account_charge(lua_State *L, whole *owner, size_t bytes);
/* The whole is collected. For its finalizer. */
void account_release(account *account, whole *owner);

/* Either kind; NULL, or an error, if it is neither. */
view *test_view(lua_State *L, int index);
view *check_view(lua_State *L, int index);

/* The object that it is, or is a part of. Borrowed. */
kl_object *object_of(lua_State *L, const view *self);

/* Raises misuse: the object has its metadata only. */
void refuse_beyond_metadata(lua_State *L, const kl_object *object,
                            const char *field);

/* Looks into it: parses the object, or shares the tree that is open. */
const kl_value *opened(lua_State *L, view *self);

/* Pushes what a field of the view at `index` (absolute, or an upvalue) holds:
 * a scalar, nil for null, or a view into it. */
void push_value(lua_State *L, int index, view *self, const kl_value *value);

/* Adds pairs, ipairs, get, table and json to the module on top of the stack,
 * and pushes the table of methods, which holds the last three. */
void bind_view_walk(lua_State *L);

#endif
