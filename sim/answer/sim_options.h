/*
 * sim_options.h - the parameters of a list or watch, read and validated as
 * kube-apiserver does: which combinations are refused, and in which words.
 */
#ifndef KL_SIM_OPTIONS_H
#define KL_SIM_OPTIONS_H

#include "sim/answer/sim_answer.h"

typedef struct kl__sim_options {
    bool watch;
    const char *version; /* as given; "" if not */
    int64_t at;          /* its number; 0 for "" and "0" */
    const char *match;   /* resourceVersionMatch; "" if not given */
    int64_t limit;       /* <= 0: none */
    const char *token;   /* continue; "" if not given */
    bool has_initial;    /* sendInitialEvents was given, or is the default */
    bool initial;
    bool bookmarks;
    bool has_timeout;
    int64_t timeout_seconds;
    bool forced; /* sendInitialEvents by default: nothing was said of it */
} kl__sim_options;

/*
 * Fills the options and answer->selection out of the request. False: the answer
 * is a refusal, or there is no memory for it (*code).
 */
bool kl__sim_options_read(kl__sim_options *options, kl__sim_answer *answer,
                          const kl__sim_kind *kind, bool watch, kl_code *code,
                          kl_error *err);

/*
 * For GET of an object: whether the cluster has reached the resourceVersion
 * that is asked for. False: not yet, the rest waits; or the answer is a
 * refusal, or there is no memory for it (*code).
 */
bool kl__sim_options_await(kl__sim_answer *answer, kl_code *code,
                           kl_error *err);

/* A continue token: where to go on, and at which version (< 0: the latest). */
typedef struct kl__sim_token {
    int64_t version;
    char *start; /* the last key, below the collection; owned */
} kl__sim_token;

/* Appends a token that goes on after `key`, relative to the collection. */
void kl__sim_token_write(int64_t version, const char *key, kl__buf *out);
/* Reads one; KL_EINVAL with kube-apiserver's words, KL_ENOMEM. */
kl_code kl__sim_token_read(const char *text, kl__sim_token *token,
                           kl_error *err);

#endif
