/*
 * sim_quota_life.c - the controller of ResourceQuotas: writes into each quota's
 * status its limits, and how much of them the objects of its namespace use.
 */
#include "sim/core/life/sim_settle.h"

#include "sim/core/schema/amounts.h"
#include "sim/core/admit/sim_quota.h"
#include "sim/core/store/sim_compose.h"
#include "sim/core/write/sim_pipeline.h"
#include "sim/core/write/sim_write.h"

#include <string.h>

/* One quota that is being recounted. */
typedef struct counting {
    const char *name_space;
    kl__edit *edit;       /* the tree of the quota */
    const kl__node *spec; /* a node of that tree */
    kl__node *used;       /* what was counted */
} counting;

static bool is_counted_by_content(const kl__sim_kind *kind)
{
    return !kl__sim_kind_is(kind, KL__SIM_CUSTOM) && *kind->group == '\0' &&
           (strcmp(kind->plural, "pods") == 0 ||
            strcmp(kind->plural, "services") == 0 ||
            strcmp(kind->plural, "persistentvolumeclaims") == 0);
}

/* Adds what one object uses, if the quota counts such objects. */
static kl_code count_object(counting *self, const kl__sim_kind *kind,
                            const kl__sim_state *state, kl_error *err)
{
    kl__edit *edit = NULL;
    const kl__node *object = NULL, *usage;
    bool done = true;

    if (is_counted_by_content(kind)) {
        edit = kl__sim_state_edit(state, err);
        object = edit != NULL ? kl__edit_root(edit) : NULL;
        if (object == NULL) {
            return KL_ENOMEM;
        }
    }
    if (kl__sim_quota_selects(self->spec, kind, object)) {
        usage = kl__sim_quota_usage(self->edit, kind, object);
        usage =
            usage != NULL ? kl__sim_quota_mask(self->edit, kind, usage) : NULL;
        done = usage != NULL && kl__amounts_add(self->edit, self->used, usage);
    }
    kl__edit_free(edit);
    return done ? KL_OK : kl__sim_no_memory(err);
}

/* Adds what all objects of one kind use. */
static kl_code count_kind(counting *self, const kl__sim_resource *resource,
                          kl_error *err)
{
    const kl__sim_kind *kind = resource->kind;
    const kl__node *hard = kl__node_get(self->spec, "hard");
    kl__node *mine = kl__sim_quota_mask(self->edit, kind, hard);
    kl__node_iter iter = {0};
    const kl__sim_node *node;
    const char *name;
    kl_code code = KL_OK;

    if (mine == NULL) {
        return kl__sim_no_memory(err);
    }
    if (kl__node_size(mine) == 0) {
        return KL_OK;
    }
    while (kl__node_next(mine, &iter, &name, NULL) != NULL) {
        if (!kl__amount_put(self->edit, self->used, name, "0")) {
            return kl__sim_no_memory(err);
        }
    }
    node = kl__sim_tree_first_in(&resource->items, self->name_space);
    while (node != NULL && code == KL_OK) {
        code = count_object(self, kind, node->state, err);
        node = kl__sim_tree_next_in(node, self->name_space);
    }
    return code;
}

/* Writes the new status. Only resources with a limit are counted; an amount
 * that the simulator cannot count stays as it was. */
static bool put_status(counting *self)
{
    kl__edit *edit = self->edit;
    kl__node *status = kl__node_ensure(edit, kl__edit_root(edit), "status");
    const kl__node *hard = kl__node_get(self->spec, "hard");
    const kl__node *before = kl__node_get(status, "used");
    kl__node *used = kl__edit_object(edit);
    kl__node_iter iter = {0};
    const char *name;

    if (status == NULL || used == NULL) {
        return false;
    }
    while (kl__node_next(hard, &iter, &name, NULL) != NULL) {
        const char *amount = kl__amount(self->used, name);

        amount = amount != NULL ? amount : kl__amount(before, name);
        if (amount != NULL && !kl__amount_put(edit, used, name, amount)) {
            return false;
        }
    }
    return kl__sim_put_copy(edit, status, "hard", hard) &&
           kl__node_put(edit, status, "used", used);
}

static kl_code count_quota(kl_sim *sim, kl__sim_resource *quotas,
                           const char *name_space, const kl__sim_state *state,
                           kl_error *err)
{
    counting self = {.name_space = name_space,
                     .edit = kl__sim_state_edit(state, err)};
    kl_code code = KL_OK;

    if (self.edit == NULL) {
        return KL_ENOMEM;
    }
    self.spec = kl__node_get(kl__edit_root(self.edit), "spec");
    self.used = kl__edit_object(self.edit);
    for (kl__list *node = sim->resources.next;
         self.used != NULL && code == KL_OK && node != &sim->resources;
         node = node->next) {
        const kl__sim_resource *resource =
            KL__CONTAINER(node, kl__sim_resource, node);

        if (resource->home == resource &&
            kl__sim_kind_is(resource->kind, KL__SIM_NAMESPACED)) {
            code = count_kind(&self, resource, err);
        }
    }
    if (code == KL_OK && (self.used == NULL || !put_status(&self))) {
        code = kl__sim_no_memory(err);
    }
    if (code == KL_OK) {
        code = kl__sim_put_as(sim, quotas, state, self.edit,
                              &kl__sim_status_controller, err);
    }
    kl__edit_free(self.edit);
    return code;
}

kl_code kl__sim_quotas_settle(kl_sim *sim, const char *name_space,
                              kl_error *err)
{
    kl__sim_resource *quotas = kl__sim_find(sim, "", "resourcequotas");
    const kl__sim_node *node =
        kl__sim_tree_first_in(&quotas->items, name_space);
    kl_code code = KL_OK;

    while (node != NULL && code == KL_OK) {
        kl__sim_state *state = kl__sim_state_ref(node->state);

        code = state->deleting
                   ? KL_OK
                   : count_quota(sim, quotas, name_space, state, err);
        node = kl__sim_tree_next_in(
            kl__sim_tree_find(&quotas->items, state->key), name_space);
        kl__sim_state_unref(state);
    }
    return code;
}
