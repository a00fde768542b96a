/*
 * convert.c - JSON values as Lua values, and Lua values as JSON text. A copy
 * that is written back unchanged gives the same JSON: also empty arrays, nulls,
 * and integers that no Lua number can hold.
 */
#include "binding.h"

#include <math.h>
#include <string.h>

/* A double holds every integer up to this one (IEEE 754). */
static const double EXACT = 9007199254740992.0;

static bool push_exact(lua_State *L, const kl_value *value)
{
    int64_t integer = kl_value_integer(value);

#if LUA_VERSION_NUM >= 503
    lua_pushinteger(L, (lua_Integer)integer);
    return true;
#else
    if (integer >= -(int64_t)EXACT && integer <= (int64_t)EXACT) {
        lua_pushnumber(L, (lua_Number)integer);
        return true;
    }
    return false;
#endif
}

/* Pushes an integer that no Lua number can hold: a userdata with its digits. */
static void push_digits(lua_State *L, const char *digits, size_t length)
{
    char *box = lua_newuserdata(L, length + 1);

    memcpy(box, digits, length);
    box[length] = '\0';
    luaL_getmetatable(L, TYPE_NUMBER);
    lua_setmetatable(L, -2);
}

static void push_number(lua_State *L, const kl_value *value)
{
    char digits[24];
    const char *text;
    size_t length;
    int written;

    switch (kl_value_type(value)) {
    case KL_INTEGER:
        if (push_exact(L, value)) {
            return;
        }
        written = snprintf(digits, sizeof(digits), "%lld",
                           (long long)kl_value_integer(value));
        break;
    case KL_UNSIGNED:
        written = snprintf(digits, sizeof(digits), "%llu",
                           (unsigned long long)kl_value_unsigned(value));
        break;
    case KL_NUMBER:
        text = kl_value_string(value, &length);
        push_digits(L, text, length);
        return;
    default:
        lua_pushnumber(L, kl_value_real(value));
        return;
    }
    push_digits(L, digits, (size_t)written);
}

bool push_scalar(lua_State *L, const kl_value *value)
{
    const char *text;
    size_t length;

    switch (kl_value_type(value)) {
    case KL_NULL:
        lua_pushlightuserdata(L, NULL);
        return true;
    case KL_BOOL:
        lua_pushboolean(L, kl_value_bool(value));
        return true;
    case KL_STRING:
        text = kl_value_string(value, &length);
        lua_pushlstring(L, text, length);
        return true;
    case KL_ARRAY:
    case KL_OBJECT:
        return false;
    default:
        push_number(L, value);
        return true;
    }
}

/*
 * How many levels of tables the Lua stack holds while they are copied or
 * written. Those of deeper levels wait in a Lua table: a C function of LuaJIT
 * has 8,000 slots at most. No recursion: a value may have KL_MAX_DEPTH levels.
 */
enum { LEVELS = 100 };

/* Reserves two slots, for the memory and the tables of deep levels. */
static int reserve_slots(lua_State *L)
{
    luaL_checkstack(L, 2 * LEVELS + 10, "JSON nested too deep");
    lua_pushnil(L);
    lua_pushnil(L);
    return lua_gettop(L) - 1;
}

/* Moves the levels into memory for all that are possible; called when LEVELS
 * are open. */
static void *make_deep(lua_State *L, int slots, const void *levels, size_t size)
{
    void *deep;

    lua_newtable(L);
    lua_replace(L, slots + 1);
    deep = lua_newuserdata(L, KL_MAX_DEPTH * size);
    memcpy(deep, levels, LEVELS * size);
    lua_replace(L, slots);
    return deep;
}

/* An array or object that is being copied. */
typedef struct copied {
    const kl_value *value;
    kl_value_iter iter;
    bool is_array;
} copied;

typedef struct copier {
    copied *levels; /* `few`, or a userdata */
    size_t depth;
    int slots; /* index of the userdata, and behind it of the tables that are
                  not on the stack */
    copied few[LEVELS];
} copier;

/* Pushes the table of an array or object, which becomes the innermost level. */
static void begin_copy(lua_State *L, copier *self, const kl_value *value)
{
    bool is_array = kl_value_type(value) == KL_ARRAY;
    int size = (int)kl_value_size(value);

    if (self->depth == LEVELS && self->levels == self->few) {
        self->levels = make_deep(L, self->slots, self->few, sizeof(copied));
    } else if (self->depth == KL_MAX_DEPTH) {
        luaL_error(L, "JSON nested too deep");
    }
    lua_createtable(L, is_array ? size : 0, is_array ? 0 : size);
    if (is_array) {
        luaL_getmetatable(L, TYPE_ARRAY);
        lua_setmetatable(L, -2);
    }
    self->levels[self->depth++] =
        (copied){.value = value, .is_array = is_array};
}

/* parent: parent, child. Sets the new table as an element of its parent, and
 * takes the parent off the stack if there are many. */
static void nest_copy(lua_State *L, copier *self, const kl_value *key,
                      const kl_value *item)
{
    const copied *parent = &self->levels[self->depth - 1];
    int position = (int)parent->iter.index;

    begin_copy(L, self, item);
    if (key != NULL) {
        push_scalar(L, key);
        lua_pushvalue(L, -2);
        lua_rawset(L, -4);
    } else {
        lua_pushvalue(L, -1);
        lua_rawseti(L, -3, position);
    }
    if (self->depth > LEVELS) {
        lua_insert(L, -2);
        lua_rawseti(L, self->slots + 1, (int)self->depth);
    }
}

static void end_copy(lua_State *L, copier *self)
{
    self->depth--;
    if (self->depth > 0) { /* of the outermost the table is the result */
        lua_pop(L, 1);
        if (self->depth >= LEVELS) {
            lua_rawgeti(L, self->slots + 1, (int)self->depth + 1);
        }
    }
}

void push_copy(lua_State *L, const kl_value *value)
{
    copier self; /* `few` has no initial value */

    luaL_checkstack(L, 4, "JSON nested too deep");
    if (push_scalar(L, value)) {
        return;
    }
    self.levels = self.few;
    self.depth = 0;
    self.slots = reserve_slots(L);
    begin_copy(L, &self, value);
    while (self.depth > 0) {
        copied *now = &self.levels[self.depth - 1];
        const kl_value *key;
        const kl_value *item = kl_value_next(now->value, &now->iter, &key);
        kl_type type = kl_value_type(item);

        if (item == NULL) {
            end_copy(L, &self);
        } else if (type == KL_ARRAY || type == KL_OBJECT) {
            nest_copy(L, &self, key, item);
        } else if (key != NULL) {
            push_scalar(L, key);
            push_scalar(L, item);
            lua_rawset(L, -3);
        } else {
            push_scalar(L, item);
            lua_rawseti(L, -2, (int)now->iter.index);
        }
    }
    lua_replace(L, self.slots);
    lua_settop(L, self.slots);
}

static void write_lua_number(lua_State *L, kl_writer *writer, int index)
{
    lua_Number number = lua_tonumber(L, index);

#if LUA_VERSION_NUM >= 503
    if (lua_isinteger(L, index)) {
        kl_writer_integer(writer, (int64_t)lua_tointeger(L, index));
        return;
    }
#endif
    /* 3.0 is written as 3: an API server refuses 3.0 for an integer field. */
    if (number == floor(number) && fabs(number) <= EXACT) {
        kl_writer_integer(writer, (int64_t)number);
        return;
    }
    if (!isfinite(number)) {
        misuse(L, "JSON has no number for %f", number);
    }
    kl_writer_real(writer, number);
}

/* The length of an array: a table marked as one, or with the keys 1..n only.
 * -1: it is an object, as is an empty table without the mark. */
static lua_Integer array_length(lua_State *L, int index)
{
    lua_Integer length = (lua_Integer)lua_rawlen(L, index);
    lua_Integer count = 0;
    bool marked = false;

    if (lua_getmetatable(L, index)) {
        luaL_getmetatable(L, TYPE_ARRAY);
        marked = lua_rawequal(L, -1, -2);
        lua_pop(L, 2);
    }
    lua_pushnil(L);
    while (lua_next(L, index) != 0) {
        lua_pop(L, 1);
        if (lua_type(L, -1) != LUA_TNUMBER) {
            if (marked || count > 0) {
                misuse(L,
                       "a table with both list items and the key '%s' "
                       "is neither a JSON array nor an object",
                       lua_tostring(L, -1));
            }
            lua_pop(L, 1);
            return -1;
        }
        count++;
    }
    if (count != length) {
        misuse(L, "a list with holes has no JSON form; write kubelua.null "
                  "where a null is meant");
    }
    return count > 0 || marked ? length : -1;
}

/* Writes a part of an object, without the members that do not count. */
static void write_part(lua_State *L, kl_writer *writer, const kl_value *value)
{
    size_t length, rest;
    char *text = kl_value_json(value, &length, NULL), *copy = NULL;
    bool is_known =
        text != NULL &&
        kl_cursor_distinct(text, text + length, &copy, &rest, NULL) == KL_OK;

    if (copy != NULL) {
        kl_writer_raw(writer, copy, rest);
    } else if (is_known) {
        kl_writer_raw(writer, text, length);
    }
    kl_free(copy);
    kl_free(text);
    if (!is_known) {
        luaL_error(L, "out of memory");
    }
}

static void write_userdata(lua_State *L, kl_writer *writer, int index)
{
    const kl_value *value = to_value(L, index);

    if (value != NULL) {
        write_part(L, writer, value);
    } else {
        const char *digits = luaL_checkudata(L, index, TYPE_NUMBER);

        kl_writer_raw(writer, digits, strlen(digits));
    }
}

static void write_scalar(lua_State *L, kl_writer *writer, int index)
{
    size_t length;
    const char *text;

    switch (lua_type(L, index)) {
    case LUA_TBOOLEAN:
        kl_writer_bool(writer, lua_toboolean(L, index));
        break;
    case LUA_TNUMBER:
        write_lua_number(L, writer, index);
        break;
    case LUA_TSTRING:
        text = lua_tolstring(L, index, &length);
        kl_writer_string(writer, text, length);
        break;
    case LUA_TLIGHTUSERDATA:
        kl_writer_null(writer); /* kubelua.null, cjson.null, ngx.null */
        break;
    case LUA_TUSERDATA:
        write_userdata(L, writer, index);
        break;
    default:
        misuse(L, "a %s has no JSON form", luaL_typename(L, index));
    }
}

/* A table that is being written. */
typedef struct written {
    lua_Integer length; /* -1: an object */
    lua_Integer at;
} written;

/* On the stack are the tables of the open levels, each with the key that was
 * read last behind it (of an array: nil). */
typedef struct emitter {
    kl_writer *writer;
    written *levels; /* `few`, or a userdata */
    size_t depth;
    int slots; /* as in a copier */
    written few[LEVELS];
} emitter;

/* The table on top of the stack becomes the innermost level. */
static void begin_table(lua_State *L, emitter *self)
{
    lua_Integer length = array_length(L, lua_gettop(L));

    if (self->depth == KL_MAX_DEPTH) {
        misuse(L, "a table nested deeper than %d, or within itself",
               KL_MAX_DEPTH);
    }
    if (self->depth == LEVELS && self->levels == self->few) {
        self->levels = make_deep(L, self->slots, self->few, sizeof(written));
    }
    if (self->depth >= LEVELS) {
        /* parent, key, table */
        lua_insert(L, -3);
        lua_rawseti(L, self->slots + 1, 2 * (int)self->depth + 1);
        lua_rawseti(L, self->slots + 1, 2 * (int)self->depth);
    }
    self->levels[self->depth++] = (written){.length = length};
    if (length >= 0) {
        kl_writer_begin_array(self->writer);
    } else {
        kl_writer_begin_object(self->writer);
    }
    lua_pushnil(L);
}

static void end_table(lua_State *L, emitter *self)
{
    if (self->levels[--self->depth].length >= 0) {
        kl_writer_end_array(self->writer);
        lua_pop(L, 2);
    } else {
        kl_writer_end_object(self->writer);
        lua_pop(L, 1); /* the last lua_next has popped the key */
    }
    if (self->depth >= LEVELS) {
        lua_rawgeti(L, self->slots + 1, 2 * (int)self->depth);
        lua_rawgeti(L, self->slots + 1, 2 * (int)self->depth + 1);
    }
}

/* Pushes the next value of the innermost table, and writes its name; false:
 * there is none. */
static bool push_next(lua_State *L, emitter *self)
{
    written *now = &self->levels[self->depth - 1];
    size_t size;
    const char *name;

    if (now->length >= 0) {
        if (now->at == now->length) {
            return false;
        }
        lua_rawgeti(L, -2, (int)++now->at);
        return true;
    }
    if (lua_next(L, -2) == 0) {
        return false;
    }
    if (lua_type(L, -2) != LUA_TSTRING) {
        misuse(L, "a JSON object's keys are strings, not %s",
               luaL_typename(L, -2));
    }
    name = lua_tolstring(L, -2, &size);
    kl_writer_name(self->writer, name, size);
    return true;
}

/* A table that stands for a text, such as a quantity, has a function in its
 * metatable that makes the text. Replaces such a table, on top of the stack. */
static void replace_by_text(lua_State *L)
{
    if (lua_istable(L, -1) && luaL_getmetafield(L, -1, "__kubelua_text")) {
        /* table, function */
        lua_insert(L, -2);
        lua_call(L, 1, 1);
    }
}

/* Writes the value on top of the stack, and pops it. */
static void write_value(lua_State *L, kl_writer *writer)
{
    emitter self; /* `few` has no initial value */

    replace_by_text(L);
    if (!lua_istable(L, -1)) {
        write_scalar(L, writer, -1);
        lua_pop(L, 1);
        return;
    }
    self.writer = writer;
    self.levels = self.few;
    self.depth = 0;
    self.slots = reserve_slots(L);
    lua_pushvalue(L, self.slots - 1);
    begin_table(L, &self);
    while (self.depth > 0) {
        if (!push_next(L, &self)) {
            end_table(L, &self);
            continue;
        }
        replace_by_text(L);
        if (lua_istable(L, -1)) {
            begin_table(L, &self);
        } else {
            write_scalar(L, writer, lua_gettop(L));
            lua_pop(L, 1);
        }
    }
    lua_settop(L, self.slots - 2);
}

static int writer_gc(lua_State *L)
{
    kl_writer **writer = lua_touserdata(L, 1);

    kl_writer_free(*writer);
    *writer = NULL;
    return 0;
}

/* Pushes a userdata with a new writer; its __gc frees the writer. */
static kl_writer **push_writer_guard(lua_State *L)
{
    kl_writer **writer = lua_newuserdata(L, sizeof(kl_writer *));

    *writer = NULL;
    luaL_getmetatable(L, "kubelua.writer");
    lua_setmetatable(L, -2);
    *writer = kl_writer_new();
    if (*writer == NULL) {
        luaL_error(L, "out of memory");
    }
    return writer;
}

const char *push_json(lua_State *L, int index, size_t *length)
{
    int value = COMPAT_ABSINDEX(L, index);
    kl_writer **writer = push_writer_guard(L);
    const char *text;
    kl_error err;
    size_t size;

    /* writer */
    lua_pushvalue(L, value);
    write_value(L, *writer);
    text = kl_writer_finish(*writer, &size, &err);
    if (text == NULL) {
        misuse(L, "%s", err.message);
    }
    lua_pushlstring(L, text, size);
    lua_replace(L, -2);
    return lua_tolstring(L, -1, length);
}

/* core.encode(value): its JSON text. */
static int encode_json(lua_State *L)
{
    luaL_checkany(L, 1);
    push_json(L, 1, NULL);
    return 1;
}

static int doc_gc(lua_State *L)
{
    kl_doc **doc = lua_touserdata(L, 1);

    kl_doc_unref(*doc);
    *doc = NULL;
    return 0;
}

kl_doc **push_doc_guard(lua_State *L)
{
    kl_doc **doc = lua_newuserdata(L, sizeof(kl_doc *));

    *doc = NULL;
    luaL_getmetatable(L, "kubelua.doc");
    lua_setmetatable(L, -2);
    return doc;
}

/* core.decode(text): the value, with kubelua.null for null. */
static int decode_json(lua_State *L)
{
    size_t length;
    const char *text;
    kl_doc **doc;
    kl_error err;

    check_string(L, 1, "kubelua.decode", "the text");
    text = lua_tolstring(L, 1, &length);
    doc = push_doc_guard(L);
    *doc = kl_doc_parse(text, length, &err);
    if (*doc == NULL) {
        return push_error(L, &err);
    }
    push_copy(L, kl_doc_root(*doc));
    return 1;
}

/* core.array(table): marks a table as a JSON array, and returns it. */
static int mark_array(lua_State *L)
{
    if (lua_isnoneornil(L, 1)) {
        lua_settop(L, 0);
        lua_newtable(L);
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_getmetatable(L, TYPE_ARRAY);
    lua_setmetatable(L, 1);
    lua_settop(L, 1);
    return 1;
}

static int number_tostring(lua_State *L)
{
    lua_pushstring(L, luaL_checkudata(L, 1, TYPE_NUMBER));
    return 1;
}

static int number_eq(lua_State *L)
{
    const char *a = test_type(L, 1, TYPE_NUMBER);
    const char *b = test_type(L, 2, TYPE_NUMBER);

    lua_pushboolean(L, a != NULL && b != NULL && strcmp(a, b) == 0);
    return 1;
}

void bind_convert(lua_State *L)
{
    static const luaL_Reg number_methods[] = {
        {"__tostring", number_tostring}, {"__eq", number_eq}, {NULL, NULL}};
    static const luaL_Reg writer_methods[] = {{"__gc", writer_gc},
                                              {NULL, NULL}};
    static const luaL_Reg doc_methods[] = {{"__gc", doc_gc}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"encode", encode_json},
                                         {"decode", decode_json},
                                         {"array", mark_array},
                                         {NULL, NULL}};

    push_type(L, TYPE_NUMBER, number_methods);
    push_type(L, "kubelua.writer", writer_methods);
    push_type(L, "kubelua.doc", doc_methods);
    luaL_newmetatable(L, TYPE_ARRAY);
    lua_pop(L, 1);
    luaL_setfuncs(L, functions, 0);
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
}
