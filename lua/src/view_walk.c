/*
 * view_walk.c - reads many fields of an object at once: pairs, ipairs, and
 * copies as a table or as JSON. See view.h.
 */
#include "view.h"

#include <string.h>

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

void bind_view_walk(lua_State *L)
{
    static const luaL_Reg functions[] = {{"pairs", view_pairs},
                                         {"view_table", view_table},
                                         {"view_json", object_json},
                                         {"is_pruned", is_pruned},
                                         {NULL, NULL}};

    /* module, methods */
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "object_methods"); /* lua/kubelua/copy.lua adds one */
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
