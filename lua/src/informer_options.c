/*
 * informer_options.c - see informer_options.h.
 */
#include "informer_options.h"

#include "binding.h"

/* Above 0: true; below 0: false; 0: the field is absent. */
static int read_switch(lua_State *L, int index, const char *name)
{
    bool is_on = option_bool(L, index, name);
    bool is_absent;

    push_option(L, index, name);
    is_absent = lua_isnil(L, -1);
    lua_pop(L, 1);
    return is_on ? 1 : is_absent ? 0 : -1;
}

/* Below 0: never; 0, or absent: the core's default. */
static int64_t read_idle_timeout_ms(lua_State *L, int index)
{
    bool never;

    push_option(L, index, "idle_timeout");
    never = lua_type(L, -1) == LUA_TNUMBER && lua_tonumber(L, -1) < 0;
    lua_pop(L, 1);
    return never ? -1 : option_ms(L, index, "idle_timeout", 0);
}

void push_informer_options(lua_State *L, int index,
                           kl_informer_options *options)
{
    *options = (kl_informer_options){
        .resource = option_string(L, index, "resource"),
        .name_space = option_string(L, index, "namespace"),
        .namespace_if_any = option_bool(L, index, "namespace_if_any"),
        .labels = option_string(L, index, "labels"),
        .fields = option_string(L, index, "fields"),
        .resync_ms = option_ms(L, index, "resync", 0),
        .idle_timeout_ms = read_idle_timeout_ms(L, index),
        .page_size = option_integer(L, index, "page_size"),
        .keep_managed_fields = option_bool(L, index, "managed_fields"),
        .metadata_only = option_bool(L, index, "metadata"),
        .compress = read_switch(L, index, "compress"),
        .no_streaming_list = read_switch(L, index, "streaming_list") < 0,
        .drop = push_texts(L, index, "drop"),
        .keep = push_texts(L, index, "keep")};
}
