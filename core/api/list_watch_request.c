/*
 * list_watch_request.c - sends the requests of a list_watch: their targets, and
 * answers that are errors. list_watch_read.c reads the transfer that begins
 * here.
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

/* A failure to read the body of an error is ignored: the part that came is
 * used. */
static void read_error_body(kl__stream *stream, size_t limit,
                            kl__cancel *cancel, kl__buf *body)
{
    int64_t deadline_ms = kl__clock_now(kl__clock_real()) + ERROR_BODY_MS;

    (void)kl__client_read_all(stream, limit, deadline_ms, cancel, body, NULL);
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

static kl_code set_refused(kl__http_source *self, kl__stream *stream,
                           const kl__response *response, kl__cancel *cancel,
                           kl_error *err)
{
    kl__buf body = {0};
    kl_code code;

    read_error_body(stream, ERROR_BODY, cancel, &body);
    code = kl__status_error(response->status, body.bytes, body.length,
                            response->retry_after_ms, err);
    suggest_namespace(self, err);
    if (code == KL_EGONE && body.bytes != NULL) {
        self->offered_continue = kl__status_continue(body.bytes, body.length);
    }
    kl__buf_deinit(&body);
    return code;
}

/* Makes the error for an answer that no API server gives. */
static kl_code set_not_understood(kl__stream *stream,
                                  const kl__response *response,
                                  kl__cancel *cancel, kl_error *err)
{
    kl__buf body = {0};
    char excerpt[EXCERPT];

    if (kl__client_check_redirect(response, err) != KL_OK) {
        return KL_EPARSE;
    }
    read_error_body(stream, EXCERPT_BODY, cancel, &body);
    kl__text_excerpt(excerpt, sizeof(excerpt),
                     body.bytes != NULL ? body.bytes : "", body.length);
    kl__buf_deinit(&body);
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

/* Sends the request and waits for the head of the answer; then the transfer is
 * the current one. */
static kl_code begin_transfer(kl__http_source *self, const kl__request *request,
                              kl__cancel *cancel, kl_error *err)
{
    int64_t deadline_ms = kl__clock_now(kl__clock_real()) + ANSWER_MS;
    kl__response response;
    kl__stream *stream;
    kl_code code = kl__client_open(self->client, request, deadline_ms, cancel,
                                   &stream, &response, err);

    if (code != KL_OK) {
        return code;
    }
    if (response.status >= 400) {
        code = set_refused(self, stream, &response, cancel, err);
    } else if (response.status != 200 || !is_json(response.content_type)) {
        code = set_not_understood(stream, &response, cancel, err);
    } else {
        self->scan =
            kl__scan_new(self->is_watch ? KL__SCAN_WATCH : KL__SCAN_LIST);
        code = self->scan != NULL
                   ? KL_OK
                   : kl_error_set(err, KL_ENOMEM, "out of memory for a scan");
    }
    if (code != KL_OK) {
        kl__stream_close(stream);
        return code;
    }
    self->is_guessed = false;
    kl__http_source_set_stream(self, stream);
    return KL_OK;
}

/* Sends a GET of `target`; takes the bytes of `target`. */
static kl_code send_get(kl__http_source *self, kl__buf *target,
                        bool fresh_connection, kl__cancel *cancel,
                        kl_error *err)
{
    kl__header accept = {"Accept", accepted_types(self)};
    kl__request request = {.method = "GET",
                           .target = target->bytes,
                           .headers = &accept,
                           .header_count = 1,
                           .fresh_connection = fresh_connection};
    kl_code code;

    if (target->failed) {
        code = kl_error_set(err, KL_ENOMEM, "out of memory for a request");
    } else {
        code = begin_transfer(self, &request, cancel, err);
    }
    kl__buf_deinit(target);
    return code;
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
    return self->api_version != NULL
               ? KL_OK
               : kl_error_set(err, KL_EINVAL,
                              "a resource is resolved before it is asked for");
}

static kl_code ask_list(kl__http_source *self, const kl__list_params *params,
                        kl__cancel *cancel, kl_error *err)
{
    kl__buf target = {0};

    put_collection(self, &target);
    if (params->limit > 0) {
        put_number(&target, "limit", params->limit);
    }
    put_text(&target, "continue", params->continue_token);
    put_text(&target, "resourceVersion", params->resource_version);
    put_text(&target, "resourceVersionMatch", params->resource_version_match);
    return send_get(self, &target, params->fresh_connection, cancel, err);
}

static kl_code ask_watch(kl__http_source *self, const kl__watch_params *params,
                         kl__cancel *cancel, kl_error *err)
{
    kl__buf target = {0};

    put_collection(self, &target);
    self->counts_items = !params->send_initial_events;
    kl__url_query(&target, "watch", "true");
    kl__url_query(&target, "allowWatchBookmarks", "true");
    if (params->timeout_seconds > 0) {
        put_number(&target, "timeoutSeconds", params->timeout_seconds);
    }
    put_text(&target, "resourceVersion", params->resource_version);
    if (params->send_initial_events) {
        kl__url_query(&target, "sendInitialEvents", "true");
        kl__url_query(&target, "resourceVersionMatch", "NotOlderThan");
    }
    return send_get(self, &target, params->fresh_connection, cancel, err);
}

/* True if the request is to be sent again, as a guessed resource was corrected.
 */
static bool is_corrected(kl__http_source *self, kl_code code,
                         kl__cancel *cancel, kl_error *err)
{
    return code == KL_ENOT_FOUND && self->is_guessed &&
           kl__http_source_correct(self, cancel, err);
}

kl_code kl__http_source_list(kl__list_watch *source,
                             const kl__list_params *params, kl__cancel *cancel,
                             kl_error *err)
{
    kl__http_source *self = kl__http_source_of(source);
    kl_error own;
    kl_code code;

    err = err != NULL ? err : &own;
    code = prepare_request(self, false, err);
    if (code == KL_OK) {
        code = ask_list(self, params, cancel, err);
        if (is_corrected(self, code, cancel, err)) {
            code = ask_list(self, params, cancel, err);
        }
    }
    return code == KL_OK ? KL_OK : err->code;
}

kl_code kl__http_source_watch(kl__list_watch *source,
                              const kl__watch_params *params,
                              kl__cancel *cancel, kl_error *err)
{
    kl__http_source *self = kl__http_source_of(source);
    kl_error own;
    kl_code code;

    err = err != NULL ? err : &own;
    code = prepare_request(self, true, err);
    if (code == KL_OK) {
        code = ask_watch(self, params, cancel, err);
        if (is_corrected(self, code, cancel, err)) {
            code = ask_watch(self, params, cancel, err);
        }
    }
    return code == KL_OK ? KL_OK : err->code;
}
