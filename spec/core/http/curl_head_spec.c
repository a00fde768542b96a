/*
 * curl_head_spec.c - readers that rest until the head of an answer comes.
 */
#include "gate.h"
#include "http_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void pass(void *woken)
{
    gate_pass(woken);
}

/* It must read the head before it can wait for bytes. */
static void a_reader_may_rest_until_the_head_comes(void **state)
{
    fixture *f = *state;
    gate woken;
    kl__stream_turn turn = {.wake = pass, .arg = &woken};
    kl__response response;
    kl__stream *stream;
    char byte;
    size_t length;

    gate_init(&woken);
    hostile_on(f->server, "",
               STEPS(HOSTILE_GATE("head"), HOSTILE_STREAM, HOSTILE_GATE("go"),
                     HOSTILE_CHUNK("0"), HOSTILE_STREAM_END));
    stream = ask(f, "/");
    assert_true(kl__stream_lend(stream, &turn));
    hostile_open_gate(f->server, "head");
    assert_true(gate_await(&woken, 1));
    kl__stream_retract(stream);
    assert_false(kl__stream_lend(stream, &turn));
    assert_int_equal(kl__stream_response(stream, &response, 0, NULL, NULL),
                     KL_OK);
    assert_true(kl__stream_lend(stream, &turn));
    hostile_open_gate(f->server, "go");
    assert_true(gate_await(&woken, 2));
    kl__stream_retract(stream);
    assert_int_equal(kl__stream_read(stream, &byte, 1, &length, 0, NULL, NULL),
                     KL_OK);
    kl__stream_close(stream);
    gate_deinit(&woken);
}

static void a_failure_before_the_head_wakes_a_reader_that_rests(void **state)
{
    fixture *f = *state;
    gate woken;
    kl__stream_turn turn = {.wake = pass, .arg = &woken};
    kl__response response;
    kl__stream *stream;

    gate_init(&woken);
    hostile_on(f->server, "", STEPS(HOSTILE_GATE("go"), HOSTILE_RESET));
    stream = ask(f, "/");
    assert_true(kl__stream_lend(stream, &turn));
    hostile_open_gate(f->server, "go");
    assert_true(gate_await(&woken, 1));
    kl__stream_retract(stream);
    assert_false(kl__stream_lend(stream, &turn));
    assert_int_equal(kl__stream_response(stream, &response, 0, NULL, NULL),
                     KL_EUNAVAILABLE);
    kl__stream_close(stream);
    gate_deinit(&woken);
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest specs[] = {
        SPEC(a_reader_may_rest_until_the_head_comes),
        SPEC(a_failure_before_the_head_wakes_a_reader_that_rests),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
