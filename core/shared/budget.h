/*
 * budget.h - which entries a publish has if not all of them fit: so that one
 * Service, one table or one value that is too large is left out alone, and all
 * others are published.
 *
 * The map has two parts: Services, which may use three quarters of its room for
 * certain, and the tables of scripts, which may use one quarter. A part may use
 * what the other one leaves. In a part that does not fit, each namespace (each
 * table) gets an equal share; what one does not use goes to the others. In a
 * namespace that needs more than its share, the smallest Services (in a table
 * the smallest values) stay, and the others are left out, all names of a
 * Service together. So a namespace cannot push out the Services of another one
 * that needs less.
 */
#ifndef KL_SHARED_BUDGET_H
#define KL_SHARED_BUDGET_H

#include "shared/entries.h"

/* The table of what is left out, and its only key; an entry of bytes with a
 * line for each: "TABLE\tKEY\tWHY\n". It is short of lines if there are many.
 */
#define KL__REPORT_TABLE "kubelua"
#define KL__REPORT_KEY "left_out"

typedef struct kl__budget_result {
    size_t left_out; /* Services and values, and names that were refused */
    size_t fresh;    /* of these, those that were not left out before */
    const kl__shared_change
        *first;     /* of the fresh ones, the smallest; or NULL */
    uint64_t needs; /* bytes that all entries need */
} kl__budget_result;

/*
 * Sets `is_out` of all entries, so that the others fit into a slot of
 * `slot_words`, and puts the report with this key, or removes it. KL_ENOMEM:
 * nothing was decided.
 */
kl_code kl__budget_apply(kl__entries *self, const kl_shared_key *report_key,
                         uint64_t slot_words, kl__budget_result *result,
                         kl_error *err);

/* The words of a slot of `slot_words` that entries may have. */
uint64_t kl__budget_room(uint64_t slot_words);

#endif
