/*
 * informer_factory.c - see informer_factory.h; shared_informer.h says which
 * part owns which.
 */
#include "informer/informer_factory.h"

#include "api/client.h"
#include "api/discovery.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/namespace.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

typedef struct informer_factory {
    kl__mutex mutex; /* guards `uses` and their fields; rank LIFECYCLE */
    kl__list uses;
    kl__task_group reading; /* the client's informers, as they read */
} informer_factory;

struct kl__shared_use {
    kl__list node;                 /* in the factory while users > 0 */
    informer_factory *factory;     /* NULL: in no factory */
    kl__shared_informer *informer; /* owned by the users together */
    int users;

    /* The identity: two uses with the same values share an informer. NULL: not
     * given. */
    char *resource;  /* as the first user wrote it */
    char *canonical; /* "pods.v1."; NULL: not known yet */
    char *name_space;
    char *labels;
    char *fields;
    char *shard; /* the first one, if `ring` is given */
    kl_shard_by shard_by;
    char *ring;
    bool keep_managed_fields;
    bool metadata_only;
    kl__prune *prune; /* a reference; NULL: objects are kept whole */
};

static void *make_factory(void)
{
    informer_factory *factory = kl__calloc(1, sizeof(*factory));

    if (factory != NULL) {
        kl__mutex_init(&factory->mutex, KL__RANK_LIFECYCLE);
        kl__list_init(&factory->uses);
    }
    return factory;
}

/* The client is freed after its last informer, so no use is left. */
static void drop_factory(void *content)
{
    informer_factory *factory = content;

    kl__mutex_deinit(&factory->mutex);
    kl__free(factory);
}

static void free_use(kl__shared_use *use)
{
    if (use == NULL) {
        return;
    }
    kl__free(use->resource);
    kl__free(use->canonical);
    kl__free(use->name_space);
    kl__free(use->labels);
    kl__free(use->fields);
    kl__free(use->shard);
    kl__free(use->ring);
    kl__prune_unref(use->prune);
    kl__free(use);
}

/* "" means the same as NULL; for a namespace, "*" does too. */
static const char *null_if_empty(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : NULL;
}

static const char *scope_or_null(const char *name_space)
{
    return kl__streq(name_space, "*") ? NULL : null_if_empty(name_space);
}

/* Copies a text that may be NULL; false: out of memory. */
static bool copy_option(char **to, const char *text)
{
    *to = kl__strdup(text);
    return text == NULL || *to != NULL;
}

/* Sets the canonical name of the resource: as discovery knows it, or, before
 * discovery has answered, that of the built-in kind. False: out of memory. */
static bool find_canonical_name(kl_client *client, kl__shared_use *use)
{
    kl__resource resource;
    kl__buf name = {0};
    bool is_cached;
    kl_code code;

    if (use->canonical != NULL) {
        return true;
    }
    code = kl__discovery_guess(client, use->resource, &resource, &is_cached);
    if (code != KL_OK) {
        return code != KL_ENOMEM;
    }
    kl__buf_printf(&name, "%s.%s.%s", resource.plural, resource.version,
                   resource.group);
    kl__resource_clear(&resource);
    use->canonical = kl__buf_take(&name, NULL);
    return use->canonical != NULL;
}

/*
 * Finds the namespace of an informer, NULL: all. KL_EINVAL: a wrong name, or
 * the kind has no namespaces; KL_ENOMEM. A kind that is not known yet passes:
 * if it has no namespaces, that becomes an error of the informer later.
 */
static kl_code find_scope(kl_client *client, const kl_informer_options *options,
                          const char **name_space, kl_error *err)
{
    kl__resource resource;
    bool is_cached;
    kl_code code = KL_OK;

    *name_space = scope_or_null(options->name_space);
    if (*name_space == NULL) {
        return KL_OK;
    }
    if (kl__namespace_check(*name_space, err) != KL_OK) {
        return KL_EINVAL;
    }
    code =
        kl__discovery_guess(client, options->resource, &resource, &is_cached);
    if (code != KL_OK) {
        return code == KL_EUNKNOWN_KIND
                   ? KL_OK
                   : kl_error_set(err, code, "out of memory for an informer");
    }
    if (!resource.namespaced) {
        *name_space = NULL;
        code = options->namespace_if_any
                   ? KL_OK
                   : kl__scope_error(resource.plural, resource.kind, err);
    }
    kl__resource_clear(&resource);
    return code;
}

/* Copies what identifies a shared informer; false: out of memory. */
static bool copy_identity(kl_client *client, kl__shared_use *use,
                          const kl_informer_options *options,
                          const char *name_space)
{
    use->keep_managed_fields = options->keep_managed_fields;
    use->metadata_only = options->metadata_only;
    use->shard_by = options->shard_by;
    return copy_option(&use->resource, options->resource) &&
           copy_option(&use->name_space, name_space) &&
           copy_option(&use->labels, null_if_empty(options->labels)) &&
           copy_option(&use->fields, null_if_empty(options->fields)) &&
           copy_option(&use->shard, null_if_empty(options->shard)) &&
           copy_option(&use->ring, null_if_empty(options->ring)) &&
           find_canonical_name(client, use);
}

/* NULL: KL_EINVAL (paths), KL_ENOMEM. */
static kl__shared_use *make_use(kl_client *client,
                                const kl_informer_options *options,
                                const char *name_space, kl_error *err)
{
    kl__shared_use *use = kl__calloc(1, sizeof(*use));

    if (use == NULL || !copy_identity(client, use, options, name_space)) {
        kl_error_set(err, KL_ENOMEM, "out of memory for an informer");
        free_use(use);
        return NULL;
    }
    if (kl__prune_new(options->drop, options->keep, &use->prune, err) !=
        KL_OK) {
        free_use(use);
        return NULL;
    }
    return use;
}

static bool is_same_resource(const kl__shared_use *a, const kl__shared_use *b)
{
    if (a->canonical != NULL && b->canonical != NULL) {
        return strcmp(a->canonical, b->canonical) == 0;
    }
    return strcmp(a->resource, b->resource) == 0;
}

static bool is_same_shard(const kl__shared_use *a, const kl__shared_use *b)
{
    return kl__streq(a->ring, b->ring) && a->shard_by == b->shard_by &&
           (a->ring != NULL || kl__streq(a->shard, b->shard));
}

static bool is_same_use(const kl__shared_use *a, const kl__shared_use *b)
{
    return a->keep_managed_fields == b->keep_managed_fields &&
           a->metadata_only == b->metadata_only &&
           kl__prune_equals(a->prune, b->prune) &&
           kl__streq(a->name_space, b->name_space) &&
           kl__streq(a->labels, b->labels) && kl__streq(a->fields, b->fields) &&
           is_same_shard(a, b) && is_same_resource(a, b);
}

/* Finds the newest use with the same identity, or NULL. Discovery may know a
 * name now that it did not know when a use began, so the canonical names are
 * looked up again. */
static kl__shared_use *find_locked(informer_factory *factory, kl_client *client,
                                   const kl__shared_use *wanted)
{
    for (kl__list *node = factory->uses.prev; node != &factory->uses;
         node = node->prev) {
        kl__shared_use *use = KL__CONTAINER(node, kl__shared_use, node);

        /* if it is out of memory, the names as written are compared */
        (void)find_canonical_name(client, use);
        if (is_same_use(use, wanted)) {
            return use;
        }
    }
    return NULL;
}

/* "pods in web (app=shop; spec.nodeName=n1)", "metadata of pods", "eu: pods" of
 * a client with a name */
static char *describe_use(kl_client *client, const kl__shared_use *use)
{
    const char *labels = use->labels != NULL ? use->labels : "";
    const char *fields = use->fields != NULL ? use->fields : "";
    const char *cluster = kl__client_name(client);
    kl__buf text = {0};

    if (cluster != NULL) {
        kl__buf_printf(&text, "%s: ", cluster);
    }
    kl__buf_puts(&text, use->metadata_only ? "metadata of " : "");
    kl__buf_puts(&text, use->resource);
    if (use->name_space != NULL) {
        kl__buf_printf(&text, " in %s", use->name_space);
    }
    if (labels[0] != '\0' || fields[0] != '\0') {
        kl__buf_printf(&text, " (%s%s%s)", labels,
                       labels[0] != '\0' && fields[0] != '\0' ? "; " : "",
                       fields);
    }
    if (use->ring != NULL) {
        kl__buf_printf(&text, " (ring %s)", use->ring);
    } else if (use->shard != NULL) {
        kl__buf_printf(&text, " (shard %s)", use->shard);
    }
    return kl__buf_take(&text, NULL);
}

static kl__shared_informer *start_informer(kl_client *client,
                                           const kl__shared_use *use,
                                           const kl_informer_options *options,
                                           kl_error *err)
{
    kl__shared_informer *informer;
    kl__list_watch *source;
    kl__shard shards;
    char *name;

    if (kl__shard_parse(use->shard, use->shard_by, &shards, err) != KL_OK) {
        return NULL;
    }
    name = describe_use(client, use);
    if (name == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for an informer");
        return NULL;
    }
    source =
        kl__list_watch_new(client,
                           &(kl__list_watch_options){
                               .resource = use->resource,
                               .name_space = use->name_space,
                               .labels = use->labels,
                               .fields = use->fields,
                               .shards = shards,
                               .keep_managed_fields = use->keep_managed_fields,
                               .metadata_only = use->metadata_only,
                               .prune = use->prune,
                               .namespace_if_any = options->namespace_if_any,
                           },
                           err);
    if (source == NULL) {
        kl__free(name);
        return NULL;
    }
    informer = kl__shared_informer_start(
        &(kl__shared_options){
            .client = client,
            .source = source,
            .name = name,
            .group = &use->factory->reading,
            .idle_timeout_ms = options->idle_timeout_ms,
            .page_size = options->page_size,
            .shards = shards,
            .no_streaming_list = options->no_streaming_list,
            .compress = options->compress >= 0,
        },
        err);
    kl__free(name);
    return informer;
}

kl__shared_use *kl__informer_factory_open(kl_client *client,
                                          const kl_informer_options *options,
                                          kl_error *err)
{
    informer_factory *factory;
    kl__shared_use *wanted;
    kl__shared_use *use;
    const char *name_space;

    if (kl__cancel_fired(kl__client_closed(client))) {
        kl_error_set(err, KL_ECLOSED, "the client was closed");
        return NULL;
    }
    if (find_scope(client, options, &name_space, err) != KL_OK) {
        return NULL;
    }
    factory = kl__client_slot(client, make_factory, drop_factory);
    if (factory == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for an informer");
        return NULL;
    }
    wanted = make_use(client, options, name_space, err);
    if (wanted == NULL) {
        return NULL;
    }
    wanted->factory = factory;
    kl__mutex_lock(&factory->mutex);
    use = options->apart ? NULL : find_locked(factory, client, wanted);
    if (use == NULL) {
        wanted->informer = start_informer(client, wanted, options, err);
        if (wanted->informer != NULL) {
            kl__list_append(&factory->uses, &wanted->node);
            use = wanted;
            wanted = NULL;
        }
    }
    if (use != NULL) {
        use->users++;
    }
    kl__mutex_unlock(&factory->mutex);
    free_use(wanted);
    return use;
}

kl__shared_use *kl__shared_use_alone(kl__shared_informer *informer)
{
    kl__shared_use *use = kl__calloc(1, sizeof(*use));

    if (use != NULL) {
        use->informer = informer;
        use->users = 1;
    }
    return use;
}

static bool remove_user(kl__shared_use *use)
{
    informer_factory *factory = use->factory;
    bool last;

    if (factory == NULL) {
        return true;
    }
    kl__mutex_lock(&factory->mutex);
    last = --use->users == 0;
    if (last) {
        kl__list_remove(&use->node);
    }
    kl__mutex_unlock(&factory->mutex);
    return last;
}

void kl__shared_use_close(kl__shared_use *use)
{
    if (remove_user(use)) {
        /* This may free the client, and the factory with it. */
        kl__shared_informer_stop(use->informer);
        free_use(use);
    }
}

kl__shared_informer *kl__shared_use_informer(const kl__shared_use *use)
{
    return use->informer;
}

kl_shard_by kl__shared_use_shard_by(const kl__shared_use *use)
{
    return use->shard_by;
}

bool kl__shared_use_has_ring(const kl__shared_use *use)
{
    return use->ring != NULL;
}

bool kl__shared_use_is_metadata_only(const kl__shared_use *use)
{
    return use->metadata_only;
}

const kl__prune *kl__shared_use_prune(const kl__shared_use *use)
{
    return use->prune;
}

static void copy_name(char *to, size_t size, const char *name)
{
    snprintf(to, size, "%s", name);
}

void kl__shared_use_names(const kl__shared_use *use,
                          kl__informer_figures *figures)
{
    kl_client *client = kl__shared_informer_client(use->informer);
    kl__resource resource;
    bool is_cached;

    if (client == NULL || use->resource == NULL ||
        kl__discovery_guess(client, use->resource, &resource, &is_cached) !=
            KL_OK) {
        return;
    }
    copy_name(figures->group, sizeof(figures->group), resource.group);
    copy_name(figures->version, sizeof(figures->version), resource.version);
    copy_name(figures->resource, sizeof(figures->resource), resource.plural);
    kl__resource_clear(&resource);
}
