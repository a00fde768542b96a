/*
 * discovery_versions.h - discovery in the old form, which needs a request for
 * each group and version: they are asked at the same time, and one that hangs
 * costs only its own resources.
 */
#ifndef KL_API_DISCOVERY_VERSIONS_H
#define KL_API_DISCOVERY_VERSIONS_H

#include "api/discovery_document.h"

/* The versions of groups to ask, in the server's order of preference. */
typedef struct kl__versions kl__versions;

/* `survey` is borrowed. NULL: out of memory. */
kl__versions *kl__versions_new(const kl__survey *survey);
void kl__versions_free(kl__versions *versions); /* NULL is fine */

/* Adds a version of a group ("": core). The texts are borrowed. KL_ENOMEM,
 * KL_ETOO_LARGE. */
kl_code kl__versions_add(kl__versions *versions, const char *group,
                         const char *version, kl_error *err);

/*
 * Asks for all of them, and adds the answers to the survey's catalogue, in
 * order. Of a version that hangs or fails, what was known is added. False: it
 * goes on, as kl__fetch_step.
 */
bool kl__versions_step(kl__versions *versions, kl_error *err);

/* After false: when to call again, on the real clock. */
int64_t kl__versions_look_again_ms(const kl__versions *versions);

#endif
