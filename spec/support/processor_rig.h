/*
 * processor_rig.h - an indexer, a processor, a clock and a queue, and what
 * specs do with them, in a line each.
 */
#ifndef KL_SPEC_PROCESSOR_RIG_H
#define KL_SPEC_PROCESSOR_RIG_H

#include "informer/processor.h"

typedef struct processor_rig {
    kl__indexer *indexer;
    kl__clock *clock; /* a fake one, at 0 */
    kl__health *health;
    kl__processor *processor;
    kl_event_queue *queue;
} processor_rig;

processor_rig rig_begin(void);
/* Closes, removes all that is left, and asserts that nothing lives on; threads
 * that were detached are waited for. */
void rig_end(processor_rig *rig);

/* A registration that pulls; tag and owner are `tag`. */
kl_registration *rig_subscribe(processor_rig *rig, void *tag,
                               const kl_handler_options *options);
/* A registration with a thread; owner is the handler's context. */
kl_registration *rig_handle(processor_rig *rig, const kl_handler *handler,
                            const kl_handler_options *options);

/* A list, which it takes; one delta, whose object it takes. */
void rig_replace(processor_rig *rig, kl_object_list list, const char *version);
void rig_apply(processor_rig *rig, kl__delta_type type, kl_object *object);

/* A failure that the reflector found, told at once if it is to be told. */
void rig_fail(processor_rig *rig, const kl_error *error);

/* "i+a@1" an initial add, "+a@1", "~a@1>2", "=a@1>1" a resync, "-a@2", "?a@2"
 * a missed delete, "synced", "error:why"; the same for all that waits, which is
 * handled by that. The texts hold until the next call. */
const char *rig_describe(const kl_event *event);
const char *rig_pull(kl_registration *registration);

/* The log's lines, from here on, while the rig lives: how many, and the last.
 */
void rig_log(void);
int rig_log_lines(void);
const char *rig_log_line(void);

#endif
