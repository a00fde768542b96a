/*
 * sim_admit_storage.c - admission of PersistentVolumeClaims ("claims"), volumes
 * and Ingresses: the default class, the finalizer that protects objects in use,
 * and which claims may grow.
 */
#include "sim/core/admit/sim_admit.h"

#include "sim/core/schema/quantity.h"
#include "sim/core/store/sim_compose.h"
#include "sim/core/write/sim_deletion.h"
#include "sim/core/write/sim_kinds_own.h"

#include <stdio.h>
#include <string.h>

static kl__node *storage_spec_of(const kl__sim_write *write)
{
    return kl__node_get(kl__sim_write_root(write), "spec");
}

static const kl__node *annotations_of(const kl__node *root)
{
    return kl__node_get(kl__node_get(root, "metadata"), "annotations");
}

/* True if the request creates an object of that kind. */
static bool makes_kind(const kl__sim_write *write, const char *group,
                       const char *plural)
{
    return write->old == NULL && !write->answer->loading &&
           *write->subresource == '\0' &&
           kl__sim_write_is(write, group, plural);
}

/* --- Classes. ------------------------------------------------------------- */

typedef struct class_kind {
    const char *group;
    const char *plural;
    /* a class with one of these annotations set to "true" is a default; the
     * second is NULL if only one exists */
    const char *annotations[2];
} class_kind;

static bool says_true(const kl__node *root, const class_kind *kind)
{
    for (size_t i = 0; i < 2 && kind->annotations[i] != NULL; i++) {
        const char *text =
            kl__node_text(annotations_of(root), kind->annotations[i]);

        if (text != NULL && strcmp(text, "true") == 0) {
            return true;
        }
    }
    return false;
}

/* *found: the newest default class; of several of the same age, the first by
 * name. NULL: there is none. Borrowed. */
static kl_code find_class(kl_sim *sim, const class_kind *kind,
                          const kl__sim_state **found, kl_error *err)
{
    const kl__sim_node *node =
        kl__sim_find(sim, kind->group, kind->plural)->items.first[0];
    char newest[KL__SIM_TIME_SIZE] = "";

    *found = NULL;
    for (; node != NULL; node = node->next[0]) {
        kl__edit *edit = kl__sim_state_edit(node->state, err);
        const kl__node *root;
        const char *made;

        if (edit == NULL) {
            return KL_ENOMEM;
        }
        root = kl__edit_root(edit);
        made =
            kl__node_text(kl__node_get(root, "metadata"), "creationTimestamp");
        if (made != NULL && says_true(root, kind) && strcmp(made, newest) > 0) {
            snprintf(newest, sizeof(newest), "%s", made);
            *found = node->state;
        }
        kl__edit_free(edit);
    }
    return KL_OK;
}

static kl_code put_class(kl__sim_write *write, const class_kind *kind,
                         const char *member, kl_error *err)
{
    const kl__sim_state *found;
    kl_code code = find_class(write->answer->sim, kind, &found, err);

    if (code != KL_OK || found == NULL) {
        return code;
    }
    return kl__sim_put_text(write->edit, storage_spec_of(write), member,
                            found->name)
               ? KL_OK
               : kl__sim_no_memory(err);
}

kl_code kl__sim_admit_storage_class(kl__sim_write *write, kl_error *err)
{
    static const class_kind kind = {
        "storage.k8s.io",
        "storageclasses",
        {"storageclass.kubernetes.io/is-default-class",
         "storageclass.beta.kubernetes.io/is-default-class"}};

    if (!makes_kind(write, "", "persistentvolumeclaims") ||
        storage_spec_of(write) == NULL ||
        kl__node_get(storage_spec_of(write), "storageClassName") != NULL ||
        kl__node_get(annotations_of(kl__sim_write_root(write)),
                     "volume.beta.kubernetes.io/storage-class") != NULL) {
        return KL_OK;
    }
    return put_class(write, &kind, "storageClassName", err);
}

kl_code kl__sim_admit_ingress_class(kl__sim_write *write, kl_error *err)
{
    static const class_kind kind = {
        "networking.k8s.io",
        "ingressclasses",
        {"ingressclass.kubernetes.io/is-default-class", NULL}};

    if (!makes_kind(write, "networking.k8s.io", "ingresses") ||
        storage_spec_of(write) == NULL ||
        kl__node_get(storage_spec_of(write), "ingressClassName") != NULL ||
        kl__node_get(annotations_of(kl__sim_write_root(write)),
                     "kubernetes.io/ingress.class") != NULL) {
        return KL_OK;
    }
    return put_class(write, &kind, "ingressClassName", err);
}

/* --- Protection. ---------------------------------------------------------- */

kl_code kl__sim_admit_protection(kl__sim_write *write, kl_error *err)
{
    kl__edit *edit = write->edit;
    kl__node *metadata = kl__sim_write_metadata(write), *list;
    const char *finalizer = kl__sim_protection(write->kind);

    if (finalizer == NULL || write->old != NULL || write->answer->loading ||
        kl__sim_has_finalizer(metadata, finalizer)) {
        return KL_OK;
    }
    list = kl__node_get(metadata, "finalizers");
    if (!kl__node_is(list, KL_ARRAY)) {
        list = kl__edit_array(edit);
        if (!kl__node_put(edit, metadata, "finalizers", list)) {
            return kl__sim_no_memory(err);
        }
    }
    return kl__node_append(list, kl__edit_text(edit, finalizer))
               ? KL_OK
               : kl__sim_no_memory(err);
}

/* --- Growing claims. ------------------------------------------------------ */

static const char *storage_of(const kl__node *root)
{
    static const char *const path[] = {"spec", "resources", "requests",
                                       "storage", NULL};
    const char *text = kl__node_string(kl__node_find(root, path), NULL);

    return text != NULL ? text : "0";
}

/* Sets *may if claims of a class may grow. */
static kl_code may_grow(kl_sim *sim, const char *name, bool *may, kl_error *err)
{
    const kl__sim_node *node = kl__sim_tree_find(
        &kl__sim_find(sim, "storage.k8s.io", "storageclasses")->items, name);
    kl__edit *edit = node != NULL ? kl__sim_state_edit(node->state, err) : NULL;

    *may = edit != NULL && kl__node_bool(kl__node_get(kl__edit_root(edit),
                                                      "allowVolumeExpansion"));
    kl__edit_free(edit);
    return node == NULL || edit != NULL ? KL_OK : KL_ENOMEM;
}

kl_code kl__sim_admit_resize(kl__sim_write *write, kl_error *err)
{
    const kl__node *old = kl__sim_write_old(write);
    const char *phase = kl__node_text(kl__node_get(old, "status"), "phase");
    const char *class =
        kl__node_text(storage_spec_of(write), "storageClassName");
    bool may = false;
    kl_code code;

    if (write->old == NULL || *write->subresource != '\0' ||
        write->answer->loading ||
        !kl__sim_write_is(write, "", "persistentvolumeclaims") ||
        kl__quantity_compare(storage_of(kl__sim_write_root(write)),
                             storage_of(old)) <= 0) {
        return KL_OK;
    }
    if (phase == NULL || strcmp(phase, "Bound") != 0) {
        return kl__sim_admit_forbid(
            write, "Only bound persistent volume claims can be expanded", err);
    }
    code = may_grow(write->answer->sim, class != NULL ? class : "", &may, err);
    return code != KL_OK || may
               ? code
               : kl__sim_admit_forbid(
                     write,
                     "only dynamically provisioned pvc can be resized and the "
                     "storageclass that provisions the pvc must support resize",
                     err);
}
