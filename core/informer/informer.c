/*
 * informer.c - the public calls on an informer. Each kl_informer_open makes a
 * handle of its own on a shared informer; shared_informer.h says which part
 * owns which.
 */
#include "informer/informer.h"

#include "base/mem.h"
#include "base/namespace.h"
#include "base/str.h"
#include "informer/field_selector.h"
#include "informer/informer_factory.h"
#include "informer/registration.h"
#include "kubelua/handler.h"

#include <stdatomic.h>
#include <string.h>

struct kl_informer {
    kl__forks made_in;
    kl__shared_use *use;
    int64_t resync_ms; /* for handlers that set none */

    /* Guards the count below; rank LIFECYCLE. Never held together with a
     * factory's mutex. */
    kl__mutex mutex;
    kl__cond left; /* the thread of a handler has ended */
    /* One of the user, and one of each handler's thread. When the handle is
     * closed on one of these threads, the others may still read the cache; the
     * last unref gives the shared informer back. */
    int references;

    /* kl_informer_close sets it before it collects the registrations. A thread
     * that adds one reads it with the processor's mutex held. So each
     * registration is refused or collected. Sequentially consistent. */
    atomic_bool is_closed;

    kl__sync_waiters waiters;
};

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

/* True in a child of fork(), where a lock may be held for ever by a thread that
 * does not exist there. Every public call checks this first. */
static bool is_forked(const kl_informer *informer, kl_error *err)
{
    return kl__check_process(informer->made_in, err) != KL_OK;
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
    code = check_labels(options->labels, err);
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

static kl_informer *make_handle(const kl_informer_options *options,
                                kl_error *err)
{
    kl_informer *informer = kl__calloc(1, sizeof(*informer));

    if (informer == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for an informer");
        return NULL;
    }
    informer->resync_ms = options->resync_ms;
    informer->made_in = kl__process_here();
    informer->references = 1;
    kl__mutex_init(&informer->mutex, KL__RANK_LIFECYCLE);
    kl__cond_init(&informer->left);
    return informer;
}

static void free_handle(kl_informer *informer)
{
    kl__cond_deinit(&informer->left);
    kl__mutex_deinit(&informer->mutex);
    kl__free(informer);
}

static void ref_handle(void *owner)
{
    kl_informer *informer = owner;

    kl__mutex_lock(&informer->mutex);
    informer->references++;
    kl__mutex_unlock(&informer->mutex);
}

static void unref_handle(void *owner)
{
    kl_informer *informer = owner;
    bool is_last;

    kl__mutex_lock(&informer->mutex);
    is_last = --informer->references == 0;
    kl__cond_signal(&informer->left);
    kl__mutex_unlock(&informer->mutex);
    if (is_last) {
        kl__shared_use_close(informer->use);
        free_handle(informer);
    }
}

/* Waits until the threads of all handlers have ended, also of handlers that
 * removed themselves and are about to end. */
static void wait_for_handlers(kl_informer *informer)
{
    kl__mutex_lock(&informer->mutex);
    while (informer->references > 1) {
        kl__cond_wait(&informer->left, &informer->mutex, -1);
    }
    kl__mutex_unlock(&informer->mutex);
}

kl_informer *kl_informer_open(kl_client *client,
                              const kl_informer_options *options, kl_error *err)
{
    kl_informer *informer;

    if (check_options(client, options, err) != KL_OK) {
        return NULL;
    }
    informer = make_handle(options, err);
    if (informer == NULL) {
        return NULL;
    }
    informer->use = kl__informer_factory_open(client, options, err);
    if (informer->use == NULL) {
        free_handle(informer);
        return NULL;
    }
    return informer;
}

kl_informer *kl__informer_over(kl__list_watch *source, kl__clock *clock,
                               const kl_informer_options *options,
                               kl_error *err)
{
    kl_informer *informer = make_handle(options, err);
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
        free_handle(informer);
        return NULL;
    }
    informer->use = kl__shared_use_alone(shared);
    if (informer->use == NULL) {
        kl__shared_informer_stop(shared);
        free_handle(informer);
        kl_error_set(err, KL_ENOMEM, "out of memory for an informer");
        return NULL;
    }
    return informer;
}

void kl_informer_close(kl_informer *informer)
{
    if (informer == NULL || is_forked(informer, NULL)) {
        return; /* in a child of fork() there is no thread to stop */
    }
    /* 1. Refuse new registrations and end waits. 2. Remove the registrations
     * and wait for their threads, if this is not a handler's thread. 3. Drop
     * the user's reference: the last one stops the threads. */
    atomic_store(&informer->is_closed, true);
    kl__health_cancel_waits(health_of(informer), &informer->waiters);
    kl__processor_remove_owner(
        kl__shared_informer_processor(shared_of(informer)), informer);
    if (!kl__on_handler_thread()) {
        wait_for_handlers(informer);
    }
    unref_handle(informer);
}

kl_code kl_informer_check(const kl_informer *informer, kl_error *err)
{
    return kl__check_process(informer->made_in, err);
}

bool kl_informer_has_synced(const kl_informer *informer)
{
    return !is_forked(informer, NULL) &&
           kl__health_has_synced(health_of(informer));
}

kl_code kl_informer_wait_synced(kl_informer *informer, int64_t timeout_ms,
                                kl_error *err)
{
    if (is_forked(informer, err)) {
        return KL_EFORKED;
    }
    return kl__shared_informer_wait_synced(shared_of(informer),
                                           &informer->waiters, timeout_ms, err);
}

kl_code kl_informer_wake_synced(kl_informer *informer, kl_event_queue *queue,
                                kl_error *err)
{
    kl_code code = kl__check_process(informer->made_in, err);

    if (code == KL_OK) {
        code = kl_event_queue_check(queue, err);
    }
    if (code != KL_OK) {
        return code;
    }
    code =
        kl__health_wake_synced(health_of(informer), &informer->waiters, queue);
    return code == KL_OK
               ? code
               : kl_error_set(err, code, "out of memory for a wake-up");
}

kl_code kl_informer_wake_changed(kl_informer *informer, kl_event_queue *queue,
                                 kl_error *err)
{
    kl_code code = kl__check_process(informer->made_in, err);

    if (code == KL_OK) {
        code = kl_event_queue_check(queue, err);
    }
    if (code != KL_OK) {
        return code;
    }
    code =
        kl__health_wake_changed(health_of(informer), &informer->waiters, queue);
    return code == KL_OK
               ? code
               : kl_error_set(err, code, "%s",
                              code == KL_ECLOSED ? "the informer has ended"
                                                 : "out of memory");
}

kl_object *kl_informer_get(const kl_informer *informer, const char *key)
{
    return is_forked(informer, NULL)
               ? NULL
               : kl__indexer_get(indexer_of(informer), key);
}

kl_code kl_informer_list(const kl_informer *informer, const char *name_space,
                         const kl_selector *labels, kl_object_list *list,
                         kl_error *err)
{
    if (is_forked(informer, err)) {
        return KL_EFORKED;
    }
    if (kl__streq(name_space, "*")) {
        name_space = NULL;
    }
    if (name_space != NULL && name_space[0] != '\0' &&
        kl__namespace_check(name_space, err) != KL_OK) {
        return KL_EINVAL;
    }
    return kl__indexer_list(indexer_of(informer), name_space, labels, list,
                            err);
}

kl_code kl_informer_by_index(const kl_informer *informer, const char *index,
                             const char *value, kl_object_list *list,
                             kl_error *err)
{
    if (is_forked(informer, err)) {
        return KL_EFORKED;
    }
    return kl__indexer_by_index(indexer_of(informer), index, value, list, err);
}

kl_code kl_informer_index_values(const kl_informer *informer, const char *index,
                                 kl_string_list *list, kl_error *err)
{
    if (is_forked(informer, err)) {
        return KL_EFORKED;
    }
    return kl__indexer_index_values(indexer_of(informer), index, list, err);
}

size_t kl_informer_count(const kl_informer *informer)
{
    return is_forked(informer, NULL) ? 0
                                     : kl__indexer_count(indexer_of(informer));
}

void kl_informer_resource_version(const kl_informer *informer, char *buffer,
                                  size_t size)
{
    if (!is_forked(informer, NULL)) {
        kl__indexer_version(indexer_of(informer), buffer, size);
    } else if (size > 0) {
        buffer[0] = '\0';
    }
}

void kl_informer_told_version(const kl_informer *informer, char *buffer,
                              size_t size)
{
    if (!is_forked(informer, NULL)) {
        kl__processor_version(
            kl__shared_informer_processor(shared_of(informer)), buffer, size);
    } else if (size > 0) {
        buffer[0] = '\0';
    }
}

void kl_informer_status_get(const kl_informer *informer,
                            kl_informer_status *status)
{
    if (!is_forked(informer, NULL)) {
        kl__shared_informer_status(shared_of(informer), status);
        return;
    }
    *status = (kl_informer_status){
        .state = KL_STATE_STOPPED,
        .last_message_age_ms = -1,
    };
    (void)is_forked(informer, &status->error);
}

kl_code kl_informer_unreadable(const kl_informer *informer,
                               kl_unreadable_list *list, kl_error *err)
{
    kl_code code = KL_EFORKED;

    *list = (kl_unreadable_list){0};
    if (!is_forked(informer, err)) {
        code = kl__processor_unreadable(
            kl__shared_informer_processor(shared_of(informer)), list);
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

kl_code kl_informer_add_path_index(kl_informer *informer, const char *name,
                                   const char *path, kl_error *err)
{
    kl__index_options options = {.name = name};
    kl_error own;
    kl_code code;

    err = err != NULL ? err : &own; /* err->code is read below */
    if (is_forked(informer, err)) {
        return KL_EFORKED;
    }
    if (name == NULL || path == NULL) {
        return kl_error_set(err, KL_EINVAL, "an index needs a name and a path");
    }
    options.path = kl_path_parse(path, err);
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

kl_code kl_informer_add_index(kl_informer *informer, const char *name,
                              kl_index_fn fn, void *context,
                              void (*drop_context)(void *context),
                              kl_error *err)
{
    if (is_forked(informer, err)) {
        return KL_EFORKED;
    }
    if (name == NULL || fn == NULL) {
        return kl_error_set(err, KL_EINVAL,
                            "an index needs a name and a function");
    }
    return kl__indexer_add_index(indexer_of(informer),
                                 &(kl__index_options){
                                     .name = name,
                                     .fn = fn,
                                     .context = context,
                                     .drop_context = drop_context,
                                 },
                                 err);
}

static kl_registration *add_subscriber(kl_informer *informer,
                                       kl__subscriber *subscriber,
                                       const kl_handler_options *options,
                                       kl_error *err)
{
    kl__shared_informer *shared = shared_of(informer);
    kl_handler_options own = {0};
    kl_registration *registration;

    if (is_forked(informer, err)) {
        return NULL;
    }
    if (options != NULL) {
        own = *options;
    }
    if (own.resync_ms == 0) {
        own.resync_ms = informer->resync_ms;
    }
    subscriber->owner = informer;
    subscriber->owner_is_closed = &informer->is_closed;
    subscriber->ref_owner = ref_handle;
    subscriber->unref_owner = unref_handle;
    subscriber->options = &own;
    registration = kl__processor_add(kl__shared_informer_processor(shared),
                                     subscriber, err);
    if (registration != NULL) {
        kl__shared_informer_added(shared);
    }
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
