/*
 * index_build.c - adds an index to a cache that is in use. Steps: (1) have
 * the writer record the changes of each transaction, from now on, in a journal;
 * (2) fill the index from a snapshot, without a lock; (3) replay the journals
 * until none is left; (4) publish the index. Step 3 ends only if values are
 * computed faster than objects change. That holds: the informing task computes
 * values for each change, too, and would fall behind otherwise.
 */
#include "cache/store.h"

#include "base/mem.h"
#include "object/object.h"

#include <string.h>

/* This many objects are put into the unpublished table at once. */
enum { CHUNK = 1024 };

typedef struct builder {
    kl__indexer *indexer;
    kl__index *index;
    kl__index_build build;
    kl__index_plan plan;
    kl_index_sink sink;
} builder;

/* Checks that the name is free. KL_ECONFLICT: an index with this name exists.
 * KL_OK with `exists`: it exists and has the same path. */
static kl_code check_name_locked(const kl__indexer *indexer,
                                 const kl__index_options *options, bool *exists,
                                 kl_error *err)
{
    const kl__index *index = kl__indexer_find_locked(indexer, options->name);

    *exists = false;
    if (index == NULL) {
        return KL_OK;
    }
    if (index->path != NULL && options->path != NULL &&
        strcmp(kl_path_text(index->path), kl_path_text(options->path)) == 0) {
        *exists = true;
        return KL_OK;
    }
    return kl_error_set(err, KL_ECONFLICT,
                        "there is an index \"%s\" already, %s%s: choose "
                        "another name",
                        options->name,
                        index->path != NULL ? "by path " : "by function",
                        index->path != NULL ? kl_path_text(index->path) : "");
}

static kl_code commit_plan(builder *self)
{
    kl_code code = kl__index_plan_finish(&self->plan);

    if (code == KL_OK) {
        kl__index_plan_commit(&self->plan);
        kl__index_plan_clear(&self->plan);
    }
    return code;
}

/* Adds a change to the plan: the key of `object` gets `after`. */
static kl_code plan_change(builder *self, const kl_object *object,
                           kl_object *after)
{
    kl__key key = kl__object_key(object);
    kl__index_change change = {kl__index_entry(self->plan.table, &key), after,
                               key.hash};

    return kl__index_plan_add(&self->plan, &change, &self->sink);
}

/* Adds an object to the plan. A plan has at most one step for each key: the
 * caller commits the plan before it puts the same key again. */
static kl_code put_object(builder *self, kl_object *object)
{
    kl_code code = kl__index_compute(self->index, object, &self->sink);

    return code == KL_OK ? plan_change(self, object, object) : code;
}

static kl_code fill_index(builder *self)
{
    kl_object_list list = {0};
    kl_code code = kl__indexer_snapshot(self->indexer, &list);

    for (size_t i = 0; code == KL_OK && i < list.count; i++) {
        code = put_object(self, list.items[i]);
        if (code == KL_OK && self->plan.count == CHUNK) {
            code = commit_plan(self);
        }
    }
    if (code == KL_OK) {
        code = commit_plan(self);
    }
    if (code != KL_OK) {
        kl__index_plan_clear(&self->plan);
    }
    kl_object_list_clear(&list);
    return code;
}

/* Repeats the changes of one transaction. The snapshot may contain some of them
 * already; that does no harm, because the last change of a key counts. */
static kl_code replay_journal(builder *self, const kl__journal *journal)
{
    kl_code code = KL_OK;

    for (size_t i = 0; code == KL_OK && i < journal->count; i++) {
        const kl__journal_item *item = &journal->items[i];

        if (item->after != NULL) {
            code = put_object(self, item->after);
        } else if (item->before != NULL) {
            code = plan_change(self, item->before, NULL);
        }
    }
    if (code == KL_OK) {
        code = commit_plan(self);
    }
    /* After a failure: the plan has objects of the journal, which the caller
     * frees. */
    kl__index_plan_clear(&self->plan);
    return code;
}

static kl_code replay_all(builder *self, kl__list *journals)
{
    kl_code code = KL_OK;
    kl__list *node;

    while ((node = kl__list_shift(journals)) != NULL) {
        kl__journal *journal = KL__CONTAINER(node, kl__journal, node);

        if (code == KL_OK) {
            code = replay_journal(self, journal);
        }
        kl__journal_free(journal);
    }
    return code;
}

/* Moves the nodes of one list to the end of another. */
static void move_all(kl__list *from, kl__list *to)
{
    kl__list *node;

    while ((node = kl__list_shift(from)) != NULL) {
        kl__list_append(to, node);
    }
}

/* From now on the writer adds a journal for each transaction. */
static void add_build(builder *self)
{
    kl__rwlock_write(&self->indexer->lock);
    kl__list_append(&self->indexer->builds, &self->build.node);
    self->indexer->generation++;
    kl__rwlock_unlock(&self->indexer->lock);
}

static void remove_build_locked(builder *self)
{
    kl__list_remove(&self->build.node);
    self->indexer->generation++;
}

static void remove_build(builder *self)
{
    kl__list *node;

    kl__rwlock_write(&self->indexer->lock);
    remove_build_locked(self);
    kl__rwlock_unlock(&self->indexer->lock);
    while ((node = kl__list_shift(&self->build.journals)) != NULL) {
        kl__journal_free(KL__CONTAINER(node, kl__journal, node));
    }
}

/* The outcome of one attempt to publish the index. */
typedef enum outcome {
    PUBLISHED,
    BEHIND,     /* `journals` must be replayed first */
    TOO_SMALL,  /* another index was added: `room` is too small */
    NAME_TAKEN, /* an index has the name; `exists`: it has the same path */
} outcome;

typedef struct attempt {
    kl__list journals;
    kl__index **room; /* the new array of indexes; the old one once PUBLISHED */
    size_t count;     /* for how many indexes `room` has memory */
    bool exists;
} attempt;

static outcome try_publish_locked(builder *self, attempt *try,
                                  const kl__index_options *options,
                                  kl_error *err)
{
    kl__indexer *indexer = self->indexer;
    kl__index **former = indexer->indexes;

    if (check_name_locked(indexer, options, &try->exists, err) != KL_OK ||
        try->exists) {
        return NAME_TAKEN;
    }
    if (!kl__list_empty(&self->build.journals)) {
        move_all(&self->build.journals, &try->journals);
        return BEHIND;
    }
    if (try->count <= indexer->index_count) {
        try->count = indexer->index_count + 1;
        return TOO_SMALL;
    }
    memcpy(try->room, former, indexer->index_count * sizeof(*former));
    try->room[indexer->index_count++] = self->index;
    indexer->indexes = try->room;
    try->room = former;
    remove_build_locked(self);
    return PUBLISHED;
}

/* Replays journals until the index is published (KL_OK), the same index exists
 * (KL_OK, `exists`), or it fails (KL_ECONFLICT, KL_ENOMEM). */
static kl_code catch_up(builder *self, const kl__index_options *options,
                        bool *exists, kl_error *err)
{
    attempt try = {0};
    outcome last = BEHIND;
    kl_code code = KL_OK;

    kl__list_init(&try.journals);
    while (code == KL_OK && last != PUBLISHED && last != NAME_TAKEN) {
        kl__rwlock_write(&self->indexer->lock);
        last = try_publish_locked(self, &try, options, err);
        kl__rwlock_unlock(&self->indexer->lock);
        if (last == BEHIND) {
            code = replay_all(self, &try.journals);
        } else if (last == TOO_SMALL) {
            kl__free(try.room);
            try.room = kl__calloc(try.count, sizeof(kl__index *));
            code = try.room != NULL ? KL_OK : KL_ENOMEM;
        } else if (last == NAME_TAKEN && !try.exists) {
            code = KL_ECONFLICT;
        }
    }
    if (code != KL_OK || last == NAME_TAKEN) {
        remove_build(self);
    }
    kl__free(try.room);
    *exists = try.exists;
    return code;
}

static kl_code build_index(builder *self, const kl__index_options *options,
                           bool *exists, kl_error *err)
{
    kl_code code;

    add_build(self);
    code = fill_index(self);
    if (code == KL_OK) {
        code = catch_up(self, options, exists, err);
    } else {
        remove_build(self);
    }
    kl__buf_deinit(&self->sink.bytes);
    return code == KL_ENOMEM
               ? kl_error_set(err, code, "out of memory for index \"%s\"",
                              options->name)
               : code;
}

/* Frees the caller's path and context: the same index exists already. */
static void drop_options(const kl__index_options *options)
{
    kl_path_free(options->path);
    if (options->drop_context != NULL) {
        options->drop_context(options->context);
    }
}

kl_code kl__indexer_add_index(kl__indexer *indexer,
                              const kl__index_options *options, kl_error *err)
{
    builder self = {.indexer = indexer};
    bool exists;
    kl_code code;

    if (options->name == NULL || options->name[0] == '\0') {
        return kl_error_set(err, KL_EINVAL, "an index needs a name");
    }
    kl__rwlock_read(&indexer->lock);
    code = check_name_locked(indexer, options, &exists, err);
    kl__rwlock_unlock(&indexer->lock);
    if (code != KL_OK) {
        return code;
    }
    if (exists) {
        drop_options(options);
        return KL_OK;
    }
    self.index = kl__index_new(options);
    if (self.index == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for index \"%s\"",
                            options->name);
    }
    if (options->fn != NULL) {
        atomic_store_explicit(&indexer->calls_functions, true,
                              memory_order_relaxed);
    }
    self.plan.table = &self.index->table;
    kl__list_init(&self.build.node);
    kl__list_init(&self.build.journals);
    code = build_index(&self, options, &exists, err);
    if (code != KL_OK) {
        kl__index_give_up(self.index);
    } else if (exists) {
        kl__index_free(self.index); /* frees path and context, too */
    }
    return code;
}
