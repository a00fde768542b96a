/*
 * weights.h - the rules of the annotation kubelua.dev/weights, compiled once a
 * version of a Service. A tenant writes them, so their number is limited, and
 * finding the weight of an endpoint takes the same time for any number.
 */
#ifndef KL_SHARED_WEIGHTS_H
#define KL_SHARED_WEIGHTS_H

#include "base/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KL__WEIGHT_RULES = 1024,  /* rules that count */
    KL__WEIGHT_PREFIXES = 64, /* of these, with a final "*" */
    KL__WEIGHT_TEXTS = 4      /* texts of an endpoint that rules may match */
};

typedef struct kl__weight_rule {
    const char *name; /* without a final "*" */
    size_t length;
    uint16_t weight;
    bool is_prefix;
} kl__weight_rule;

/* Zeroed: no rules. */
typedef struct kl__weights {
    char *texts;
    kl__weight_rule *rules; /* in the order of the annotation */
    size_t count;
    kl__map by_name;                        /* the rules without "*" */
    uint16_t prefixes[KL__WEIGHT_PREFIXES]; /* indexes of the rules with "*" */
    size_t prefix_count;
    bool is_cut; /* there were more rules than count */
} kl__weights;

/* Reads an annotation (NULL: none) into zeroed weights. A rule that does not
 * parse is skipped. False: out of memory. */
bool kl__weights_read(kl__weights *self, const char *text);
void kl__weights_deinit(kl__weights *self);

/* The weight by the first rule that matches one of these texts; -1: none
 * does. An empty text matches no rule. */
int kl__weights_find(const kl__weights *self,
                     const char *const texts[KL__WEIGHT_TEXTS]);

/* Parses a weight, from 0 to KL__WEIGHT_MAX; -1: it is none. */
int kl__weight_parse(const char *text, size_t length);

#endif
