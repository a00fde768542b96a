/*
 * informer.c - the public calls on an informer. Each kl_informer_open makes a
 * new handle on a shared informer; handle.h says how long the handle lives, and
 * shared_informer.h which part owns which. Each call here is a use of the
 * handle, from its first line to its last.
 */
#include "informer/informer.h"

#include "base/namespace.h"
#include "base/str.h"
#include "informer/field_selector.h"
#include "informer/handle.h"
#include "kubelua/handler.h"

#include <string.h>

static kl__shared_informer *shared_of(const kl_informer *informer)
{
    return kl__shared_use_informer(informer->use);
}

static kl__health *health_of(const kl_informer *informer)
{
    return kl__shared_informer_health(shared_of(informer));
}

static kl__indexer *indexer_of(const kl_informer *informer)
{
    return kl__shared_informer_indexer(shared_of(informer));
}

static kl_code check_labels(const char *text, kl_error *err)
{
    kl_error own;
    kl_selector *labels;

    err = err != NULL ? err : &own; /* err->code is read below */
    labels = kl_selector_parse(text, err);
    kl_selector_free(labels);
    return labels != NULL ? KL_OK : err->code;
}

static kl_code check_paths(const kl_informer_options *options, kl_error *err)
{
    kl__prune *prune = NULL;
    kl_code code = kl__prune_new(options->drop, options->keep, &prune, err);

    kl__prune_unref(prune);
    return code;
}

kl_code kl_informer_options_check(const kl_informer_options *options,
                                  kl_error *err)
{
    const char *name_space = options->name_space;
    kl_code code;

    if (options->resource == NULL || options->resource[0] == '\0') {
        return kl_error_set(err, KL_EINVAL,
                            "an informer needs a client and a resource: "
                            "\"pods\", \"deployments.apps\"");
    }
    if (options->resync_ms < 0 || options->page_size < 0) {
        return kl_error_set(err, KL_EINVAL,
                            "resync and page size cannot be negative");
    }
    if (name_space != NULL && strcmp(name_space, "*") != 0 &&
        kl__namespace_check(name_space, err) != KL_OK) {
        return KL_EINVAL;
    }
    code = kl__shard_parse(options->shard, options->shard_by, &(kl__shard){0},
                           err);
    if (code == KL_OK) {
        code = check_labels(options->labels, err);
    }
    if (code == KL_OK) {
        code = kl__field_selector_check(options->fields, err);
    }
    return code == KL_OK ? check_paths(options, err) : code;
}

/* Refuses options that can never work. All other failures are retried later. */
static kl_code check_options(kl_client *client,
                             const kl_informer_options *options, kl_error *err)
{
    if (client == NULL || options == NULL) {
        return kl_error_set(err, KL_EINVAL,
                            "an informer needs a client and a resource: "
                            "\"pods\", \"deployments.apps\"");
    }
    if (kl_client_check(client, err) != KL_OK) {
        return KL_EFORKED;
    }
    return kl_informer_options_check(options, err);
}

kl_informer *kl_informer_open(kl_client *client,
                              const kl_informer_options *options, kl_error *err)
{
    kl_informer *informer;

    if (check_options(client, options, err) != KL_OK) {
        return NULL;
    }
    informer = kl__handle_new(options->resync_ms, err);
    if (informer == NULL) {
        return NULL;
    }
    informer->use = kl__informer_factory_open(client, options, err);
    if (informer->use == NULL) {
        kl__handle_give_up(informer);
        return NULL;
    }
    return informer;
}

kl_informer *kl__informer_over(kl__list_watch *source, kl__clock *clock,
                               const kl_informer_options *options,
                               kl_error *err)
{
    kl_informer *informer = kl__handle_new(options->resync_ms, err);
    kl__shared_informer *shared;

    if (informer == NULL) {
        kl__list_watch_free(source);
        return NULL;
    }
    shared = kl__shared_informer_start(
        &(kl__shared_options){
            .source = source,
            .clock = clock,
            .name = options->resource,
            .idle_timeout_ms = options->idle_timeout_ms,
            .page_size = options->page_size,
            .no_streaming_list = options->no_streaming_list,
        },
        err);
    if (shared == NULL) {
        kl__handle_give_up(informer);
        return NULL;
    }
    informer->use = kl__shared_use_alone(shared);
    if (informer->use == NULL) {
        kl__shared_informer_stop(shared);
        kl__handle_give_up(informer);
        kl_error_set(err, KL_ENOMEM, "out of memory for an informer");
        return NULL;
    }
    return informer;
}

bool kl_informer_has_synced(const kl_informer *informer)
{
    bool has_synced = false;

    if (kl__handle_look(informer)) {
        has_synced = kl__health_has_synced(health_of(informer));
        kl__handle_leave(informer);
    }
    return has_synced;
}

kl_code kl_informer_wait_synced(kl_informer *informer, int64_t timeout_ms,
                                kl_error *err)
{
    kl_code code = kl__handle_enter(informer, err);

    if (code == KL_OK) {
        code = kl__shared_informer_wait_synced(
            shared_of(informer), &informer->waiters, timeout_ms, err);
        kl__handle_leave(informer);
    }
    return code;
}

/* Begins a call that wakes the queue later. */
static kl_code enter_with_queue(const kl_informer *informer,
                                const kl_event_queue *queue, kl_error *err)
{
    kl_code code = kl__handle_enter(informer, err);

    if (code == KL_OK) {
        code = kl_event_queue_check(queue, err);
        if (code != KL_OK) {
            kl__handle_leave(informer);
        }
    }
    return code;
}

kl_code kl_informer_wake_synced(kl_informer *informer, kl_event_queue *queue,
                                kl_error *err)
{
    kl_code code = enter_with_queue(informer, queue, err);

    if (code != KL_OK) {
        return code;
    }
    code =
        kl__health_wake_synced(health_of(informer), &informer->waiters, queue);
    kl__handle_leave(informer);
    if (code == KL_ECLOSED) {
        return kl__handle_closed_error(err);
    }
    return code == KL_OK
               ? code
               : kl_error_set(err, code, "out of memory for a wake-up");
}

kl_code kl_informer_wake_changed(kl_informer *informer, kl_event_queue *queue,
                                 kl_error *err)
{
    kl_code code = enter_with_queue(informer, queue, err);

    if (code != KL_OK) {
        return code;
    }
    code =
        kl__health_wake_changed(health_of(informer), &informer->waiters, queue);
    kl__handle_leave(informer);
    return code == KL_OK
               ? code
               : kl_error_set(err, code, "%s",
                              code == KL_ECLOSED ? "the informer has ended"
                                                 : "out of memory");
}

kl_object *kl_informer_get(const kl_informer *informer, const char *key)
{
    kl_object *object = NULL;

    if (kl__handle_look(informer)) {
        object = kl__indexer_get(indexer_of(informer), key);
        kl__handle_leave(informer);
    }
    return object;
}

/* Ends a call that fills a list of objects: a handle that was closed meanwhile
 * has no answer. */
static kl_code leave_with_list(const kl_informer *informer, kl_code code,
                               kl_object_list *list, kl_error *err)
{
    if (code == KL_OK && kl__handle_is_closed(informer)) {
        kl_object_list_clear(list);
        code = kl__handle_closed_error(err);
    }
    kl__handle_leave(informer);
    return code;
}

kl_code kl_informer_list(const kl_informer *informer, const char *name_space,
                         const kl_selector *labels, kl_object_list *list,
                         kl_error *err)
{
    kl_code code = kl__handle_enter(informer, err);

    *list = (kl_object_list){0};
    if (code != KL_OK) {
        return code;
    }
    if (kl__streq(name_space, "*")) {
        name_space = NULL;
    }
    if (name_space != NULL && name_space[0] != '\0') {
        code = kl__namespace_check(name_space, err);
    }
    if (code == KL_OK) {
        code = kl__indexer_list(indexer_of(informer), name_space, labels, list,
                                err);
    }
    return leave_with_list(informer, code, list, err);
}

kl_code kl_informer_by_index(const kl_informer *informer, const char *index,
                             const char *value, kl_object_list *list,
                             kl_error *err)
{
    kl_code code = kl__handle_enter(informer, err);

    *list = (kl_object_list){0};
    if (code != KL_OK) {
        return code;
    }
    code = kl__indexer_by_index(indexer_of(informer), index, value, list, err);
    return leave_with_list(informer, code, list, err);
}

kl_code kl_informer_index_values(const kl_informer *informer, const char *index,
                                 kl_string_list *list, kl_error *err)
{
    kl_code code = kl__handle_enter(informer, err);

    *list = (kl_string_list){0};
    if (code != KL_OK) {
        return code;
    }
    code = kl__indexer_index_values(indexer_of(informer), index, list, err);
    if (code == KL_OK && kl__handle_is_closed(informer)) {
        kl_string_list_clear(list);
        code = kl__handle_closed_error(err);
    }
    kl__handle_leave(informer);
    return code;
}

kl_code kl_informer_set_shard(kl_informer *informer, const char *shard,
                              kl_error *err)
{
    kl__shard shards;
    kl_code code = kl__handle_enter(informer, err);

    if (code != KL_OK) {
        return code;
    }
    code = kl__shard_parse(shard, kl__shared_use_shard_by(informer->use),
                           &shards, err);
    if (code == KL_OK && kl__shared_use_has_ring(informer->use)) {
        kl__shared_informer_set_shard(shared_of(informer), &shards);
    } else if (code == KL_OK) {
        code = kl_error_set(err, KL_EINVAL,
                            "the shard of this informer is fixed: open it with "
                            "`ring`, the name of those who change it together");
    }
    kl__handle_leave(informer);
    return code;
}

bool kl_informer_holds_shard(const kl_informer *informer)
{
    bool holds = false;

    if (kl__handle_look(informer)) {
        holds = kl__shared_informer_holds_shard(shared_of(informer));
        kl__handle_leave(informer);
    }
    return holds;
}

size_t kl_informer_count(const kl_informer *informer)
{
    size_t count = 0;

    if (kl__handle_look(informer)) {
        count = kl__indexer_count(indexer_of(informer));
        kl__handle_leave(informer);
    }
    return count;
}

void kl_informer_resource_version(const kl_informer *informer, char *buffer,
                                  size_t size)
{
    if (kl__handle_look(informer)) {
        kl__indexer_version(indexer_of(informer), buffer, size);
        kl__handle_leave(informer);
    } else if (size > 0) {
        buffer[0] = '\0';
    }
}

void kl_informer_told_version(const kl_informer *informer, char *buffer,
                              size_t size)
{
    if (kl__handle_look(informer)) {
        kl__processor_version(
            kl__shared_informer_processor(shared_of(informer)), buffer, size);
        kl__handle_leave(informer);
    } else if (size > 0) {
        buffer[0] = '\0';
    }
}

void kl_informer_status_get(const kl_informer *informer,
                            kl_informer_status *status)
{
    if (kl__handle_look(informer)) {
        kl__shared_informer_status(shared_of(informer), status);
        kl__handle_leave(informer);
        return;
    }
    *status = (kl_informer_status){
        .state = KL_STATE_STOPPED,
        .last_message_age_ms = -1,
    };
    (void)kl_informer_check(informer, &status->error);
}

bool kl__informer_figures_get(const kl_informer *informer,
                              kl__informer_figures *figures)
{
    if (kl__handle_enter(informer, NULL) != KL_OK) {
        return false;
    }
    kl__shared_informer_figures(shared_of(informer), figures);
    kl__shared_use_names(informer->use, figures);
    kl__handle_leave(informer);
    return true;
}

kl_code kl_informer_unreadable(const kl_informer *informer,
                               kl_unreadable_list *list, kl_error *err)
{
    kl_code code = kl__handle_enter(informer, err);

    *list = (kl_unreadable_list){0};
    if (code == KL_OK) {
        code = kl__processor_unreadable(
            kl__shared_informer_processor(shared_of(informer)), list);
        kl__handle_leave(informer);
    }
    return code == KL_ENOMEM
               ? kl_error_set(err, code, "out of memory for a list")
               : code;
}

/* Refuses an index over fields that are not kept: it would always be empty. */
static kl_code check_path(const kl_informer *informer, const kl_path *path,
                          kl_error *err)
{
    static const char *const kept[] = {"metadata", "kind", "apiVersion"};

    if (kl__prune_hides(kl__shared_use_prune(informer->use), path)) {
        return kl_error_set(err, KL_EINVAL,
                            "%s is not there: this informer's drop or keep "
                            "removes it",
                            kl_path_text(path));
    }
    if (!kl__shared_use_is_metadata_only(informer->use)) {
        return KL_OK;
    }
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        if (kl_path_begins_with(path, kept[i])) {
            return KL_OK;
        }
    }
    return kl_error_set(err, KL_EINVAL,
                        "%s is not there, as this informer asked for metadata "
                        "alone: its paths begin with \"metadata\"",
                        kl_path_text(path));
}

/* Parses the path and adds the index. */
static kl_code add_path_index(kl_informer *informer, const char *name,
                              const char *path, kl_error *err)
{
    kl__index_options options = {.name = name,
                                 .path = kl_path_parse(path, err)};
    kl_code code;

    if (options.path == NULL) {
        return err->code;
    }
    code = check_path(informer, options.path, err);
    if (code == KL_OK) {
        code = kl__indexer_add_index(indexer_of(informer), &options, err);
    }
    if (code != KL_OK) {
        kl_path_free(options.path);
    }
    return code;
}

kl_code kl_informer_add_path_index(kl_informer *informer, const char *name,
                                   const char *path, kl_error *err)
{
    kl_error own;
    kl_code code;

    err = err != NULL ? err : &own; /* err->code is read */
    if (name == NULL || path == NULL) {
        return kl_error_set(err, KL_EINVAL, "an index needs a name and a path");
    }
    code = kl__handle_enter(informer, err);
    if (code == KL_OK) {
        code = add_path_index(informer, name, path, err);
        kl__handle_leave(informer);
    }
    return code;
}

kl_code kl_informer_add_index(kl_informer *informer, const char *name,
                              kl_index_fn fn, void *context,
                              void (*drop_context)(void *context),
                              kl_error *err)
{
    const kl__index_options options = {.name = name,
                                       .fn = fn,
                                       .context = context,
                                       .drop_context = drop_context};
    kl_code code;

    if (name == NULL || fn == NULL) {
        return kl_error_set(err, KL_EINVAL,
                            "an index needs a name and a function");
    }
    code = kl__handle_enter(informer, err);
    if (code == KL_OK) {
        /* `fn` may close the handle; this call's use keeps the cache. */
        code = kl__indexer_add_index(indexer_of(informer), &options, err);
        kl__handle_leave(informer);
    }
    return code;
}

static kl_registration *add_subscriber(kl_informer *informer,
                                       kl__subscriber *subscriber,
                                       const kl_handler_options *options,
                                       kl_error *err)
{
    kl_handler_options own = {0};
    kl_registration *registration;

    if (kl__handle_enter(informer, err) != KL_OK) {
        return NULL;
    }
    if (options != NULL) {
        own = *options;
    }
    if (own.resync_ms == 0) {
        own.resync_ms = informer->resync_ms;
    }
    subscriber->owner = informer;
    subscriber->owner_refuses = kl__handle_refuses;
    subscriber->use_owner = kl__handle_use;
    subscriber->end_use = kl__handle_end_use;
    subscriber->options = &own;
    registration = kl__processor_add(
        kl__shared_informer_processor(shared_of(informer)), subscriber, err);
    if (registration != NULL) {
        /* Its callbacks run already, and one may have closed the handle: this
         * call's use keeps the shared informer. */
        kl__shared_informer_added(shared_of(informer));
    }
    kl__handle_leave(informer);
    return registration;
}

kl_registration *kl_informer_add_handler(kl_informer *informer,
                                         const kl_handler *handler,
                                         const kl_handler_options *options,
                                         kl_error *err)
{
    kl__subscriber subscriber = {.handler = handler};

    if (handler == NULL) {
        kl_error_set(err, KL_EINVAL, "a registration needs a handler");
        return NULL;
    }
    return add_subscriber(informer, &subscriber, options, err);
}

kl_registration *kl_informer_subscribe(kl_informer *informer,
                                       kl_event_queue *queue, void *tag,
                                       const kl_handler_options *options,
                                       kl_error *err)
{
    kl__subscriber subscriber = {.queue = queue, .tag = tag};

    if (queue == NULL) {
        kl_error_set(err, KL_EINVAL, "a subscription needs an event queue");
        return NULL;
    }
    return add_subscriber(informer, &subscriber, options, err);
}
