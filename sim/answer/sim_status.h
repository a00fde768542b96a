/*
 * sim_status.h - the Status objects that an API server says no with. Texts and
 * shapes are those that kube-apiserver 1.36 was seen to answer.
 */
#ifndef KL_SIM_STATUS_H
#define KL_SIM_STATUS_H

#include "base/buf.h"
#include "sim/schema/field_errors.h"
#include "sim/answer/sim_answer.h"

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
    const char *name; /* these may be NULL */
    const char *group;
    const char *kind;
    const char *uid;
    const char *token; /* metadata.continue */
    kl__sim_cause causes[KL__SIM_MAX_CAUSES];
    size_t cause_count;
    const kl__field_errors *errors; /* more causes, after those; borrowed */
    /* So many of each at the beginning are listed twice: a real server looks
     * twice at the metadata of an update. The message has them once. */
    size_t causes_twice;
    size_t errors_twice;
    int retry_after_seconds; /* 0: none */
    const char *words; /* the message, where `message` is too short for it */
    char message[4096];
} kl__sim_status;

/* Appends the Status as JSON. Out of memory sticks in `out`. */
void kl__sim_status_write(const kl__sim_status *status, kl__buf *out);

/* Ends the answer with a Status. KL_ENOMEM. */
kl_code kl__sim_answer_status(kl__sim_answer *answer,
                              const kl__sim_status *status, kl_error *err);

/* The same for one of code, reason and message alone; no details. */
kl_code kl__sim_refuse(kl__sim_answer *answer, int code, const char *reason,
                       kl_error *err, const char *format, ...) KL_PRINTF(5, 6);

/* 404 of a path that leads nowhere: "the server could not find ...". */
kl_code kl__sim_refuse_path(kl__sim_answer *answer, kl_error *err);
/* 404 as text, of a group that is not served. */
kl_code kl__sim_refuse_page(kl__sim_answer *answer, kl_error *err);
/* 405. */
kl_code kl__sim_refuse_method(kl__sim_answer *answer, kl_error *err);
/* 404 of an object of a kind. */
kl_code kl__sim_refuse_missing(kl__sim_answer *answer, const kl__sim_kind *kind,
                               const char *name, kl_error *err);
/* 409 Conflict: "Operation cannot be fulfilled on ...: " and why. */
kl_code kl__sim_refuse_conflict(kl__sim_answer *answer,
                                const kl__sim_kind *kind, const char *name,
                                const char *why, kl_error *err);

/* Adds a cause; its message is formatted. Beyond the bound, nothing. */
void kl__sim_cause_add(kl__sim_status *status, const char *reason,
                       const char *field, const char *format, ...)
    KL_PRINTF(4, 5);

/* 422 out of the causes that were added to `status`: "KIND "NAME" is invalid:
 * ...", where KIND is `qualified` ("Foo.example.com"). */
kl_code kl__sim_refuse_invalid(kl__sim_answer *answer, kl__sim_status *status,
                               const char *qualified, kl_error *err);

/* A Status' reason for an HTTP status; NULL if it has none. */
const char *kl__sim_reason(int code);

/* 504 of a version that is not there yet. */
void kl__sim_status_too_large(kl__sim_status *status, int64_t version,
                              int64_t current);

#endif
