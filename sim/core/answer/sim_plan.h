/*
 * sim_plan.h - the plan of an answer: the faults that apply to it. Rules
 * (sim_rule.h) are found when a request begins, or while its stream is open,
 * and applied while its bytes are read. The cluster's mutex is held.
 */
#ifndef KL_ANSWER_SIM_PLAN_H
#define KL_ANSWER_SIM_PLAN_H

#include "sim/core/answer/sim_answer.h"
#include "sim/core/request/sim_rule.h"

/* most rules for one answer; further ones do not apply */
enum { KL__SIM_MAX_APPLIED = 8 };

typedef struct kl__sim_applied {
    kl__sim_rule *rule; /* a reference */
    int64_t since_ms;
    int64_t bytes;    /* bytes of the body sent since then */
    int64_t events;   /* events of a watch sent since then */
    int64_t lines;    /* events that the rule has looked at */
    int64_t until_ms; /* nothing is sent before this time; 0: no limit */
    bool is_over;     /* the rule has had its effect */
    kl__buf held;     /* an event that is sent after the next event */
} kl__sim_applied;

typedef struct kl__sim_plan {
    kl__sim_applied applied[KL__SIM_MAX_APPLIED];
    size_t count;
} kl__sim_plan;

/* Finds the rules for a request that begins. KL_ENOMEM. */
kl_code kl__sim_plan_begin(kl__sim_answer *answer, kl_error *err);
/* Finds rules that were added while the answer is being sent. Sets *expires if
 * one of them says that the version of a watch is too old (410). KL_ENOMEM. */
kl_code kl__sim_plan_refresh(kl__sim_answer *answer, bool *expires,
                             kl_error *err);
void kl__sim_plan_free(kl__sim_answer *answer);

/* How much of an answer may be sent now. */
typedef struct kl__sim_pace {
    size_t most;      /* most bytes to send; 0: wait */
    int64_t until_ms; /* wait until then; < 0: until something changes */
} kl__sim_pace;

/* Called before the head is sent. KL_EUNAVAILABLE: the connection is cut;
 * KL_ECONFIG: the fault needs a socket, and there is none. */
kl_code kl__sim_plan_head(kl__sim_answer *answer, kl__sim_pace *pace,
                          kl_error *err);
/* Called before bytes of the body are sent; may end the body. Codes as
 * above. */
kl_code kl__sim_plan_body(kl__sim_answer *answer, kl__sim_pace *pace,
                          kl_error *err);
/* Called after `length` bytes were sent; answer->out_at is after them. */
void kl__sim_plan_sent(kl__sim_answer *answer, size_t length);

/* The first rule of an action that applies now, or NULL. */
const kl__sim_rule *kl__sim_plan_rule(const kl__sim_answer *answer,
                                      kl__sim_action action);
/* True if the connection is to be reset (RST) where it is cut. */
bool kl__sim_plan_resets(const kl__sim_answer *answer);
/* True if the list or watch is to be answered as too old (410). */
bool kl__sim_plan_expires(const kl__sim_answer *answer);

/* Answers with a fault instead of carrying the request out. False: no fault
 * does this. */
bool kl__sim_plan_answer(kl__sim_answer *answer, kl_code *code, kl_error *err);

/* sim_tamper.c: changes the events of a watch that begin at answer->out[from],
 * as the rules of the plan say. KL_ENOMEM. */
kl_code kl__sim_tamper(kl__sim_answer *answer, size_t from, kl_error *err);
/* Appends events that a rule kept back, if the rule has been cleared since. */
void kl__sim_tamper_release(kl__sim_answer *answer);

/* ---- ?timeout=, how long the server may take; not for watches ---- */

/* True if the parameter is a duration or is not given; else the answer is a
 * refusal (*code). */
bool kl__sim_deadline_check(kl__sim_answer *answer, kl_code *code,
                            kl_error *err);

/* ---- the events of a watch in its ready bytes, a line each ---- */

#endif
