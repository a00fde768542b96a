/*
 * sim_accept.h - in which form a client wants its answer, out of the headers
 * Accept and User-Agent and the parameters pretty and includeObject.
 */
#ifndef KL_SIM_ACCEPT_H
#define KL_SIM_ACCEPT_H

#include "sim/kinds/sim_kinds.h"
#include "sim/request/sim_ask.h"

struct kl__sim_answer;

typedef enum kl__sim_encoding {
    KL__SIM_JSON,
    KL__SIM_YAML,
    KL__SIM_PROTOBUF
} kl__sim_encoding;

typedef enum kl__sim_shape {
    KL__SIM_WHOLE,        /* the objects themselves */
    KL__SIM_PARTIAL,      /* PartialObjectMetadata */
    KL__SIM_PARTIAL_LIST, /* PartialObjectMetadataList */
    KL__SIM_TABLE,
    KL__SIM_DISCOVERY /* all groups with their resources, as one document */
} kl__sim_shape;

/* What a row of a table has of its object. */
typedef enum kl__sim_include {
    KL__SIM_INCLUDE_METADATA,
    KL__SIM_INCLUDE_NONE,
    KL__SIM_INCLUDE_OBJECT
} kl__sim_include;

typedef struct kl__sim_form {
    kl__sim_encoding encoding;
    kl__sim_shape shape;
    const char *version; /* of meta.k8s.io; static */
    kl__sim_include include;
    bool pretty;
    bool is_headless; /* a watch's columns were told already */
} kl__sim_form;

/* Which requests take what. */
enum {
    KL__SIM_SHAPES = 1 << 0,  /* other shapes than the whole object */
    KL__SIM_STREAM = 1 << 1,  /* a watch */
    KL__SIM_CUSTOMS = 1 << 2, /* custom resources: no protobuf of a whole one */
    KL__SIM_MAY_WATCH = 1 << 3, /* the collection could also be watched */
    KL__SIM_NO_ROUTER = 1 << 4, /* nobody looks at Accept before */
    KL__SIM_JSON_ONLY = 1 << 5, /* for the router there is nothing but JSON */
    KL__SIM_GROUPS = 1 << 6     /* the groups: KL__SIM_DISCOVERY is a shape */
};

/* Whether the request is for a pretty answer: asked for, or by a person. */
bool kl__sim_wants_pretty(const kl__sim_ask *ask);

/* Chooses the form of what Accept takes; false: none of it. */
bool kl__sim_accept_read(const kl__sim_ask *ask, unsigned takes,
                         kl__sim_form *form);

/* The first of these subtypes of "application" that Accept takes, or -1; the
 * last of them is NULL. */
int kl__sim_accept_subtype(const kl__sim_ask *ask, const char *const *names);

/* The form of an answer that is an error: what Accept takes without parameters,
 * else JSON for people. */
void kl__sim_accept_error(struct kl__sim_answer *answer);

/* Fills answer->form; false: the answer is a refusal (406, or 400 of
 * includeObject), or there is no memory for it (*code). */
bool kl__sim_accept(struct kl__sim_answer *answer, unsigned takes,
                    kl_code *code, kl_error *err);

/* 406 of a shape that does not fit the object or list of that kind. */
kl_code kl__sim_refuse_shape(struct kl__sim_answer *answer,
                             const kl__sim_kind *kind, bool is_list,
                             kl_error *err);

#endif
