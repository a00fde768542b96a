/*
 * strand.c - describes what each strand waits for, for the report of a
 * deadlock.
 */
#include "strand.h"

#include <stdio.h>
#include <string.h>

static void describe(const strand *self, char *text, size_t size)
{
    static const char *const waits[] = {
        [WAIT_MUTEX] = "a mutex of rank ",
        [WAIT_READ] = "a reader's lock of rank ",
        [WAIT_WRITE] = "a writer's lock of rank ",
        [WAIT_COND] = "a condition, with a mutex of rank ",
        [WAIT_JOIN] = "the end of a thread",
        [WAIT_WAKEUP] = "an event queue's descriptor",
        [WAIT_TIME] = "time",
        [WAIT_IDLE] = "all other strands to have nothing to do",
    };
    char rank[16] = "";
    int owner = self->wait_owner;

    if (self->state == STRAND_READY) {
        snprintf(text, size, "%s runs", self->name);
        return;
    }
    if (self->wait <= WAIT_COND) {
        snprintf(rank, sizeof(rank), "%d", self->wait_rank);
    }
    snprintf(text, size, "%s waits for %s%s%s%s", self->name, waits[self->wait],
             rank, owner >= 0 ? ": " : "",
             owner >= 0 ? strand_at(owner)->name : "");
}

void strand_describe_all(char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < STRANDS_MAX && used + 1 < size; i++) {
        const strand *each = strand_at(i);
        char line[160];

        if (each->state != STRAND_READY && each->state != STRAND_WAITING) {
            continue;
        }
        describe(each, line, sizeof(line));
        snprintf(text + used, size - used, "%s%s", used > 0 ? "; " : "", line);
        used = strlen(text);
    }
}
