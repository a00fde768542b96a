/*
 * list_watch_fault_spec.c - a list or watch that breaks off, or breaks the
 * protocol, is an error with its own code: no object is skipped or invented.
 */
#include "client_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void an_error_event_is_the_code_of_its_status(void **state)
{
    source_world *self = *state;

    source_world_answer(
        self,
        EVENT("ADDED", POD("a", "5"))
            EVENT("ERROR", "{\"kind\":\"Status\",\"code\":410,\"reason\":"
                           "\"Expired\",\"message\":\"too old\"}"),
        0, FAKE_CLOSE);
    assert_int_equal(source_world_watch(self), KL_OK);
    source_world_expect(self, KL__ITEM_ADDED, "web/a", "5");
    source_world_expect_failure(self, KL_EGONE, "too old");
    assert_true(source_world_asked(self).is_closed);
}

static void a_list_that_breaks_off_is_unavailable(void **state)
{
    static const char *const cut[] = {
        "", "{", "{\"items\":[" POD("a", "1"),
        "{\"kind\":\"PodList\",\"items\":[" POD("a", "1") "]"};
    source_world *self = *state;

    for (size_t i = 0; i < 4; i++) {
        for (fake_end end = FAKE_CLOSE; end <= FAKE_BREAK; end++) {
            source_world_answer(self, cut[i], 0, end);
            assert_int_equal(source_world_list(self), KL_OK);
            while (source_world_next(self) == KL_OK) {
                assert_int_equal(self->item.type, KL__ITEM_OBJECT);
            }
            assert_int_equal(self->err.code, KL_EUNAVAILABLE);
        }
    }
}

static void a_watch_ends_cleanly_only_between_events(void **state)
{
    source_world *self = *state;

    source_world_answer(self, EVENT("ADDED", POD("a", "5")) "\n \n", 0,
                        FAKE_CLOSE);
    assert_int_equal(source_world_watch(self), KL_OK);
    source_world_expect(self, KL__ITEM_ADDED, "web/a", "5");
    source_world_expect(self, KL__ITEM_END, NULL, "");
    assert_true(source_world_asked(self).is_closed);
    source_world_answer(self, EVENT("ADDED", POD("a", "5")) "{\"type\":\"ADD",
                        0, FAKE_CLOSE);
    assert_int_equal(source_world_watch(self), KL_OK);
    source_world_expect(self, KL__ITEM_ADDED, "web/a", "5");
    source_world_expect_failure(self, KL_EUNAVAILABLE,
                                "broke off inside an event");
    source_world_answer(self, EVENT("ADDED", POD("a", "5")), 0, FAKE_BREAK);
    assert_int_equal(source_world_watch(self), KL_OK);
    source_world_expect(self, KL__ITEM_ADDED, "web/a", "5");
    source_world_expect_failure(self, KL_EUNAVAILABLE, "reset");
}

static void an_answer_that_is_no_list_is_not_an_empty_list(void **state)
{
    static const char *const others[] = {
        "{}",
        "{\"kind\":\"Status\",\"status\":\"Failure\"}",
        "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"9\"}}",
        "{\"kind\":\"Table\",\"metadata\":{},\"rows\":[]}",
        "{\"kind\":\"Table\",\"items\":[]}",
        "{\"items\":[],\"metadata\":{\"resourceVersion\":\"9\"}}"};
    source_world *self = *state;

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        source_world_answer(self, others[i], 0, FAKE_CLOSE);
        assert_int_equal(source_world_list(self), KL_OK);
        source_world_expect_failure(self, KL_EPARSE,
                                    "where a list of pods was asked for");
    }
}

static void rubbish_behind_a_list_is_a_parse_error(void **state)
{
    source_world *self = *state;

    source_world_answer(self,
                        POD_LIST("", "\"resourceVersion\":\"9\"") "<html>", 0,
                        FAKE_CLOSE);
    assert_int_equal(source_world_list(self), KL_OK);
    source_world_expect_failure(self, KL_EPARSE, "nothing after the list");
}

static void a_complete_list_whose_body_breaks_off_is_complete(void **state)
{
    source_world *self = *state;

    source_world_answer(self, POD_LIST("", "\"resourceVersion\":\"9\""), 0,
                        FAKE_BREAK);
    assert_int_equal(source_world_list(self), KL_OK);
    source_world_expect(self, KL__ITEM_PAGE, NULL, "9");
}

static void objects_of_another_kind_are_refused_by_name(void **state)
{
    source_world *self = *state;

    source_world_answer(self,
                        EVENT("ADDED", "{\"kind\":\"Table\",\"metadata\":"
                                       "{\"name\":\"t\"}}"),
                        0, FAKE_CLOSE);
    assert_int_equal(source_world_watch(self), KL_OK);
    source_world_expect_failure(self, KL_EPARSE, "Table");
    source_world_answer(
        self, POD_LIST("{\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"}}", ""),
        0, FAKE_CLOSE);
    assert_int_equal(source_world_list(self), KL_OK);
    source_world_expect_failure(self, KL_EPARSE,
                                "a Node (n) where a Pod was asked for");
}

static void nothing_in_a_watch_is_skipped_silently(void **state)
{
    static const char *const rubbish[] = {
        EVENT("RENAMED", POD("a", "1")),
        EVENT("ADDED", "{\"kind\":\"Pod\",\"metadata\":{}}"),
        EVENT("ADDED", "{\"kind\":\"Pod\",,}"),
        EVENT("ADDED", "{\"kind\":\"Node\",,\"metadata\":{\"name\":\"a\"}}"),
        EVENT("BOOKMARK", "{,}"),
        EVENT("ERROR", "{,}"),
        "{\"type\":\"ADDED\"}\n",
        "[]\n",
        EVENT("BOOKMARK",
              "{\"metadata\":{\"resourceVersion\":\"1234567890123456789012345"
              "678901234567890123456789012345678901234567890\"}}")};
    source_world *self = *state;

    for (size_t i = 0; i < sizeof(rubbish) / sizeof(rubbish[0]); i++) {
        source_world_answer(self, rubbish[i], 0, FAKE_HOLD);
        assert_int_equal(source_world_watch(self), KL_OK);
        source_world_expect_failure(self, KL_EPARSE, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SOURCE_SPEC(an_error_event_is_the_code_of_its_status),
        SOURCE_SPEC(a_list_that_breaks_off_is_unavailable),
        SOURCE_SPEC(a_watch_ends_cleanly_only_between_events),
        SOURCE_SPEC(an_answer_that_is_no_list_is_not_an_empty_list),
        SOURCE_SPEC(rubbish_behind_a_list_is_a_parse_error),
        SOURCE_SPEC(a_complete_list_whose_body_breaks_off_is_complete),
        SOURCE_SPEC(objects_of_another_kind_are_refused_by_name),
        SOURCE_SPEC(nothing_in_a_watch_is_skipped_silently),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
