/*
 * sim_ask.h - a request taken apart: method, path, parameters, headers, body.
 * Every request becomes a kl__sim_ask first, from the port or in-process.
 */
#ifndef KL_SIM_ASK_H
#define KL_SIM_ASK_H

#include "kubelua/error.h"
#include "kubelua/value.h"

#include <stdbool.h>
#include <stddef.h>

enum { KL__SIM_MAX_SEGMENTS = 10, KL__SIM_MAX_PARAMETERS = 64 };

/* A request as it arrived; borrowed. Headers may be NULL. */
typedef struct kl__sim_request {
    const char *method;
    const char *target; /* "/api/v1/pods?watch=true", percent-encoded */
    const char *accept;
    const char *content_type;
    const char *authorization;
    bool is_local;                   /* in-process: needs no credentials */
    const char *impersonated;        /* Impersonate-User */
    const char *impersonated_groups; /* Impersonate-Group, a line each */
    /* from a client certificate: a line with the user's name, then one for each
     * group */
    const char *certified;
    const char *user_agent;
    const char *run; /* Kubelua-Run, in-process: a number of the sender */
    const char *accept_encoding;
    const char *body;
    size_t body_length;
} kl__sim_request;

/* The parts of an API path; texts are borrowed from the ask. */
typedef struct kl__sim_route {
    const char *group;
    const char *version;     /* NULL: the path has no group and version */
    const char *name_space;  /* NULL: cluster scope, or all namespaces */
    const char *plural;      /* NULL: the path has no resource */
    const char *name;        /* NULL: the collection */
    const char *subresource; /* NULL: none */
    bool watches;            /* /api/v1/watch/...: as with ?watch=true */
} kl__sim_route;

typedef struct kl__sim_parameter {
    const char *name;
    const char *value;
} kl__sim_parameter;

/* A request with copies of everything; kl__sim_ask_deinit frees them. */
typedef struct kl__sim_ask {
    char *method;
    char *target;
    char *accept; /* "" if absent, like the other headers */
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
    /* the parsed body; NULL: the method takes none, or `parse` says why */
    kl_doc *doc;
    kl_error parse; /* why the body could not be parsed */
    bool is_yaml;
    bool is_protobuf;
    char *sent_kind; /* the kind in protobuf's envelope; NULL: none */
    char *sent_version;
    char *path; /* the decoded segments, each NUL terminated */
    const char *segments[KL__SIM_MAX_SEGMENTS];
    size_t segment_count; /* more than KL__SIM_MAX_SEGMENTS: too many */
    char *query;
    kl__sim_parameter parameters[KL__SIM_MAX_PARAMETERS];
    size_t parameter_count;
    kl__sim_route route;
    bool sound; /* the path is well formed */
} kl__sim_ask;

/* Takes a request apart, and parses its body (JSON, YAML or protobuf).
 * KL_ENOMEM. A malformed request is no error here: `sound` and `parse` tell it
 * to the code that answers. */
kl_code kl__sim_ask_init(kl__sim_ask *ask, const kl__sim_request *request,
                         kl_error *err);
void kl__sim_ask_deinit(kl__sim_ask *ask);

/* The start of the body as messages show it: as text if it is an object, else
 * in hexadecimal. */
enum { KL__SIM_SHOWN_SIZE = 80 };
const char *kl__sim_show_body(const kl__sim_ask *ask, char *shown);

/* Replaces bytes that are not UTF-8 (as of a character cut in two) by '?'. */
void kl__sim_make_utf8(char *text);

/* The first value of a parameter, or NULL. */
const char *kl__sim_parameter_get(const kl__sim_ask *ask, const char *name);

/* A boolean parameter as Kubernetes reads it: false if absent, "false" or
 * "0". */
bool kl__sim_parameter_is(const kl__sim_ask *ask, const char *name);

/* The request's verb in Kubernetes' words: "get", "list", "watch", "create",
 * "update", "patch", "delete", "deletecollection". For any other method, the
 * method itself, borrowed from the ask. */
const char *kl__sim_verb(const kl__sim_ask *ask);

#endif
