/*
 * view.h - objects as Lua sees them: read-only userdata over the parsed JSON of
 * an object. view.c makes them, view_index.c reads single fields; view_walk.c
 * has pairs, ipairs, paths and copies.
 */
#ifndef KUBELUA_VIEW_H
#define KUBELUA_VIEW_H

#include "binding.h"

#include <stddef.h>

/*
 * A userdata of TYPE_OBJECT is a `whole`, an object; a userdata of TYPE_VIEW is
 * a `view`, a part of an object. A part owns nothing of the core: its user
 * value keeps the whole alive, so a part needs no __gc.
 */
typedef struct view {
    struct whole *whole; /* of a whole: itself */
    /* NULL in a whole that was not parsed yet, and in its part `metadata` that
     * was made before: names and versions are read without parsing. */
    const kl_value *value;
} view;

typedef struct whole {
    view view;
    /* One reference; NULL while the whole is made, and once it is collected,
     * which a finalizer of the script may see. */
    kl_object *object;
    /* Before Lua 5.3: the whole has a user value, a table that holds it. Its
     * parts share that table. */
    bool is_anchored;
    size_t charged; /* bytes that the account has charged for it */
} whole;

/* account.c: the memory in C that only the script keeps alive */

typedef struct account account;

/* Pushes the account of the lua_State, a userdata; the first call makes it. */
void push_account(lua_State *L);
/* Charges bytes for the whole, which must be on the stack. May run the
 * collector, and so finalizers. */
void account_charge(lua_State *L, whole *owner, size_t bytes);
/* Undoes the charges of a whole, in its __gc. */
void account_release(account *account, whole *owner);

/* The object or part at `index`; NULL (test) or an error (check) if it is
 * neither. */
view *test_view(lua_State *L, int index);
view *check_view(lua_State *L, int index);

/* The object, or the object that the part belongs to. Borrowed. */
kl_object *object_of(lua_State *L, const view *self);

/* Raises misuse: only the metadata of this object was asked for. */
void refuse_beyond_metadata(lua_State *L, const kl_object *object,
                            const char *field);

/* The value of a view; parses its object first, unless that was done. */
const kl_value *opened(lua_State *L, view *self);

/* The text of a member of metadata that an object has without parsing: name,
 * namespace, uid, resourceVersion. NULL: it is another member, or the object
 * may not have it. */
const char *identity_text(const kl_object *object, const char *name,
                          size_t length);

/* Replaces the metatable of TYPE_VIEW on top of the stack by a view of a value
 * inside of the view at `index` (absolute, or an upvalue). */
void push_part(lua_State *L, int index, view *self, const kl_value *value);
/* Pushes a value inside of the view at `index`: a scalar, nil for null, or a
 * view of it. */
void push_value(lua_State *L, int index, view *self, const kl_value *value);

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
/* The same as push_value, for the view at 1. Uses a recent view if it can. */
void push_member(lua_State *L, view *self, const kl_value *value);

/* These are made by push_reader. UP_EXTRA of whole_index: the methods. */
int part_index(lua_State *L);
int whole_index(lua_State *L);
int view_len(lua_State *L);

/* view_walk.c: many fields. Adds pairs, ipairs, view_table and view_json to the
 * module on top of the stack, and pushes the table of methods: get, table,
 * json. */
void bind_view_walk(lua_State *L);

#endif
