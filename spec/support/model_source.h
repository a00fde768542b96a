/*
 * model_source.h - a kl__list_watch on a small model of an API server: objects
 * that are created, changed, deleted and recreated all the time, a history that
 * is compacted, and, drawn from a seed, every fault that a server or a network
 * can have. Specs use it to see if a cache is right in the end.
 */
#ifndef KL_SPEC_MODEL_SOURCE_H
#define KL_SPEC_MODEL_SOURCE_H

#include "api/list_watch.h"
#include "base/clock.h"

typedef struct model_source model_source;

/*
 * `before_call` runs before each call that it answers, so that the consumer
 * works on the same thread. After `calls` calls there are no more changes and
 * faults; once everything has been sent then, it fires `done`.
 */
typedef struct model_options {
    uint64_t seed;
    int calls;
    kl__clock *clock; /* a fake clock that leaps */
    kl__cancel *done;
    void (*before_call)(void *context);
    void *context;
} model_options;

model_source *model_source_new(const model_options *options);
kl__list_watch *model_source_list_watch(model_source *model);
void model_source_free(model_source *model);

/* How many objects exist; and the UID and version of one (false: it does not
 * exist). */
size_t model_source_count(const model_source *model);
bool model_source_find(const model_source *model, const char *key, char *uid,
                       char *version);

/* How many lists were completed, and how many faults happened: asserted, so
 * that a run is not empty. */
int model_source_lists(const model_source *model);
int model_source_faults(const model_source *model);

#endif
