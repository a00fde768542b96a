/*
 * sim.c - requests to a simulated cluster: parts between lines of "--", each a
 * method and target, headers until an empty line, a body. LOAD loads a
 * manifest, COMPACT forgets the history, FAULT parses a rule. Every answer is
 * JSON, every refusal a Status; after each request, watches have
 * reported the objects that a list shows.
 */
#include "fuzz.h"

#include "base/buf.h"
#include "http/transport.h"
#include "kubelua/memory.h"
#include "kubelua/object.h"
#include "kubelua/sim.h"
#include "sim/core/request/sim_rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REQUESTS = 40, MOST_OBJECTS = 200, ROOM = 4096 };

/* What a watch has reported of one resource. */
typedef struct watcher {
    const char *target;
    kl__stream *stream;
    kl__buf bytes;
    kl_object *known[MOST_OBJECTS];
    size_t count;
    bool is_full; /* there are more objects: the rest is not compared */
} watcher;

typedef struct cluster {
    kl_sim *sim;
    kl_transport *transport;
    watcher watchers[2];
} cluster;

static kl_reply ask(cluster *self, const char *target)
{
    kl_call call = {.method = "GET", .target = target};
    kl_reply reply;

    FUZZ_EXPECT(kl_sim_call(self->sim, &call, &reply, NULL) == KL_OK);
    FUZZ_EXPECT(reply.status == 200);
    return reply;
}

static void open_watch(cluster *self, watcher *watch, const char *target)
{
    kl_reply list = ask(self, target);
    kl_doc *doc = kl_doc_parse(list.body, list.body_length, NULL);
    const kl_value *metadata = kl_value_get(kl_doc_root(doc), "metadata");
    kl__request request = {.method = "GET", .base_url = ""};
    kl__response response;
    kl__buf url = {0};

    kl__buf_printf(
        &url, "%s?watch=true&resourceVersion=%s", target,
        kl_value_string(kl_value_get(metadata, "resourceVersion"), NULL));
    FUZZ_EXPECT(kl_value_size(kl_value_get(kl_doc_root(doc), "items")) == 0);
    request.target = url.bytes;
    watch->target = target;
    watch->stream = kl__transport_open(self->transport, &request, NULL);
    FUZZ_EXPECT(kl__stream_response(watch->stream, &response, -1, NULL, NULL) ==
                KL_OK);
    FUZZ_EXPECT(response.status == 200);
    kl__buf_deinit(&url);
    kl_doc_unref(doc);
    kl_reply_clear(&list);
}

static size_t find(const watcher *watch, const char *key)
{
    size_t i = 0;

    while (i < watch->count &&
           strcmp(kl_object_key(watch->known[i]), key) != 0) {
        i++;
    }
    return i;
}

/* Checks that an event is possible after the events before it. */
static void take_event(watcher *watch, const kl_value *event)
{
    const char *type = kl_value_string(kl_value_get(event, "type"), NULL);
    size_t length;
    char *json = kl_value_json(kl_value_get(event, "object"), &length, NULL);
    kl_object *object = kl_object_parse(json, length, NULL, NULL);
    size_t at;

    kl_free(json);
    FUZZ_EXPECT(type != NULL && object != NULL);
    at = find(watch, kl_object_key(object));
    if (strcmp(type, "ADDED") == 0) {
        FUZZ_EXPECT(at == watch->count);
        if (watch->count == MOST_OBJECTS) {
            watch->is_full = true;
            kl_object_unref(object);
            return;
        }
        watch->known[watch->count++] = object;
        return;
    }
    FUZZ_EXPECT(at < watch->count);
    FUZZ_EXPECT(
        strcmp(kl_object_uid(watch->known[at]), kl_object_uid(object)) == 0);
    FUZZ_EXPECT(kl_version_compare(kl_object_resource_version(watch->known[at]),
                                   kl_object_resource_version(object)) < 0);
    kl_object_unref(watch->known[at]);
    watch->known[at] = object;
    if (strcmp(type, "DELETED") == 0) {
        kl_object_unref(object);
        watch->known[at] = watch->known[--watch->count];
    } else {
        FUZZ_EXPECT(strcmp(type, "MODIFIED") == 0);
    }
}

static void take_lines(watcher *watch)
{
    size_t done = 0;
    const char *end;

    while (watch->bytes.length > done && !watch->is_full &&
           (end = memchr(watch->bytes.bytes + done, '\n',
                         watch->bytes.length - done)) != NULL) {
        const char *line = watch->bytes.bytes + done;
        kl_doc *doc = kl_doc_parse(line, (size_t)(end - line), NULL);

        FUZZ_EXPECT(doc != NULL);
        take_event(watch, kl_doc_root(doc));
        kl_doc_unref(doc);
        done += (size_t)(end - line) + 1;
    }
    kl__buf_consume(&watch->bytes, done);
}

/* Reads all bytes that are there, without waiting. */
static void catch_up(watcher *watch)
{
    kl_code code;

    do {
        char *room = kl__buf_reserve(&watch->bytes, ROOM);
        size_t length = 0;

        code =
            kl__stream_read(watch->stream, room, ROOM, &length, 0, NULL, NULL);
        FUZZ_EXPECT(code == KL_ETIMEOUT || (code == KL_OK && length > 0));
        watch->bytes.length += length;
    } while (code == KL_OK);
    take_lines(watch);
    FUZZ_EXPECT(watch->is_full || watch->bytes.length == 0);
}

/* Checks that a list has each object once, as the watch reported it. */
static void expect_listed(cluster *self, const watcher *watch)
{
    kl_reply list = ask(self, watch->target);
    kl_doc *doc = kl_doc_parse(list.body, list.body_length, NULL);
    const kl_value *items = kl_value_get(kl_doc_root(doc), "items"), *item;
    kl_value_iter iter = {0};

    FUZZ_EXPECT(kl_value_size(items) == watch->count);
    while ((item = kl_value_next(items, &iter, NULL)) != NULL) {
        const kl_object_options options = {.kind = "x", .api_version = "v1"};
        size_t length, at;
        char *json = kl_value_json(item, &length, NULL);
        kl_object *object = kl_object_parse(json, length, &options, NULL);

        FUZZ_EXPECT(object != NULL);
        at = find(watch, kl_object_key(object));
        FUZZ_EXPECT(at < watch->count);
        FUZZ_EXPECT(strcmp(kl_object_resource_version(object),
                           kl_object_resource_version(watch->known[at])) == 0);
        kl_object_unref(object);
        kl_free(json);
    }
    kl_doc_unref(doc);
    kl_reply_clear(&list);
}

static void close_watch(watcher *watch)
{
    kl__stream_close(watch->stream);
    kl__buf_deinit(&watch->bytes);
    while (watch->count > 0) {
        kl_object_unref(watch->known[--watch->count]);
    }
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void expect_reply(const kl_reply *reply)
{
    kl_doc *doc = kl_doc_parse(reply->body, reply->body_length, NULL);
    const kl_value *root = doc != NULL ? kl_doc_root(doc) : NULL;
    const char *kind = kl_value_string(kl_value_get(root, "kind"), NULL);

    FUZZ_EXPECT(reply->status >= 200 && reply->status < 600);
    FUZZ_EXPECT(strlen(reply->body) == reply->body_length);
    FUZZ_EXPECT(doc != NULL ||
                !begins(reply->content_type, "application/json"));
    if (reply->status >= 400 && doc == NULL) { /* no path of an API */
        FUZZ_EXPECT(reply->status == 404 &&
                    strcmp(reply->body, "404 page not found\n") == 0);
    } else if (reply->status >= 400) {
        FUZZ_EXPECT(kind != NULL && strcmp(kind, "Status") == 0);
        FUZZ_EXPECT(kl_value_integer(kl_value_get(root, "code")) ==
                    reply->status);
        FUZZ_EXPECT(kl_value_string(kl_value_get(root, "message"), NULL) !=
                    NULL);
    }
    kl_doc_unref(doc);
}

/* An object that was created can be read. */
static void expect_created(cluster *self, const char *target,
                           const kl_reply *reply)
{
    kl_doc *doc = kl_doc_parse(reply->body, reply->body_length, NULL);
    const kl_value *metadata = kl_value_get(kl_doc_root(doc), "metadata");
    const char *name = kl_value_string(kl_value_get(metadata, "name"), NULL);
    const char *space =
        kl_value_string(kl_value_get(metadata, "namespace"), NULL);
    kl__buf path = {0};
    kl_reply again;

    FUZZ_EXPECT(name != NULL && space != NULL);
    kl__buf_printf(&path, "/api/v1/namespaces/%s/%s/%s", space,
                   strstr(target, "/pods") != NULL ? "pods" : "configmaps",
                   name);
    again = ask(self, path.bytes);
    FUZZ_EXPECT(strcmp(again.body, reply->body) == 0);
    kl_reply_clear(&again);
    kl__buf_deinit(&path);
    kl_doc_unref(doc);
}

/* The values of a merge patch (RFC 7396) are in the object; its nulls are
 * not. */
static void expect_merged(const kl_reply *reply, fuzz_text patch)
{
    kl_doc *doc = kl_doc_parse(reply->body, reply->body_length, NULL);
    kl_doc *asked = kl_doc_parse(patch.bytes, patch.length, NULL);
    const kl_value *is = kl_value_get(kl_doc_root(doc), "data");
    const kl_value *was = kl_value_get(kl_doc_root(asked), "data");
    const kl_value *key, *value;
    kl_value_iter iter = {0};

    while (kl_value_type(was) == KL_OBJECT &&
           (value = kl_value_next(was, &iter, &key)) != NULL) {
        size_t length;
        const char *name = kl_value_string(key, &length);
        const kl_value *now = kl_value_get_n(is, name, length);

        if (kl_value_get_n(was, name, length) == value) {
            FUZZ_EXPECT(kl_value_type(value) == KL_NULL
                            ? now == NULL
                            : fuzz_same(value, now));
        }
    }
    kl_doc_unref(doc);
    kl_doc_unref(asked);
}

static bool is_collection(const char *target)
{
    size_t length = strlen(target);

    return begins(target, "/api/v1/namespaces/") &&
           ((length > 5 && strcmp(target + length - 5, "/pods") == 0) ||
            (length > 11 && strcmp(target + length - 11, "/configmaps") == 0));
}

/* The value of a header line; the line is cut off. */
static const char *header(char *lines, const char *name)
{
    char *found = strstr(lines, name);

    return found != NULL ? found + strlen(name) : NULL;
}

static void send(cluster *self, fuzz_text part)
{
    char *line = fuzz_string(fuzz_line(&part));
    char *target = strchr(line, ' ');
    fuzz_text heads = fuzz_part(&part, "");
    char *type = fuzz_string(heads), *accept = fuzz_string(heads);
    char *body = fuzz_block(part);
    kl_call call = {.method = line, .timeout_ms = 1, .body = body};
    kl_reply reply = {0};
    kl_code code;

    if (target != NULL) {
        *target++ = '\0';
    }
    call.target = target != NULL ? target : "";
    call.body_length = part.length;
    call.content_type = header(type, "Content-Type: ");
    call.accept = header(accept, "Accept: ");
    type[strcspn(type, "\r\n")] = '\0';
    accept[strcspn(accept, "\r\n")] = '\0';
    /* Paths below /kubelua may restore an earlier state without telling
     * watches. */
    code = strstr(call.target, "kubelua") == NULL
               ? kl_sim_call(self->sim, &call, &reply, NULL)
               : KL_EINVAL;
    FUZZ_EXPECT(code == KL_OK || code == KL_EINVAL || code == KL_ETIMEOUT);
    if (code == KL_OK) {
        expect_reply(&reply);
    }
    if (code == KL_OK && reply.status == 201 && call.accept == NULL &&
        is_collection(call.target)) {
        expect_created(self, call.target, &reply);
    }
    if (code == KL_OK && reply.status == 200 && call.accept == NULL &&
        call.content_type != NULL && strcmp(line, "PATCH") == 0 &&
        strstr(call.target, "/configmaps/") &&
        begins(call.content_type, "application/merge-patch+json")) {
        expect_merged(&reply, (fuzz_text){body, part.length});
    }
    kl_reply_clear(&reply);
    free(body);
    free(type);
    free(accept);
    free(line);
}

static void load(cluster *self, fuzz_text part)
{
    kl_error err = {.message = ""};
    char *text;
    kl_code code;

    fuzz_line(&part);
    text = fuzz_block(part);
    code = kl_sim_load(self->sim, text, part.length, &err);
    FUZZ_EXPECT(code == KL_OK || err.message[0] != '\0');
    FUZZ_EXPECT(code != KL_ENOMEM && code != KL_ETIMEOUT);
    free(text);
}

/* A text is a rule, or the error says why not. The rule is not used, because
 * watches would then no longer report the truth. */
static void read_rule(fuzz_text part)
{
    kl_error err = {.message = ""};
    kl__sim_rule *rule;
    char *text;

    fuzz_line(&part);
    text = fuzz_block(part);
    rule = kl__sim_rule_parse(text, part.length, &err);
    FUZZ_EXPECT(rule != NULL || err.message[0] != '\0');
    if (rule != NULL) {
        FUZZ_EXPECT(*kl__sim_rule_name(rule) != '\0' && rule->count >= 0);
        kl__sim_rule_unref(rule);
    }
    free(text);
}

static void take_part(cluster *self, fuzz_text part)
{
    fuzz_text rest = part;
    fuzz_text line = fuzz_line(&rest);

    if (fuzz_is(line, "LOAD")) {
        load(self, part);
    } else if (fuzz_is(line, "FAULT")) {
        read_rule(part);
    } else if (fuzz_is(line, "COMPACT")) {
        kl_sim_compact(self->sim);
    } else {
        send(self, part);
    }
    for (size_t i = 0; i < 2; i++) {
        if (!self->watchers[i].is_full) {
            catch_up(&self->watchers[i]);
        }
        if (!self->watchers[i].is_full) {
            expect_listed(self, &self->watchers[i]);
        }
    }
}

void fuzz_sim(const char *bytes, size_t length)
{
    fuzz_text text = {bytes, length};
    cluster *self = calloc(1, sizeof(*self));

    self->sim = kl_sim_new(NULL, NULL);
    self->transport = kl_sim_transport(self->sim, NULL);
    open_watch(self, &self->watchers[0], "/api/v1/pods");
    open_watch(self, &self->watchers[1], "/api/v1/configmaps");
    for (int i = 0; i < MOST_REQUESTS && text.length > 0; i++) {
        take_part(self, fuzz_part(&text, "--"));
    }
    close_watch(&self->watchers[0]);
    close_watch(&self->watchers[1]);
    kl_transport_unref(self->transport);
    kl_sim_unref(self->sim);
    free(self);
}
