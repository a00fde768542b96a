/*
 * sim_rule.h - one rule of faults: which requests it applies to, and what
 * happens to them (docs/FAULTS.md). A test adds rules with kl_sim_fault or over
 * HTTP; sim_plan.h applies them to answers. The cluster's mutex is held.
 */
#ifndef KL_SIM_RULE_H
#define KL_SIM_RULE_H

#include "base/list.h"
#include "sim/core/request/sim_ask.h"

#include <stdint.h>

typedef enum kl__sim_action {
    KL__SIM_FAIL,        /* answers with the rule's status and body instead */
    KL__SIM_EXPIRE,      /* 410 Gone, as after a compaction */
    KL__SIM_CUT,         /* the connection breaks */
    KL__SIM_FREEZE,      /* no more bytes, but the connection stays open */
    KL__SIM_DELAY,       /* the answer comes late, or slowly */
    KL__SIM_EVENT,       /* changes an event of a watch */
    KL__SIM_BOOKMARKS,   /* holds back bookmarks */
    KL__SIM_WIRE,        /* breaks HTTP itself; needs a socket */
    KL__SIM_REFUSE,      /* the port refuses connections for a time */
    KL__SIM_CERTIFICATE, /* another certificate, bad or good; needs TLS */
    KL__SIM_TLS,         /* a TLS handshake takes long, or never ends */
    KL__SIM_ACTIONS
} kl__sim_action;

/* The values of a rule's "how". Each action has some of them; the first is its
 * default. */
typedef enum kl__sim_how {
    KL__SIM_HOW_NONE,
    KL__SIM_CLOSE, /* cut: with a FIN in the middle of the body */
    KL__SIM_RESET, /* cut: with an RST */
    /* cut: a clean end, as if the body were complete; bookmarks: only the one
     * that ends the initial events */
    KL__SIM_END,
    KL__SIM_DUPLICATE,
    KL__SIM_SWAP, /* event: swapped with the next event */
    KL__SIM_DROP,
    KL__SIM_UNKNOWN_TYPE,
    KL__SIM_BROKEN,    /* event: not JSON, a colon is missing */
    KL__SIM_UNCLOSED,  /* event: not JSON, brackets at its end are missing */
    KL__SIM_TRUNCATED, /* event: half a line, then a clean end */
    KL__SIM_NO_METADATA,
    KL__SIM_NO_OBJECT,  /* event: "object" is a number */
    KL__SIM_OTHER_KIND, /* event: an object of another kind */
    KL__SIM_ERROR, /* event: an ERROR event instead; then the stream ends */
    KL__SIM_HUGE,  /* event: gets a field of "bytes" bytes more */
    KL__SIM_RAW,   /* event: followed by "body" as a line of its own */
    KL__SIM_TOKEN, /* expire: the 410 has a token to go on with */
    KL__SIM_NO_TOKEN,
    KL__SIM_AS_STATUS,    /* expire: a watch gets HTTP status 410, no event */
    KL__SIM_SHORT_LENGTH, /* wire: Content-Length is less than the body */
    KL__SIM_LONG_LENGTH,  /* wire: Content-Length is more than the body */
    KL__SIM_CHUNKS,       /* wire: malformed chunked encoding */
    KL__SIM_GZIP,         /* wire: Content-Encoding: gzip with damaged gzip */
    KL__SIM_NO_HTTP,      /* wire: no status line */
    KL__SIM_EXPIRED,      /* certificate: it expired a minute ago */
    KL__SIM_WRONG_HOST,   /* certificate: of another host */
    KL__SIM_GOOD,         /* certificate: valid for a year, or for "seconds" */
    KL__SIM_ALL,          /* bookmarks: all of them */
    KL__SIM_STALL,        /* tls: no answer to the client's hello */
    KL__SIM_SLOW,         /* tls: an answer, "seconds" late */
    KL__SIM_HOWS
} kl__sim_how;

typedef struct kl__sim_rule {
    kl__list node; /* in the cluster's list, until the rule is cleared */
    int refs;      /* the list has one, and each answer that it applies to */
    int64_t id;
    kl_doc *doc; /* the rule as ordered; strings below are borrowed from it */
    kl__sim_action action;
    kl__sim_how how;
    /* The requests that it applies to. NULL: any. */
    const char *verb;
    const char *resource; /* "pods", "deployments.apps", "pods/status" */
    const char *name_space;
    const char *name;
    const char *path;   /* the start of the target */
    const char *client; /* a part of the User-Agent */
    int64_t page;       /* number of a page of a list; 0: any */
    int64_t skip;       /* how many matching requests pass first */
    int64_t count;      /* how many requests it applies to; 0: all */
    bool is_open;       /* applies to streams that are open already */
    /* What happens to these requests. */
    int64_t after_bytes;  /* begins after so many body bytes; < 0: not given */
    int64_t after_events; /* begins after so many events; < 0: not given */
    int64_t seconds_ms;   /* how long; < 0: until it is cleared */
    int64_t before_ms;    /* delay: before the head of the answer */
    int64_t byte_ms;      /* delay: after each piece of `bytes` (0: 1) bytes */
    int64_t event_ms;     /* delay: after each event */
    /* delay: the size of a piece; event, "huge": how many bytes are added */
    int64_t bytes;
    int64_t at;     /* the number of the event, from 1 */
    int64_t events; /* how many events from `at` on; 0: all */
    int64_t status;
    int64_t retry_after_ms; /* < 0: none */
    const char *body;
    const char *content_type;
    const char *reason;
    const char *message;
    /* What has happened so far. */
    int64_t passed;   /* requests that were skipped */
    int64_t hits;     /* requests that it applied to */
    int64_t page_now; /* the page that the last list request asked for */
    uint64_t token;   /* a hash of the continue token of that request */
    bool is_cleared;  /* removed: open answers do not apply it any more */
} kl__sim_rule;

/* Reads a rule from JSON; one reference for the caller. NULL: KL_EPARSE,
 * KL_EINVAL with a message, KL_ENOMEM. Needs no lock. */
kl__sim_rule *kl__sim_rule_parse(const char *json, size_t length,
                                 kl_error *err);
void kl__sim_rule_unref(kl__sim_rule *rule);

/* True if the rule applies to this request; then the request is counted. */
bool kl__sim_rule_takes(kl__sim_rule *rule, const kl__sim_ask *ask);
/* The same for a stream that was open before the rule was made. */
bool kl__sim_rule_takes_open(kl__sim_rule *rule, const kl__sim_ask *ask);
/* The same for a TLS handshake. */
bool kl__sim_rule_takes_handshake(kl__sim_rule *rule);
/* Drops the reference that an answer has to the rule. If the rule can apply to
 * no other request, drops the list's reference too, which frees the rule. */
void kl__sim_rule_finish(kl__sim_rule *rule);

/* The name of its action: "cut". */
const char *kl__sim_rule_name(const kl__sim_rule *rule);

#endif
