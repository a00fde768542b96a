/*
 * list_watch.c - calls the functions of a source's table, and makes, resolves
 * and frees a source over HTTP, and sends its requests: their targets, and
 * answers that are errors. list_watch_read.c reads the transfer that begins
 * here.
 */
#include "api/list_watch.h"

#include "api/discovery.h"
#include "api/list_watch_http.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
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

void kl__item_clear(kl__item *item)
{
    kl_object_unref(item->object);
    kl__free(item->unreadable);
    kl__free(item->continue_token);
    *item = (kl__item){0};
}

const char *kl__item_key(const kl__item *item)
{
    return item->object != NULL ? kl_object_key(item->object)
                                : item->unreadable->key;
}

kl_code kl__list_watch_resolve(kl__list_watch *source, kl__cancel *cancel,
                               kl_error *err)
{
    return source->ops->resolve(source, cancel, err);
}

kl_code kl__list_watch_list(kl__list_watch *source,
                            const kl__list_params *params, kl__cancel *cancel,
                            kl_error *err)
{
    return source->ops->list(source, params, cancel, err);
}

kl_code kl__list_watch_watch(kl__list_watch *source,
                             const kl__watch_params *params, kl__cancel *cancel,
                             kl_error *err)
{
    return source->ops->watch(source, params, cancel, err);
}

kl_code kl__list_watch_next(kl__list_watch *source, kl__item *item,
                            int64_t timeout_ms, kl__cancel *cancel,
                            kl_error *err)
{
    return source->ops->next(source, item, timeout_ms, cancel, err);
}

bool kl__list_watch_lends(kl__list_watch *source)
{
    return source->ops->lends != NULL && source->ops->lends(source);
}

bool kl__list_watch_lend(kl__list_watch *source, const kl__stream_turn *turn)
{
    return source->ops->lend(source, turn);
}

void kl__list_watch_retract(kl__list_watch *source)
{
    source->ops->retract(source);
}

int64_t kl__list_watch_look_again_ms(kl__list_watch *source)
{
    return source->ops->look_again_ms(source);
}

uint64_t kl__list_watch_bytes(kl__list_watch *source)
{
    return atomic_load_explicit(&source->bytes, memory_order_relaxed);
}

int64_t kl__list_watch_silence_ms(kl__list_watch *source)
{
    return source->ops->silence_ms(source);
}

char *kl__list_watch_take_continue(kl__list_watch *source)
{
    return source->ops->take_continue(source);
}

bool kl__list_watch_has_new_credentials(kl__list_watch *source)
{
    return source->ops->has_new_credentials != NULL &&
           source->ops->has_new_credentials(source);
}

void kl__list_watch_set_shards(kl__list_watch *source, const kl__shard *shards)
{
    if (source->ops->set_shards != NULL) {
        source->ops->set_shards(source, shards);
    }
}

void kl__list_watch_end(kl__list_watch *source)
{
    source->ops->end(source);
}

void kl__list_watch_free(kl__list_watch *source)
{
    if (source != NULL) {
        source->ops->free(source);
    }
}

/* Stores the resource that was found, and clears `resource` in any case.
 * KL_EINVAL: it has no namespaces, and one was given. KL_ENOMEM. */
static kl_code adopt_resource(kl__http_source *self, kl__resource *resource,
                              kl_error *err)
{
    kl__buf api_version = {0};

    if (!resource->namespaced && self->name_space != NULL &&
        !self->namespace_if_any) {
        kl__scope_error(resource->plural, resource->kind, err);
        kl__resource_clear(resource);
        return KL_EINVAL;
    }
    kl__resource_api_version(resource, &api_version);
    if (api_version.failed) {
        kl__resource_clear(resource);
        return kl_error_set(err, KL_ENOMEM, "out of memory for a resource");
    }
    kl__resource_clear(&self->resource);
    kl__free(self->api_version);
    self->resource = *resource;
    *resource = (kl__resource){0};
    self->api_version = kl__buf_take(&api_version, NULL);
    return KL_OK;
}

/* Finds the resource, by discovery if necessary. If the user may not use
 * discovery, the resource of the cache or the built-in table is used. */
static kl_code find_resource(kl__http_source *self, kl__resource *found,
                             kl__cancel *cancel, kl_error *err)
{
    bool is_cached = false;
    kl_code code = KL_EUNKNOWN_KIND;

    self->is_guessed = false;
    if (self->is_doubted) {
        kl__discovery_expire(self->client);
    } else {
        code = kl__discovery_guess(self->client, self->name, found, &is_cached);
        self->is_guessed = code == KL_OK && !is_cached;
    }
    if (code == KL_EUNKNOWN_KIND) {
        code =
            kl__discovery_resolve(self->client, self->name, found, cancel, err);
    } else if (code != KL_OK) {
        kl_error_set(err, code, "out of memory for a resource");
    }
    if (code == KL_EFORBIDDEN &&
        kl__discovery_guess(self->client, self->name, found, &is_cached) ==
            KL_OK) {
        code = KL_OK;
    }
    return code;
}

static kl_code resolve_resource(kl__list_watch *source, kl__cancel *cancel,
                                kl_error *err)
{
    kl__http_source *self = kl__http_source_of(source);
    kl__resource found;
    kl_code code = find_resource(self, &found, cancel, err);

    /* If the server could not be asked, the next call may use the cache, which
     * another informer may have filled meanwhile. Otherwise each of fifty
     * informers that wait for the server would ask it again. */
    self->is_doubted = code == KL_OK || code == KL_ENOT_ALLOWED;
    return code == KL_OK ? adopt_resource(self, &found, err) : code;
}

static bool is_same_resource(const kl__resource *one, const kl__resource *two)
{
    return strcmp(one->group, two->group) == 0 &&
           strcmp(one->version, two->version) == 0 &&
           strcmp(one->plural, two->plural) == 0;
}

/*
 * After a 404 for a guessed resource: uses discovery. True: the server has it
 * under another group, version or name, and the request is to be sent again.
 * False: `err` says why not; it is the 404 if the guess was right, or if the
 * user may not use discovery.
 */
static bool correct_resource(kl__http_source *self, kl__cancel *cancel,
                             kl_error *err)
{
    kl__resource found;
    kl_error why = {.retry_after_ms = -1};
    kl_code code;

    self->is_guessed = false;
    kl__discovery_expire(self->client);
    code =
        kl__discovery_resolve(self->client, self->name, &found, cancel, &why);
    if (code == KL_EFORBIDDEN) {
        return false;
    }
    if (code == KL_OK && is_same_resource(&found, &self->resource)) {
        kl__resource_clear(&found);
        return false;
    }
    if (code == KL_OK) {
        code = adopt_resource(self, &found, &why);
    }
    if (code != KL_OK) {
        *err = why;
    }
    return code == KL_OK;
}

void kl__http_source_note_item(kl__http_source *self)
{
    atomic_store_explicit(&self->last_item_ms,
                          self->counts_items ? kl__clock_now(kl__clock_real())
                                             : -1,
                          memory_order_relaxed);
}

/* Blank lines, or an event that never ends, are no life: what comes in a minute
 * from a server that lives is an event or a bookmark. In a list, and until the
 * end of a streaming list, bytes count: an object may take long. */
static int64_t silence_ms(kl__list_watch *source)
{
    kl__http_source *self = kl__http_source_of(source);
    int64_t silence = -1, last_ms;

    kl__mutex_lock(&self->mutex);
    if (self->stream != NULL) {
        last_ms =
            atomic_load_explicit(&self->last_item_ms, memory_order_relaxed);
        last_ms =
            last_ms >= 0 ? last_ms : kl__stream_last_byte_ms(self->stream);
        silence = kl__clock_now(kl__clock_real()) - last_ms;
        silence = silence > 0 ? silence : 0;
    }
    kl__mutex_unlock(&self->mutex);
    return silence;
}

static char *take_continue(kl__list_watch *source)
{
    kl__http_source *self = kl__http_source_of(source);
    char *token = self->offered_continue;

    self->offered_continue = NULL;
    return token;
}

static bool has_new_credentials(kl__list_watch *source)
{
    return kl__client_has_new_credentials(kl__http_source_of(source)->client);
}

static void set_shards(kl__list_watch *source, const kl__shard *shards)
{
    kl__http_source_of(source)->shards = *shards;
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
    set_stream(self, stream);
    return KL_OK;
}

/* Sends a GET of `target`, of which `request` says the rest; takes the bytes of
 * `target`. */
static kl_code send_get(kl__http_source *self, kl__buf *target,
                        kl__request request, kl__cancel *cancel, kl_error *err)
{
    kl__header accept = {"Accept", accepted_types(self)};
    kl_code code;

    request.method = "GET";
    request.target = target->bytes;
    request.headers = &accept;
    request.header_count = 1;

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
    return send_get(self, &target,
                    (kl__request){.fresh_connection = params->fresh_connection},
                    cancel, err);
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
    return send_get(self, &target,
                    (kl__request){.fresh_connection = params->fresh_connection,
                                  .gathers = params->send_initial_events},
                    cancel, err);
}

/* True if the request is to be sent again, as a guessed resource was corrected.
 */
static bool is_corrected(kl__http_source *self, kl_code code,
                         kl__cancel *cancel, kl_error *err)
{
    return code == KL_ENOT_FOUND && self->is_guessed &&
           correct_resource(self, cancel, err);
}

static kl_code begin_list(kl__list_watch *source, const kl__list_params *params,
                          kl__cancel *cancel, kl_error *err)
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

static kl_code begin_watch(kl__list_watch *source,
                           const kl__watch_params *params, kl__cancel *cancel,
                           kl_error *err)
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

static void free_source(kl__list_watch *source)
{
    kl__http_source *self = kl__http_source_of(source);

    kl__http_source_end(source);
    kl__mutex_deinit(&self->mutex);
    kl__resource_clear(&self->resource);
    kl__free(self->api_version);
    kl__free(self->offered_continue);
    kl__free(self->name);
    kl__free(self->name_space);
    kl__free(self->labels);
    kl__free(self->fields);
    kl__prune_unref(self->prune);
    kl__buf_deinit(&self->pruned);
    kl_client_unref(self->client);
    kl__free(self);
}

/* Copies an option; false: out of memory. */
static bool copy_option(char **to, const char *from)
{
    *to = kl__strdup(from);
    return *to != NULL || from == NULL;
}

kl__list_watch *kl__list_watch_new(kl_client *client,
                                   const kl__list_watch_options *options,
                                   kl_error *err)
{
    static const kl__list_watch_ops ops = {
        .resolve = resolve_resource,
        .list = begin_list,
        .watch = begin_watch,
        .next = kl__http_source_next,
        .lends = kl__http_source_lends,
        .lend = kl__http_source_lend,
        .retract = kl__http_source_retract,
        .look_again_ms = kl__http_source_look_again_ms,
        .silence_ms = silence_ms,
        .take_continue = take_continue,
        .has_new_credentials = has_new_credentials,
        .set_shards = set_shards,
        .end = kl__http_source_end,
        .free = free_source,
    };
    kl__http_source *self = kl__calloc(1, sizeof(*self));

    if (self == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a list and watch");
        return NULL;
    }
    self->base.ops = &ops;
    self->client = kl_client_ref(client);
    self->keeps_managed_fields = options->keep_managed_fields;
    self->is_metadata_only = options->metadata_only;
    self->shards = options->shards;
    self->prune = kl__prune_ref(options->prune);
    self->namespace_if_any = options->namespace_if_any;
    kl__mutex_init(&self->mutex, KL__RANK_CLIENT);
    if (!copy_option(&self->name, options->resource) ||
        !copy_option(&self->name_space, options->name_space) ||
        !copy_option(&self->labels, options->labels) ||
        !copy_option(&self->fields, options->fields)) {
        free_source(&self->base);
        kl_error_set(err, KL_ENOMEM, "out of memory for a list and watch");
        return NULL;
    }
    return &self->base;
}
