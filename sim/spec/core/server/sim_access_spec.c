/*
 * sim_access_spec.c - authentication and authorisation: tokens, roles,
 * impersonation and reviews. Texts are those that kube-apiserver 1.36 answered.
 */

#include "spec_case.h"
#include "base/clock.h"
#include "sim/core/access/sim_credentials.h"
#include "sim/core/store/sim_core.h"

#define PODS "/api/v1/namespaces/default/pods"
#define RBAC "/apis/rbac.authorization.k8s.io/v1/namespaces/default/"
#define ROLES RBAC "roles"
#define BINDINGS RBAC "rolebindings"
#define ACCESS_REVIEWS "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

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

typedef struct fixture {
    kl_sim *sim;
    kl_transport *transport;
    char body[64 * 1024]; /* of the last answer */
} fixture;

static int set_up(void **state)
{
    const kl_sim_options options = {
        .users = users, .user_count = 2, .rbac = true};
    fixture *f = calloc(1, sizeof(*f));

    f->sim = kl_sim_new(&options, NULL);
    assert_non_null(f->sim);
    f->transport = kl_sim_transport(f->sim, NULL);
    assert_int_equal(kl_sim_load(f->sim, roles, strlen(roles), NULL), KL_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;

    kl_transport_unref(f->transport);
    kl_sim_unref(f->sim);
    free(f);
    sim_expect_nothing_lives();
    return 0;
}

/* The credentials of a request; each may be NULL. */
typedef struct somebody {
    const char *token;
    const char *as;
    const char *as_group;
} somebody;

static int64_t soon(void)
{
    return kl__clock_now(kl__clock_real()) + SIM_CLIENT_PATIENCE_MS;
}

/* Reads the body of an answer into f->body. */
static void drain(fixture *f, kl__stream *stream)
{
    size_t used = 0, length = 1;

    while (length != 0) {
        assert_int_equal(kl__stream_read(stream, f->body + used,
                                         sizeof(f->body) - used - 1, &length,
                                         soon(), NULL, NULL),
                         KL_OK);
        used += length;
    }
    f->body[used] = '\0';
}

/* Sends a request with credentials, in-process; returns the status. */
static int ask(fixture *f, const somebody *who, const char *method,
               const char *target, const char *body)
{
    char bearer[2048];
    kl__header headers[4] = {{"Content-Type", "application/json"}};
    kl__request request = {.method = method,
                           .base_url = "",
                           .target = target,
                           .headers = headers,
                           .header_count = 1,
                           .body = body,
                           .body_length = body != NULL ? strlen(body) : 0};
    kl__response response;
    kl__stream *stream;

    if (who->token != NULL) {
        snprintf(bearer, sizeof(bearer), "Bearer %s", who->token);
        headers[request.header_count++] = (kl__header){"Authorization", bearer};
    }
    if (who->as != NULL) {
        headers[request.header_count++] =
            (kl__header){"Impersonate-User", who->as};
    }
    if (who->as_group != NULL) {
        headers[request.header_count++] =
            (kl__header){"Impersonate-Group", who->as_group};
    }
    stream = kl__transport_open(f->transport, &request, NULL);
    assert_non_null(stream);
    assert_int_equal(kl__stream_response(stream, &response, soon(), NULL, NULL),
                     KL_OK);
    drain(f, stream);
    kl__stream_close(stream);
    return response.status;
}

static const somebody admin = {NULL, NULL, NULL};
static const somebody jane = {"jane-token", NULL, NULL};
static const somebody bob = {"bob-token", NULL, NULL};

static void expect_message(const fixture *f, const char *message)
{
    kl_doc *doc = kl_doc_parse(f->body, strlen(f->body), NULL);

    assert_non_null(doc);
    assert_string_equal(sim_text(doc, "message"), message);
    kl_doc_unref(doc);
}

#define CASE(name) SPEC_CASE(name, fixture *f, set_up, tear_down)

CASE(a_role_allows_what_its_rules_name_and_no_more)
{
    assert_int_equal(ask(f, &jane, "GET", PODS, NULL), 200);
    assert_int_equal(ask(f, &jane, "GET", PODS "/x", NULL), 404);
    assert_int_equal(ask(f, &jane, "DELETE", PODS "/x", NULL), 403);
    expect_message(f, "pods \"x\" is forbidden: User \"jane\" cannot delete "
                      "resource \"pods\" in API group \"\" in the namespace "
                      "\"default\"");
    assert_int_equal(ask(f, &jane, "GET", PODS "?watch=true", NULL), 403);
    assert_int_equal(ask(f, &jane, "GET", "/api/v1/pods", NULL), 403);
    expect_message(f, "pods is forbidden: User \"jane\" cannot list resource "
                      "\"pods\" in API group \"\" at the cluster scope");
    assert_int_equal(
        ask(f, &jane, "GET", "/api/v1/namespaces/kube-system/pods", NULL), 403);
    assert_int_equal(
        ask(f, &jane, "GET", "/api/v1/namespaces/default/configmaps/one", NULL),
        404);
    assert_int_equal(
        ask(f, &jane, "GET", "/api/v1/namespaces/default/configmaps/two", NULL),
        403);
    assert_int_equal(ask(f, &jane, "GET",
                         "/apis/apps/v1/namespaces/default/deployments/x/scale",
                         NULL),
                     404);
    assert_int_equal(ask(f, &jane, "GET",
                         "/apis/apps/v1/namespaces/default/deployments/x",
                         NULL),
                     403);
    expect_message(f, "deployments.apps \"x\" is forbidden: User \"jane\" "
                      "cannot get resource \"deployments\" in API group "
                      "\"apps\" in the namespace \"default\"");
}

CASE(an_unknown_token_is_refused_and_an_admin_may_do_everything)
{
    const somebody nobody = {"no-such-token", NULL, NULL};

    assert_int_equal(ask(f, &nobody, "GET", PODS, NULL), 401);
    expect_message(f, "Unauthorized");
    assert_int_equal(ask(f, &admin, "GET", "/api/v1/pods", NULL), 200);
    assert_int_equal(ask(f, &bob, "GET", "/version", NULL), 200);
    assert_int_equal(ask(f, &bob, "GET", "/apis", NULL), 200);
    assert_int_equal(ask(f, &bob, "GET", "/metrics", NULL), 403);
    expect_message(f, "forbidden: User \"bob\" cannot get path \"/metrics\": "
                      "RBAC: clusterrole.rbac.authorization.k8s.io \"nope\" "
                      "not found");
}

CASE(a_service_account_authenticates_with_its_token)
{
    kl__sim_claim claim = {.name_space = "default",
                           .name = "robot",
                           .uid = "robots-uid",
                           .audience = "https://kubernetes.default.svc"};
    somebody robot = {NULL, NULL, NULL};
    char *token;

    claim.issued = kl__sim_clock_unix(&f->sim->clock) / 1000;
    claim.expires = claim.issued + 600;
    token = kl__sim_token_issue(f->sim, &claim, NULL);
    robot.token = token;
    assert_int_equal(
        ask(f, &robot, "GET", "/api/v1/namespaces/kube-system/pods", NULL),
        200);
    assert_int_equal(ask(f, &robot, "GET", PODS, NULL), 403);
    expect_message(f, "pods is forbidden: User "
                      "\"system:serviceaccount:default:robot\" cannot list "
                      "resource \"pods\" in API group \"\" in the namespace "
                      "\"default\"");
    token[strlen(token) - 2] ^= 1; /* signed with another key */
    assert_int_equal(ask(f, &robot, "GET", PODS, NULL), 401);
    kl_free(token);
    claim.expires = claim.issued;
    token = kl__sim_token_issue(f->sim, &claim, NULL);
    robot.token = token;
    assert_int_equal(ask(f, &robot, "GET", PODS, NULL), 401);
    kl_free(token);
    claim.expires = claim.issued + 600;
    claim.uid = "another-uid";
    token = kl__sim_token_issue(f->sim, &claim, NULL);
    robot.token = token;
    assert_int_equal(ask(f, &robot, "GET", PODS, NULL), 401);
    kl_free(token);
}

CASE(impersonation_acts_as_another_user)
{
    const somebody as_jane = {NULL, "jane", "dev"};
    const somebody forged = {"bob-token", "jane", NULL};
    const somebody half = {NULL, NULL, "dev"};

    assert_int_equal(ask(f, &as_jane, "GET", PODS, NULL), 200);
    assert_int_equal(ask(f, &as_jane, "DELETE", PODS "/x", NULL), 403);
    assert_int_equal(ask(f, &forged, "GET", "/version", NULL), 403);
    expect_message(f, "forbidden: User \"bob\" cannot "
                      "impersonate-on:user-info:get path \"/version\"");
    assert_int_equal(ask(f, &half, "GET", "/version", NULL), 400);
}

CASE(a_review_tells_what_would_be_allowed_and_why)
{
    kl_doc *doc;

    assert_int_equal(ask(f, &jane, "POST", ACCESS_REVIEWS,
                         "{\"spec\":{\"resourceAttributes\":{\"verb\":\"get\","
                         "\"resource\":\"pods\",\"namespace\":\"default\"}}}"),
                     201);
    doc = kl_doc_parse(f->body, strlen(f->body), NULL);
    assert_string_equal(sim_text(doc, "status.allowed"), "true");
    assert_string_equal(sim_text(doc, "status.reason"),
                        "RBAC: allowed by RoleBinding \"readers/default\" of "
                        "Role \"reader\" to Group \"dev\"");
    kl_doc_unref(doc);
    assert_int_equal(
        ask(f, &jane, "POST", ACCESS_REVIEWS,
            "{\"spec\":{\"resourceAttributes\":{\"verb\":\"delete\","
            "\"resource\":\"pods\",\"namespace\":\"default\"}}}"),
        201);
    doc = kl_doc_parse(f->body, strlen(f->body), NULL);
    assert_string_equal(sim_text(doc, "status.allowed"), "false");
    kl_doc_unref(doc);
    assert_int_equal(ask(f, &jane, "POST", ACCESS_REVIEWS, "{\"spec\":{}}"),
                     422);
    assert_int_equal(ask(f, &jane, "GET", ACCESS_REVIEWS, NULL), 403);
    assert_int_equal(ask(f, &admin, "GET", ACCESS_REVIEWS, NULL), 405);
}

CASE(reviews_of_oneself_are_answered_and_others_refused)
{
    kl_doc *doc;

    assert_int_equal(ask(f, &bob, "POST",
                         "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                         "{}"),
                     201);
    doc = kl_doc_parse(f->body, strlen(f->body), NULL);
    assert_string_equal(sim_text(doc, "status.userInfo.username"), "bob");
    kl_doc_unref(doc);
    assert_int_equal(
        ask(f, &jane, "POST",
            "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
            "{\"spec\":{\"namespace\":\"default\"}}"),
        201);
    assert_non_null(strstr(f->body, "\"*/scale\""));
    assert_non_null(strstr(f->body, "/openapi/*"));
    assert_int_equal(ask(f, &admin, "POST",
                         "/apis/authentication.k8s.io/v1/tokenreviews",
                         "{\"spec\":{\"token\":\"jane-token\"}}"),
                     405);
    assert_int_equal(ask(f, &admin, "POST",
                         "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                         "{\"spec\":{\"user\":\"jane\"}}"),
                     405);
}

CASE(a_user_that_may_write_roles_may_grant_any_right)
{
    assert_int_equal(
        ask(f, &admin, "POST", ROLES,
            "{\"metadata\":{\"name\":\"w\"},\"rules\":[{\"apiGroups\":["
            "\"rbac.authorization.k8s.io\"],\"resources\":[\"roles\"],"
            "\"verbs\":[\"create\"]}]}"),
        201);
    assert_int_equal(
        ask(f, &admin, "POST", BINDINGS,
            "{\"metadata\":{\"name\":\"w\"},\"roleRef\":{\"apiGroup\":"
            "\"rbac.authorization.k8s.io\",\"kind\":\"Role\",\"name\":\"w\"},"
            "\"subjects\":[{\"kind\":\"User\",\"name\":\"jane\",\"apiGroup\":"
            "\"rbac.authorization.k8s.io\"}]}"),
        201);
    assert_int_equal(
        ask(f, &jane, "POST", ROLES,
            "{\"metadata\":{\"name\":\"all\"},\"rules\":[{\"apiGroups\":["
            "\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]}]}"),
        201);
}

PLAIN_CASE(without_rbac_every_authenticated_user_may_do_all)
{
    const kl_sim_options options = {.users = users, .user_count = 2};
    fixture *f = calloc(1, sizeof(*f));
    const somebody nobody = {"no-such-token", NULL, NULL};

    f->sim = kl_sim_new(&options, NULL);
    f->transport = kl_sim_transport(f->sim, NULL);
    assert_int_equal(ask(f, &bob, "GET", "/api/v1/pods", NULL), 200);
    assert_int_equal(ask(f, &nobody, "GET", "/api/v1/pods", NULL), 401);
    assert_int_equal(
        ask(f, &bob, "POST", ACCESS_REVIEWS,
            "{\"spec\":{\"nonResourceAttributes\":{\"verb\":\"get\","
            "\"path\":\"/x\"}}}"),
        201);
    assert_non_null(strstr(f->body, "\"allowed\":true"));
    kl_transport_unref(f->transport);
    kl_sim_unref(f->sim);
    free(f);
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
