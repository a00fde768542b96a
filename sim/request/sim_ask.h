/*
 * sim_ask.h - what a request asks for, taken apart: method, path, parameters,
 * headers, body.
 */
#ifndef KL_SIM_ASK_H
#define KL_SIM_ASK_H

#include "kubelua/error.h"
#include "kubelua/value.h"

#include <stdbool.h>
#include <stddef.h>

enum { KL__SIM_MAX_SEGMENTS = 10, KL__SIM_MAX_PARAMETERS = 64 };

/* A request as it came in; borrowed. Headers may be NULL. */
typedef struct kl__sim_request {
    const char *method;
    const char *target; /* "/api/v1/pods?watch=true", percent-encoded */
    const char *accept;
    const char *content_type;
    const char *authorization;
    bool is_local;            /* in-process: needs no credentials of its own */
    const char *impersonated; /* Impersonate-User */
    const char *impersonated_groups; /* a line each */
    const char *certified; /* by a certificate: a line for the name, then one
                              for each group */
    const char *user_agent;
    const char *run; /* Kubelua-Run, in-process: a number for its sender */
    const char *accept_encoding;
    const char *body;
    size_t body_length;
} kl__sim_request;

/* What an object path leads to. Strings are borrowed from the ask. */
typedef struct kl__sim_route {
    const char *group;
    const char *version;     /* NULL: no group and version in the path */
    const char *name_space;  /* NULL: none, or all */
    const char *plural;      /* NULL: no resource in the path */
    const char *name;        /* NULL: the collection */
    const char *subresource; /* NULL: none */
    bool watches;            /* /api/v1/watch/...: as with ?watch=true */
} kl__sim_route;

typedef struct kl__sim_parameter {
    const char *name;
    const char *value;
} kl__sim_parameter;

/* Owned copies of everything. */
typedef struct kl__sim_ask {
    char *method;
    char *target;
    char *accept; /* never NULL, as the following */
    char *content_type;
    char *authorization;
    char *impersonated;
    char *impersonated_groups;
    char *certified;
    bool is_local;
    char *user_agent;
    int64_t run; /* 0: none */
    char *accept_encoding;
    char *body;
    size_t body_length;
    kl_doc *doc; /* of the body, for requests that take one; NULL: see parse */
    kl_error parse; /* why the body is no document, in Go's words */
    bool is_yaml;
    char *twice; /* names that came again in YAML, a line each; NULL: none */
    bool is_protobuf;
    char *sent_kind; /* of protobuf's envelope; NULL: there is none */
    char *sent_version;
    char *path; /* decoded segments, each NUL terminated */
    const char *segments[KL__SIM_MAX_SEGMENTS];
    size_t segment_count; /* more than KL__SIM_MAX_SEGMENTS: too many */
    char *query;
    kl__sim_parameter parameters[KL__SIM_MAX_PARAMETERS];
    size_t parameter_count;
    kl__sim_route route;
    bool sound; /* the path can lead somewhere */
} kl__sim_ask;

/* Takes a request apart, and its body too (JSON, or YAML where it says so).
 * KL_ENOMEM; what is wrong with the request itself is told later. */
kl_code kl__sim_ask_init(kl__sim_ask *ask, const kl__sim_request *request,
                         kl_error *err);
void kl__sim_ask_deinit(kl__sim_ask *ask);

/* The first bytes of the body as messages show them: text if it is an object,
 * else hexadecimal. */
enum { KL__SIM_SHOWN_SIZE = 80 };
const char *kl__sim_show_body(const kl__sim_ask *ask, char *shown);

/* Replaces what is no UTF-8 (also a character that was cut off) by '?'. */
void kl__sim_make_utf8(char *text);

/* The first value of a parameter, or NULL. */
const char *kl__sim_parameter_get(const kl__sim_ask *ask, const char *name);

/* A parameter as Kubernetes reads booleans: absent, "false" and "0" are not. */
bool kl__sim_parameter_is(const kl__sim_ask *ask, const char *name);

/* What the request does in Kubernetes' words: "get", "list", "watch", "create",
 * "update", "patch", "delete", "deletecollection", or else the method; borrowed
 * from the ask. */
const char *kl__sim_verb(const kl__sim_ask *ask);

#endif
