/*
 * server_watch.c - a watch, and the streaming list that it can begin with.
 */
#include "server_core.h"

#include "schedule.h"

enum { BOOKMARK_MS = 60000 };

static void begin_at(stream *self, int64_t version)
{
    const server *from = self->server;

    self->told = version;
    self->next = 0;
    while (self->next < from->count &&
           (from->history[self->next].is_undone ||
            from->history[self->next].version <= version)) {
        self->next++;
    }
}

/* Sends all objects of a version as ADDED events. */
static void put_initial(stream *self, int64_t version)
{
    const server *from = self->server;
    const things *all = &from->things[self->asked.kind];

    for (size_t i = 0; i < all->count; i++) {
        const server_change *object =
            server_change_at(from, all->at[i], version);

        if (server_selects(&self->asked, object)) {
            server_put_event(&self->body, "ADDED", object);
        }
    }
    begin_at(self, version);
}

static void put_error(stream *self, int code, const char *message)
{
    server_put_error(&self->body, code, message);
    self->end = ENDS;
}

/* Answers 410 in one of the forms that servers use. */
static void answer_gone(stream *self)
{
    static const char *const words[] = {
        "too old resource version: 5 (1234)",
        "The resourceVersion for the provided watch is too old.",
        "Gone: the event in requested index is outdated and cleared",
    };
    const char *message = words[schedule_random(3)];

    if (schedule_chance(500)) {
        server_refuse(self, 410, message);
    } else {
        put_error(self, 410, message);
    }
}

/* Answers a watch from a version that is not reached yet. True: it is
 * answered. */
static bool answer_future(stream *self)
{
    switch (self->server->options.future) {
    case SERVER_FUTURE_GONE:
        answer_gone(self);
        return true;
    case SERVER_FUTURE_TELLS:
        begin_at(self, self->server->version);
        return true;
    default:
        return false;
    }
}

static void answer_watch(stream *self)
{
    int64_t version = self->asked.version;

    if (version <= 0) {
        put_initial(self, self->server->version);
    } else if (version < self->server->compacted) {
        answer_gone(self);
    } else if (version <= self->server->version || !answer_future(self)) {
        begin_at(self, version);
    }
}

static void answer_streaming(stream *self)
{
    const server_options *options = &self->server->options;
    int64_t asked_for = self->asked.version;
    int64_t version = self->server->version;

    if (asked_for > version && options->future != SERVER_FUTURE_TELLS) {
        put_error(self, 504, "Too large resource version");
        return;
    }
    if (asked_for >= 0 && options->cached_lists && asked_for <= version) {
        version = server_draw_lag(self->server, asked_for);
    }
    put_initial(self, version);
    if (options->streaming == SERVER_STREAM_ENDS) {
        self->end = ENDS;
    } else {
        self->owes_end = true;
    }
}

void server_watch_begin(stream *self)
{
    const server_options *options = &self->server->options;
    const asked *what = &self->asked;
    int64_t now = schedule_now();
    bool streams = what->wants_initial && options->streaming != SERVER_IGNORES;

    if (what->wants_initial && options->streaming == SERVER_FORBIDS) {
        server_refuse(self, 422,
                      "sendInitialEvents is forbidden for watch "
                      "unless the WatchList feature gate is "
                      "enabled");
        return;
    }
    self->ends_at = what->timeout_s > 0 ? now + what->timeout_s * 1000 : EVER;
    if (options->watch_ms > 0 &&
        (self->ends_at == EVER || now + options->watch_ms < self->ends_at)) {
        self->ends_at = now + options->watch_ms;
    }
    self->bookmark_at =
        now + (options->bookmark_ms > 0 ? options->bookmark_ms : BOOKMARK_MS);
    self->is_watching = true;
    if (streams) {
        answer_streaming(self);
    } else {
        answer_watch(self);
    }
    if (self->status != 200 || self->end != GOES_ON) {
        self->is_watching = false;
    }
}

/* Sends a change as a watch with a selector sees it: an object that begins to
 * match is ADDED, one that no longer matches is DELETED with its last matching
 * state. False: there is nothing to send. */
static bool put_change(stream *self, size_t index)
{
    const server_change *now = &self->server->history[index];
    const server_change *before = server_change_before(self->server, index);
    bool is = server_selects(&self->asked, now);
    bool was = server_selects(&self->asked, before);

    if (is) {
        server_put_event(&self->body, was ? "MODIFIED" : "ADDED", now);
    } else if (was) {
        server_change gone = *before;

        gone.version = now->version;
        server_put_event(&self->body, "DELETED", &gone);
    }
    return is || was;
}

/* Sends some of the changes that are due, at most 20. */
static void put_changes(stream *self)
{
    const server *from = self->server;
    size_t most = 1 + schedule_random(20);

    for (; self->next < from->count && most > 0; self->next++) {
        const server_change *each = &from->history[self->next];

        if (each->is_undone || each->version <= self->told) {
            continue;
        }
        if (each->kind == self->asked.kind) {
            most -= put_change(self, self->next) ? 1 : 0;
        }
        self->told = each->version;
    }
}

/* Sends a bookmark. The one that ends the initial events may come before or
 * after changes. A watch from a version that is not reached yet gets the
 * server's own version. */
static void put_bookmark(stream *self, int64_t now)
{
    const server_options *options = &self->server->options;
    int64_t newest = self->server->version;
    int64_t version = self->told < newest ? self->told : newest;

    self->bookmark_at =
        now + (options->bookmark_ms > 0 ? options->bookmark_ms : BOOKMARK_MS);
    if (self->asked.wants_bookmarks &&
        (self->told <= newest || !self->owes_end) &&
        (self->owes_end || !options->no_bookmarks)) {
        server_put_bookmark(&self->body, self->asked.kind,
                            server_shown_version(self->server, version),
                            self->owes_end);
        self->owes_end = false;
    }
}

int64_t server_watch_pump(stream *self)
{
    int64_t now = schedule_now();
    size_t before = self->body.length;

    if (self->owes_end &&
        (self->next == self->server->count || schedule_chance(500))) {
        put_bookmark(self, now);
        return now;
    }
    /* Changes of other objects send nothing, and must not end the loop. */
    while (self->next < self->server->count && self->body.length == before) {
        put_changes(self);
    }
    if (self->body.length == before && now >= self->bookmark_at) {
        put_bookmark(self, now);
    }
    if (self->ends_at != EVER && now >= self->ends_at) {
        self->end = ENDS;
        self->is_watching = false;
    }
    if (self->body.length > before || self->end != GOES_ON) {
        return now;
    }
    return self->ends_at != EVER && self->ends_at < self->bookmark_at
               ? self->ends_at
               : self->bookmark_at;
}
