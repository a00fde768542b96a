/*
 * verdict_spec.c - what nginx_chaos judges: by the order of rules and requests.
 */
#include "verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static verdict_subject subject;

static int set_up(void **state)
{
    (void)state;
    verdict_init(&subject, "shop");
    return 0;
}

static void rule(const char *verb, unsigned identity)
{
    assert_true(verdict_rule(&subject, verb, identity));
}

static void an_answer_is_wrong_if_it_was_banned_before_its_request(void **state)
{
    (void)state;
    rule("allow", 1);
    uint64_t before = verdict_begin(&subject);

    assert_true(verdict_allows(&subject, before, 1));
    assert_false(verdict_allows(&subject, before, 2));
    rule("allow", 2);
    rule("ban", 1);
    assert_true(verdict_allows(&subject, before, 1));
    assert_false(verdict_allows(&subject, verdict_begin(&subject), 1));
    assert_true(verdict_allows(&subject, verdict_begin(&subject), 2));
    rule("allow", 1);
    assert_true(verdict_allows(&subject, verdict_begin(&subject), 1));
}

static void a_failure_is_forgiven_if_it_was_loose_then(void **state)
{
    (void)state;
    assert_false(verdict_forgives(&subject, verdict_begin(&subject)));
    rule("loose", 0);
    uint64_t loose = verdict_begin(&subject);

    rule("strict", 0);
    assert_true(verdict_forgives(&subject, loose));
    assert_false(verdict_forgives(&subject, verdict_begin(&subject)));
}

static void an_identity_is_seen_once_after_each_rule(void **state)
{
    (void)state;
    assert_false(verdict_is_first(&subject, verdict_begin(&subject), 0));
    rule("allow", 7);
    assert_false(verdict_is_first(&subject, verdict_begin(&subject), 8));
    assert_true(verdict_is_first(&subject, verdict_begin(&subject), 7));
    assert_false(verdict_is_first(&subject, verdict_begin(&subject), 7));
    rule("allow", 7);
    assert_true(verdict_is_first(&subject, verdict_begin(&subject), 7));
}

/* A worker picks 7 and stands still; 8 comes, and 7 again, which no worker
 * knows yet: the answer of the one that stood still is not that change. */
static void a_late_answer_is_not_the_change_that_came_meanwhile(void **state)
{
    (void)state;
    rule("allow", 7);
    uint64_t late = verdict_begin(&subject);

    rule("allow", 8);
    assert_true(verdict_is_first(&subject, verdict_begin(&subject), 8));
    rule("ban", 7);
    rule("allow", 7);
    assert_true(verdict_allows(&subject, late, 7));
    assert_false(verdict_is_first(&subject, late, 7));
    assert_true(verdict_is_first(&subject, verdict_begin(&subject), 7));
}

static void a_late_failure_is_not_the_one_that_is_awaited(void **state)
{
    (void)state;
    rule("loose", 0);
    uint64_t late = verdict_begin(&subject);

    assert_true(verdict_is_first_failure(&subject, late));
    rule("strict", 0);
    rule("loose", 0);
    assert_false(verdict_is_first_failure(&subject, late));
    assert_true(verdict_is_first_failure(&subject, verdict_begin(&subject)));
    assert_false(verdict_is_first_failure(&subject, verdict_begin(&subject)));
}

static void other_words_are_no_rules(void **state)
{
    (void)state;
    assert_false(verdict_rule(&subject, "permit", 1));
    assert_false(verdict_allows(&subject, verdict_begin(&subject), 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(
            an_answer_is_wrong_if_it_was_banned_before_its_request, set_up),
        cmocka_unit_test_setup(a_failure_is_forgiven_if_it_was_loose_then,
                               set_up),
        cmocka_unit_test_setup(an_identity_is_seen_once_after_each_rule,
                               set_up),
        cmocka_unit_test_setup(
            a_late_answer_is_not_the_change_that_came_meanwhile, set_up),
        cmocka_unit_test_setup(a_late_failure_is_not_the_one_that_is_awaited,
                               set_up),
        cmocka_unit_test_setup(other_words_are_no_rules, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
