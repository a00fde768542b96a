/*
 * list_watch_request_spec.c - the requests of a list_watch, and how it takes a
 * refusal, or an answer that no API server gives.
 */
#include "api/discovery.h"
#include "base/mem.h"
#include "client_rig.h"
#include "failing_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_list_sends_its_parameters(void **state)
{
    source_world *self = *state;
    kl__list_watch_options options = {
        .resource = "apps/v1/Deployment",
        .name_space = "we b",
        .labels = "app=shop,tier!=db",
        .fields = "spec.nodeName=n1",
        .shards.ranges = {.count = 1,
                          .items = {{0x4000000000000000, 0x7fffffffffffffff}}}};
    kl__list_params params = {.resource_version = "12",
                              .resource_version_match = "NotOlderThan",
                              .limit = 500};

    source_world_use(self, &options);
    kl__list_watch_list(self->source, &params, NULL, &self->err);
    assert_string_equal(source_world_asked(self).target,
                        "/apis/apps/v1/namespaces/we%20b/deployments"
                        "?labelSelector=app%3Dshop%2Ctier%21%3Ddb"
                        "&fieldSelector=spec.nodeName%3Dn1"
                        "&shardSelector=shardRange%28object.metadata.uid%2C"
                        "%270x4000000000000000%27%2C%270x8000000000000000%27%29"
                        "&limit=500&resourceVersion=12"
                        "&resourceVersionMatch=NotOlderThan");
    params = (kl__list_params){.continue_token = "a/b=", .limit = 10};
    kl__list_watch_list(self->source, &params, NULL, &self->err);
    assert_non_null(strstr(source_world_asked(self).target,
                           "%29&limit=10&continue=a%2Fb%3D"));
}

static void a_watch_sends_its_parameters(void **state)
{
    source_world *self = *state;
    kl__watch_params params = {.resource_version = "12",
                               .timeout_seconds = 300,
                               .fresh_connection = true};

    kl__list_watch_watch(self->source, &params, NULL, &self->err);
    assert_string_equal(source_world_asked(self).target,
                        "/api/v1/pods?watch=true&allowWatchBookmarks=true"
                        "&timeoutSeconds=300&resourceVersion=12");
    assert_true(source_world_asked(self).fresh_connection);
    params = (kl__watch_params){.send_initial_events = true};
    kl__list_watch_watch(self->source, &params, NULL, &self->err);
    assert_string_equal(source_world_asked(self).target,
                        "/api/v1/pods?watch=true&allowWatchBookmarks=true"
                        "&sendInitialEvents=true"
                        "&resourceVersionMatch=NotOlderThan");
    assert_false(source_world_asked(self).fresh_connection);
}

static void a_cluster_scoped_path_has_no_namespace(void **state)
{
    source_world *self = *state;
    kl__list_watch_options options = {
        .resource = "nodes", .name_space = "web", .namespace_if_any = true};

    source_world_use(self, &options);
    source_world_list(self);
    assert_string_equal(source_world_asked(self).target, "/api/v1/nodes");
}

static void a_namespace_of_a_kind_without_namespaces_is_refused(void **state)
{
    source_world *self = *state;
    kl__list_watch_options options = {.resource = "nodes", .name_space = "web"};

    kl__list_watch_free(self->source);
    self->source = kl__list_watch_new(self->client, &options, &self->err);
    assert_int_equal(source_world_resolve(self), KL_EINVAL);
    assert_non_null(
        strstr(self->err.message, "nodes (Node) have no namespace: leave"));
}

static void a_refused_page_has_its_code_and_the_new_token(void **state)
{
    source_world *self = *state;
    char *token;

    fake_transport_answer(
        self->fake,
        &(fake_answer){.target = "/api/v1/pods",
                       .status = 410,
                       .body = "{\"kind\":\"Status\",\"metadata\":{"
                               "\"continue\":\"onward\"},\"reason\":"
                               "\"Expired\",\"code\":410}"});
    assert_int_equal(source_world_list(self), KL_EGONE);
    assert_int_equal(self->err.http_status, 410);
    token = kl__list_watch_take_continue(self->source);
    assert_string_equal(token, "onward");
    kl__free(token);
    assert_null(kl__list_watch_take_continue(self->source));
    source_world_expect_failure(self, KL_EINVAL, "no transfer");
}

static void a_refusal_has_its_retry_after(void **state)
{
    source_world *self = *state;

    fake_transport_answer(self->fake,
                          &(fake_answer){.target = "/api/v1/pods",
                                         .status = 429,
                                         .type = "text/plain",
                                         .body = "Too many requests",
                                         .retry_after_ms = 4000});
    assert_int_equal(source_world_watch(self), KL_ETOO_MANY_REQUESTS);
    assert_int_equal(self->err.retry_after_ms, 4000);
    assert_null(kl__list_watch_take_continue(self->source));
}

static const char denial[] =
    "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"pods is "
    "forbidden: User \\\"eve\\\" cannot list resource \\\"pods\\\" in API "
    "group \\\"\\\" at the cluster scope\",\"code\":403}";

static void a_403_names_both_verbs_and_the_simplest_remedy(void **state)
{
    source_world *self = *state;
    kl__list_watch_options options = {.resource = "pods", .name_space = "web"};

    fake_transport_answer(self->fake, &(fake_answer){.target = "/api/v1/",
                                                     .status = 403,
                                                     .times = FAKE_FOREVER,
                                                     .body = denial});
    assert_int_equal(source_world_list(self), KL_EFORBIDDEN);
    assert_non_null(strstr(self->err.message, "the verbs list and watch"));
    assert_non_null(strstr(self->err.message, "`namespace = \"...\"`"));
    source_world_use(self, &options);
    assert_int_equal(source_world_list(self), KL_EFORBIDDEN);
    assert_null(strstr(self->err.message, "`namespace = "));
    source_world_use(self, &(kl__list_watch_options){.resource = "nodes"});
    assert_int_equal(source_world_list(self), KL_EFORBIDDEN);
    assert_null(strstr(self->err.message, "`namespace = "));
}

static void the_body_of_a_refusal_is_bounded_and_may_break_off(void **state)
{
    static char large[200 * 1024];
    source_world *self = *state;

    memset(large, 'x', sizeof(large) - 1);
    fake_transport_answer(self->fake, &(fake_answer){.target = "/api/v1/pods",
                                                     .status = 503,
                                                     .body = large,
                                                     .end = FAKE_HOLD});
    fake_transport_answer(self->fake, &(fake_answer){.target = "/api/v1/pods",
                                                     .status = 500,
                                                     .body = "oops",
                                                     .end = FAKE_BREAK});
    assert_int_equal(source_world_list(self), KL_EUNAVAILABLE);
    assert_in_range(source_world_asked(self).taken, 1024, 64 * 1024 + 1);
    assert_int_equal(source_world_list(self), KL_EINTERNAL);
}

/* Not answered yet: the caller may rest. */
static void awaits_the_rest(source_world *self)
{
    int64_t now = kl__clock_now(kl__clock_real());

    assert_false(kl__list_watch_answer(self->source, 0, NULL, &self->err));
    /* a message that does not come is given up after 5 s */
    assert_in_range(kl__list_watch_look_again_ms(self->source), now,
                    now + 5100);
}

static void ends_with(source_world *self, kl_code code, const char *text)
{
    assert_true(kl__list_watch_answer(self->source, 0, NULL, &self->err));
    assert_int_equal(self->err.code, code);
    assert_non_null(strstr(self->err.message, text));
    assert_true(source_world_asked(self).is_closed);
}

static void the_message_of_a_refusal_is_awaited_without_a_thread(void **state)
{
    static const fake_answer answers[] = {
        {.target = "/api/v1/pods",
         .status = 500,
         .body = "{\"kind\":\"Status\",\"code\":500,",
         .end = FAKE_HOLD},
        {.target = "/api/v1/pods",
         .type = "text/html",
         .body = "<html>",
         .end = FAKE_HOLD}};
    source_world *self = *state;

    for (int i = 0; i < 2; i++) {
        fake_transport_answer(self->fake, &answers[i]);
        assert_int_equal(kl__list_watch_list(self->source,
                                             &(kl__list_params){0}, NULL,
                                             &self->err),
                         KL_OK);
        awaits_the_rest(self);
        fake_transport_send(self->fake, fake_transport_count(self->fake) - 1,
                            "\"message\":\"etcd is unwell\"}");
        awaits_the_rest(self);
        fake_transport_finish(self->fake, fake_transport_count(self->fake) - 1,
                              FAKE_CLOSE);
        ends_with(self, i == 0 ? KL_EINTERNAL : KL_EPARSE, "etcd is unwell");
    }
}

static void a_refusal_whose_message_is_awaited_can_be_ended(void **state)
{
    source_world *self = *state;

    fake_transport_answer(self->fake, &(fake_answer){.target = "/api/v1/pods",
                                                     .status = 500,
                                                     .end = FAKE_HOLD});
    assert_int_equal(kl__list_watch_list(self->source, &(kl__list_params){0},
                                         NULL, &self->err),
                     KL_OK);
    awaits_the_rest(self);
    kl__list_watch_end(self->source);
    assert_true(source_world_asked(self).is_closed);
    source_world_answer(self, POD_LIST("", "\"resourceVersion\":\"1\""), 0,
                        FAKE_CLOSE);
    assert_int_equal(source_world_list(self), KL_OK);
}

/* The end of a refused list; a message that was lost leaves its status. */
static kl_code refused_once(void *context)
{
    source_world *self = context;
    kl_code code = source_world_list(self);

    kl__list_watch_end(self->source);
    return code == KL_EINTERNAL ? KL_OK : code;
}

static void running_out_of_memory_at_a_refusal_leaks_nothing(void **state)
{
    source_world *self = *state;

    fake_transport_answer(
        self->fake, &(fake_answer){.target = "/api/v1/pods",
                                   .status = 500,
                                   .body = "{\"kind\":\"Status\",\"code\":500}",
                                   .times = FAKE_FOREVER});
    assert_true(failing_alloc_each(refused_once, self) > 3);
}

static void a_login_page_is_shown_and_named(void **state)
{
    static const char *const types[] = {"text/html", "application/json"};
    source_world *self = *state;

    for (size_t i = 0; i < 2; i++) {
        fake_transport_answer(self->fake,
                              &(fake_answer){.target = "/api/v1/pods",
                                             .type = types[i],
                                             .body = "<html><h1>Sign in</h1>"});
        if (source_world_watch(self) == KL_OK) {
            assert_int_equal(source_world_next(self), KL_EPARSE);
        }
        assert_int_equal(self->err.code, KL_EPARSE);
        assert_non_null(strstr(self->err.message, "<html><h1>Sign in"));
        assert_non_null(strstr(self->err.message, "proxy or login page"));
    }
    fake_transport_answer(
        self->fake, &(fake_answer){.target = "/api/v1/pods", .status = 302});
    assert_int_equal(source_world_list(self), KL_EPARSE);
    assert_non_null(strstr(self->err.message, "302"));
}

static void a_second_resolve_asks_the_server_again(void **state)
{
    source_world *self = *state;
    kl__discovery *discovery = kl__client_discovery(self->client);
    kl__clock *later = kl__clock_fake(kl__clock_now(kl__clock_real()) + 60000);

    kl__discovery_set_clock(discovery, later);
    assert_int_equal(fake_transport_asked(self->fake, "/apis$"), 1);
    assert_int_equal(source_world_resolve(self), KL_OK);
    assert_int_equal(fake_transport_asked(self->fake, "/apis$"), 2);
    kl__discovery_set_clock(discovery, kl__clock_real());
    kl__clock_fake_free(later);
}

static void another_source_uses_the_cached_discovery(void **state)
{
    source_world *self = *state;
    kl__discovery *discovery = kl__client_discovery(self->client);
    kl__clock *later = kl__clock_fake(kl__clock_now(kl__clock_real()) + 60000);

    kl__discovery_set_clock(discovery, later);
    source_world_use(self, &(kl__list_watch_options){.resource = "nodes"});
    assert_int_equal(fake_transport_asked(self->fake, "/apis$"), 1);
    kl__discovery_set_clock(discovery, kl__clock_real());
    kl__clock_fake_free(later);
}

static void a_source_is_resolved_before_it_is_asked(void **state)
{
    source_world *self = *state;
    kl__list_watch_options options = {.resource = "pods"};

    kl__list_watch_free(self->source);
    self->source = kl__list_watch_new(self->client, &options, &self->err);
    assert_int_equal(source_world_list(self), KL_EINVAL);
    assert_int_equal(source_world_watch(self), KL_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SOURCE_SPEC(a_list_sends_its_parameters),
        SOURCE_SPEC(a_watch_sends_its_parameters),
        SOURCE_SPEC(a_cluster_scoped_path_has_no_namespace),
        SOURCE_SPEC(a_namespace_of_a_kind_without_namespaces_is_refused),
        SOURCE_SPEC(a_refused_page_has_its_code_and_the_new_token),
        SOURCE_SPEC(a_refusal_has_its_retry_after),
        SOURCE_SPEC(a_403_names_both_verbs_and_the_simplest_remedy),
        SOURCE_SPEC(the_body_of_a_refusal_is_bounded_and_may_break_off),
        SOURCE_SPEC(the_message_of_a_refusal_is_awaited_without_a_thread),
        SOURCE_SPEC(a_refusal_whose_message_is_awaited_can_be_ended),
        SOURCE_SPEC(running_out_of_memory_at_a_refusal_leaks_nothing),
        SOURCE_SPEC(a_login_page_is_shown_and_named),
        SOURCE_SPEC(a_second_resolve_asks_the_server_again),
        SOURCE_SPEC(another_source_uses_the_cached_discovery),
        SOURCE_SPEC(a_source_is_resolved_before_it_is_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
