/*
 * view_index.c - reads one field of an object: what Lua calls for
 * pod.status.phase; or the values at paths: kubelua.get(pod, "status.phase",
 * "spec.nodeName"). Scripts do this more often than anything else, so these
 * functions find metatables and views in their upvalues (view.h), and a view of
 * a part that a script has just read is used again. See view.h.
 */
#include "view.h"

#include <string.h>

/* Parts that were read last. Each has one slot in a table with weak values,
 * which depends on its address: so nothing is kept alive. */
enum { SLOTS = 64 };

static void push_recent_parts(lua_State *L)
{
    static const char name[] = "kubelua.recent parts";

    lua_getfield(L, LUA_REGISTRYINDEX, name);
    if (!lua_isnil(L, -1)) {
        return;
    }
    lua_pop(L, 1);
    lua_createtable(L, SLOTS, 0);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, name);
}

void push_reader(lua_State *L, const char *type, lua_CFunction function)
{
    /* extra */
    luaL_getmetatable(L, type);
    luaL_getmetatable(L, TYPE_VIEW);
    push_recent_parts(L);
    lua_pushvalue(L, -4);
    /* extra, UP_OWN, UP_PART, UP_RECENT, UP_EXTRA */
    lua_pushcclosure(L, function, UP_EXTRA);
    lua_remove(L, -2);
}

view *check_reader_view(lua_State *L)
{
    view *self = lua_touserdata(L, 1);

    if (self != NULL && lua_getmetatable(L, 1)) {
        if (lua_rawequal(L, -1, lua_upvalueindex(UP_OWN)) ||
            lua_rawequal(L, -1, lua_upvalueindex(UP_PART))) {
            lua_pop(L, 1);
            return self;
        }
        lua_pop(L, 1);
    }
    return check_view(L, 1); /* raises */
}

/* The slot, from 1, of the part at that place. */
static int slot_of(const view *self, place at)
{
    uintptr_t number = at.value != NULL
                           ? (uintptr_t)at.value >> 4
                           : ((uintptr_t)self->whole >> 4) + at.offset;

    return (int)((number ^ (number >> 8)) % SLOTS) + 1;
}

static bool is_at(const view *part, const view *self, place at)
{
    return part->whole == self->whole && part->at.value == at.value &&
           (at.value != NULL || part->at.offset == at.offset);
}

/* Pushes a view of a part of the view at 1. */
static void push_recent(lua_State *L, view *self, place at)
{
    int slot = slot_of(self, at);
    const view *recent;

    lua_rawgeti(L, lua_upvalueindex(UP_RECENT), slot);
    recent = lua_touserdata(L, -1);
    if (recent != NULL && is_at(recent, self, at)) {
        return;
    }
    lua_pop(L, 1);
    lua_pushvalue(L, lua_upvalueindex(UP_PART));
    push_part(L, 1, self, at);
    /* part */
    lua_pushvalue(L, -1);
    lua_rawseti(L, lua_upvalueindex(UP_RECENT), slot);
}

/* Pushes a value of the tree. */
static void push_tree_member(lua_State *L, view *self, place at)
{
    switch (kl_value_type(at.value)) {
    case KL_NULL:
        lua_pushnil(L);
        return;
    case KL_ARRAY:
    case KL_OBJECT:
        push_recent(L, self, at);
        return;
    default:
        push_scalar(L, at.value);
    }
}

void push_member(lua_State *L, view *self, place at)
{
    if (at.value != NULL) {
        push_tree_member(L, self, at);
    } else if (at.offset == NOWHERE) {
        lua_pushnil(L);
    } else if (!push_text_scalar(L, self->whole, at.offset)) {
        push_recent(L, self, at);
    }
}

/* If `index` has an integer from 1 to 4e9, sets *position to one less; else
 * false. */
static bool to_position(lua_State *L, int index, size_t *position)
{
    lua_Number wanted;

    if (lua_type(L, index) != LUA_TNUMBER) {
        return false;
    }
    wanted = lua_tonumber(L, index);
    if (!(wanted >= 1 && wanted <= 4e9)) {
        return false;
    }
    *position = (size_t)wanted - 1;
    return (lua_Number)(*position + 1) == wanted;
}

/* The member or element of the view at 1 whose name or number is at 2. */
static place find_member(lua_State *L, view *self)
{
    size_t number, length;
    const char *name;

    if (lua_type(L, 2) != LUA_TSTRING) {
        return to_position(L, 2, &number) ? find_element(L, self, number)
                                          : (place){NULL, NOWHERE};
    }
    name = lua_tolstring(L, 2, &length);
    if (reads_tree(self)) {
        const kl_value *value = opened(L, self);

        return (place){is_large(value) ? find_in_large(L, self, value, 2)
                                       : kl_value_get_n(value, name, length),
                       NOWHERE};
    }
    return find_member_in_text(L, self, name, length);
}

static bool is_name(const char *name, size_t length, const char *expected)
{
    return length == strlen(expected) && memcmp(name, expected, length) == 0;
}

/* An empty text may stand for a member that is absent or null. */
static const char *text_unless_empty(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

/* The text of a member of metadata that an object has without parsing: name,
 * namespace, uid, resourceVersion. NULL: it is another member, or the object
 * may not have it. */
static const char *identity_text(const kl_object *object, const char *name,
                                 size_t length)
{
    if (is_name(name, length, "name")) {
        return kl_object_name(object);
    }
    if (is_name(name, length, "namespace")) {
        return text_unless_empty(kl_object_namespace(object));
    }
    if (is_name(name, length, "uid")) {
        return text_unless_empty(kl_object_uid(object));
    }
    if (is_name(name, length, "resourceVersion")) {
        return text_unless_empty(kl_object_resource_version(object));
    }
    return NULL;
}

/* The text of a shorthand, such as object.name; NULL: it is no shorthand. */
static const char *find_shorthand(const kl_object *object, const char *name,
                                  size_t length)
{
    if (is_name(name, length, "name")) {
        return kl_object_name(object);
    }
    if (is_name(name, length, "namespace")) {
        return kl_object_namespace(object);
    }
    if (is_name(name, length, "key")) {
        return kl_object_key(object);
    }
    if (is_name(name, length, "uid")) {
        return kl_object_uid(object);
    }
    if (is_name(name, length, "resource_version")) {
        return kl_object_resource_version(object);
    }
    if (is_name(name, length, "kind")) {
        return kl_object_kind(object);
    }
    if (is_name(name, length, "apiVersion")) {
        return kl_object_api_version(object);
    }
    return NULL;
}

/* Raises misuse: only the metadata of this object was asked for. */
static void refuse_beyond_metadata(lua_State *L, const kl_object *object,
                                   const char *field)
{
    misuse(L,
           "%s %s: only metadata was asked for (metadata = true), so '%s' is "
           "not there",
           kl_object_kind(object), kl_object_key(object), field);
}

/* True if an object has a method of that name (bind_view_walk): methods come
 * before fields. */
static bool is_method(const char *name, size_t length)
{
    return is_name(name, length, "get") || is_name(name, length, "table") ||
           is_name(name, length, "json");
}

int part_index(lua_State *L)
{
    view *self = check_reader_view(L);

    if (self->at.value == NULL && self->at.offset == METADATA &&
        lua_type(L, 2) == LUA_TSTRING) {
        size_t length;
        const char *name = lua_tolstring(L, 2, &length);
        const char *text = identity_text(object_of(L, self), name, length);

        if (text != NULL) {
            lua_pushstring(L, text);
            return 1;
        }
    }
    push_member(L, self, find_member(L, self));
    return 1;
}

/* Pushes the shorthand, the method, or the metadata, of a whole that need not
 * be parsed for it; false: it is another field. */
static bool push_known(lua_State *L, view *self, const char *name,
                       size_t length)
{
    const kl_object *object = object_of(L, self);
    const char *text = find_shorthand(object, name, length);

    if (text != NULL && text[0] == '\0') {
        lua_pushnil(L); /* the namespace of a cluster-scoped object */
    } else if (text != NULL) {
        lua_pushstring(L, text);
    } else if (is_method(name, length)) {
        lua_pushvalue(L, 2);
        lua_rawget(L, lua_upvalueindex(UP_EXTRA));
    } else if (is_name(name, length, "metadata")) {
        if (self->at.value != NULL) {
            return false;
        }
        /* every object has metadata */
        push_recent(L, self, (place){NULL, METADATA});
    } else {
        if (kl_object_is_metadata_only(object)) {
            /* nil would say that the object does not have the field */
            refuse_beyond_metadata(L, object, name);
        }
        return false;
    }
    return true;
}

int whole_index(lua_State *L)
{
    view *self = check_reader_view(L);

    if (lua_type(L, 2) == LUA_TSTRING) {
        size_t length;
        const char *name = lua_tolstring(L, 2, &length);

        if (push_known(L, self, name, length)) {
            return 1;
        }
    }
    push_member(L, self, find_member(L, self));
    return 1;
}

/* The number of elements of an array in the text; else 0. */
static size_t count_in_text(lua_State *L, const view *self)
{
    const char *from = locate(L, self);
    size_t count = 0;
    kl_cursor walk;

    kl_cursor_begin(&walk, *from == '[' ? from : NULL,
                    end_of_text(self->whole));
    while (kl_cursor_next(&walk)) {
        count++;
    }
    end_search(self, from, *from == '[' ? walk.at : from);
    return count;
}

int view_len(lua_State *L)
{
    view *self = check_reader_view(L);
    size_t count;

    if (reads_tree(self)) {
        const kl_value *value = opened(L, self);

        count = kl_value_type(value) == KL_ARRAY ? kl_value_size(value) : 0;
    } else {
        count = count_in_text(L, self);
    }
    lua_pushinteger(L, (lua_Integer)count);
    return 1;
}

/* ---- paths ---- */

/* A compiled path: a userdata. */
typedef struct path_box {
    kl_path *path; /* NULL while it is made, and once it is freed */
    /* Of a path such as metadata.uid: that member of metadata; else NULL.
     * Borrowed from the path. */
    const char *identity;
} path_box;

static int path_gc(lua_State *L)
{
    path_box *box = lua_touserdata(L, 1);

    kl_path_free(box->path);
    box->path = NULL;
    return 0;
}

/* Pushes the compiled path of the text at `index`. UP_EXTRA is the cache. Its
 * values are weak: scripts build paths from the names of objects, and the cache
 * must not keep all of these paths. While the lua_State closes, a path that was
 * freed can still be in the cache. */
static const path_box *push_path(lua_State *L, int index)
{
    static const char metadata[] = "metadata.";
    path_box *box;
    kl_error err;

    lua_pushvalue(L, index);
    lua_rawget(L, lua_upvalueindex(UP_EXTRA));
    box = lua_touserdata(L, -1);
    if (box != NULL && box->path != NULL) {
        return box;
    }
    lua_pop(L, 1);
    box = lua_newuserdata(L, sizeof(*box));
    *box = (path_box){0};
    luaL_getmetatable(L, "kubelua.path");
    lua_setmetatable(L, -2);
    /* path */
    box->path = kl_path_parse(check_text(L, index), &err);
    if (box->path == NULL) {
        misuse(L, "%s", err.message);
    }
    if (strncmp(kl_path_text(box->path), metadata, strlen(metadata)) == 0) {
        box->identity = kl_path_text(box->path) + strlen(metadata);
    }
    lua_pushvalue(L, index);
    lua_pushvalue(L, -2);
    lua_rawset(L, lua_upvalueindex(UP_EXTRA));
    return box;
}

/* Reading a field outside of metadata raises, if only metadata was asked for:
 * nil would say that the object does not have it. */
static void check_path_asked_for(lua_State *L, const view *self,
                                 const kl_path *path)
{
    static const char *const kept[] = {"metadata", "kind", "apiVersion"};
    const kl_object *object = object_of(L, self);

    if (&self->whole->view != self || !kl_object_is_metadata_only(object)) {
        return;
    }
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        if (kl_path_begins_with(path, kept[i])) {
            return;
        }
    }
    refuse_beyond_metadata(L, object, kl_path_text(path));
}

/* The value at a path that an object has without being searched; else NULL. */
static const char *find_identity(lua_State *L, const view *self,
                                 const path_box *box)
{
    if (box->identity == NULL || self->at.value != NULL ||
        &self->whole->view != self) {
        return NULL;
    }
    return identity_text(object_of(L, self), box->identity,
                         strlen(box->identity));
}

static void find_places(lua_State *L, view *self, const kl_path *const *paths,
                        size_t count, place *places)
{
    if (count > 0 && !reads_tree(self)) {
        find_paths_in_text(L, self, paths, count, places);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const kl_value *value = kl_path_first(paths[i], opened(L, self));

        places[i] = (place){value, NOWHERE};
    }
}

/* How many paths there are, from 2; the first one must be there. */
static int count_paths(lua_State *L)
{
    int count = lua_gettop(L) - 1;

    if (count > KL_CURSOR_PATHS) {
        misuse(L, "get: %d paths; at most %d at once", count, KL_CURSOR_PATHS);
    }
    luaL_checkstack(L, count + LUA_MINSTACK, "too many paths");
    return count > 0 ? count : 1;
}

/* A reader (push_reader). UP_EXTRA: the cache of paths. */
static int view_get(lua_State *L)
{
    view *self = check_reader_view(L);
    const char *identities[KL_CURSOR_PATHS]; /* NULL: is searched for */
    const kl_path *paths[KL_CURSOR_PATHS];   /* what is searched for */
    place places[KL_CURSOR_PATHS];           /* of these paths */
    size_t searched = 0, next = 0;
    int count = count_paths(L);

    for (int i = 0; i < count; i++) {
        const path_box *box;

        luaL_checktype(L, i + 2, LUA_TSTRING);
        box = push_path(L, i + 2);
        lua_replace(L, i + 2); /* keeps it alive */
        identities[i] = find_identity(L, self, box);
        if (identities[i] == NULL) {
            check_path_asked_for(L, self, box->path);
            paths[searched++] = box->path;
        }
    }
    find_places(L, self, paths, searched, places);
    for (int i = 0; i < count; i++) {
        if (identities[i] != NULL) {
            lua_pushstring(L, identities[i]);
        } else {
            push_member(L, self, places[next++]);
        }
    }
    return count;
}

void bind_view_path(lua_State *L)
{
    static const luaL_Reg path_methods[] = {{"__gc", path_gc}, {NULL, NULL}};

    push_type(L, "kubelua.path", path_methods);
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    push_reader(L, TYPE_OBJECT, view_get);
    /* get */
    lua_newtable(L);
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, "get");
    /* get, methods */
    lua_insert(L, -2);
    /* methods, get */
    lua_setfield(L, -3, "get");
}
