/*
 * convert.h - converts objects of built-in kinds that are served in several
 * versions or groups, from the stored one and back, as kube-apiserver does.
 * Functions of trees.
 */
#ifndef KL_SCHEMA_CONVERT_H
#define KL_SCHEMA_CONVERT_H

#include "sim/json/edit.h"

/* Converts a normalized object, except apiVersion; fields that the other
 * version lacks go into annotations. False: out of memory. */
typedef bool (*kl__convert_fn)(kl__edit *edit, kl__node *object);

typedef struct kl__conversion {
    const char *group;
    const char *kind;
    const char *version;        /* the other version */
    const char *stored_group;   /* the group that is stored */
    kl__convert_fn from_stored; /* to the other version; and back */
    kl__convert_fn to_stored;
    /* The stored name of a field for selectors; NULL: the same. */
    const char *(*label)(const char *name);
} kl__conversion;

/* The conversions of a kind to a version, or (version NULL, or group NULL) to
 * any; NULL: none. Static. */
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
