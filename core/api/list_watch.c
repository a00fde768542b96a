/*
 * list_watch.c - sends each call to the kind of source that it is for, and the
 * kind over HTTP: its making, its discovery, its end. What it asks is in
 * list_watch_request.c, what it is told in list_watch_read.c.
 */
#include "api/list_watch.h"

#include "api/discovery.h"
#include "api/list_watch_http.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

void kl__item_clear(kl__item *item)
{
    kl_object_unref(item->object);
    kl__free(item->continue_token);
    *item = (kl__item){0};
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

int64_t kl__list_watch_silence_ms(kl__list_watch *source)
{
    return source->ops->silence_ms(source);
}

char *kl__list_watch_take_continue(kl__list_watch *source)
{
    return source->ops->take_continue(source);
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

static kl_code resolve(kl__list_watch *source, kl__cancel *cancel,
                       kl_error *err)
{
    kl__http_source *self = kl__http_source_of(source);
    kl__resource found;
    kl__buf api_version = {0};
    kl_code code;

    if (self->is_doubted) {
        kl__discovery_expire(self->client);
    }
    code = kl__discovery_resolve(self->client, self->name, &found, cancel, err);
    /* Not so if the server could not be asked: fifty informers that were
     * waiting for it shall be content with one answer. */
    self->is_doubted = code == KL_OK || code == KL_ENOT_ALLOWED;
    if (code != KL_OK) {
        return code;
    }
    kl__resource_api_version(&found, &api_version);
    if (api_version.failed) {
        kl__resource_clear(&found);
        return kl_error_set(err, KL_ENOMEM, "out of memory for a resource");
    }
    kl__resource_clear(&self->resource);
    kl__free(self->api_version);
    self->resource = found;
    self->api_version = kl__buf_take(&api_version, NULL);
    return KL_OK;
}

static int64_t silence_ms(kl__list_watch *source)
{
    kl__http_source *self = kl__http_source_of(source);
    int64_t silence = -1;

    kl__mutex_lock(&self->mutex);
    if (self->stream != NULL) {
        silence = kl__clock_now(kl__clock_real()) -
                  kl__stream_last_byte_ms(self->stream);
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

void kl__http_source_set_stream(kl__http_source *self, kl__stream *stream)
{
    kl__stream *old;

    kl__mutex_lock(&self->mutex);
    old = self->stream;
    self->stream = stream;
    kl__mutex_unlock(&self->mutex);
    kl__stream_close(old);
}

void kl__http_source_end(kl__list_watch *source)
{
    kl__http_source *self = kl__http_source_of(source);

    kl__http_source_set_stream(self, NULL);
    kl__scan_free(self->scan);
    self->scan = NULL;
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
    kl_client_unref(self->client);
    kl__free(self);
}

/* Copies an option; false: out of memory. */
static bool copy(char **to, const char *from)
{
    *to = kl__strdup(from);
    return *to != NULL || from == NULL;
}

kl__list_watch *kl__list_watch_new(kl_client *client,
                                   const kl__list_watch_options *options,
                                   kl_error *err)
{
    static const kl__list_watch_ops ops = {
        .resolve = resolve,
        .list = kl__http_source_list,
        .watch = kl__http_source_watch,
        .next = kl__http_source_next,
        .silence_ms = silence_ms,
        .take_continue = take_continue,
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
    kl__mutex_init(&self->mutex, KL__RANK_CLIENT);
    if (!copy(&self->name, options->resource) ||
        !copy(&self->name_space, options->name_space) ||
        !copy(&self->labels, options->labels) ||
        !copy(&self->fields, options->fields)) {
        free_source(&self->base);
        kl_error_set(err, KL_ENOMEM, "out of memory for a list and watch");
        return NULL;
    }
    return &self->base;
}
