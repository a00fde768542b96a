/*
 * sim_jsonpath.c - see sim_jsonpath.h. The path is parsed and followed in one
 * pass; where it branches ([*], a filter), the first branch that leads to a
 * value is taken.
 */
#include "sim/core/kinds/sim_jsonpath.h"

#include <stdlib.h>
#include <string.h>
#include <stdbool.h>

enum { MAX_BRANCHES = 16 }; /* at most so many nested branches */

static const kl_value *walk_path(const char *path, const kl_value *value,
                                 int branches);

/* Tries each element, and returns the first result of the rest of the path. */
static const kl_value *walk_all(const char *rest, const kl_value *value,
                                int branches)
{
    kl_value_iter iter = {0};
    const kl_value *element, *found = NULL;

    while (found == NULL && branches < MAX_BRANCHES &&
           (element = kl_value_next(value, &iter, NULL)) != NULL) {
        found = walk_path(rest, element, branches + 1);
    }
    return found;
}

/* Reads a text in single or double quotes; NULL: there is none. */
static const char *read_quoted(const char *at, size_t *length)
{
    const char *end = *at == '"' || *at == '\'' ? strchr(at + 1, *at) : NULL;

    if (end == NULL) {
        return NULL;
    }
    *length = (size_t)(end - at) - 1;
    return at + 1;
}

/* The comparison of a filter. */
typedef struct path_filter {
    const char *path;
    size_t path_length;
    const char *value;
    size_t value_length;
    bool equals;
} path_filter;

static const kl_value *find_member(const kl_value *value, const char *path,
                                   size_t length)
{
    while (length != 0 && value != NULL) {
        size_t name = strcspn(path, ".");

        name = name < length ? name : length;
        value = kl_value_get_n(value, path, name);
        length -= name;
        path += name;
        if (length != 0) {
            path++;
            length--;
        }
    }
    return value;
}

static bool passes_filter(const path_filter *filter, const kl_value *element)
{
    const kl_value *value =
        find_member(element, filter->path, filter->path_length);
    size_t length = 0;
    const char *text = kl_value_string(value, &length);
    bool is_same = text != NULL && length == filter->value_length &&
                   memcmp(text, filter->value, length) == 0;

    return value != NULL && is_same == filter->equals;
}

/* Follows [?(@.a.b=="c")]; `at` is after the parenthesis. */
static const kl_value *walk_filter(const char *at, const kl_value *value,
                                   int branches)
{
    path_filter filter = {.equals = true};
    kl_value_iter iter = {0};
    const kl_value *element, *found = NULL;

    if (strncmp(at, "@.", 2) != 0) {
        return NULL;
    }
    filter.path = at + 2;
    filter.path_length = strcspn(filter.path, " =!)");
    at = filter.path + filter.path_length;
    at += strspn(at, " ");
    filter.equals = *at == '=';
    if ((*at != '=' && *at != '!') || at[1] != '=') {
        return NULL;
    }
    at += 2;
    at += strspn(at, " ");
    filter.value = read_quoted(at, &filter.value_length);
    if (filter.value == NULL) {
        return NULL;
    }
    at = filter.value + filter.value_length + 1;
    at += strspn(at, " ");
    if (strncmp(at, ")]", 2) != 0) {
        return NULL;
    }
    while (found == NULL && branches < MAX_BRANCHES &&
           (element = kl_value_next(value, &iter, NULL)) != NULL) {
        if (passes_filter(&filter, element)) {
            found = walk_path(at + 2, element, branches + 1);
        }
    }
    return found;
}

/* Follows what is in brackets; `at` is after the first bracket. */
static const kl_value *walk_bracket(const char *at, const kl_value *value,
                                    int branches)
{
    size_t length;
    const char *name = read_quoted(at, &length);
    char *end;
    long index;

    if (strncmp(at, "?(", 2) == 0) {
        return walk_filter(at + 2, value, branches);
    }
    if (strncmp(at, "*]", 2) == 0) {
        return walk_all(at + 2, value, branches);
    }
    if (name != NULL) {
        return name[length + 1] == ']'
                   ? walk_path(name + length + 2,
                               kl_value_get_n(value, name, length), branches)
                   : NULL;
    }
    index = strtol(at, &end, 10);
    if (end == at || *end != ']') {
        return NULL;
    }
    if (index < 0) {
        index += (long)kl_value_size(value);
    }
    return index >= 0
               ? walk_path(end + 1, kl_value_at(value, (size_t)index), branches)
               : NULL;
}

static const kl_value *walk_path(const char *path, const kl_value *value,
                                 int branches)
{
    while (value != NULL && *path != '\0') {
        size_t length;
        char name[256];
        size_t kept = 0;

        if (*path == '[') {
            return walk_bracket(path + 1, value, branches);
        }
        if (*path != '.') {
            return NULL;
        }
        path++;
        if (*path == '*') {
            return walk_all(path + 1, value, branches);
        }
        length = strcspn(path, ".[");
        while (length != 0 && path[length] == '.' && path[length - 1] == '\\') {
            length += 1 + strcspn(path + length + 1, ".["); /* "a\.b" */
        }
        for (size_t i = 0; i < length && kept + 1 < sizeof(name); i++) {
            if (path[i] != '\\') {
                name[kept++] = path[i];
            }
        }
        value = kl_value_get_n(value, name, kept);
        path += length;
    }
    return value;
}

const kl_value *kl__sim_jsonpath_first(const char *path, const kl_value *root)
{
    return walk_path(path, root, 0);
}
