/*
 * sim_accept.h - the form of an answer (the object, a Table ...), chosen by the
 * headers Accept and User-Agent and the parameters pretty and includeObject.
 */
#ifndef KL_SIM_ACCEPT_H
#define KL_SIM_ACCEPT_H

#include "sim/core/kinds/sim_kinds.h"
#include "sim/core/request/sim_ask.h"

struct kl__sim_answer;

typedef enum kl__sim_shape {
    KL__SIM_WHOLE,        /* the objects themselves */
    KL__SIM_PARTIAL,      /* PartialObjectMetadata */
    KL__SIM_PARTIAL_LIST, /* PartialObjectMetadataList */
    KL__SIM_TABLE,
    /* aggregated discovery: all groups and resources in one document */
    KL__SIM_DISCOVERY
} kl__sim_shape;

/* Which part of its object a row of a Table contains. */
typedef enum kl__sim_include {
    KL__SIM_INCLUDE_METADATA,
    KL__SIM_INCLUDE_NONE,
    KL__SIM_INCLUDE_OBJECT
} kl__sim_include;

typedef struct kl__sim_form {
    kl__sim_shape shape;
    const char *version; /* the version of meta.k8s.io; static */
    kl__sim_include include;
    bool pretty;
    bool is_headless; /* a watch that has sent the columns already */
} kl__sim_form;

/* Flags: which forms an answer can have. */
enum {
    KL__SIM_SHAPES = 1 << 0, /* shapes other than the whole object */
    KL__SIM_STREAM = 1 << 1, /* a watch */
    KL__SIM_GROUPS = 1 << 2  /* lists of groups: may be KL__SIM_DISCOVERY */
};

/* Chooses the form that Accept prefers. `takes`: KL__SIM_SHAPES and the other
 * flags. False: the answer can have none of the forms that Accept lists. */
bool kl__sim_accept_read(const kl__sim_ask *ask, unsigned takes,
                         kl__sim_form *form);

/* The index in `names` of the subtype of "application" that Accept prefers; 0
 * without an Accept header; -1: none. NULL ends `names`. */
int kl__sim_accept_subtype(const kl__sim_ask *ask, const char *const *names);

/* Chooses the form of an error: a form that Accept lists and that needs no
 * parameters, else indented JSON. */
void kl__sim_accept_error(struct kl__sim_answer *answer);

/* Fills answer->form. False: the answer is a refusal (406, or 400 for
 * includeObject), or out of memory (*code). */
bool kl__sim_accept(struct kl__sim_answer *answer, unsigned takes,
                    kl_code *code, kl_error *err);

/* Answers 406: the shape of an object does not fit a list, or that of a list an
 * object. */
kl_code kl__sim_refuse_shape(struct kl__sim_answer *answer, bool is_list,
                             kl_error *err);

#endif
