/*
 * discovery_fetch.h - asks a server for all its resources: two requests if it
 * has the aggregated form (Kubernetes 1.26 and later), else two and one for
 * each group and version. A group that is looked up, and is not among the
 * answers, is asked for by its name: a kube-apiserver that has just started may
 * serve a group and not list it yet. kl__fetch_step takes what has come and
 * does not wait; its caller waits, with or without a thread.
 */
#ifndef KL_API_DISCOVERY_FETCH_H
#define KL_API_DISCOVERY_FETCH_H

#include "api/discovery_document.h"

/* A survey that is under way. */
typedef struct kl__fetch kl__fetch;

/* `survey` is copied; what it points to is borrowed. NULL: out of memory. */
kl__fetch *kl__fetch_new(const kl__survey *survey);

/*
 * Sends requests, and takes the answers that have come. False: call again after
 * the survey's `wake`, or at the time of kl__fetch_look_again_ms. True: it is
 * over, and `err->code` says how. A 403 or 404 for the core group or for the
 * others is no error; both: that one. While the server answers 503 for a group
 * by its name, it does not know yet what it serves, and that is the result. Of
 * a version that hangs or fails, what was known is used: it costs at most 5 s
 * of time. At the deadline KL_ETIMEOUT, or the catalogue is partial. It may
 * have to wait for credentials. `err` is not NULL.
 */
bool kl__fetch_step(kl__fetch *fetch, kl_error *err);

/* After false: when to call again, on the real clock. */
int64_t kl__fetch_look_again_ms(const kl__fetch *fetch);

/* Closes its streams; NULL is fine. */
void kl__fetch_free(kl__fetch *fetch);

#endif
