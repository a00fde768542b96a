/*
 * server_ask.c - reads what a request's target asks for.
 */
#include "server_core.h"

#include "http/url.h"

#include <stdlib.h>
#include <string.h>

/* Copies the text up to one of `ends`, URL-decoded; returns the rest. */
static const char *copy_until(char *to, const char *from, const char *ends)
{
    size_t length = strcspn(from, ends);
    size_t kept = length < TEXT_MAX ? length : TEXT_MAX - 1;

    memcpy(to, from, kept);
    to[kept] = '\0';
    kl__url_decode(to);
    return from + length;
}

static void read_parameter(asked *out, const char *name, const char *value)
{
    bool is_true = strcmp(value, "true") == 0;

    if (strcmp(name, "watch") == 0) {
        out->target = is_true ? SERVER_WATCH : SERVER_LIST;
    } else if (strcmp(name, "resourceVersion") == 0 && value[0] != '\0') {
        out->version = strtoll(value, NULL, 10);
    } else if (strcmp(name, "resourceVersionMatch") == 0) {
        out->is_exact = strcmp(value, "Exact") == 0;
    } else if (strcmp(name, "limit") == 0) {
        out->limit = atoi(value);
    } else if (strcmp(name, "continue") == 0) {
        strcpy(out->token, value);
    } else if (strcmp(name, "sendInitialEvents") == 0) {
        out->wants_initial = is_true;
    } else if (strcmp(name, "allowWatchBookmarks") == 0) {
        out->wants_bookmarks = is_true;
    } else if (strcmp(name, "timeoutSeconds") == 0) {
        out->timeout_s = atoi(value);
    } else if (strcmp(name, "labelSelector") == 0 &&
               strncmp(value, "app=app-", 8) == 0) {
        out->app = atoi(value + 8);
    } else {
        out->is_known = false;
    }
}

static void read_query(asked *out, const char *query)
{
    while (*query != '\0') {
        char name[TEXT_MAX], value[TEXT_MAX] = "";

        query = copy_until(name, query, "=&");
        if (*query == '=') {
            query = copy_until(value, query + 1, "&");
        }
        query += *query == '&' ? 1 : 0;
        read_parameter(out, name, value);
    }
}

/* Reads "/api/v1/[namespaces/NS/]PLURAL". */
static void read_path(asked *out, const char *path)
{
    static const char root[] = "/api/v1/", spaces[] = "namespaces/";

    if (strncmp(path, root, sizeof(root) - 1) != 0) {
        return;
    }
    path += sizeof(root) - 1;
    if (strncmp(path, spaces, sizeof(spaces) - 1) == 0) {
        path = copy_until(out->name_space, path + sizeof(spaces) - 1, "/");
        path += *path == '/' ? 1 : 0;
    }
    out->target = SERVER_LIST;
    out->is_known = strcmp(path, "pods") == 0 || strcmp(path, "nodes") == 0;
    out->kind = strcmp(path, "nodes") == 0 ? SERVER_NODES : SERVER_PODS;
}

void server_ask(asked *out, const char *target)
{
    char path[TEXT_MAX];
    const char *rest = copy_until(path, target, "?");

    *out = (asked){.version = -1, .app = -1};
    if (strcmp(path, "/api") == 0 || strcmp(path, "/apis") == 0) {
        out->target = SERVER_DISCOVERY;
        out->is_known = true;
        strcpy(out->token, path);
        return;
    }
    read_path(out, path);
    if (*rest == '?') {
        read_query(out, rest + 1);
        out->version = server_real_version(out->version);
    }
}

bool server_selects(const asked *what, const server_change *object)
{
    size_t length = strlen(what->name_space);

    if (object == NULL || object->type == SERVER_DELETED) {
        return false;
    }
    if (length > 0 && (strncmp(object->key, what->name_space, length) != 0 ||
                       object->key[length] != '/')) {
        return false;
    }
    return what->app < 0 || object->spec.app == what->app;
}
