/*
 * feed.c - the transport in front of the server's. It reads the bytes that
 * pass: each event of a watch as soon as it is whole, a list when its stream is
 * closed.
 */
#include "server.h"

#include "coverage.h"
#include "feed.h"
#include "schedule.h"

#include "kubelua/client.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The little JSON that the oracle needs is read here, as the core's reader is
 * under test. Returns the number in the first "resourceVersion" of a text, or
 * -1; `after` (may be NULL) gets the place of the number. */
static int64_t feed_text_version(const char *text, const char **after)
{
    static const char name[] = "\"resourceVersion\"";
    const char *found = strstr(text, name);

    if (found == NULL) {
        return -1;
    }
    found += sizeof(name) - 1;
    found += strspn(found, " \t\r\n:\"");
    if (after != NULL) {
        *after = found;
    }
    return server_real_version(strtoll(found, NULL, 10));
}

/* Returns the place behind the JSON object that begins at `text`. NULL: the
 * object is not complete, or its brackets do not match. */
static char *feed_text_end(char *text)
{
    char open[32];
    bool is_string = false;
    size_t depth = 0;

    for (; *text != '\0'; text++) {
        if (is_string && *text == '\\' && text[1] != '\0') {
            text++;
        } else if (*text == '"') {
            is_string = !is_string;
        } else if (!is_string && (*text == '{' || *text == '[')) {
            open[depth++ % sizeof(open)] = *text == '{' ? '}' : ']';
        } else if (!is_string && (*text == '}' || *text == ']')) {
            if (*text != open[--depth % sizeof(open)]) {
                return NULL;
            }
            if (depth == 0) {
                return text + 1;
            }
        }
    }
    return NULL;
}

enum { SILENCE_MS = 5000 }; /* the shortest idle timeout */

/* What the request of a stream asks for. */
typedef enum asked {
    ASKED_LIST,
    ASKED_PAGE,   /* a later page of a list */
    ASKED_STREAM, /* a streaming list, until its end bookmark */
    ASKED_WATCH
} asked;

typedef struct tap {
    kl__stream base;
    kl__stream *inner;
    feeds *all;
    feed *feed;
    asked asked;
    struct tap *next;
    bool is_dead; /* an error or a malformed event came: the rest is ignored */
    bool is_over;
    char *text; /* bytes that are no whole event yet; of a list, all bytes */
    size_t length;
    size_t capacity;
} tap;

typedef struct between {
    kl_transport base;
    kl_transport *inner;
    feeds *all;
} between;

static void append(tap *self, const char *bytes, size_t length)
{
    if (self->length + length + 1 > self->capacity) {
        self->capacity = (self->length + length + 1) * 2;
        self->text = realloc(self->text, self->capacity);
        schedule_check(self->text != NULL, "the model is out of memory");
    }
    memcpy(self->text + self->length, bytes, length);
    self->length += length;
    self->text[self->length] = '\0';
}

size_t feeds_position(const server *from, int64_t version)
{
    size_t count;
    const server_change *changes = server_history(from, &count);

    while (count > 0 && (changes[count - 1].version != version ||
                         changes[count - 1].is_undone)) {
        count--;
    }
    return count;
}

static void note_due(tap *self, int64_t version)
{
    feed *to = self->feed;
    size_t count, position = feeds_position(self->all->server, version);
    const server_change *changes = server_history(self->all->server, &count);
    const server_change *change;

    if (position == 0) {
        return; /* a restore has undone the change */
    }
    change = &changes[position - 1];
    if (to->due_count == to->due_capacity) {
        to->due_capacity = to->due_capacity * 2 + 16;
        to->due = realloc(to->due, to->due_capacity * sizeof(due));
        schedule_check(to->due != NULL, "the model is out of memory");
    }
    to->due[to->due_count++] =
        (due){.version = version,
              .key = history_key_index(change->key),
              .type = history_in_scope(history_scope(to->scope), change)
                          ? change->type
                          : SERVER_DELETED};
}

static void take_error(tap *self, const char *line)
{
    self->is_dead = true;
    coverage_add(strstr(line, "410") != NULL ? COVER_GONE_EVENTS
                                             : COVER_OTHER_EVENTS,
                 1);
}

static void list_is_complete(tap *self, int64_t version, bool is_last)
{
    self->feed->lists++;
    self->feed->last = version;
    if (self->feed->listed_ms == 0 && is_last) {
        self->feed->listed_ms = schedule_now();
    }
}

/* True if the object of an event cannot be read: no handler gets it. */
static bool is_torn(const char *line)
{
    return strstr(line, "\"" SERVER_TORN "\"") != NULL;
}

/* Takes one whole event of a watch. */
static void take_event(tap *self, const char *line)
{
    int64_t version = feed_text_version(line, NULL);
    bool is_bookmark = strstr(line, "\"BOOKMARK\"") != NULL;
    bool is_change = strstr(line, "\"ADDED\"") != NULL ||
                     strstr(line, "\"MODIFIED\"") != NULL ||
                     strstr(line, "\"DELETED\"") != NULL;

    if (strstr(line, "\"ERROR\"") != NULL) {
        take_error(self, line);
        return;
    }
    if (version < 0 || !(is_bookmark || is_change)) {
        self->is_dead = true;
        return;
    }
    if (is_bookmark) {
        coverage_add(COVER_BOOKMARKS, 1);
        if (strstr(line, "k8s.io/initial-events-end") != NULL) {
            self->asked = ASKED_WATCH;
            list_is_complete(self, version, true);
            coverage_add(COVER_LIST_STREAMED, 1);
        }
    } else if (self->asked == ASKED_WATCH) {
        coverage_add(COVER_EVENTS, 1);
        coverage_add(COVER_UNREADABLE, is_torn(line) ? 1 : 0);
        if (version > self->feed->high && !is_torn(line)) {
            note_due(self, version);
        }
    }
    if (self->asked == ASKED_WATCH && version > self->feed->last) {
        self->feed->last = version;
    }
    if (version > self->feed->high) {
        self->feed->high = version;
    }
}

/* Takes all whole events. An event ends with its last brace: the bytes after it
 * may be rubbish. */
static void take_events(tap *self)
{
    char *at = self->text + strspn(self->text, " \r\n");
    char *end;

    while (!self->is_dead && *at == '{' && (end = feed_text_end(at)) != NULL) {
        char after = *end;

        *end = '\0';
        take_event(self, at);
        *end = after;
        at = end + strspn(end, " \r\n");
    }
    self->is_dead |= *at != '{' && *at != '\0';
    self->length -= (size_t)(at - self->text);
    memmove(self->text, at, self->length + 1);
}

static bool has_more(const tap *self)
{
    static const char name[] = "\"continue\":\"";
    const char *found = self->text != NULL ? strstr(self->text, name) : NULL;

    return found != NULL && found[sizeof(name) - 1] != '"';
}

/* Takes the body of a list, complete or not. */
static void take_list(tap *self)
{
    const char *text = self->text != NULL ? self->text : "";
    int64_t version;

    while ((version = feed_text_version(text, &text)) >= 0) {
        if (version > self->feed->high) {
            self->feed->high = version;
        }
    }
    if (self->text != NULL && feed_text_end(self->text) != NULL) {
        /* The list is complete with its last brace, even if the end of the
         * stream did not come. Its version is not read: the version that a
         * watch must begin at is unknown (0) until the next event. */
        list_is_complete(self, 0, !has_more(self));
        coverage_add(
            self->asked == ASKED_PAGE ? COVER_LIST_PAGES : COVER_LIST_PAGED, 1);
    }
    if (self->asked == ASKED_PAGE && self->feed->fuzzy_until != 0) {
        self->feed->fuzzy_until = server_version(self->all->server);
    }
}

static kl_code tap_response(kl__stream *stream, kl__response *response,
                            int64_t deadline_ms, kl__cancel *cancel,
                            kl_error *err)
{
    tap *self = (tap *)stream;
    kl_code code =
        kl__stream_response(self->inner, response, deadline_ms, cancel, err);

    if (code == KL_EUNAVAILABLE) {
        coverage_add(COVER_REFUSED, 1);
    }
    if (code != KL_OK || response->status < 400) {
        return code;
    }
    self->is_dead = true;
    if (response->status != 410) {
        coverage_add(COVER_REFUSALS, 1);
    } else if (self->asked == ASKED_PAGE) {
        coverage_add(COVER_GONE_TOKENS, 1);
        self->feed->fuzzy_until = INT64_MAX;
    } else {
        coverage_add(COVER_GONE_REQUESTS, 1);
    }
    return code;
}

static void note_break(tap *self)
{
    self->feed->breaks++;
    coverage_add(COVER_BROKEN, 1);
    if (self->length > 0) {
        coverage_add(COVER_BROKEN_INSIDE, 1);
    }
}

static kl_code tap_read(kl__stream *stream, char *buffer, size_t size,
                        size_t *length, int64_t deadline_ms, kl__cancel *cancel,
                        kl_error *err)
{
    tap *self = (tap *)stream;
    kl_code code = kl__stream_read(self->inner, buffer, size, length,
                                   deadline_ms, cancel, err);

    if (code == KL_EUNAVAILABLE) {
        note_break(self);
    }
    if (code != KL_OK || self->is_dead) {
        return code;
    }
    if (*length == 0) {
        self->is_over = true;
        coverage_add(COVER_ENDED, self->asked == ASKED_WATCH ? 1 : 0);
        return code;
    }
    append(self, buffer, *length);
    if (self->asked == ASKED_WATCH || self->asked == ASKED_STREAM) {
        take_events(self);
    }
    return code;
}

static bool tap_lend(kl__stream *stream, const kl__stream_turn *turn)
{
    return kl__stream_lend(((tap *)stream)->inner, turn);
}

static void tap_retract(kl__stream *stream)
{
    kl__stream_retract(((tap *)stream)->inner);
}

static int64_t tap_look_again_ms(const kl__stream *stream)
{
    return kl__stream_look_again_ms(((const tap *)stream)->inner);
}

static int64_t tap_last_byte_ms(const kl__stream *stream)
{
    return kl__stream_last_byte_ms(((const tap *)stream)->inner);
}

static void tap_close(kl__stream *stream)
{
    tap *self = (tap *)stream;

    if (!self->is_dead &&
        (self->asked == ASKED_LIST || self->asked == ASKED_PAGE)) {
        take_list(self);
    }
    if (self->asked == ASKED_STREAM && !self->is_dead) {
        coverage_add(COVER_STREAM_UNFINISHED, 1);
    }
    if (self->asked == ASKED_WATCH && !self->is_over && !self->is_dead &&
        schedule_now() - kl__stream_last_byte_ms(self->inner) >= SILENCE_MS) {
        coverage_add(COVER_SILENT, 1);
    }
    self->feed->open--;
    for (tap **link = &self->all->taps; *link != NULL; link = &(*link)->next) {
        if (*link == self) {
            *link = self->next;
            break;
        }
    }
    kl__stream_close(self->inner);
    free(self->text);
    free(self);
}

static bool has(const char *target, const char *parameter)
{
    return strstr(target, parameter) != NULL;
}

static asked what_is_asked(const char *target)
{
    if (has(target, "watch=true")) {
        return has(target, "sendInitialEvents=true") ? ASKED_STREAM
                                                     : ASKED_WATCH;
    }
    return has(target, "continue=") ? ASKED_PAGE : ASKED_LIST;
}

/* Returns the scope of a request; -1: it is a discovery request. */
static int scope_of(const char *target)
{
    size_t path = strcspn(target, "?");
    bool labels = has(target, "labelSelector=");

    for (int i = 0; i < HISTORY_SCOPES; i++) {
        const scope *each = history_scope(i);
        bool scoped = has(target, "/namespaces/");
        bool names = each->name_space != NULL &&
                     strstr(target, each->name_space) != NULL;

        if (labels == (each->labels != NULL) &&
            scoped == (each->name_space != NULL) && (!scoped || names) &&
            path >= strlen(each->resource) &&
            memcmp(target + path - strlen(each->resource), each->resource,
                   strlen(each->resource)) == 0) {
            return i;
        }
    }
    return -1;
}

/* True if the request seems to ask only for the newest version (limit=1). If
 * pages have one object, the first page of a list looks the same. */
static bool seems_a_probe(const char *target)
{
    const char *limit = strstr(target, "limit=1");

    return limit != NULL && (limit[7] == '&' || limit[7] == '\0') &&
           !has(target, "continue=");
}

/* Checks that a watch begins at the last version that was received. From an
 * earlier one, events would come again; from a later one, some would be
 * lost. */
static void check_resume(const feeds *all, const feed *of, const char *target)
{
    static const char name[] = "resourceVersion=";
    const char *found = strstr(target, name);
    int64_t from =
        found != NULL ? strtoll(found + sizeof(name) - 1, NULL, 10) : 0;

    coverage_add(COVER_OPAQUE,
                 all->lists_apart && from > 0 && from < SERVER_APART ? 1 : 0);

    schedule_check(of->last == 0 || of->is_murky || all->has_restored ||
                       from == of->last,
                   "resume: a watch goes on from %lld, though %lld was told "
                   "last",
                   (long long)from, (long long)of->last);
}

void feeds_check_silence(const feeds *self, int64_t limit_ms)
{
    for (const tap *each = self->taps; each != NULL; each = each->next) {
        schedule_check(
            schedule_now() - kl__stream_last_byte_ms(each->inner) <= limit_ms,
            "silence: a stream is open, without a byte for %lld ms",
            (long long)(schedule_now() - kl__stream_last_byte_ms(each->inner)));
    }
}

static void count_request(feeds *all, feed *of, asked kind, bool is_probe)
{
    if (of->fuzzy_until == INT64_MAX && kind != ASKED_PAGE) {
        of->fuzzy_until = server_version(all->server);
    }
    if (kind == ASKED_WATCH) {
        coverage_add(COVER_WATCHES, 1);
    } else if (kind != ASKED_PAGE) {
        of->list_requests += is_probe ? 0 : 1;
        coverage_add(COVER_RELISTS, of->lists > 0 ? 1 : 0);
    }
}

static kl__stream *open_between(kl_transport *transport,
                                const kl__request *request, kl_error *err)
{
    static const kl__stream_ops ops = {.response = tap_response,
                                       .read = tap_read,
                                       .last_byte_ms = tap_last_byte_ms,
                                       .close = tap_close};
    static const kl__stream_ops lending = {.response = tap_response,
                                           .read = tap_read,
                                           .last_byte_ms = tap_last_byte_ms,
                                           .close = tap_close,
                                           .look_again_ms = tap_look_again_ms,
                                           .lend = tap_lend,
                                           .retract = tap_retract};
    between *self = (between *)transport;
    kl__stream *inner = kl__transport_open(self->inner, request, err);
    int number = scope_of(request->target);
    tap *made;

    if (inner == NULL || number < 0 || self->all->latest[number] == NULL ||
        (!self->all->pages_of_one && seems_a_probe(request->target))) {
        return inner;
    }
    made = calloc(1, sizeof(*made));
    schedule_check(made != NULL, "the model is out of memory");
    made->base.ops = kl__stream_lends(inner) ? &lending : &ops;
    made->inner = inner;
    made->all = self->all;
    made->feed = self->all->latest[number];
    made->asked = what_is_asked(request->target);
    made->feed->open++;
    made->next = self->all->taps;
    self->all->taps = made;
    if (made->asked == ASKED_WATCH) {
        check_resume(self->all, made->feed, request->target);
    }
    count_request(self->all, made->feed, made->asked,
                  seems_a_probe(request->target));
    return &made->base;
}

static void close_between(kl_transport *transport)
{
    kl__transport_close(((between *)transport)->inner);
}

static void free_between(kl_transport *transport)
{
    kl_transport_unref(((between *)transport)->inner);
    free(transport);
}

kl_transport *feeds_transport(feeds *self)
{
    static const kl__transport_ops ops = {open_between, close_between,
                                          free_between};
    between *made = calloc(1, sizeof(*made));

    schedule_check(made != NULL, "the model is out of memory");
    made->base.ops = &ops;
    atomic_init(&made->base.refs, 1);
    made->inner = server_transport(self->server);
    made->all = self;
    return &made->base;
}

feed *feeds_join(feeds *self, int number)
{
    feed *there = self->latest[number];
    /* With lists_apart, versions of events may go back, and the core then takes
     * the watch for broken: handlers need not see its events. */
    bool is_murky = self->leaving[number] > 0 || self->lists_apart;

    if (there != NULL && there->handles > 0) {
        there->is_murky |= is_murky;
        there->handles++;
        coverage_add(COVER_SHARED, 1);
        return there;
    }
    if (self->count == FEEDS_MAX) {
        return NULL;
    }
    there = &self->feeds[self->count++];
    there->scope = number;
    there->handles = 1;
    there->is_murky = is_murky;
    self->latest[number] = there;
    return there;
}

void feeds_leave(feeds *self, feed *left)
{
    left->handles--;
    self->leaving[left->scope]++;
}

void feeds_left(feeds *self, feed *left, bool inside)
{
    if (!inside) {
        self->leaving[left->scope]--;
        /* else the old informer may read on for any time: later feeds of this
         * scope are murky */
    }
}

void feeds_clear(feeds *self)
{
    for (size_t i = 0; i < self->count; i++) {
        free(self->feeds[i].due);
    }
    *self = (feeds){0};
}
