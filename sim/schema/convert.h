/*
 * convert.h - built-in kinds that are served in several versions, or groups:
 * from the one that is stored to another and back, as kube-apiserver does it.
 * Pure functions.
 */
#ifndef KL_SCHEMA_CONVERT_H
#define KL_SCHEMA_CONVERT_H

#include "sim/json/edit.h"

/* Changes a normalized object, but for its apiVersion; what the other version
 * has no field for goes into annotations. False: out of memory. */
typedef bool (*kl__convert_fn)(kl__edit *edit, kl__node *object);

typedef struct kl__conversion {
    const char *group;
    const char *kind;
    const char *version;        /* the one that is served too */
    const char *stored_group;   /* of the one that is stored */
    kl__convert_fn from_stored; /* from the stored one to it, and back */
    kl__convert_fn to_stored;
    /* What the stored one calls a field that is selected by; NULL: the same. */
    const char *(*label)(const char *name);
} kl__conversion;

/* The conversions of a kind to another version, or (a NULL version, a NULL
 * group) to any; NULL: there are none. Static. */
const kl__conversion *kl__convert_find(const char *group, const char *kind,
                                       const char *version);

/* Event of v1: to events.k8s.io/v1 and back. */
bool kl__event_to_group(kl__edit *edit, kl__node *object);
bool kl__event_to_core(kl__edit *edit, kl__node *object);
const char *kl__event_label(const char *name);

/* HorizontalPodAutoscaler of autoscaling/v2: to v1 and back. */
bool kl__autoscaler_to_v1(kl__edit *edit, kl__node *object);
bool kl__autoscaler_to_v2(kl__edit *edit, kl__node *object);

#endif
