/*
 * sim_access_spec.c - authentication and authorisation: tokens, roles,
 * impersonation and reviews. Texts are those that kube-apiserver 1.36 answered.
 */
#include "spec_case.h"

#include "sim/core/access/sim_access.h"
#include "sim/core/store/sim_core.h"

static const kl_sim_user users[] = {{"jane", "jane-token", "dev,ops"},
                                    {"bob", "bob-token", NULL}};

static const char roles[] =
    "apiVersion: rbac.authorization.k8s.io/v1\n"
    "kind: Role\n"
    "metadata: {name: reader, namespace: default}\n"
    "rules:\n"
    "- {apiGroups: [''], resources: [pods, pods/log], verbs: [get, list]}\n"
    "- {apiGroups: [apps], resources: ['*/scale'], verbs: ['*']}\n"
    "- {apiGroups: [''], resources: [configmaps], resourceNames: [one],\n"
    "   verbs: [get]}\n"
    "- {apiGroups: [''], resources: [secrets], verbs: [patch]}\n"
    "- {apiGroups: [''], resources: [services], verbs: [patch, create]}\n"
    "---\n"
    "apiVersion: rbac.authorization.k8s.io/v1\n"
    "kind: RoleBinding\n"
    "metadata: {name: readers, namespace: default}\n"
    "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}\n"
    "subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "
    "dev}]\n"
    "---\n"
    "apiVersion: rbac.authorization.k8s.io/v1\n"
    "kind: RoleBinding\n"
    "metadata: {name: viewers, namespace: kube-system}\n"
    "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole,\n"
    "  name: view}\n"
    "subjects: [{kind: ServiceAccount, name: robot, namespace: default}]\n"
    "---\n"
    "apiVersion: rbac.authorization.k8s.io/v1\n"
    "kind: ClusterRoleBinding\n"
    "metadata: {name: nowhere}\n"
    "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole,\n"
    "  name: nope}\n"
    "subjects: [{kind: User, name: bob}]\n"
    "---\n"
    "apiVersion: v1\n"
    "kind: ServiceAccount\n"
    "metadata: {name: robot, namespace: default, uid: robots-uid}\n";

static int set_up(void **state)
{
    const kl_sim_options options = {
        .users = users, .user_count = 2, .rbac = true};
    const int failed = sim_rig_set_up_with(state, &options);
    sim_rig *f = *state;

    assert_int_equal(kl_sim_load(f->sim, roles, strlen(roles), NULL), KL_OK);
    return failed;
}

#define CASE(name) SPEC_CASE(name, sim_rig *f, set_up, sim_rig_tear_down)
#define JANE " @ token jane-token -> "
#define BOB " @ token bob-token -> "
#define NOBODY " @ token no-such-token -> "
#define ADMIN " @ over -> "
#define RBAC "rbac.authorization.k8s.io"

CASE(a_role_allows_what_its_rules_name_and_no_more)
{
    rig_play(
        f,
        "GET pods" JANE "200\n"
        "GET pods/x" JANE "404\n"
        "DELETE pods/x" JANE "403 message=pods \"x\" is forbidden: User "
        "\"jane\" cannot delete resource \"pods\" in API group \"\" in the "
        "namespace \"default\"\n"
        "GET pods?watch=true" JANE "403\n"
        "GET /api/v1/pods" JANE "403 message=pods is forbidden: User \"jane\" "
        "cannot list resource \"pods\" in API group \"\" at the cluster scope\n"
        "GET /api/v1/namespaces/kube-system/pods" JANE "403\n"
        "GET configmaps/one" JANE "404\n"
        "GET configmaps/two" JANE "403\n"
        "GET apps/v1/deployments/x/scale" JANE "404\n"
        "GET apps/v1/deployments/x" JANE "403 message=deployments.apps \"x\" "
        "is forbidden: User \"jane\" cannot get resource \"deployments\" in "
        "API group \"apps\" in the namespace \"default\"\n");
}

CASE(an_apply_that_creates_needs_the_right_to_create)
{
#define SECRET "secrets/s?fieldManager=m {apiVersion: v1, kind: Secret}"
    rig_play(f,
             "APPLY " SECRET JANE "403 ~secrets \\\"s\\\" is forbidden\n"
             "GET secrets/s" ADMIN "404\n"
             "POST secrets {metadata: {name: s}}" ADMIN "201\n"
             "APPLY " SECRET JANE "200\n"
             "APPLY services/w?fieldManager=m {apiVersion: v1, kind: Service, "
             "spec: {ports: [{port: 80}]}}" JANE "201\n");
}

CASE(an_unknown_token_is_refused_and_an_admin_may_do_everything)
{
    rig_play(f, "GET pods" NOBODY "401 message=Unauthorized\n"
                "GET /api/v1/pods" ADMIN "200\n"
                "GET /version" BOB "200\n"
                "GET /apis" BOB "200\n"
                "GET /metrics" BOB "403 message=forbidden: User \"bob\" cannot "
                "get path \"/metrics\": RBAC: "
                "clusterrole.rbac.authorization.k8s.io \"nope\" not found\n");
}

#define ROBOT " @ Impersonate-User system:serviceaccount:default:robot -> "

CASE(a_service_account_has_the_rights_of_its_bindings)
{
    rig_play(f, "GET /api/v1/namespaces/kube-system/pods" ROBOT "200\n"
                "GET pods" ROBOT "403 message=pods is forbidden: User "
                "\"system:serviceaccount:default:robot\" cannot list resource "
                "\"pods\" in API group \"\" in the namespace \"default\"\n");
}

CASE(impersonation_acts_as_another_user)
{
#define AS " @ Impersonate-User jane"
#define GROUP " @ Impersonate-Group dev"
    rig_play(f, "GET pods" AS GROUP " -> 200\n"
                "DELETE pods/x" AS GROUP " -> 403\n"
                "GET /version" AS BOB "403 message=forbidden: User \"bob\" "
                "cannot impersonate-on:user-info:get path \"/version\"\n"
                "GET /version" GROUP " -> 400\n");
}

#define REVIEWS "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

CASE(a_review_tells_what_would_be_allowed_and_why)
{
    rig_play(f, "POST " REVIEWS " {spec: {resourceAttributes: {verb: get, "
                "resource: pods, namespace: default}}}" JANE
                "201 status.allowed=true | status.reason=RBAC: allowed by "
                "RoleBinding \"readers/default\" of Role \"reader\" to Group "
                "\"dev\"\n"
                "POST " REVIEWS " {spec: {resourceAttributes: {verb: delete, "
                "resource: pods, namespace: default}}}" JANE
                "201 status.allowed=false\n"
                "POST " REVIEWS " {spec: {}}" JANE "422\n"
                "GET " REVIEWS JANE "403\n"
                "GET " REVIEWS ADMIN "405\n");
}

CASE(reviews_of_oneself_are_answered_and_others_refused)
{
    rig_play(
        f,
        "POST /apis/authentication.k8s.io/v1/selfsubjectreviews {}" BOB
        "201 status.userInfo.username=bob\n"
        "POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews {spec: "
        "{namespace: default}}" JANE "201 ~\"*/scale\" | ~/openapi/*\n"
        "POST /apis/authentication.k8s.io/v1/tokenreviews {spec: {token: "
        "jane-token}}" ADMIN "405\n"
        "POST /apis/authorization.k8s.io/v1/subjectaccessreviews {spec: {user: "
        "jane}}" ADMIN "405\n");
}

CASE(a_user_that_may_write_roles_may_grant_any_right)
{
    rig_play(
        f, "POST " RBAC "/v1/roles {metadata: {name: w}, rules: [{apiGroups: "
           "[" RBAC "], resources: [roles], verbs: [create]}]}" ADMIN "201\n"
           "POST " RBAC "/v1/rolebindings {metadata: {name: w}, roleRef: "
           "{apiGroup: " RBAC ", kind: Role, name: w}, subjects: [{kind: User, "
           "name: jane, apiGroup: " RBAC "}]}" ADMIN "201\n"
           "POST " RBAC "/v1/roles {metadata: {name: all}, rules: [{apiGroups: "
           "['*'], resources: ['*'], verbs: ['*']}]}" JANE "201\n");
}

static int set_up_open(void **state)
{
    return sim_rig_set_up_with(
        state, &(kl_sim_options){.users = users, .user_count = 2});
}

#define OPEN_CASE(name) \
    SPEC_CASE(name, sim_rig *f, set_up_open, sim_rig_tear_down)

OPEN_CASE(without_rbac_every_authenticated_user_may_do_all)
{
    rig_play(f, "GET /api/v1/pods" BOB "200\n"
                "GET /api/v1/pods" NOBODY "401\n"
                "POST " REVIEWS " {spec: {nonResourceAttributes: {verb: get, "
                "path: /x}}}" BOB "201 ~\"allowed\":true\n");
}

PLAIN_CASE(a_user_without_a_token_or_name_is_refused)
{
    const kl_sim_user nameless = {"", "x", NULL};
    const kl_sim_options options = {.users = &nameless, .user_count = 1};
    kl_error err;

    assert_null(kl_sim_new(&options, &err));
    assert_int_equal(err.code, KL_EINVAL);
    sim_expect_nothing_lives();
}
