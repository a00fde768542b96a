/*
 * module.c - the Lua C module kubelua.core: the public interface of the C core
 * and nothing more. What scripts see is in lua/kubelua, the command in lua/cli.
 */
#include "binding.h"

LUALIB_API int luaopen_kubelua_core(lua_State *L);

KL_API int luaopen_kubelua_core(lua_State *L)
{
    lua_newtable(L);
    bind_misuse(L);
    bind_view(L);
    bind_list(L);
    bind_convert(L);
    bind_digest(L);
    bind_client(L);
    bind_informer(L);
    bind_registration(L);
    bind_poller(L);
    bind_metric(L);
    bind_queue(L);
    bind_request(L);
    bind_process(L);
    bind_reply(L);
    bind_transport(L);
    bind_watchdog(L);
    bind_log(L);
    bind_manifest(L);
    bind_match(L);
    bind_host(L);
    bind_first_process(L);
    bind_file(L);
    bind_stream(L);
    bind_shard(L);
    bind_text(L);
    bind_budget(L);
    bind_pattern(L);
    bind_answer(L);
    lua_pushstring(L, kl_version());
    lua_setfield(L, -2, "version");
    return 1;
}
