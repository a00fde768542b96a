/*
 * sim_options.h - the parameters of a list or watch, read and validated as
 * kube-apiserver does: which combinations are refused, and in which words.
 */
#ifndef KL_SIM_OPTIONS_H
#define KL_SIM_OPTIONS_H

#include "sim/core/answer/sim_answer.h"

typedef struct kl__sim_options {
    bool watch;
    const char *version; /* as given, or "" */
    int64_t at;          /* `version` as a number; 0 for "" */
    const char *match;   /* resourceVersionMatch, or "" */
    int64_t limit;       /* <= 0: none */
    const char *token;   /* continue, or "" */
    /* sendInitialEvents was given, or applies by default */
    bool has_initial;
    bool initial;
    bool bookmarks;
    bool has_timeout;
    int64_t timeout_seconds;
} kl__sim_options;

/*
 * Reads the options, and answer->selection, from the request. False: the answer
 * is a refusal, or an error (*code).
 */
bool kl__sim_options_read(kl__sim_options *options, kl__sim_answer *answer,
                          const kl__sim_kind *kind, bool watch, kl_code *code,
                          kl_error *err);

/*
 * For GET of one object: true if the cluster has reached the resourceVersion in
 * the request. False: the request is answered later; or the answer is a
 * refusal, or an error (*code).
 */
bool kl__sim_options_await(kl__sim_answer *answer, kl_code *code,
                           kl_error *err);

/* A continue token: the version (< 0: the latest) and where to continue. */
typedef struct kl__sim_token {
    int64_t version;
    char *start; /* the last key, relative to the collection; owned */
} kl__sim_token;

/* Appends a token for continuing after `key`, relative to the collection. */
void kl__sim_token_write(int64_t version, const char *key, kl__buf *out);
/* Reads a token. KL_EINVAL with kube-apiserver's words, KL_ENOMEM. */
kl_code kl__sim_token_read(const char *text, kl__sim_token *token,
                           kl_error *err);

#endif
