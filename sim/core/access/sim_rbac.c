/*
 * sim_rbac.c - see sim_rbac.h. Each decision reads all bindings as they are
 * now. Nothing is cached here, because a stored object (kl__sim_state) keeps
 * its parsed tree.
 */
#include "sim/core/access/sim_rbac.h"

#include "base/str.h"
#include "sim/core/access/sim_rbac_match.h"
#include "sim/core/store/sim_compose.h"

#include <stdio.h>
#include <string.h>

static const char rbac_group[] = "rbac.authorization.k8s.io";

/* A walk through the rules that a user is granted. It ends when `fn` returns
 * another code than KL_OK. */
typedef struct grant_walk {
    kl_sim *sim;
    const kl__sim_user *user;
    const char *name_space;
    /* The grant that the walk is at. */
    const kl__sim_state *binding;
    const char *binding_kind;
    const kl_value *subject;
    const kl_value *role; /* the roleRef */
    kl__sim_rule_fn fn;
    void *context;
    /* KL__SIM_WHY_SIZE bytes: names of roles that do not exist */
    char *missing;
} grant_walk;

static kl__sim_tree *items_of(kl_sim *sim, const char *plural)
{
    kl__sim_resource *resource = kl__sim_find(sim, rbac_group, plural);

    return resource != NULL ? &resource->items : NULL;
}

/* Calls fn with each element of `rules`. */
static kl_code each_rule(const grant_walk *walk, const kl_value *rules,
                         kl_error *err)
{
    kl_value_iter iter = {0};
    const kl_value *rule;
    kl_code code = KL_OK;

    while (code == KL_OK &&
           (rule = kl_value_next(rules, &iter, NULL)) != NULL) {
        code = walk->fn(walk->context, rule, err);
    }
    return code;
}

/* Notes that the role of a binding does not exist, in a real server's words. */
static void note_missing(const grant_walk *walk, const char *kind,
                         const char *name)
{
    size_t used = strlen(walk->missing);
    bool is_cluster = strcmp(kind, "ClusterRole") == 0;

    snprintf(walk->missing + used, KL__SIM_WHY_SIZE - used,
             "%s%srole.%s \"%.200s\" not found", used != 0 ? ", " : "",
             is_cluster ? "cluster" : "", rbac_group, name);
}

/* Calls fn with the rules of the role that a binding refers to. */
static kl_code each_bound(grant_walk *walk, const char *name_space,
                          kl_error *err)
{
    const char *kind = kl__sim_text(walk->role, "kind");
    const char *name = kl__sim_text(walk->role, "name");
    bool is_cluster;
    kl__sim_node *node;
    const kl_value *root;
    char key[600];

    if (kind == NULL || name == NULL) {
        return KL_OK;
    }
    is_cluster = strcmp(kind, "ClusterRole") == 0;
    snprintf(key, sizeof(key), "%s%s%s", is_cluster ? "" : name_space,
             is_cluster ? "" : "/", name);
    node = kl__sim_tree_find(
        items_of(walk->sim, is_cluster ? "clusterroles" : "roles"), key);
    if (node == NULL) {
        note_missing(walk, kind, name);
        return KL_OK;
    }
    root = kl__sim_state_root(node->state, err);
    return root != NULL ? each_rule(walk, kl_value_get(root, "rules"), err)
                        : KL_ENOMEM;
}

/* Calls fn with the rules that one binding grants, if the user is among its
 * subjects. */
static kl_code each_binding(grant_walk *walk, kl__sim_state *state,
                            const char *name_space, kl_error *err)
{
    const kl_value *root = kl__sim_state_root(state, err);
    kl_value_iter iter = {0};

    if (root == NULL) {
        return KL_ENOMEM;
    }
    while ((walk->subject = kl_value_next(kl_value_get(root, "subjects"), &iter,
                                          NULL)) != NULL) {
        if (kl__sim_subject_is(walk->subject, walk->user, name_space)) {
            walk->binding = state;
            walk->binding_kind =
                *name_space != '\0' ? "RoleBinding" : "ClusterRoleBinding";
            walk->role = kl_value_get(root, "roleRef");
            return each_bound(walk, name_space, err);
        }
    }
    return KL_OK;
}

/* Calls fn with all rules of a user: first those of the whole cluster, then
 * those of the namespace. */
static kl_code each_grant(grant_walk *walk, kl_error *err)
{
    const char *name_space = walk->name_space;
    size_t length = strlen(name_space);
    kl__sim_node *node = items_of(walk->sim, "clusterrolebindings")->first[0];
    kl_code code = KL_OK;
    char prefix[300];

    for (; code == KL_OK && node != NULL; node = node->next[0]) {
        code = each_binding(walk, node->state, "", err);
    }
    if (code != KL_OK || length == 0 || length + 2 > sizeof(prefix)) {
        return code;
    }
    snprintf(prefix, sizeof(prefix), "%s/", name_space);
    node = kl__sim_tree_seek(items_of(walk->sim, "rolebindings"), prefix);
    while (code == KL_OK && node != NULL &&
           strncmp(node->state->key, prefix, length + 1) == 0) {
        code = each_binding(walk, node->state, name_space, err);
        node = node->next[0];
    }
    return code;
}

/* --- One question. -------------------------------------------------------- */

typedef struct question {
    const grant_walk *walk;
    const kl__sim_deed *deed;
    char *why;
} question;

/* Writes "Group \"dev\"", or "ServiceAccount \"name/namespace\"". */
static void describe_subject(const grant_walk *walk, char *text, size_t size)
{
    const char *kind = kl__sim_text(walk->subject, "kind");
    const char *name = kl__sim_text(walk->subject, "name");
    const char *within = kl__sim_text(walk->subject, "namespace");
    bool is_account = strcmp(kind, "ServiceAccount") == 0;

    snprintf(text, size, "%s \"%.250s%s%.64s\"", kind, name,
             is_account ? "/" : "", is_account && within != NULL ? within : "");
}

static kl_code answer_question(void *context, const kl_value *rule,
                               kl_error *err)
{
    question *asked = context;
    const grant_walk *walk = asked->walk;
    const char *name = walk->binding->name;
    size_t length = kl__sim_state_namespace(walk->binding);
    char subject[400];

    (void)err;
    if (!kl__sim_rule_allows(rule, asked->deed)) {
        return KL_OK;
    }
    describe_subject(walk, subject, sizeof(subject));
    snprintf(asked->why, KL__SIM_WHY_SIZE,
             "RBAC: allowed by %s \"%.200s%s%.*s\" of %s \"%.200s\" to %s",
             walk->binding_kind, name, length != 0 ? "/" : "", (int)length,
             walk->binding->key, kl__sim_text(walk->role, "kind"),
             kl__sim_text(walk->role, "name"), subject);
    return KL_EINVAL; /* a rule allows the deed: end the walk */
}

bool kl__sim_rbac_allows(kl_sim *sim, const kl__sim_user *user,
                         const kl__sim_deed *deed, char *why, kl_code *code,
                         kl_error *err)
{
    char missing[KL__SIM_WHY_SIZE] = "";
    grant_walk walk = {.sim = sim,
                       .user = user,
                       .name_space =
                           deed->name_space != NULL ? deed->name_space : "",
                       .missing = missing};
    question asked = {&walk, deed, why};

    *code = KL_OK;
    *why = '\0';
    if (kl__sim_user_is_in(user, KL__SIM_MASTERS)) {
        return true;
    }
    walk.fn = answer_question;
    walk.context = &asked;
    *code = each_grant(&walk, err);
    if (*code == KL_EINVAL) {
        *code = KL_OK;
        return true;
    }
    if (*missing != '\0') {
        bool is_several = strstr(missing, ", ") != NULL;

        snprintf(why, KL__SIM_WHY_SIZE, "RBAC: %s%.1000s%s",
                 is_several ? "[" : "", missing, is_several ? "]" : "");
    }
    return false;
}

kl_code kl__sim_rbac_each(kl_sim *sim, const kl__sim_user *user,
                          const char *name_space, kl__sim_rule_fn fn,
                          void *context, kl_error *err)
{
    char missing[KL__SIM_WHY_SIZE] = "";
    grant_walk walk = {.sim = sim,
                       .user = user,
                       .name_space = name_space,
                       .fn = fn,
                       .context = context,
                       .missing = missing};

    return each_grant(&walk, err);
}
