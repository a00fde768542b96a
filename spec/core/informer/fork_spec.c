/*
 * fork_spec.c - in a child of fork(), where none of the threads exist, no call
 * on a registration or queue waits for one.
 */
#include "gate.h"
#include "kubelua/client.h"
#include "kubelua/handler.h"
#include "kubelua/informer.h"
#include "kubelua/memory.h"
#include "kubelua/process.h"
#include "kubelua/request.h"
#include "pods.h"
#include "processor_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static gate entered;
static gate leave;

static void hold(void *context, kl_object *object, bool initial)
{
    (void)context;
    (void)object;
    (void)initial;
    gate_pass(&entered);
    gate_await(&leave, 1);
}

/* What a script's collector does in the child: it gives everything back. */
static int give_back(processor_rig *rig, kl_registration *pulled,
                     kl_registration *threaded, kl_event *event)
{
    kl_event other;
    kl_error err = {0};
    size_t count;
    kl_event_queue *own = kl_event_queue_new(NULL);

    if (own == NULL || kl_event_queue_wait(own, 0) != KL_ETIMEOUT) {
        return 1;
    }
    kl_event_queue_free(own);
    if (kl_registration_next(pulled, &other) ||
        kl_event_queue_next(rig->queue) != NULL ||
        kl_event_queue_wait(rig->queue, -1) != KL_EFORKED ||
        kl_registration_backlog(pulled) != 0 ||
        kl_registration_marked(pulled, &count) ||
        kl_registration_check(pulled, &err) != KL_EFORKED ||
        kl_event_queue_check(rig->queue, NULL) != KL_EFORKED ||
        err.code != KL_EFORKED) {
        return 1;
    }
    kl_registration_unmark(pulled);
    kl_registration_done(pulled, event);
    kl_event_queue_again(rig->queue, pulled);
    kl_registration_remove(pulled);
    kl_registration_remove(threaded); /* its callback runs in the parent */
    kl_event_queue_free(rig->queue);
    return event->object == NULL ? 0 : 1;
}

static void refuses(bool has_begun, kl_error *err)
{
    if (has_begun || err->code != KL_EFORKED) {
        _exit(1);
    }
    *err = (kl_error){0};
}

/* ThreadSanitizer starts no thread after a fork, so no informer there. */
static void give_to_informer(kl_client *client, kl_event_queue *queue)
{
#ifndef __SANITIZE_THREAD__
    static const kl_informer_options pods = {.resource = "pods"};
    kl_error err = {0};
    kl_informer *informer = kl_informer_open(client, &pods, &err);
    kl_code code;

    refuses(kl_informer_subscribe(informer, queue, &err, NULL, &err) != NULL,
            &err);
    code = kl_informer_wake_synced(informer, queue, &err);
    refuses(code == KL_OK, &err);
    code = kl_informer_wake_changed(informer, queue, &err);
    refuses(code == KL_OK, &err);
    kl_informer_close(informer);
#else
    (void)client;
    (void)queue;
#endif
}

/* In a child: nothing there takes the queue of the parent. */
static void give_to_others(kl_event_queue *queue)
{
    static const char *const args[] = {"/bin/true", NULL};
    static const kl_config_options nobody = {.server = "http://127.0.0.1:9"};
    kl_process_options program = {.args = args};
    kl_call call = {.method = "GET", .target = "/version"};
    kl_error err = {0};
    kl_config *config = kl_config_load(&nobody, &err);
    kl_client *client =
        kl_client_new(&(kl_client_options){.config = config}, &err);

    refuses(kl_process_start(&program, queue, &err, &err) != NULL, &err);
    refuses(kl_client_send(client, &call, queue, &err, &err) != NULL, &err);
    give_to_informer(client, queue);
    kl_client_unref(client);
    kl_config_unref(config);
}

static void nothing_in_a_child_takes_the_queue_of_its_parent(void **state)
{
    kl_event_queue *queue = kl_event_queue_new(NULL);
    int status = -1;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        alarm(20);
        give_to_others(queue);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    kl_event_queue_free(queue);
}

static void a_child_of_fork_waits_for_no_thread(void **state)
{
    processor_rig rig = rig_begin();
    kl_handler handler = {.add = hold, .context = &rig};
    kl_handler_options taker = {.takes_over = true};
    kl_registration *threaded, *pulled;
    kl_event event;
    int status = -1;
    pid_t child;

    (void)state;
    gate_init(&entered);
    gate_init(&leave);
    threaded = rig_handle(&rig, &handler, NULL);
    pulled = rig_subscribe(&rig, &rig, NULL);
    rig_replace(&rig, pod_list(1, pod("a", "1", 1)), "5");
    assert_true(gate_await(&entered, 1));
    assert_true(kl_registration_next(pulled, &event));
    (void)rig_subscribe(&rig, &rig, &taker); /* marks `pulled` */
    child = fork();
    if (child == 0) {
        alarm(20); /* a call that waits for ever ends the child */
        _exit(give_back(&rig, pulled, threaded, &event));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    gate_pass(&leave);
    kl_registration_done(pulled, &event);
    rig_end(&rig);
    gate_deinit(&entered);
    gate_deinit(&leave);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_of_fork_waits_for_no_thread),
        cmocka_unit_test(nothing_in_a_child_takes_the_queue_of_its_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
