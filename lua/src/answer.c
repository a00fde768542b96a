/*
 * answer.c - what the verbs (lua/kubelua/verbs) need in C: the objects of a
 * list's answer, and the built-in kinds, for which no server is asked.
 */
#include "view.h"

#include <string.h>

static void set_text(lua_State *L, const char *name, const char *text)
{
    lua_pushstring(L, text);
    lua_setfield(L, -2, name);
}

static void set_bool(lua_State *L, const char *name, bool value)
{
    lua_pushboolean(L, value);
    lua_setfield(L, -2, name);
}

/* core.builtin_kind(name): the kind as a table; nil: the server must be
 * asked. */
static int builtin_kind(lua_State *L)
{
    const kl_kind *kind = kl_kind_builtin(check_text(L, 1));

    if (kind == NULL) {
        lua_pushnil(L);
        return 1;
    }
    lua_createtable(L, 0, 8);
    set_text(L, "group", kind->group);
    set_text(L, "version", kind->version);
    set_text(L, "kind", kind->kind);
    set_text(L, "plural", kind->plural);
    set_bool(L, "namespaced", kind->namespaced);
    set_bool(L, "has_status", kind->has_status);
    if (kind->group[0] == '\0') {
        set_text(L, "api_version", kind->version);
    } else {
        lua_pushfstring(L, "%s/%s", kind->group, kind->version);
        lua_setfield(L, -2, "api_version");
    }
    return 1;
}

/* Pushes an object made of the item's JSON. False: pushes nil, message,
 * code. */
static bool push_item(lua_State *L, const kl_value *item,
                      const kl_object_options *options)
{
    kl_writer **writer = push_writer_guard(L);
    kl_object **object;
    const char *text;
    size_t length = 0;
    kl_error err;

    kl_writer_value(*writer, item);
    text = kl_writer_finish(*writer, &length, &err);
    object = push_empty_object(L);
    /* writer, object */
    *object =
        text != NULL ? kl_object_parse(text, length, options, &err) : NULL;
    lua_remove(L, -2);
    if (*object == NULL) {
        lua_pop(L, 1);
        push_error(L, &err);
        return false;
    }
    account_charge(L, lua_touserdata(L, -1), kl_object_bytes(*object));
    return true;
}

static const char *text_at(const kl_value *object, const char *name)
{
    const kl_value *value = kl_value_get(object, name);

    return kl_value_type(value) == KL_STRING ? kl_value_string(value, NULL)
                                             : "";
}

static int refuse_list(lua_State *L, const kl_value *root)
{
    kl_error err;
    const char *kind =
        kl_value_type(root) == KL_OBJECT ? text_at(root, "kind") : "";

    kl_error_set(&err, KL_EPARSE,
                 "a list was asked for, and the server answered with %s%.60s",
                 kind[0] != '\0' ? "kind " : "other JSON", kind);
    return push_error(L, &err);
}

/* core.list(text, api_version, kind): an array of the list's objects, and
 * the token of its next page ("": this is the last page); or nil, message,
 * code. Items of a list have no apiVersion and no kind, so the arguments
 * give them. */
static int parse_list(lua_State *L)
{
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    kl_object_options options = {.api_version = check_text(L, 2),
                                 .kind = check_text(L, 3)};
    kl_doc **doc = push_doc_guard(L);
    const kl_value *root, *items, *item;
    kl_value_iter iter = {0};
    kl_error err;

    *doc = kl_doc_parse(text, length, &err);
    if (*doc == NULL) {
        return push_error(L, &err);
    }
    root = kl_doc_root(*doc);
    items = kl_value_get(root, "items");
    if (kl_value_type(root) != KL_OBJECT || items == NULL ||
        (kl_value_type(items) != KL_ARRAY && kl_value_type(items) != KL_NULL) ||
        strcmp(text_at(root, "kind"), "Table") == 0) {
        return refuse_list(L, root);
    }
    lua_newtable(L); /* .., objects */
    while ((item = kl_value_next(items, &iter, NULL)) != NULL) {
        if (!push_item(L, item, &options)) {
            return 3;
        }
        lua_rawseti(L, -2, (int)iter.index);
    }
    lua_pushstring(L, text_at(kl_value_get(root, "metadata"), "continue"));
    return 2;
}

void bind_answer(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"builtin_kind", builtin_kind}, {"list", parse_list}, {NULL, NULL}};

    luaL_setfuncs(L, functions, 0);
}
