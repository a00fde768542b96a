/*
 * list_watch.c - calls the functions of a source's table, and makes, resolves
 * and frees a source over HTTP. list_watch_ask.c sends its requests, and
 * list_watch_read.c reads the answers.
 */
#include "api/list_watch.h"

#include "api/list_watch_http.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

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

bool kl__list_watch_answer(kl__list_watch *source, int64_t timeout_ms,
                           kl__cancel *cancel, kl_error *err)
{
    if (source->ops->answer == NULL) {
        err->code = KL_OK;
        return true;
    }
    return source->ops->answer(source, timeout_ms, cancel, err);
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

uint64_t kl__list_watch_answers(kl__list_watch *source)
{
    return source->ops->answers != NULL ? source->ops->answers(source) : 0;
}

void kl__list_watch_set_shards(kl__list_watch *source, const kl__shard *shards)
{
    if (source->ops->set_shards != NULL) {
        source->ops->set_shards(source, shards);
    }
}

bool kl__list_watch_is_outside(kl__list_watch *source)
{
    return source->ops->is_outside != NULL && source->ops->is_outside(source);
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

static void begin_search(kl__http_source *self, kl__cancel *cancel)
{
    const kl__lookup lookup = {self->client, self->name, -1, cancel};

    kl__search_begin(&self->search, &lookup);
    self->is_searching = true;
    self->corrects = false;
}

/* The resource was found, or not (`code`): ends a resolve. */
static kl_code end_resolve(kl__http_source *self, kl_code code,
                           kl__resource *found, kl_error *err)
{
    /* If the server could not be asked, the next call may use the cache, which
     * another informer may have filled meanwhile. Otherwise each of fifty
     * informers that wait for the server would ask it again. */
    self->is_doubted = code == KL_OK || code == KL_ENOT_ALLOWED;
    return code == KL_OK ? adopt_resource(self, found, err) : code;
}

/* Uses the cache or the built-in table, or begins a search. */
static kl_code resolve_resource(kl__list_watch *source, kl__cancel *cancel,
                                kl_error *err)
{
    kl__http_source *self = kl__http_source_of(source);
    kl__resource found;
    bool is_cached = false;
    kl_code code = KL_EUNKNOWN_KIND;

    kl__http_source_end(source);
    self->is_guessed = false;
    if (self->is_doubted) {
        kl__discovery_expire(self->client);
    } else {
        code =
            kl__discovery_guess(self->client, self->name, &found, &is_cached);
        self->is_guessed = code == KL_OK && !is_cached;
    }
    if (code == KL_EUNKNOWN_KIND) {
        begin_search(self, cancel);
        return KL_OK;
    } else if (code != KL_OK) {
        kl_error_set(err, code, "out of memory for a resource");
    }
    return end_resolve(self, code, &found, err);
}

/* Discovery has answered. If the user may not use it, the resource of the cache
 * or the built-in table is used. */
static kl_code take_resolved(kl__http_source *self, kl__resource *found,
                             kl_error *err)
{
    kl_code code = err->code;
    bool is_cached;

    if (code == KL_EFORBIDDEN &&
        kl__discovery_guess(self->client, self->name, found, &is_cached) ==
            KL_OK) {
        code = KL_OK;
    }
    return end_resolve(self, code, found, err);
}

static bool is_same_resource(const kl__resource *one, const kl__resource *two)
{
    return strcmp(one->group, two->group) == 0 &&
           strcmp(one->version, two->version) == 0 &&
           strcmp(one->plural, two->plural) == 0;
}

void kl__http_source_correct(kl__http_source *self, kl__cancel *cancel,
                             const kl_error *missed)
{
    self->is_guessed = false;
    kl__discovery_expire(self->client);
    begin_search(self, cancel);
    self->corrects = true;
    self->missed = *missed;
}

/* Discovery has answered to a correction. */
static kl_code take_corrected(kl__http_source *self, kl__resource *found,
                              kl_error *err)
{
    kl_code code = err->code;
    bool is_right = code == KL_OK && is_same_resource(found, &self->resource);

    if (is_right || code == KL_EFORBIDDEN) {
        kl__resource_clear(found);
        *err = self->missed;
        return err->code;
    }
    return code == KL_OK ? adopt_resource(self, found, err) : code;
}

bool kl__http_source_found(kl__http_source *self, int64_t timeout_ms,
                           kl_error *err)
{
    int64_t until_ms = kl__clock_after(kl__clock_real(), timeout_ms);
    kl__resource found;

    while (!kl__search_step(&self->search, &found, err)) {
        if (until_ms >= 0 && kl__clock_now(kl__clock_real()) >= until_ms) {
            return false;
        }
        kl__search_wait(&self->search, until_ms);
    }
    kl__search_end(&self->search);
    self->is_searching = false;
    err->code = self->corrects ? take_corrected(self, &found, err)
                               : take_resolved(self, &found, err);
    return true;
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

static uint64_t count_answers(kl__list_watch *source)
{
    return kl__client_answers(kl__http_source_of(source)->client);
}

static void set_shards(kl__list_watch *source, const kl__shard *shards)
{
    kl__http_source_of(source)->shards = *shards;
}

static bool is_outside(kl__list_watch *source)
{
    const kl__http_source *self = kl__http_source_of(source);

    return self->name_space != NULL && self->resource.namespaced &&
           !kl__shard_has_namespace(&self->shards, self->name_space);
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
        .list = kl__http_source_list,
        .watch = kl__http_source_watch,
        .answer = kl__http_source_answer,
        .next = kl__http_source_next,
        .lends = kl__http_source_lends,
        .lend = kl__http_source_lend,
        .retract = kl__http_source_retract,
        .look_again_ms = kl__http_source_look_again_ms,
        .silence_ms = silence_ms,
        .take_continue = take_continue,
        .has_new_credentials = has_new_credentials,
        .answers = count_answers,
        .set_shards = set_shards,
        .is_outside = is_outside,
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
