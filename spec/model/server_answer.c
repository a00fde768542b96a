/*
 * server_answer.c - reads what a request's target asks for; and the heads and
 * bodies of all answers but watches: discovery, a list or a page of it, a
 * refusal.
 */
#include "server_core.h"

#include "schedule.h"

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

static bool is_wordless(server *from)
{
    return from->is_settled ? from->wordless++ < from->options.wordless
                            : schedule_chance(200);
}

void server_refuse(stream *self, int status, const char *message)
{
    self->status = status;
    self->end = ENDS;
    if (status != 410 && is_wordless(self->server)) {
        /* The refusal of a proxy, or of a server that sends no Status. */
        self->type = "text/plain";
        kl__buf_puts(&self->body, "upstream connect error\n");
        return;
    }
    server_put_status(&self->body, status, message, NULL, self->retry_after_s);
}

/* A page of a list: its version, and the key after which it begins. */
typedef struct page {
    int64_t version;
    const char *behind; /* NULL: the first page */
    size_t limit;       /* 0: all */
} page;

static void put_head(kl__buf *out, server_kind kind)
{
    kl__buf_puts(out, "\"kind\":\"");
    kl__buf_puts(out, server_kind_name(kind));
    kl__buf_puts(out, "List\",\"apiVersion\":\"v1\"");
}

static void put_list_metadata(const server *from, int64_t version,
                              const char *last, kl__buf *out)
{
    kl__buf_puts(out, ",\"metadata\":{\"resourceVersion\":\"");
    server_put_number(out, server_shown_version(from, version));
    kl__buf_puts(out, "\"");
    if (last != NULL) {
        kl__buf_puts(out, ",\"continue\":\"");
        server_put_token(out, version, last);
        kl__buf_puts(out, "\",\"remainingItemCount\":1");
    }
    kl__buf_putc(out, '}');
}

/* Writes the items. Returns the last one's key if more follow, else NULL. */
static const char *put_items(const stream *self, const page *what, kl__buf *out)
{
    const things *all = &self->server->things[self->asked.kind];
    const char *last = NULL;
    size_t count = 0;

    for (size_t i = 0; i < all->count; i++) {
        const thing *each = all->at[i];
        const server_change *object =
            server_change_at(self->server, each, what->version);

        if (!server_selects(&self->asked, object) ||
            (what->behind != NULL && strcmp(each->key, what->behind) <= 0)) {
            continue;
        }
        if (what->limit > 0 && count == what->limit) {
            return last;
        }
        if (count++ > 0) {
            kl__buf_putc(out, ',');
        }
        server_put_object(out, object, false);
        last = each->key;
    }
    return NULL;
}

static void put_page(stream *self, const page *what)
{
    bool after = self->server->options.rv_after_items;
    kl__buf *out = &self->body;
    kl__buf items = {0};
    const char *last = put_items(self, what, &items);

    kl__buf_putc(out, '{');
    if (!after) {
        put_head(out, self->asked.kind);
        put_list_metadata(self->server, what->version, last, out);
        kl__buf_puts(out, ",\"items\":[");
    } else {
        kl__buf_puts(out, "\"items\":[");
    }
    kl__buf_append(out, items.bytes != NULL ? items.bytes : "", items.length);
    kl__buf_putc(out, ']');
    if (after) {
        kl__buf_putc(out, ',');
        put_head(out, self->asked.kind);
        put_list_metadata(self->server, what->version, last, out);
    }
    kl__buf_puts(out, "}\n");
    kl__buf_deinit(&items);
    self->end = ENDS;
}

/* Reads "v<version>.<key>". Version -1 asks for the newest version, which may
 * differ from that of the pages before. */
static bool read_token(const char *token, page *out)
{
    char *end;

    if (token[0] != 'v') {
        return false;
    }
    out->version = strtoll(token + 1, &end, 10);
    out->behind = end + 1;
    return *end == '.';
}

static void answer_expired(stream *self, const page *asked_page)
{
    kl__buf token = {0};

    server_put_token(&token, EVER, asked_page->behind);
    self->status = 410;
    self->end = ENDS;
    server_put_status(&self->body, 410,
                      "The provided continue parameter is too old to display "
                      "a consistent list result.",
                      schedule_chance(800) ? token.bytes : NULL, 0);
    kl__buf_deinit(&token);
}

/* True if a continue token of that version has expired. That may happen
 * although a watch could still begin at the version: watches are served from a
 * cache, which may remember more than what serves lists. */
static bool has_expired(const server *from, int64_t version)
{
    return version < from->compacted || version > from->version ||
           (version < from->version && !from->is_settled &&
            schedule_chance(150));
}

static void answer_next_page(stream *self, page *next)
{
    server *from = self->server;

    if (!read_token(self->asked.token, next)) {
        server_refuse(self, 400, "continue key is not valid");
    } else if (next->version == EVER) {
        next->version = from->version;
        put_page(self, next);
    } else if (has_expired(from, next->version)) {
        answer_expired(self, next);
    } else {
        put_page(self, next);
    }
}

static void answer_list(stream *self)
{
    const server_options *options = &self->server->options;
    const asked *what = &self->asked;
    int64_t newest = self->server->version;
    page first = {.version = newest, .limit = (size_t)what->limit};

    if (what->token[0] != '\0') {
        answer_next_page(self, &first);
        return;
    }
    if (what->version > newest && options->future != SERVER_FUTURE_TELLS) {
        server_refuse(self, 504, "Too large resource version");
        return;
    }
    if (what->is_exact && what->version < self->server->compacted) {
        server_refuse(self, 410,
                      "The resourceVersion for the provided list "
                      "is too old.");
        return;
    }
    if (what->is_exact) {
        first.version = what->version;
    } else if (what->version >= 0 && options->cached_lists) {
        first.version = what->version > newest
                            ? newest
                            : server_draw_lag(self->server, what->version);
        first.limit = what->version == 0 ? 0 : first.limit;
    }
    put_page(self, &first);
}

void server_answer(stream *self)
{
    const asked *what = &self->asked;

    self->status = 200;
    self->type = "application/json";
    if (!what->is_known) {
        server_refuse(self, 404,
                      "the server could not find the requested "
                      "resource");
    } else if (what->target == SERVER_DISCOVERY) {
        server_put_discovery(&self->body, strcmp(what->token, "/api") == 0);
        self->end = ENDS;
    } else if (what->target == SERVER_WATCH) {
        server_watch_begin(self);
    } else {
        answer_list(self);
    }
}
