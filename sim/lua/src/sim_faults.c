/*
 * sim_faults.c - the faults and snapshots of a simulator. Faults are JSON texts
 * here; sim/lua/kubelua/sim/faults.lua makes tables of them.
 */
#include "sim_binding.h"

/* simcore.fault(sim, json): the number of the fault. */
int sim_fault(lua_State *L)
{
    size_t length;
    const char *rule = luaL_checklstring(L, 2, &length);
    int64_t id;
    kl_error err;

    if (kl_sim_fault(check_sim(L, 1), rule, length, &id, &err) != KL_OK) {
        return push_error(L, &err);
    }
    lua_pushinteger(L, (lua_Integer)id);
    return 1;
}

/* simcore.faults(sim): a JSON array of the active faults. */
int sim_faults(lua_State *L)
{
    char **text = push_text_guard(L);
    kl_error err;

    *text = kl_sim_faults(check_sim(L, 1), &err);
    if (*text == NULL) {
        return push_error(L, &err);
    }
    lua_pushstring(L, *text);
    return 1;
}

/* simcore.heal(sim, id or nil): true if there was such a fault. */
int sim_heal(lua_State *L)
{
    lua_pushboolean(
        L, kl_sim_heal(check_sim(L, 1), (int64_t)luaL_optinteger(L, 2, 0)));
    return 1;
}

/* simcore.snapshot(sim): the version of the snapshot. */
int sim_snapshot(lua_State *L)
{
    int64_t version;
    kl_error err;

    if (kl_sim_snapshot(check_sim(L, 1), &version, &err) != KL_OK) {
        return push_error(L, &err);
    }
    lua_pushinteger(L, (lua_Integer)version);
    return 1;
}

/* simcore.restore(sim, version) */
int sim_restore(lua_State *L)
{
    kl_error err;

    if (kl_sim_restore(check_sim(L, 1), (int64_t)luaL_checkinteger(L, 2),
                       &err) != KL_OK) {
        return push_error(L, &err);
    }
    lua_pushboolean(L, true);
    return 1;
}
