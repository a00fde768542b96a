/*
 * verbs.h - get, list, create, apply, patch and delete of one kind of objects,
 * custom resources too. Each call sends its requests through the client
 * (request.h) and blocks until it is answered; an informer (informer.h) is what
 * to read from again and again.
 *
 *     const kl_target shop = {.resource = "configmaps", .name = "shop"};
 *     kl_object *now = kl_apply(client, &shop, json, NULL, &err);
 *
 * What a user can rely on:
 *
 * - Names. `resource` is what people type: "pods", "po", "deployments.apps",
 *   "widgets.example.com". The server is asked what it is (discovery, cached
 *   for the client), so custom resources are found as built-in ones are, and
 * one that was installed a moment ago, too. Names, namespaces and selectors are
 *   percent-encoded. A kind that cannot be listed and watched, such as a
 * review, is sent with kl_client_call.
 * - Errors. A status of 400 or above is an error: err->code (KL_ENOT_FOUND,
 *   KL_ECONFLICT, KL_EFORBIDDEN, ...), err->http_status and the server's
 *   message. KL_EUNKNOWN_KIND: the server does not serve that resource, or not
 *   any more; it names the nearest kinds. Other codes are those of
 *   kl_request_result; KL_EUNKNOWN means that a write may have been carried
 *   out, also where its answer is no object (a Status, as of pods/eviction:
 * send that with kl_client_call).
 * - Retries are those of kl_client_send. No call sends a write twice that may
 *   have been carried out.
 * - Threads. All calls are thread-safe, may be made inside a callback, and may
 *   run beside kl_client_close, which ends them (KL_ECLOSED).
 */
#ifndef KUBELUA_VERBS_H
#define KUBELUA_VERBS_H

#include "kubelua/client.h"
#include "kubelua/informer.h"
#include "kubelua/object.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a verb is about. Zeroed fields are the defaults. */
typedef struct kl_target {
    const char *resource;   /* "pods", "deployments.apps"; required */
    const char *name_space; /* NULL: the client's namespace, for a kind that has
                               namespaces; "*", for kl_list: all. For a kind
                               that has none: NULL or "" */
    const char *name;       /* required but for kl_list and kl_create */
    const char *subresource; /* "status", "scale"; NULL: the object itself */
} kl_target;

/* Zeroed fields are the defaults; each verb ignores what it does not name. */
typedef struct kl_verb_options {
    const char *labels;        /* kl_list: label selector */
    const char *fields;        /* kl_list: field selector */
    const char *field_manager; /* create, apply, patch; NULL: "kubelua" */
    const char *patch_type;    /* kl_patch: content type; NULL: a merge patch,
                                  application/merge-patch+json */
    const char *propagation;   /* kl_delete: "Foreground", "Background",
                                  "Orphan"; NULL: the server's default */
    const char *uid; /* kl_delete: only the object of that UID; another
                        one is KL_ECONFLICT */
    bool force;      /* kl_apply: takes fields from other managers; else
                        KL_ECONFLICT */
    bool dry_run;    /* create, apply, patch, delete: as if, only */
    int timeout_ms;  /* of the whole call, with discovery and all pages of a
                        list; 0: 30 s */
    kl_unreadable_list *unreadable; /* kl_list: filled with the objects that
                                       cannot be read; the caller clears it.
                                       NULL: they are only logged */
} kl_verb_options;

/* Reads one object. The caller owns the reference. `options` may be NULL, here
 * and below. NULL: an error, as above; KL_EINVAL for a wrong target. */
KL_API kl_object *kl_get(kl_client *client, const kl_target *target,
                         const kl_verb_options *options, kl_error *err);

/*
 * Fills `list` with the objects, in the server's order, read in pages of 500;
 * the caller clears it. An object that cannot be read (kl_informer_unreadable)
 * is left out, logged, and named in options->unreadable. A 410 for a page
 * begins anew, once. If it fails the list is empty. KL_ETOO_LARGE: the server
 * goes on after 1,000,000 objects, or repeats a page's token.
 */
KL_API kl_code kl_list(kl_client *client, const kl_target *target,
                       const kl_verb_options *options, kl_object_list *list,
                       kl_error *err);

/* Creates the object that `json` is, with or without metadata.namespace; the
 * result is the object as the server has it, owned by the caller. NULL: an
 * error; KL_EALREADY_EXISTS: there is one of that name. */
KL_API kl_object *kl_create(kl_client *client, const kl_target *target,
                            const char *json, const kl_verb_options *options,
                            kl_error *err);

/* Server-side apply: creates the object, or sets the fields that `json` names.
 * It needs apiVersion, kind and metadata.name. Result as above. */
KL_API kl_object *kl_apply(kl_client *client, const kl_target *target,
                           const char *json, const kl_verb_options *options,
                           kl_error *err);

/* Patches the object. Result as above. */
KL_API kl_object *kl_patch(kl_client *client, const kl_target *target,
                           const char *json, const kl_verb_options *options,
                           kl_error *err);

/* Deletes the object: KL_OK once the server has accepted that; finalizers may
 * keep it for a while. KL_ENOT_FOUND: there is none. */
KL_API kl_code kl_delete(kl_client *client, const kl_target *target,
                         const kl_verb_options *options, kl_error *err);

#ifdef __cplusplus
}
#endif
#endif
