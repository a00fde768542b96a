/*
 * match.c - comparisons for code that reads a cache: an object with a label
 * selector, a resourceVersion with another.
 */
#include "binding.h"

#include <limits.h>

/* core.matches(object, labels): true if the label selector selects the
 * object. */
static int match_labels(lua_State *L)
{
    const kl_selector *selector;
    const kl_value *metadata;
    kl_error err;

    luaL_checkudata(L, 1, TYPE_OBJECT);
    selector = push_selector(L, check_text(L, 2), &err);
    if (selector == NULL) {
        return push_error(L, &err);
    }
    metadata = kl_value_get(to_value(L, 1), "metadata");
    lua_pushboolean(
        L, kl_selector_matches(selector, kl_value_get(metadata, "labels")));
    return 1;
}

/* core.compare_versions(a, b): below 0, 0 or above 0, in the order of
 * resourceVersions; nil if they differ and one of them is not a number. */
static int compare_versions(lua_State *L)
{
    int order = kl_version_compare(check_text(L, 1), check_text(L, 2));

    if (order == INT_MIN) {
        lua_pushnil(L);
    } else {
        lua_pushinteger(L, order);
    }
    return 1;
}

void bind_match(lua_State *L)
{
    static const luaL_Reg functions[] = {{"matches", match_labels},
                                         {"compare_versions", compare_versions},
                                         {NULL, NULL}};

    luaL_setfuncs(L, functions, 0);
}
