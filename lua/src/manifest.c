/*
 * manifest.c - reads YAML and JSON documents: the texts that a script gives to
 * verbs (lua/kubelua/verbs), and the files that kubelua.sim loads.
 */
#include "binding.h"

static int writer_gc(lua_State *L)
{
    kl_writer **box = lua_touserdata(L, 1);

    kl_writer_free(*box);
    *box = NULL;
    return 0;
}

static kl_code add_document(void *context, const char *json, size_t length,
                            kl_error *err)
{
    (void)err; /* a writer that lacks memory fails in finish */
    kl_writer_raw(context, json, length);
    return KL_OK;
}

/* core.manifest(text): the documents as the JSON text of one array. */
static int manifest(lua_State *L)
{
    size_t length, written = 0;
    const char *text = luaL_checklstring(L, 1, &length), *json = NULL;
    kl_writer **box = lua_newuserdata(L, sizeof(kl_writer *));
    kl_error err = {0};
    kl_code code;

    *box = NULL;
    luaL_getmetatable(L, "kubelua.manifest");
    lua_setmetatable(L, -2);
    *box = kl_writer_new();
    if (*box == NULL) {
        return luaL_error(L, "out of memory for a manifest");
    }
    kl_writer_begin_array(*box);
    code = kl_manifest_each(text, length, add_document, *box, &err);
    kl_writer_end_array(*box);
    if (code == KL_OK) {
        json = kl_writer_finish(*box, &written, &err);
    }
    if (json == NULL) {
        return push_error(L, &err);
    }
    lua_pushlstring(L, json, written);
    return 1;
}

void bind_manifest(lua_State *L)
{
    static const luaL_Reg methods[] = {{"__gc", writer_gc}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"manifest", manifest}, {NULL, NULL}};

    push_type(L, "kubelua.manifest", methods);
    luaL_setfuncs(L, functions, 0);
}
