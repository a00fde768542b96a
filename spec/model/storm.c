/*
 * storm.c - a long outage: every request fails, and every informer and handler
 * must report it.
 */
#include "oracle.h"

#include "coverage.h"
#include "schedule.h"

#include <stdio.h>

enum {
    STORM_LOOKS = 200,
    STORM_MS = 100000,
};

/* True if the user knows what is wrong: the status has the error, and each
 * handler that wants errors was told the same. */
static bool is_told(world *self, user_informer *informer, int status_wanted,
                    char *why, size_t size)
{
    kl_informer_status status;

    kl_informer_status_get(informer->handle, &status);
    if (status.error.code == KL_OK ||
        status.error.http_status != status_wanted) {
        snprintf(why, size, "the status says %s (%d): %s",
                 kl_code_name(status.error.code), status.error.http_status,
                 status.error.message);
        return false;
    }
    for (size_t i = 0; i < self->handler_count; i++) {
        const handler *each = self->all_handlers[i];

        if (each->informer == informer && each->state == HANDLER_LIVE &&
            each->kind != HANDLER_QUIET &&
            (each->errors == each->errors_before ||
             each->last_error.code != status.error.code)) {
            snprintf(why, size, "handler %d was told of %zu errors, last %s",
                     each->number, each->errors,
                     each->errors > 0 ? each->last_error.message : "none");
            return false;
        }
    }
    return true;
}

static bool all_are_told(world *self, int status, char *why, size_t size)
{
    for (size_t i = 0; i < self->informer_count; i++) {
        user_informer *each = &self->informers[i];
        bool is_fine = true;

        if (users_enter(self, each)) {
            is_fine = is_told(self, each, status, why, size);
            users_leave(self, each);
        }
        if (!is_fine) {
            return false;
        }
    }
    return true;
}

/* Ends all faults and waits until changes have arrived. After that the outage
 * must be reported even if the same error was reported before. */
static void begin_storm(world *self)
{
    finish_make_well(self);
    finish_let_go(self);
    if (!self->is_blind) {
        finish_await_settled(self);
        finish_write_everywhere(self);
        finish_await_settled(self);
    }
    for (size_t i = 0; i < self->handler_count; i++) {
        handler *each = self->all_handlers[i];

        each->errors_before =
            self->is_blind || finish_is_restless(self) ? 0 : each->errors;
    }
}

/* An informer or handler that is added during the outage must be told, too. */
static void add_late(world *self, const op *what)
{
    for (int i = 0; i < HISTORY_HANDLERS; i++) {
        op late = {.type = OP_ADD_HANDLER, .slot = i, .a = what->key % 3};

        if (self->handlers[i] == NULL) {
            handlers_add(self, &late);
            return;
        }
    }
}

void finish_storm(world *self, const op *what)
{
    char why[1400] = "";
    int64_t deadline;
    int looks = 0;

    begin_storm(self);
    server_arm(self->server,
               &(server_fault){.type = what->b != 0 ? SERVER_FAULT_STATUS
                                                    : SERVER_FAULT_REFUSE,
                               .status = what->b,
                               .times = 1000000});
    server_arm(self->server,
               &(server_fault){.type = what->key % 2 == 0 ? SERVER_FAULT_BREAK
                                                          : SERVER_FAULT_END,
                               .on_open = true});
    deadline = schedule_now() + STORM_MS;
    schedule_wait_until(deadline - STORM_MS / 2);
    add_late(self, what);
    schedule_wait_until(deadline);
    while (!self->is_client_closed &&
           !all_are_told(self, what->b, why, sizeof(why))) {
        schedule_check(looks++ < STORM_LOOKS,
                       "silence: %d s into an outage (%d) its user does not "
                       "know: %s",
                       2 * STORM_MS / 1000, what->b, why);
        schedule_wait_until(schedule_now() + FINISH_LOOK_MS);
    }
    coverage_add(COVER_STORMS, 1);
    finish_make_well(self);
}
