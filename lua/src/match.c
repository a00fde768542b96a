/*
 * match.c - comparisons for code that reads a cache: an object with a label
 * selector, a resourceVersion with another.
 */
#include "view.h"

#include <limits.h>

/* Only the labels are parsed, unless the whole object is. */
static bool has_labels(lua_State *L, view *self, const kl_selector *selector)
{
    view metadata = {self->whole, {NULL, METADATA}};
    view labels = metadata;
    const char *from;
    kl_doc **doc;
    bool matches;

    if (reads_tree(self)) {
        return kl_selector_matches(
            selector, kl_value_get(opened(L, &metadata), "labels"));
    }
    from = locate(L, &metadata);
    labels.at = end_search(
        &metadata, from,
        kl_cursor_member(from, end_of_text(self->whole), "labels", 6));
    if (labels.at.offset == NOWHERE) {
        return kl_selector_matches(selector, NULL);
    }
    doc = push_text_doc(L, &labels);
    /* doc */
    matches = kl_selector_matches(selector, kl_doc_root(*doc));
    kl_doc_unref(*doc);
    *doc = NULL;
    return matches;
}

/* core.matches(object, labels): true if the label selector selects the
 * object. */
static int match_labels(lua_State *L)
{
    const kl_selector *selector;
    kl_error err;

    luaL_checkudata(L, 1, TYPE_OBJECT);
    selector = push_selector(L, check_text(L, 2), &err);
    if (selector == NULL) {
        return push_error(L, &err);
    }
    lua_pushboolean(L, has_labels(L, check_view(L, 1), selector));
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
