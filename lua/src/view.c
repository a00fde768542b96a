/*
 * view.c - objects as read-only userdata: their metatables, and what reads many
 * fields at once: pairs, ipairs, and copies as a table or as JSON. A single
 * field is looked up when a script reads it (view_index.c). See view.h.
 */
#include "view.h"

#include <string.h>

static int view_newindex(lua_State *L)
{
    const kl_object *object = object_of(L, check_view(L, 1));

    return misuse(L,
                  "%s %s is read-only, as all readers of the cache share "
                  "it; change a copy: object:table() or "
                  "kubelua.table(part)",
                  kl_object_kind(object), kl_object_key(object));
}

/* True if both are the same part. Userdata of one object share its tree, and
 * its text is always the same. */
static bool is_same_part(lua_State *L, view *a, view *b)
{
    const char *at;
    ptrdiff_t offset;

    if (a->at.value != NULL || b->at.value != NULL) {
        return opened(L, a) == opened(L, b);
    }
    if (a->at.offset == b->at.offset) {
        return true;
    }
    if (a->at.offset != METADATA && b->at.offset != METADATA) {
        return false;
    }
    at = locate(L, a);
    offset = at - a->whole->text;
    at = locate(L, b);
    return at - b->whole->text == offset;
}

/* From Lua 5.3 on also called if only one operand is a view. */
static int view_eq(lua_State *L)
{
    view *a = test_view(L, 1);
    view *b = test_view(L, 2);

    lua_pushboolean(L, a != NULL && b != NULL &&
                           object_of(L, a) == object_of(L, b) &&
                           is_same_part(L, a, b));
    return 1;
}

/* Upvalue 1: the account; upvalue 2: the texts; upvalue 3: the visits; upvalue
 * 4: the large map. */
static int whole_gc(lua_State *L)
{
    whole *self = lua_touserdata(L, 1);
    kl_object *object = self->object;

    texts_release(lua_touserdata(L, lua_upvalueindex(2)), self);
    visits_release(lua_touserdata(L, lua_upvalueindex(3)), self);
    large_release(L, lua_touserdata(L, lua_upvalueindex(4)), self);
    self->object = NULL;
    account_release(lua_touserdata(L, lua_upvalueindex(1)), self);
    if (object != NULL && self->view.at.value != NULL) {
        kl_object_close(object);
    }
    kl_object_unref(object);
    return 0;
}

static int view_tostring(lua_State *L)
{
    const view *self = check_view(L, 1);
    const kl_object *object = object_of(L, self);

    lua_pushfstring(L, "%s%s %s", &self->whole->view == self ? "" : "part of ",
                    kl_object_kind(object), kl_object_key(object));
    return 1;
}

/* core.is_view(x): true if x is an object, or a part of one. */
static int is_view(lua_State *L)
{
    lua_pushboolean(L, test_view(L, 1) != NULL);
    return 1;
}

/* core.is_object(x): true if x is a whole object. */
static int is_object(lua_State *L)
{
    const view *self = test_view(L, 1);

    lua_pushboolean(L, self != NULL && &self->whole->view == self);
    return 1;
}

/* core.is_metadata_only(x): true if x is an object, or a part of one, of which
 * only the metadata was asked for. */
static int is_metadata_only(lua_State *L)
{
    const view *self = test_view(L, 1);

    lua_pushboolean(L, self != NULL &&
                           kl_object_is_metadata_only(object_of(L, self)));
    return 1;
}

/* core.object(text, keeps_managed_fields): an object made of a JSON text, or of
 * the body of a reply; or nil, message, code. */
static int object_parse(lua_State *L)
{
    const kl_reply *reply = test_reply(L, 1);
    size_t length = reply != NULL ? reply->body_length : 0;
    const char *text = reply != NULL && reply->body != NULL
                           ? reply->body
                           : luaL_checklstring(L, 1, &length);
    kl_object_options options = {.keep_managed_fields = lua_toboolean(L, 2)};
    whole *self = new_whole(L);
    kl_error err;

    self->object = kl_object_parse(text, length, &options, &err);
    if (self->object == NULL) {
        return push_error(L, &err);
    }
    account_charge(L, self, kl_object_bytes(self->object));
    return 1;
}

/* ---- many fields ---- */

/* Pushes a value inside of the view at `index`: a scalar, nil for null or for
 * NOWHERE, or a view of it. */
static void push_place(lua_State *L, int index, view *self, place at)
{
    if (at.value != NULL) {
        if (kl_value_type(at.value) == KL_NULL) {
            lua_pushnil(L);
            return;
        }
        if (push_scalar(L, at.value)) {
            return;
        }
    } else if (at.offset == NOWHERE) {
        lua_pushnil(L);
        return;
    } else if (push_text_scalar(L, self->whole, at.offset)) {
        return;
    }
    luaL_getmetatable(L, TYPE_VIEW);
    push_part(L, index, self, at);
}

/* How far a kubelua.pairs has come. A loop that began in the text may go on in
 * the tree (leave_text). */
typedef struct steps {
    bool is_in_tree;
    kl_value_iter iter; /* in the tree */
    /* In the text: the current member's name (0 in an array) and value (0: none
     * yet), and how many there were, nulls included. */
    uint32_t name;
    uint32_t value;
    size_t count;
    /* The numbers of the members that a later one of the same name replaces:
     * they are not shown. */
    size_t next; /* of `replaced` */
    size_t replaced_count;
    size_t replaced[];
} steps;

/* True if member number `i`, from 0, is not shown. Call it for each. */
static bool is_replaced(steps *at, size_t i)
{
    if (at->next == at->replaced_count || at->replaced[at->next] != i) {
        return false;
    }
    at->next++;
    return true;
}

/* Copies as many numbers of members that are not shown to `to` as it has room
 * for; returns how many there are. */
static size_t find_replaced(lua_State *L, view *self, size_t *to, size_t room)
{
    size_t *numbers, count;
    kl_error err;
    kl_code code;

    if (reads_tree(self)) {
        code = kl_value_replaced(opened(L, self), &numbers, &count, &err);
    } else {
        const char *from = locate(L, self);

        code = kl_cursor_replaced(from, end_of_text(self->whole), &numbers,
                                  &count, &err);
    }
    if (code != KL_OK) {
        misuse(L, "%s", err.message);
    }
    for (size_t i = 0; i < count && i < room; i++) {
        to[i] = numbers[i];
    }
    kl_free(numbers);
    return count;
}

/* Pushes the beginning of a loop. */
static void push_steps(lua_State *L, view *self)
{
    size_t count = find_replaced(L, self, NULL, 0);
    steps *at =
        lua_newuserdata(L, sizeof(*at) + count * sizeof(at->replaced[0]));

    *at = (steps){.replaced_count = count};
    if (count > 0) {
        find_replaced(L, self, at->replaced, count);
    }
    at->is_in_tree = reads_tree(self);
}

/* Pushes the next key and value of the tree that is not null, or nil. */
static int push_next_of_tree(lua_State *L, view *self, steps *at)
{
    const kl_value *key, *value;

    do {
        value = kl_value_next(opened(L, self), &at->iter, &key);
    } while (value != NULL && (is_replaced(at, at->iter.index - 1) ||
                               kl_value_type(value) == KL_NULL));
    if (value == NULL) {
        lua_pushnil(L);
        return 1;
    }
    if (key == NULL) {
        lua_pushinteger(L, (lua_Integer)at->iter.index);
    } else {
        push_scalar(L, key);
    }
    push_place(L, lua_upvalueindex(2), self, (place){value, NOWHERE});
    return 2;
}

/* Goes to the next value of the text that is not null; false: there is none. */
static bool step_in_text(lua_State *L, const view *self, steps *at)
{
    const char *text = open_text(L, self->whole);
    const char *from = locate(L, self);
    kl_cursor walk = {.name = at->name != 0 ? text + at->name : NULL,
                      .value = text + at->value,
                      .end = end_of_text(self->whole)};

    if (at->value == 0) {
        kl_cursor_begin(&walk, from, walk.end);
    } else {
        from = walk.value;
    }
    do {
        if (!kl_cursor_next(&walk)) {
            return false;
        }
        at->count++;
    } while (is_replaced(at, at->count - 1) || *walk.value == 'n');
    at->name = walk.name != NULL ? (uint32_t)(walk.name - text) : 0;
    at->value = end_search(self, from, walk.value).offset;
    return true;
}

/* True if a loop in the text should go on in the tree. If the body opened the
 * tree, a value that is an array or object would be looked for in it from the
 * beginning. If the body reads other objects, each step may open the whole text
 * again. */
static bool should_leave_text(const view *self)
{
    const whole *owner = self->whole;

    return (owner->view.at.value != NULL || owner->text == NULL) &&
           reads_tree(self);
}

/* Goes to the same member or element in the tree. */
static void leave_text(lua_State *L, view *self, steps *at)
{
    const kl_value *value = opened(L, self);

    at->iter = (kl_value_iter){0};
    while (at->iter.index < at->count &&
           kl_value_next(value, &at->iter, NULL) != NULL) {
    }
    at->is_in_tree = true;
}

/* One step of kubelua.pairs. Upvalue 1: the steps; upvalue 2: the view. */
static int view_next(lua_State *L)
{
    steps *at = lua_touserdata(L, lua_upvalueindex(1));
    view *self = lua_touserdata(L, lua_upvalueindex(2));

    if (!at->is_in_tree && should_leave_text(self)) {
        leave_text(L, self, at);
    }
    if (at->is_in_tree) {
        return push_next_of_tree(L, self, at);
    }
    if (!step_in_text(L, self, at)) {
        lua_pushnil(L);
        return 1;
    }
    if (at->name == 0) {
        lua_pushinteger(L, (lua_Integer)at->count);
    } else {
        push_text_scalar(L, self->whole, at->name);
    }
    push_place(L, lua_upvalueindex(2), self, (place){NULL, at->value});
    return 2;
}

static int view_pairs(lua_State *L)
{
    view *self = check_view(L, 1);

    object_of(L, self);
    push_steps(L, self);
    lua_pushvalue(L, 1);
    lua_pushcclosure(L, view_next, 2);
    return 1;
}

/* A reader (push_reader). */
static int view_inext(lua_State *L)
{
    view *self = check_reader_view(L);
    lua_Integer index = luaL_checkinteger(L, 2) + 1;

    lua_settop(L, 2);
    push_member(L, self, find_element(L, self, (size_t)index - 1));
    if (lua_isnil(L, -1)) {
        return 1;
    }
    lua_pushinteger(L, index);
    lua_insert(L, -2);
    return 2;
}

/* Upvalue 1: view_inext. */
static int view_ipairs(lua_State *L)
{
    check_view(L, 1);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    return 3;
}

/* The metatable that marks a copy of a pruned object. */
#define TYPE_PRUNED "kubelua.pruned"

/* A copy of a pruned object is marked by its metatable, so that it is not
 * written back as if it were whole. */
static int view_table(lua_State *L)
{
    view *self = check_view(L, 1);

    if (reads_tree(self)) {
        push_copy(L, opened(L, self));
    } else {
        push_text_copy(L, self);
    }
    if (&self->whole->view == self && kl_object_is_pruned(object_of(L, self))) {
        luaL_newmetatable(L, TYPE_PRUNED);
        lua_setmetatable(L, -2);
    }
    return 1;
}

/* core.is_pruned(x): true if x is an object, a part of one or a copy of one,
 * that lacks what `drop` or `keep` removed. */
static int is_pruned(lua_State *L)
{
    const view *self = test_view(L, 1);
    bool result = self != NULL && kl_object_is_pruned(object_of(L, self));

    if (lua_istable(L, 1) && lua_getmetatable(L, 1)) {
        luaL_getmetatable(L, TYPE_PRUNED);
        result = lua_rawequal(L, -1, -2) && !lua_isnil(L, -1);
    }
    lua_pushboolean(L, result);
    return 1;
}

/* Pushes the text of an object without the members that do not count. */
static void push_distinct(lua_State *L, const kl_object *object,
                          const char *text, size_t length)
{
    char *copy, **guarded;
    kl_error err;

    if (kl_object_json_distinct(object, text, &copy, &length, &err) != KL_OK) {
        misuse(L, "%s", err.message);
    }
    if (copy == NULL) {
        lua_pushlstring(L, text, length);
        return;
    }
    kl_free(copy); /* what follows may raise */
    guarded = push_text_guard(L);
    if (kl_object_json_distinct(object, text, guarded, &length, &err) !=
        KL_OK) {
        misuse(L, "%s", err.message);
    }
    lua_pushlstring(L, *guarded, length);
    lua_replace(L, -2);
}

static int object_json(lua_State *L)
{
    view *self = check_view(L, 1);
    kl_object *object;
    const char *text;
    kl_error err;
    size_t length;

    if (&self->whole->view != self) {
        push_json(L, 1, NULL);
        return 1;
    }
    object = object_of(L, self);
    text = kl_object_json(object, &length, &err);
    if (text == NULL) {
        return misuse(L, "%s", err.message);
    }
    /* If this raises, the text stays open until the object is collected. */
    push_distinct(L, object, text, length);
    kl_object_close_json(object);
    return 1;
}

/* ---- the module ---- */

/* Adds pairs, ipairs, view_table and view_json to the module, and table and
 * json to the methods above it. */
static void bind_many(lua_State *L)
{
    static const luaL_Reg functions[] = {{"pairs", view_pairs},
                                         {"view_table", view_table},
                                         {"view_json", object_json},
                                         {"is_pruned", is_pruned},
                                         {NULL, NULL}};

    /* module, methods */
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "object_methods"); /* lua/kubelua/values.lua adds one */
    lua_insert(L, -2);
    luaL_setfuncs(L, functions, 0);
    lua_pushnil(L);
    push_reader(L, TYPE_OBJECT, view_inext);
    lua_pushcclosure(L, view_ipairs, 1);
    lua_setfield(L, -2, "ipairs");
    lua_insert(L, -2);
    lua_pushcfunction(L, object_json);
    lua_setfield(L, -2, "json");
}

/* Completes the metatable of views of that type. The table of methods is on top
 * of the stack, the module below it. */
static void complete_view_type(lua_State *L, const char *type,
                               lua_CFunction index)
{
    luaL_getmetatable(L, type);
    lua_getfield(L, -3, "pairs");
    lua_setfield(L, -2, "__pairs");
    /* module, methods, metatable */
    lua_pushvalue(L, -2);
    push_reader(L, type, index);
    lua_setfield(L, -2, "__index");
    lua_pushnil(L);
    push_reader(L, type, view_len);
    lua_setfield(L, -2, "__len");
    lua_pop(L, 1);
}

void bind_view(lua_State *L)
{
    static const luaL_Reg methods[] = {{"__newindex", view_newindex},
                                       {"__eq", view_eq},
                                       {"__tostring", view_tostring},
                                       {NULL, NULL}};
    static const luaL_Reg functions[] = {{"is_object", is_object},
                                         {"is_view", is_view},
                                         {"is_metadata_only", is_metadata_only},
                                         {"object", object_parse},
                                         {NULL, NULL}};

    luaL_setfuncs(L, functions, 0);
    push_type(L, TYPE_VIEW, methods);
    push_type(L, TYPE_OBJECT, methods);
    bind_view_path(L);
    bind_many(L);
    /* module, methods */
    complete_view_type(L, TYPE_VIEW, part_index);
    complete_view_type(L, TYPE_OBJECT, whole_index);
    luaL_getmetatable(L, TYPE_OBJECT);
    push_account(L);
    push_open_texts(L);
    push_visits(L);
    push_large(L);
    lua_pushcclosure(L, whole_gc, 4);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 2);
}
