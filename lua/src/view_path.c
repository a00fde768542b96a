/*
 * view_path.c - reads the values at paths: kubelua.get(pod, "status.phase",
 * "spec.nodeName"). All paths of a call are found in one search. See view.h.
 */
#include "view.h"

#include <string.h>

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
