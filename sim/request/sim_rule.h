/*
 * sim_rule.h - one fault as it was ordered: which requests it is for, and what
 * becomes of them. The cluster's mutex is held; what a rule does to an answer
 * is in sim_plan.h.
 */
#ifndef KL_SIM_RULE_H
#define KL_SIM_RULE_H

#include "base/list.h"
#include "sim/request/sim_ask.h"

#include <stdint.h>

typedef enum kl__sim_action {
    KL__SIM_FAIL,        /* another answer */
    KL__SIM_EXPIRE,      /* 410, as after a compaction */
    KL__SIM_CUT,         /* the connection breaks */
    KL__SIM_FREEZE,      /* nothing more comes, and it stays open */
    KL__SIM_DELAY,       /* it comes late, or slowly */
    KL__SIM_EVENT,       /* a watch tells something else */
    KL__SIM_BOOKMARKS,   /* bookmarks do not come */
    KL__SIM_WIRE,        /* HTTP is broken; needs a socket */
    KL__SIM_REFUSE,      /* nobody listens for a while */
    KL__SIM_CERTIFICATE, /* it is no good, or good again; needs TLS */
    KL__SIM_TLS,         /* a handshake takes long, or for ever */
    KL__SIM_ACTIONS
} kl__sim_action;

/* What a rule's "how" is; each action has some of them, the first of which is
 * its default. */
typedef enum kl__sim_how {
    KL__SIM_HOW_NONE,
    KL__SIM_CLOSE, /* cut: a FIN, in the middle of the body */
    KL__SIM_RESET, /* an RST */
    KL__SIM_END,   /* a clean end, as if that were all; bookmarks: the one at
                      the end of the initial events alone */
    KL__SIM_DUPLICATE,
    KL__SIM_SWAP, /* the event after it comes before it */
    KL__SIM_DROP,
    KL__SIM_UNKNOWN_TYPE,
    KL__SIM_BROKEN,    /* no JSON: a colon is missing */
    KL__SIM_UNCLOSED,  /* no JSON: brackets are missing at its end */
    KL__SIM_TRUNCATED, /* half a line, and a clean end */
    KL__SIM_NO_METADATA,
    KL__SIM_NO_OBJECT,  /* "object" is a number */
    KL__SIM_OTHER_KIND, /* an object of a kind that was not asked for */
    KL__SIM_ERROR,      /* an ERROR event; the stream goes on, or ends */
    KL__SIM_HUGE,       /* a line of "bytes" bytes more, after it */
    KL__SIM_RAW,        /* "body" as a line of its own, after it */
    KL__SIM_TOKEN,      /* expire: with a token to go on inconsistently */
    KL__SIM_NO_TOKEN,
    KL__SIM_AS_STATUS,    /* expire: of a watch, as an HTTP status */
    KL__SIM_SHORT_LENGTH, /* Content-Length is less than what comes */
    KL__SIM_LONG_LENGTH,  /* and more */
    KL__SIM_CHUNKS,       /* chunked encoding that is none */
    KL__SIM_GZIP,         /* Content-Encoding: gzip, and damaged gzip */
    KL__SIM_NO_HTTP,      /* no status line */
    KL__SIM_EXPIRED,      /* certificate: a minute ago */
    KL__SIM_WRONG_HOST,   /* of another host */
    KL__SIM_GOOD,         /* for a year, or "seconds" */
    KL__SIM_ALL,          /* bookmarks: every one */
    KL__SIM_STALL,        /* tls: nothing after the client's hello */
    KL__SIM_SLOW,         /* the answer to it comes "seconds" late */
    KL__SIM_HOWS
} kl__sim_how;

typedef struct kl__sim_rule {
    kl__list node; /* in the cluster's list; not once it was cleared */
    int refs;      /* the list's, and one of each answer that it is for */
    int64_t id;
    kl_doc *doc; /* as it was ordered: strings below are borrowed from it */
    kl__sim_action action;
    kl__sim_how how;
    /* Which requests. NULL: any. */
    const char *verb;
    const char *resource; /* "pods", "deployments.apps", "pods/status" */
    const char *name_space;
    const char *name;
    const char *path;   /* the target begins with it */
    const char *client; /* is in the User-Agent */
    int64_t page;       /* of a list in pages; 0: any */
    int64_t skip;       /* requests that it lets pass first */
    int64_t count;      /* requests that it is for; 0: every one */
    bool is_open;       /* streams that are open already count as requests */
    /* What becomes of them. */
    int64_t after_bytes;  /* of the body; < 0: not said */
    int64_t after_events; /* < 0: not said */
    int64_t seconds_ms;   /* how long it lasts; < 0: until it is cleared */
    int64_t before_ms;    /* of a delay: the head; the bytes; the lines */
    int64_t byte_ms;
    int64_t event_ms;
    int64_t bytes;  /* at most so many at once; of a huge line: its size */
    int64_t at;     /* the event that is meant, from 1 */
    int64_t events; /* and how many from that on; 0: all */
    int64_t status;
    int64_t retry_after_ms; /* < 0: none */
    const char *body;
    const char *content_type;
    const char *reason;
    const char *message;
    /* What happened so far. */
    int64_t passed;   /* requests that were let pass */
    int64_t hits;     /* requests that it was for */
    int64_t page_now; /* of the list in progress */
    uint64_t token;   /* a hash of its last continue token */
    bool is_cleared;  /* answers forget it */
} kl__sim_rule;

/* Reads a rule from JSON; one reference for the caller. NULL: KL_EPARSE,
 * KL_EINVAL saying what is wrong, KL_ENOMEM. Needs no lock. */
kl__sim_rule *kl__sim_rule_parse(const char *json, size_t length,
                                 kl_error *err);
void kl__sim_rule_unref(kl__sim_rule *rule);

/* Whether it is for this request; counts it. */
bool kl__sim_rule_takes(kl__sim_rule *rule, const kl__sim_ask *ask);
/* The same of a stream that was open before there was the rule. */
bool kl__sim_rule_takes_open(kl__sim_rule *rule, const kl__sim_ask *ask);
/* The same of a handshake. */
bool kl__sim_rule_takes_handshake(kl__sim_rule *rule);
/* Gives up the reference of whom it was for, and the list's if it can be for
 * nobody else. */
void kl__sim_rule_finish(kl__sim_rule *rule);
/* Whether no other request can come under it. */
bool kl__sim_rule_is_spent(const kl__sim_rule *rule);

/* "cut". */
const char *kl__sim_rule_name(const kl__sim_rule *rule);

#endif
