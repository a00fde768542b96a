/*
 * processor_rig.h - an indexer, a processor, a clock and a queue, with one-line
 * calls for specs of the processor.
 */
#ifndef KL_SPEC_PROCESSOR_RIG_H
#define KL_SPEC_PROCESSOR_RIG_H

#include "informer/processor.h"

typedef struct processor_rig {
    kl__indexer *indexer;
    kl__clock *clock; /* a fake clock, at 0 */
    kl__health *health;
    kl__processor *processor;
    kl_event_queue *queue;
} processor_rig;

processor_rig rig_begin(void);
/* Closes and removes everything, waits for detached threads, and asserts that
 * nothing is left. */
void rig_end(processor_rig *rig);

/* A registration whose events are pulled; `tag` is its tag and owner. */
kl_registration *rig_subscribe(processor_rig *rig, void *tag,
                               const kl_handler_options *options);
/* A registration with a thread; its owner is the handler's context. */
kl_registration *rig_handle(processor_rig *rig, const kl_handler *handler,
                            const kl_handler_options *options);

/* Applies a list, which it takes; and one delta, whose object it takes. */
void rig_replace(processor_rig *rig, kl_object_list list, const char *version);
void rig_apply(processor_rig *rig, kl__delta_type type, kl_object *object);

/* Reports an error of the reflector. Handlers that want it get it at once. */
void rig_fail(processor_rig *rig, const kl_error *error);

/* The words of an event: "i+a@1" an initial add, "+a@1", "~a@1>2", "=a@1>1" a
 * resync, "-a@2", "?a@2" a delete that was missed, "synced", "error:why". The
 * second function takes all waiting events and returns their words. A text is
 * valid until the next call. */
const char *rig_describe(const kl_event *event);
const char *rig_pull(kl_registration *registration);

/* rig_log counts the log's lines from now on, while the rig exists; the others
 * return how many there are, and the last one. */
void rig_log(void);
int rig_log_lines(void);
const char *rig_log_line(void);

#endif
