/*
 * sim_warnings.h - warnings of an answer, sent as headers `Warning: 299 -
 * "text"` as kube-apiserver does: docs/KUBERNETES.md#warnings.
 */
#ifndef KL_SIM_WARNINGS_H
#define KL_SIM_WARNINGS_H

#include "base/buf.h"
#include "kubelua/error.h"

#include <stddef.h>

struct kl__sim_answer;

/* The warnings of one answer, in the order in which they were added, without
 * duplicates. */
typedef struct kl__sim_warnings {
    char **texts;
    size_t count;
} kl__sim_warnings;

/* Adds a warning to an answer of any status. A text that the answer has
 * already, that is empty or that has control characters is ignored. The
 * cluster's mutex is held. KL_ENOMEM. */
kl_code kl__sim_warn(struct kl__sim_answer *answer, const char *text,
                     kl_error *err);
/* The same, formatted. */
kl_code kl__sim_warnf(struct kl__sim_answer *answer, kl_error *err,
                      const char *format, ...) KL_PRINTF(3, 4);

void kl__sim_warnings_deinit(kl__sim_warnings *warnings);

/* Appends the header value with the text at *index, which it raises. False:
 * there are no more texts. When memory runs out, `out` keeps the failure. */
bool kl__sim_warnings_header(const kl__sim_warnings *warnings, size_t *index,
                             kl__buf *out);
/* Appends all texts, separated by line feeds. */
void kl__sim_warnings_lines(const kl__sim_warnings *warnings, kl__buf *out);

#endif
