/*
 * index_build.c - adds an index to a cache that is in use. It is filled aside,
 * without a lock held, while the writer's transactions leave a journal for it;
 * when the journal is empty, the index is as new as the store and is published.
 * That ends as long as values are computed faster than objects change, which
 * the informer itself depends on.
 */
#include "cache/store.h"

#include "base/mem.h"

#include <string.h>

/* So many objects are put into the private table at once. */
enum { CHUNK = 1024 };

typedef struct builder {
    kl__indexer *indexer;
    kl__index *index;
    kl__index_build build;
    kl__index_plan plan;
    kl_index_sink sink;
} builder;

/* KL_ECONFLICT, or KL_OK with `exists` for the same path under that name. */
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

static kl_code flush(builder *self)
{
    kl_code code = kl__index_plan_finish(&self->plan);

    if (code == KL_OK) {
        kl__index_plan_commit(&self->plan);
        kl__index_plan_clear(&self->plan);
    }
    return code;
}

/* A key's object as it is now. A plan has one step a key, so the same key again
 * begins the next plan: callers flush between. */
static kl_code put(builder *self, kl_object *object)
{
    const kl_value *root = kl_object_open(object, NULL);
    kl_code code;

    if (root == NULL) {
        return KL_ENOMEM;
    }
    code = kl__index_compute(self->index, object, root, &self->sink);
    kl_object_close(object);
    return code == KL_OK ? kl__index_plan_put(&self->plan, object, &self->sink)
                         : code;
}

static kl_code fill(builder *self)
{
    kl_object_list list = {0};
    kl_code code = kl__indexer_snapshot(self->indexer, &list);

    for (size_t i = 0; code == KL_OK && i < list.count; i++) {
        code = put(self, list.items[i]);
        if (code == KL_OK && self->plan.count == CHUNK) {
            code = flush(self);
        }
    }
    if (code == KL_OK) {
        code = flush(self);
    }
    if (code != KL_OK) {
        kl__index_plan_clear(&self->plan);
    }
    kl_object_list_clear(&list);
    return code;
}

/* What is in the journal may be in the snapshot already: the last one of a key
 * counts in any case. */
static kl_code replay(builder *self, const kl__journal *journal)
{
    kl_code code = KL_OK;

    for (size_t i = 0; code == KL_OK && i < journal->count; i++) {
        const kl__journal_item *item = &journal->items[i];

        if (item->after != NULL) {
            code = put(self, item->after);
        } else if (item->before != NULL) {
            code =
                kl__index_plan_remove(&self->plan, kl_object_key(item->before));
        }
    }
    if (code == KL_OK) {
        code = flush(self);
    }
    kl__index_plan_clear(&self->plan); /* before the journal's objects go */
    return code;
}

static kl_code replay_all(builder *self, kl__list *journals)
{
    kl_code code = KL_OK;
    kl__list *node;

    while ((node = kl__list_shift(journals)) != NULL) {
        kl__journal *journal = KL__CONTAINER(node, kl__journal, node);

        if (code == KL_OK) {
            code = replay(self, journal);
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

/* From here on the writer leaves journals. */
static void join(builder *self)
{
    kl__rwlock_write(&self->indexer->lock);
    kl__list_append(&self->indexer->builds, &self->build.node);
    self->indexer->generation++;
    kl__rwlock_unlock(&self->indexer->lock);
}

static void leave_locked(builder *self)
{
    kl__list_remove(&self->build.node);
    self->indexer->generation++;
}

static void leave(builder *self)
{
    kl__list *node;

    kl__rwlock_write(&self->indexer->lock);
    leave_locked(self);
    kl__rwlock_unlock(&self->indexer->lock);
    while ((node = kl__list_shift(&self->build.journals)) != NULL) {
        kl__journal_free(KL__CONTAINER(node, kl__journal, node));
    }
}

/* The outcome of one try to publish. */
typedef enum outcome {
    PUBLISHED,
    BEHIND,     /* `journals` is what to catch up with */
    TOO_SMALL,  /* another index came: `room` is not enough */
    NAME_TAKEN, /* by a conflicting index, or `exists` by the same */
} outcome;

typedef struct attempt {
    kl__list journals;
    kl__index **room; /* the next array of indexes; afterwards the former */
    size_t count;     /* that it has room for */
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
    leave_locked(self);
    return PUBLISHED;
}

/* Until the index is published (KL_OK), is there already (KL_OK, exists), or
 * cannot be (KL_ECONFLICT, KL_ENOMEM). */
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
        leave(self);
    }
    kl__free(try.room);
    *exists = try.exists;
    return code;
}

static kl_code build(builder *self, const kl__index_options *options,
                     bool *exists, kl_error *err)
{
    kl_code code;

    join(self);
    code = fill(self);
    if (code == KL_OK) {
        code = catch_up(self, options, exists, err);
    } else {
        leave(self);
    }
    kl__buf_deinit(&self->sink.bytes);
    return code == KL_ENOMEM
               ? kl_error_set(err, code, "out of memory for index \"%s\"",
                              options->name)
               : code;
}

/* What was offered is not needed: the same index is there. */
static void drop(const kl__index_options *options)
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
        drop(options);
        return KL_OK;
    }
    self.index = kl__index_new(options);
    if (self.index == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for index \"%s\"",
                            options->name);
    }
    self.plan.table = &self.index->table;
    kl__list_init(&self.build.node);
    kl__list_init(&self.build.journals);
    code = build(&self, options, &exists, err);
    if (code != KL_OK) {
        kl__index_give_up(self.index);
    } else if (exists) {
        kl__index_free(self.index); /* with what was offered */
    }
    return code;
}
