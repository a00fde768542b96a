/*
 * sim_warnings.h - what an answer warns of: texts that are no errors, sent in
 * headers `Warning: 299 - "text"` of RFC 7234, as kube-apiserver does.
 */
#ifndef KL_SIM_WARNINGS_H
#define KL_SIM_WARNINGS_H

#include "base/buf.h"
#include "kubelua/error.h"

#include <stddef.h>

struct kl__sim_answer;

/* A part of an answer: each text once, in the order in which they came. */
typedef struct kl__sim_warnings {
    char **texts;
    size_t count;
} kl__sim_warnings;

/* Makes the answer warn, whatever its status; a text that it has already is not
 * repeated, one that is empty
 * or has control characters is none. The cluster's mutex is held. KL_ENOMEM. */
kl_code kl__sim_warn(struct kl__sim_answer *answer, const char *text,
                     kl_error *err);
/* The same, formatted. */
kl_code kl__sim_warnf(struct kl__sim_answer *answer, kl_error *err,
                      const char *format, ...) KL_PRINTF(3, 4);

void kl__sim_warnings_deinit(kl__sim_warnings *warnings);

/* Goes through the texts as they are sent: cut when they are too long together,
 * and no more of them than fit. Start it zeroed. */
typedef struct kl__sim_warnings_iter {
    size_t index;
    size_t written; /* characters so far */
} kl__sim_warnings_iter;

/* Appends the next text to `out`, or the header's value with it. False: there
 * is none. Out of memory sticks in `out`. */
bool kl__sim_warnings_text(const kl__sim_warnings *warnings,
                           kl__sim_warnings_iter *iter, kl__buf *out);
bool kl__sim_warnings_header(const kl__sim_warnings *warnings,
                             kl__sim_warnings_iter *iter, kl__buf *out);
/* Appends all texts, with a line feed between them. */
void kl__sim_warnings_lines(const kl__sim_warnings *warnings, kl__buf *out);

#endif
