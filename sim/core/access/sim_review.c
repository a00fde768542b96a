/*
 * sim_review.c - reviews of the user that asks (SelfSubjectAccessReview ...): a
 * client creates one to ask about its rights; the server answers with it and
 * stores nothing. Reviews of others are refused (405).
 */
#include "sim/core/access/sim_access.h"

#include "base/mem.h"
#include "sim/core/json/edit.h"
#include "sim/core/answer/sim_status.h"
#include "sim/core/request/sim_said.h"

#include <string.h>

/* A review that is being answered. */
typedef struct review {
    kl__sim_answer *answer;
    const kl__sim_kind *kind; /* borrowed from the cluster */
    kl__edit *edit;
    kl__node *root; /* the object */
    kl__node *spec;
    kl__node *status;
} review;

static kl_code review_out_of_memory(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for a review");
}

static kl_code refuse_review(review *self, const char *field, kl_error *err,
                             const char *message)
{
    kl__sim_status status = {.group = self->kind->group};

    kl__sim_cause_add(&status, "FieldValueInvalid", field, "%s", message);
    return kl__sim_refuse_invalid(self->answer, &status,
                                  self->kind->group[4] == 'o'
                                      ? ".authorization.k8s.io"
                                      : ".authentication.k8s.io",
                                  err);
}

/* Sets a member of status; false: out of memory. */
static bool set_status_member(review *self, const char *name, kl__node *value)
{
    return kl__node_put(self->edit, self->status, name, value);
}

static bool set_text(review *self, const char *name, const char *text)
{
    return set_status_member(self, name, kl__edit_text(self->edit, text));
}

/* Makes {"username":, "uid":, "groups":[]}. */
static kl__node *user_node(review *self, const kl__sim_user *user)
{
    kl__edit *edit = self->edit;
    kl__node *node = kl__edit_object(edit), *groups = kl__edit_array(edit);
    bool done = node != NULL && groups != NULL;

    if (done && user->name != NULL) {
        done = kl__node_put(edit, node, "username",
                            kl__edit_text(edit, user->name));
    }
    if (done && user->uid != NULL) {
        done = kl__node_put(edit, node, "uid", kl__edit_text(edit, user->uid));
    }
    for (size_t i = 0; done && i < user->group_count; i++) {
        done = kl__node_append(groups, kl__edit_text(edit, user->groups[i]));
    }
    if (done && user->group_count != 0) {
        done = kl__node_put(edit, node, "groups", groups);
    }
    return done ? node : NULL;
}

/* --- SelfSubjectReview: the user. ----------------------------------------- */

static kl_code review_self(review *self, kl_error *err)
{
    return set_status_member(self, "userInfo",
                             user_node(self, kl__sim_who(self->answer)))
               ? KL_OK
               : review_out_of_memory(err);
}

/* --- SelfSubjectAccessReview: one question. ------------------------------- */

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* NULL for an empty text. */
static const char *or_null(const char *text)
{
    return text != NULL && *text != '\0' ? text : NULL;
}

/* Reads the deed that spec asks about; false unless spec names either a
 * resource or a URL. */
static bool read_deed(const kl__node *spec, kl__sim_deed *deed)
{
    const kl__node *resource = kl__node_get(spec, "resourceAttributes");
    const kl__node *path = kl__node_get(spec, "nonResourceAttributes");

    if (kl__node_is(resource, KL_OBJECT) == kl__node_is(path, KL_OBJECT)) {
        return false;
    }
    memset(deed, 0, sizeof(*deed));
    if (kl__node_is(path, KL_OBJECT)) {
        deed->verb = or_empty(kl__node_text(path, "verb"));
        deed->path = or_empty(kl__node_text(path, "path"));
        return true;
    }
    deed->verb = or_empty(kl__node_text(resource, "verb"));
    deed->group = or_empty(kl__node_text(resource, "group"));
    deed->resource = or_empty(kl__node_text(resource, "resource"));
    deed->subresource = or_null(kl__node_text(resource, "subresource"));
    deed->name_space = or_null(kl__node_text(resource, "namespace"));
    deed->name = or_null(kl__node_text(resource, "name"));
    return true;
}

static kl_code decide_deed(review *self, const kl__sim_deed *deed,
                           kl_error *err)
{
    kl_sim *sim = self->answer->sim;
    char why[KL__SIM_WHY_SIZE] = "";
    kl_code code = KL_OK;
    bool allowed =
        !sim->has_rbac || kl__sim_rbac_allows(sim, kl__sim_who(self->answer),
                                              deed, why, &code, err);

    if (code != KL_OK) {
        return code;
    }
    return set_status_member(self, "allowed",
                             kl__edit_bool(self->edit, allowed)) &&
                   (*why == '\0' || set_text(self, "reason", why))
               ? KL_OK
               : review_out_of_memory(err);
}

static kl_code review_access(review *self, kl_error *err)
{
    kl__sim_deed deed;

    if (!read_deed(self->spec, &deed)) {
        return refuse_review(
            self, "spec.resourceAttributes", err,
            "Invalid value: null: exactly one of "
            "nonResourceAttributes or resourceAttributes must be "
            "specified");
    }
    return decide_deed(self, &deed, err);
}

/* --- SelfSubjectRulesReview: all rules of the user. ----------------------- */

static kl_code add_rule(void *context, const kl_value *rule, kl_error *err)
{
    review *self = context;
    bool of_path = kl_value_size(kl_value_get(rule, "nonResourceURLs")) != 0;
    kl__node *list = kl__node_get(self->status, of_path ? "nonResourceRules"
                                                        : "resourceRules");

    return kl__node_append(list, kl__edit_value(self->edit, rule))
               ? KL_OK
               : review_out_of_memory(err);
}

/* Without RBAC every user may do everything. */
static kl_code add_all_rules(review *self, kl_error *err)
{
    static const char *const all[] = {
        "{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"]}",
        "{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}"};
    kl_code code = KL_OK;

    for (size_t i = 0; code == KL_OK && i < sizeof(all) / sizeof(*all); i++) {
        kl_doc *rule = kl_doc_parse(all[i], strlen(all[i]), err);

        code =
            rule != NULL ? add_rule(self, kl_doc_root(rule), err) : KL_ENOMEM;
        kl_doc_unref(rule);
    }
    return code;
}

static kl_code review_rules(review *self, kl_error *err)
{
    const char *name_space = or_null(kl__node_text(self->spec, "namespace"));
    kl_sim *sim = self->answer->sim;
    kl_code code;

    if (name_space == NULL) {
        return kl__sim_refuse(self->answer, 400, "BadRequest", err,
                              "no namespace on request");
    }
    if (!set_status_member(self, "resourceRules", kl__edit_array(self->edit)) ||
        !set_status_member(self, "nonResourceRules",
                           kl__edit_array(self->edit)) ||
        !set_status_member(self, "incomplete",
                           kl__edit_bool(self->edit, false))) {
        return review_out_of_memory(err);
    }
    code = sim->has_rbac ? kl__sim_rbac_each(sim, kl__sim_who(self->answer),
                                             name_space, add_rule, self, err)
                         : add_all_rules(self, err);
    if (code != KL_OK || !kl__node_put(self->edit, self->root, "spec",
                                       kl__edit_object(self->edit))) {
        return review_out_of_memory(err);
    }
    return KL_OK;
}

/* --- From the request to the answer. -------------------------------------- */

/* The kind that the path creates, if that is a review; else NULL. */
static const kl__sim_kind *find_review_kind(kl_sim *sim,
                                            const kl__sim_route *route)
{
    const kl__sim_resource *resource =
        kl__sim_find(sim, route->group, route->plural);
    const kl__sim_kind *kind = resource != NULL ? resource->kind : NULL;

    return kind != NULL && kl__sim_kind_is(kind, KL__SIM_VIRTUAL) &&
                   (strcmp(kind->group, "authentication.k8s.io") == 0 ||
                    strcmp(kind->group, "authorization.k8s.io") == 0) &&
                   strcmp(route->version, kind->storage) == 0
               ? kind
               : NULL;
}

/* Reads the object in the body, and sets kind, apiVersion and an empty status.
 * False: out of memory. */
static bool begin_review(review *self)
{
    const kl_value *body = kl_doc_root(self->answer->ask.doc);
    const char *within = self->answer->ask.route.name_space;
    char version[64] = "";

    strcat(strcat(version, self->kind->group), "/v1");
    self->root = kl__edit_object(self->edit);
    self->spec = kl__edit_value(self->edit, kl_value_get(body, "spec"));
    self->status = kl__edit_object(self->edit);
    if (self->root == NULL || self->spec == NULL || self->status == NULL) {
        return false;
    }
    kl__edit_set_root(self->edit, self->root);
    return kl__node_put(self->edit, self->root, "kind",
                        kl__edit_text(self->edit, self->kind->kind)) &&
           kl__node_put(self->edit, self->root, "apiVersion",
                        kl__edit_text(self->edit, version)) &&
           kl__node_put(self->edit, self->root, "metadata",
                        kl__edit_object(self->edit)) &&
           (within == NULL ||
            kl__node_put(self->edit, kl__node_get(self->root, "metadata"),
                         "namespace", kl__edit_text(self->edit, within))) &&
           (!kl__node_is(self->spec, KL_OBJECT) ||
            kl__node_put(self->edit, self->root, "spec", self->spec)) &&
           kl__node_put(self->edit, self->root, "status", self->status);
}

static kl_code answer_review(review *self, kl_error *err)
{
    const char *plural = self->kind->plural;

    if (strcmp(plural, "selfsubjectreviews") == 0) {
        return review_self(self, err);
    }
    return strcmp(plural, "selfsubjectrulesreviews") == 0
               ? review_rules(self, err)
               : review_access(self, err);
}

static kl_code write_out(review *self, kl_error *err)
{
    size_t length;
    char *json = kl__edit_json(self->edit, &length, err);

    if (json == NULL) {
        return KL_ENOMEM;
    }
    kl__sim_answer_json(self->answer, 201);
    kl__buf_append(&self->answer->out, json, length);
    kl__buf_putc(&self->answer->out, '\n');
    kl__free(json);
    return !self->answer->out.failed ? KL_OK : review_out_of_memory(err);
}

static kl_code review_it(review *self, kl_error *err)
{
    kl_code code;

    self->edit = kl__edit_new(err);
    if (self->edit == NULL || !begin_review(self)) {
        code = review_out_of_memory(err);
    } else {
        code = answer_review(self, err);
        if (code == KL_OK && self->answer->status == 0) {
            code = write_out(self, err);
        }
    }
    kl__edit_free(self->edit);
    return code;
}

kl_code kl__sim_review(kl__sim_answer *answer, bool *found, kl_error *err)
{
    const kl__sim_ask *ask = &answer->ask;
    review self = {.answer = answer,
                   .kind = find_review_kind(answer->sim, &ask->route)};
    char text[KL__SIM_SAID_SIZE], shown[KL__SIM_SHOWN_SIZE];
    const char *fault;

    *found = self.kind != NULL;
    if (self.kind == NULL) {
        return KL_OK;
    }
    if (ask->route.name != NULL ||
        kl__sim_kind_is(self.kind, KL__SIM_NAMESPACED) !=
            (ask->route.name_space != NULL)) {
        return kl__sim_refuse_path(answer, err);
    }
    if (strcmp(ask->method, "POST") != 0 ||
        strncmp(self.kind->plural, "self", 4) != 0) {
        return kl__sim_refuse_method(answer, err);
    }
    fault = kl__sim_body_fault(ask, text);
    if (fault != NULL) {
        return kl__sim_refuse(
            answer, 400, "BadRequest", err,
            "the object provided is unrecognized (must be of type %s): %s (%s)",
            self.kind->kind, fault, kl__sim_show_body(ask, shown));
    }
    return review_it(&self, err);
}
