/*
 * sim_plan.h - the faults that one answer is to have: found when its request
 * begins, or while its stream is open, and carried out as its bytes are pulled.
 * The cluster's mutex is held.
 */
#ifndef KL_SIM_PLAN_H
#define KL_SIM_PLAN_H

#include "sim/answer/sim_answer.h"
#include "sim/request/sim_rule.h"

enum { KL__SIM_MAX_APPLIED = 8 }; /* rules to an answer; more do not count */

typedef struct kl__sim_applied {
    kl__sim_rule *rule; /* a reference */
    int64_t since_ms;
    int64_t bytes;    /* of the body since then */
    int64_t events;   /* of a watch since then */
    int64_t lines;    /* those that came by to be changed */
    int64_t until_ms; /* nothing is sent until then; 0: no such time */
    bool is_over;     /* it has done what it is for */
    kl__buf held;     /* an event that has to wait for the next */
} kl__sim_applied;

typedef struct kl__sim_plan {
    kl__sim_applied applied[KL__SIM_MAX_APPLIED];
    size_t count;
} kl__sim_plan;

/* Finds the rules for a request that begins. KL_ENOMEM. */
kl_code kl__sim_plan_begin(kl__sim_answer *answer, kl_error *err);
/* Finds those that came since, for an answer that is being sent. KL_ENOMEM. */
kl_code kl__sim_plan_refresh(kl__sim_answer *answer, kl_error *err);
void kl__sim_plan_free(kl__sim_answer *answer);

/* What an answer may do now. */
typedef struct kl__sim_pace {
    size_t most;      /* bytes to send, at most; 0: wait */
    int64_t until_ms; /* for how long; < 0: until something changes */
} kl__sim_pace;

/* Before the head of the answer is sent. KL_EUNAVAILABLE: it is cut;
 * KL_ECONFIG: a fault needs a socket, and there is none. */
kl_code kl__sim_plan_head(kl__sim_answer *answer, kl__sim_pace *pace,
                          kl_error *err);
/* Before bytes of its body are. As above; may end the body early. */
kl_code kl__sim_plan_body(kl__sim_answer *answer, kl__sim_pace *pace,
                          kl_error *err);
/* After so many of them were; answer->out_at is behind them. */
void kl__sim_plan_sent(kl__sim_answer *answer, size_t length);

/* The first rule of an action that is in force, or NULL. */
const kl__sim_rule *kl__sim_plan_rule(const kl__sim_answer *answer,
                                      kl__sim_action action);
/* Whether its connection is to be reset where it is cut. */
bool kl__sim_plan_resets(const kl__sim_answer *answer);
/* Whether it is to say that what it is asked for is too old, as the list or
 * watch itself would. */
bool kl__sim_plan_expires(const kl__sim_answer *answer);

/* Answers in place of what was asked for; false: it is not to be. */
bool kl__sim_plan_answer(kl__sim_answer *answer, kl_code *code, kl_error *err);

/* sim_tamper.c: changes the lines of a watch that begin at answer->out[from],
 * as its rules say. KL_ENOMEM. */
kl_code kl__sim_tamper(kl__sim_answer *answer, size_t from, kl_error *err);
/* Appends the lines that were kept back by rules which are cleared. */
void kl__sim_tamper_release(kl__sim_answer *answer);

/* The time by which faults go. */
int64_t kl__sim_fault_now(const kl_sim *sim);

#endif
