/*
 * list_watch_ask.c - the requests of a source over HTTP: sends them, and takes
 * the heads of their answers, or errors. See list_watch_http.h.
 */
#include "api/list_watch_http.h"

#include "base/clock.h"
#include "base/mem.h"
#include "http/url.h"
#include "json/text.h"
#include "object/status.h"

#include <stdio.h>
#include <string.h>

enum {
    ANSWER_MS = 30000, /* how long to wait for the head of an answer */
    ERROR_BODY_MS = 5000,
    ERROR_BODY = 64 * 1024,
    EXCERPT_BODY = 512,
    EXCERPT = 80
};

/* An answer that is an error, or that no API server gives. */
struct refusal {
    kl__response response;
    kl__buf body; /* at most `limit` bytes: a part is used if no more comes */
    size_t limit;
};

static void drop_refusal(kl__http_source *self)
{
    if (self->refusal != NULL) {
        kl__buf_deinit(&self->refusal->body);
        kl__free(self->refusal);
        self->refusal = NULL;
    }
}

static void close_sent(kl__http_source *self)
{
    kl__stream_close(self->sent.stream);
    self->sent.stream = NULL;
}

/* Sets the current transfer (NULL: none) and closes the old one. */
static void set_stream(kl__http_source *self, kl__stream *stream)
{
    kl__stream *old;

    kl__mutex_lock(&self->mutex);
    old = self->stream;
    self->stream = stream;
    kl__http_source_note_item(self);
    kl__mutex_unlock(&self->mutex);
    kl__stream_close(old);
}

void kl__http_source_end(kl__list_watch *source)
{
    kl__http_source *self = kl__http_source_of(source);
    kl_error why;

    if (self->refusal != NULL) {
        close_sent(self);
        drop_refusal(self);
    }
    if (self->sent.stream != NULL) {
        kl__request request = {.method = "GET", .target = self->target.bytes};

        kl_error_set(&why, KL_ECANCELED, "the answer is not awaited any more");
        kl__client_give_up(self->client, &request, &self->sent, &why);
    }
    if (self->is_searching) {
        self->is_searching = false;
        kl__search_end(&self->search);
    }
    kl__buf_deinit(&self->target);
    kl__buf_deinit(&self->parameters);
    set_stream(self, NULL);
    kl__scan_free(self->scan);
    self->scan = NULL;
}

/*
 * The media types of a list or watch, best first. With LEAN, servers from 1.37
 * on leave managedFields out; older servers ignore the unknown parameter; the
 * second choice is for servers that refuse it. For metadata only, a list is a
 * PartialObjectMetadataList and an object in a watch event a
 * PartialObjectMetadata (Kubernetes 1.15 and later, any resource;
 * docs/KUBERNETES.md#metadata-only). A server that does not know these kinds
 * sends whole objects, of which only the metadata is kept.
 */
#define PLAIN "application/json"
#define LEAN ";drop=metadata.managedFields"
#define METADATA(kind) \
    PLAIN ";as=PartialObjectMetadata" kind ";g=meta.k8s.io;v=v1"

static const char *accepted_types(const kl__http_source *self)
{
    static const char *const whole[] = {PLAIN LEAN "," PLAIN, PLAIN};
    static const char *const lists[] = {METADATA("List") LEAN
                                        "," METADATA("List") "," PLAIN,
                                        METADATA("List") "," PLAIN};
    static const char *const events[] = {
        METADATA("") LEAN "," METADATA("") "," PLAIN, METADATA("") "," PLAIN};
    const char *const *types = !self->is_metadata_only ? whole
                               : self->is_watch        ? events
                                                       : lists;

    return types[self->keeps_managed_fields ? 1 : 0];
}

static void put_shards(const kl__http_source *self, kl__buf *target)
{
    kl__buf selector = {0};

    if (self->shards.by != KL_SHARD_BY_UID ||
        kl__shard_ranges_are_all(&self->shards.ranges)) {
        return;
    }
    kl__shard_ranges_selector(&self->shards.ranges, &selector);
    if (selector.failed) {
        target->failed = true; /* without a selector all would come */
    } else {
        kl__url_query(target, "shardSelector", selector.bytes);
    }
    kl__buf_deinit(&selector);
}

/* Appends the collection's path and the selectors. */
static void put_collection(const kl__http_source *self, kl__buf *target)
{
    kl__resource_path(&self->resource, self->name_space, target);
    if (self->labels != NULL && self->labels[0] != '\0') {
        kl__url_query(target, "labelSelector", self->labels);
    }
    if (self->fields != NULL && self->fields[0] != '\0') {
        kl__url_query(target, "fieldSelector", self->fields);
    }
    put_shards(self, target);
}

static void put_number(kl__buf *target, const char *name, int number)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", number);
    kl__url_query(target, name, text);
}

static void put_text(kl__buf *target, const char *name, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        kl__url_query(target, name, text);
    }
}

/* Adds a remedy: if the user has a Role in one namespace only, the script can
 * name that namespace; that is simpler than a new ClusterRole. */
static void suggest_namespace(const kl__http_source *self, kl_error *err)
{
    size_t used = strlen(err->message);

    if (err->code == KL_EFORBIDDEN && self->resource.namespaced &&
        self->name_space == NULL) {
        snprintf(err->message + used, sizeof(err->message) - used,
                 "\n    Or watch one namespace, in which it may: `namespace = "
                 "\"...\"` in the script");
    }
}

static kl_code set_refused(kl__http_source *self, kl_error *err)
{
    const kl__response *response = &self->refusal->response;
    const kl__buf *body = &self->refusal->body;
    kl_code code = kl__status_error(response->status, body->bytes, body->length,
                                    response->retry_after_ms, err);

    suggest_namespace(self, err);
    if (code == KL_EGONE && body->bytes != NULL) {
        self->offered_continue = kl__status_continue(body->bytes, body->length);
    }
    return code;
}

/* Makes the error for an answer that no API server gives. */
static kl_code set_not_understood(const kl__http_source *self, kl_error *err)
{
    const kl__response *response = &self->refusal->response;
    const kl__buf *body = &self->refusal->body;
    char excerpt[EXCERPT];

    kl__text_excerpt(excerpt, sizeof(excerpt),
                     body->bytes != NULL ? body->bytes : "", body->length);
    return kl_error_set(err, KL_EPARSE,
                        "the server answered with HTTP status %d and %s, not "
                        "JSON (\"%s\"): is there a proxy or login page in "
                        "between?",
                        response->status,
                        response->content_type[0] != '\0'
                            ? response->content_type
                            : "no content type",
                        excerpt);
}

/* A missing type passes: if the body is not JSON, the parser finds that. */
static bool is_json(const char *type)
{
    return type[0] == '\0' ||
           strncmp(type, "application/json", strlen("application/json")) == 0;
}

/* Makes the answer the current transfer; takes its stream. */
static kl_code begin_transfer(kl__http_source *self, kl_error *err)
{
    kl__stream *stream = self->sent.stream;

    self->scan = kl__scan_new(self->is_watch ? KL__SCAN_WATCH : KL__SCAN_LIST);
    if (self->scan == NULL) {
        close_sent(self);
        return kl_error_set(err, KL_ENOMEM, "out of memory for a scan");
    }
    self->sent.stream = NULL;
    self->is_guessed = false;
    set_stream(self, stream);
    return KL_OK;
}

/* The answer is no list or watch: its body is awaited for a while, as it says
 * why. */
static kl_code begin_refusal(kl__http_source *self,
                             const kl__response *response, kl_error *err)
{
    if (kl__client_check_redirect(response, err) != KL_OK) {
        close_sent(self);
        return KL_EPARSE;
    }
    self->refusal = kl__calloc(1, sizeof(*self->refusal));
    if (self->refusal == NULL) {
        close_sent(self);
        return kl_error_set(err, KL_ENOMEM, "out of memory for an answer");
    }
    self->refusal->response = *response;
    self->refusal->limit = response->status >= 400 ? ERROR_BODY : EXCERPT_BODY;
    self->answer_by_ms = kl__clock_now(kl__clock_real()) + ERROR_BODY_MS;
    return KL_OK;
}

/* All of a refusal has come, or as much as will: makes the error. */
static kl_code end_refusal(kl__http_source *self, kl_error *err)
{
    kl_code code = self->refusal->response.status >= 400
                       ? set_refused(self, err)
                       : set_not_understood(self, err);

    close_sent(self);
    drop_refusal(self);
    return code;
}

/* ---- sending ---- */

/* The target of a request: the collection, then what the call gave. */
static kl_code make_target(kl__http_source *self, kl_error *err)
{
    const kl__buf *given = &self->parameters;

    kl__buf_reset(&self->target);
    put_collection(self, &self->target);
    if (given->length > 0 && self->target.length > 0) {
        bool has_query = strchr(self->target.bytes, '?') != NULL;

        kl__buf_putc(&self->target, has_query ? '&' : '?');
        kl__buf_append(&self->target, given->bytes + 1, given->length - 1);
    }
    return given->failed || self->target.failed
               ? kl_error_set(err, KL_ENOMEM, "out of memory for a request")
               : KL_OK;
}

/* The request; `accept` is its only header. */
static kl__request request_of(const kl__http_source *self, kl__header *accept)
{
    *accept = (kl__header){"Accept", accepted_types(self)};
    return (kl__request){.method = "GET",
                         .target = self->target.bytes,
                         .headers = accept,
                         .header_count = 1,
                         .fresh_connection = self->is_fresh,
                         .gathers = self->gathers};
}

/* Sends the request. Its answer has ANSWER_MS from then on: not from before, as
 * a credential plugin may take longer, such as one that asks a person. */
static kl_code send_request(kl__http_source *self, kl__cancel *cancel,
                            kl_error *err)
{
    kl__header accept;
    kl__request request = request_of(self, &accept);
    kl_code code =
        kl__client_send(self->client, &request, cancel, &self->sent, err);

    self->answer_by_ms = kl__clock_now(kl__clock_real()) + ANSWER_MS;
    return code;
}

/* Makes and sends the request. */
static kl_code ask(kl__http_source *self, kl__cancel *cancel, kl_error *err)
{
    kl_code code = make_target(self, err);

    self->was_retried = false;
    return code == KL_OK ? send_request(self, cancel, err) : code;
}

/* Ends an earlier transfer and drops its state. */
static kl_code prepare_request(kl__http_source *self, bool is_watch,
                               kl_error *err)
{
    kl__http_source_end(&self->base);
    kl__free(self->offered_continue);
    self->offered_continue = NULL;
    self->is_watch = is_watch;
    self->counts_items = false;
    self->gathers = false;
    return self->api_version != NULL
               ? KL_OK
               : kl_error_set(err, KL_EINVAL,
                              "a resource is resolved before it is asked for");
}

kl_code kl__http_source_list(kl__list_watch *source,
                             const kl__list_params *params, kl__cancel *cancel,
                             kl_error *err)
{
    kl__http_source *self = kl__http_source_of(source);
    kl__buf *given = &self->parameters;
    kl_code code = prepare_request(self, false, err);

    if (code != KL_OK) {
        return code;
    }
    if (params->limit > 0) {
        put_number(given, "limit", params->limit);
    }
    put_text(given, "continue", params->continue_token);
    put_text(given, "resourceVersion", params->resource_version);
    put_text(given, "resourceVersionMatch", params->resource_version_match);
    self->is_fresh = params->fresh_connection;
    return ask(self, cancel, err);
}

kl_code kl__http_source_watch(kl__list_watch *source,
                              const kl__watch_params *params,
                              kl__cancel *cancel, kl_error *err)
{
    kl__http_source *self = kl__http_source_of(source);
    kl__buf *given = &self->parameters;
    kl_code code = prepare_request(self, true, err);

    if (code != KL_OK) {
        return code;
    }
    self->counts_items = !params->send_initial_events;
    kl__url_query(given, "watch", "true");
    kl__url_query(given, "allowWatchBookmarks", "true");
    if (params->timeout_seconds > 0) {
        put_number(given, "timeoutSeconds", params->timeout_seconds);
    }
    put_text(given, "resourceVersion", params->resource_version);
    if (params->send_initial_events) {
        kl__url_query(given, "sendInitialEvents", "true");
        kl__url_query(given, "resourceVersionMatch", "NotOlderThan");
    }
    self->is_fresh = params->fresh_connection;
    self->gathers = params->send_initial_events;
    return ask(self, cancel, err);
}

/* ---- the head of the answer ---- */

/* Takes the head. It may show that the request is to be sent again, with new
 * credentials, or that the server refuses it: then there is more to await. */
static kl_code take_head(kl__http_source *self, const kl__response *response,
                         kl__cancel *cancel, kl_error *err)
{
    if (!self->was_retried &&
        kl__client_may_retry(self->client, &self->sent, response, cancel)) {
        self->was_retried = true;
        kl__stream_close(self->sent.stream);
        return send_request(self, cancel, err);
    }
    return response->status == 200 && is_json(response->content_type)
               ? begin_transfer(self, err)
               : begin_refusal(self, response, err);
}

/* When to stop waiting: 0: at once. */
static int64_t deadline_of(const kl__http_source *self, int64_t timeout_ms)
{
    int64_t until = kl__clock_now(kl__clock_real()) + timeout_ms;

    if (timeout_ms == 0) {
        return 0;
    }
    return timeout_ms > 0 && until < self->answer_by_ms ? until
                                                        : self->answer_by_ms;
}

/* Waits for a head, and takes it. KL_ETIMEOUT: none has come. */
static kl_code await_head(kl__http_source *self, int64_t timeout_ms,
                          kl__cancel *cancel, kl_error *err)
{
    kl__header accept;
    kl__request request = request_of(self, &accept);
    kl__response response;
    kl_code code =
        kl__client_head(self->client, &request, &self->sent,
                        deadline_of(self, timeout_ms), cancel, &response, err);

    if (code == KL_OK) {
        return take_head(self, &response, cancel, err);
    }
    if (code == KL_ETIMEOUT &&
        kl__clock_now(kl__clock_real()) >= self->answer_by_ms) {
        kl__client_give_up(self->client, &request, &self->sent, err);
    }
    return code;
}

/* Waits for the body of a refusal, and takes it. After a 404 for a resource
 * that was guessed, there is an answer of discovery to await. KL_ETIMEOUT: it
 * has not come. */
static kl_code await_refusal(kl__http_source *self, int64_t timeout_ms,
                             kl__cancel *cancel, kl_error *err)
{
    struct refusal *refusal = self->refusal;
    kl_code code = kl__client_read_all(self->sent.stream, refusal->limit,
                                       deadline_of(self, timeout_ms), cancel,
                                       &refusal->body, err);

    if (code == KL_ETIMEOUT &&
        kl__clock_now(kl__clock_real()) < self->answer_by_ms) {
        return code;
    }
    code = end_refusal(self, err); /* the part that came is used */
    if (code == KL_ENOT_FOUND && self->is_guessed) {
        kl__http_source_correct(self, cancel, err);
        code = KL_OK;
    }
    return code;
}

/* Waits for an answer of discovery, and takes it: after a correction, the
 * request is sent again. KL_ETIMEOUT: it has not come, or has failed so. */
static kl_code await_found(kl__http_source *self, int64_t timeout_ms,
                           kl__cancel *cancel, kl_error *err)
{
    if (!kl__http_source_found(self, timeout_ms, err)) {
        return KL_ETIMEOUT;
    }
    return err->code == KL_OK && self->corrects ? ask(self, cancel, err)
                                                : err->code;
}

static bool is_awaiting(const kl__http_source *self)
{
    return self->is_searching || self->sent.stream != NULL;
}

bool kl__http_source_answer(kl__list_watch *source, int64_t timeout_ms,
                            kl__cancel *cancel, kl_error *err)
{
    kl__http_source *self = kl__http_source_of(source);

    err->code = KL_OK;
    while (is_awaiting(self) && err->code == KL_OK) {
        err->code = self->is_searching
                        ? await_found(self, timeout_ms, cancel, err)
                    : self->refusal != NULL
                        ? await_refusal(self, timeout_ms, cancel, err)
                        : await_head(self, timeout_ms, cancel, err);
    }
    if (is_awaiting(self)) {
        return false;
    }
    kl__buf_deinit(&self->target);
    kl__buf_deinit(&self->parameters);
    return true;
}
