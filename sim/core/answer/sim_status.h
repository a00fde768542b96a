/*
 * sim_status.h - Status objects, in which an API server says why it refuses a
 * request: docs/KUBERNETES.md#status-objects. Texts and members are those that
 * a kube-apiserver 1.36 was seen to answer.
 */
#ifndef KL_SIM_STATUS_H
#define KL_SIM_STATUS_H

#include "base/buf.h"
#include "sim/core/schema/field_errors.h"
#include "sim/core/answer/sim_answer.h"

typedef struct kl__sim_cause {
    const char *reason;
    const char *field; /* NULL: none */
    char message[512];
} kl__sim_cause;

enum { KL__SIM_MAX_CAUSES = 12 };

typedef struct kl__sim_status {
    int code;
    const char *reason; /* NULL: none */
    bool has_details;
    const char *name; /* this and the next three may be NULL */
    const char *group;
    const char *kind;
    const char *uid;
    const char *token; /* metadata.continue; NULL: none */
    kl__sim_cause causes[KL__SIM_MAX_CAUSES];
    size_t cause_count;
    /* listed after `causes`; borrowed; NULL: none */
    const kl__field_errors *errors;
    /* The first causes_twice of `causes` and the first errors_twice of `errors`
     * are listed twice, because a real server checks the metadata of an update
     * twice. The message has them once. */
    size_t causes_twice;
    size_t errors_twice;
    int retry_after_seconds; /* 0: none */
    const char *words;       /* the message, if `message` is too small for it */
    char message[4096];
} kl__sim_status;

/* Appends the Status as JSON. When memory runs out, `out` keeps the failure. */
void kl__sim_status_write(const kl__sim_status *status, kl__buf *out);

/* Answers with a Status. KL_ENOMEM. */
kl_code kl__sim_answer_status(kl__sim_answer *answer,
                              const kl__sim_status *status, kl_error *err);

/* Answers with a Status of code, reason and message, without details. */
kl_code kl__sim_refuse(kl__sim_answer *answer, int code, const char *reason,
                       kl_error *err, const char *format, ...) KL_PRINTF(5, 6);

/* Answers 404 for a path that the server does not know: "the server could not
 * find ...". */
kl_code kl__sim_refuse_path(kl__sim_answer *answer, kl_error *err);
/* Answers 404 as text, for a group that is not served. */
kl_code kl__sim_refuse_page(kl__sim_answer *answer, kl_error *err);
/* Answers 405: the resource does not allow the request's method. */
kl_code kl__sim_refuse_method(kl__sim_answer *answer, kl_error *err);
/* Answers 404: there is no object of that kind and name. */
kl_code kl__sim_refuse_missing(kl__sim_answer *answer, const kl__sim_kind *kind,
                               const char *name, kl_error *err);
/* Answers 409 Conflict: "Operation cannot be fulfilled on ...: WHY". */
kl_code kl__sim_refuse_conflict(kl__sim_answer *answer,
                                const kl__sim_kind *kind, const char *name,
                                const char *why, kl_error *err);

/* Adds a cause with a formatted message; ignored beyond the limit. */
void kl__sim_cause_add(kl__sim_status *status, const char *reason,
                       const char *field, const char *format, ...)
    KL_PRINTF(4, 5);

/* Answers 422 with the causes that were added to `status`: "KIND "NAME" is
 * invalid: ...", where KIND is `qualified` ("Foo.example.com"). */
kl_code kl__sim_refuse_invalid(kl__sim_answer *answer, kl__sim_status *status,
                               const char *qualified, kl_error *err);

/* The reason that a Status has for an HTTP status; NULL: none. */
const char *kl__sim_reason(int code);

/* Fills the Status of a 504: the cluster has not reached the version yet. */
void kl__sim_status_too_large(kl__sim_status *status, int64_t version,
                              int64_t current);

#endif
