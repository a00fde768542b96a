/*
 * callbacks.c - what a callback of the user does besides its work: any call
 * that the headers allow inside of one, at whichever moment it runs, also
 * before the call that caused it has returned.
 */
#include "world.h"

#include "coverage.h"
#include "schedule.h"

/* The calls, each with its share: the distance from the one before. */
typedef enum act {
    ACT_QUERY = 6,
    ACT_ADD_HANDLER = ACT_QUERY + 4,
    ACT_REMOVE_HANDLER = ACT_ADD_HANDLER + 3,
    ACT_ADD_INDEX = ACT_REMOVE_HANDLER + 2,
    ACT_OPEN = ACT_ADD_INDEX + 2,
    ACT_WAKE = ACT_OPEN + 1,
    ACT_WAIT = ACT_WAKE + 1,
    ACT_CLOSE_OWN = ACT_WAIT + 4,
    ACT_CLOSE_OTHER = ACT_CLOSE_OWN + 2,
    ACT_CLOSE_CLIENT = ACT_CLOSE_OTHER + 1
} act;

static int draw(int bound)
{
    return (int)schedule_random((uint64_t)bound);
}

static void close_other(world *self, bool inside)
{
    user_informer *other = self->slots[draw(HISTORY_INFORMERS)];

    if (other != NULL) {
        users_close(self, other, inside);
    }
}

/* Makes one call. Slots that are empty, or taken, make it do nothing. */
static void act_once(world *self, user_informer *own, bool inside)
{
    const op informer = {.slot = draw(HISTORY_INFORMERS),
                         .a = draw(HISTORY_SCOPES),
                         .b = draw(6),
                         .c = draw(4)};
    const op added = {.slot = draw(HISTORY_HANDLERS),
                      .a = informer.slot,
                      .b = draw(HANDLER_KINDS),
                      .c = draw(0x10000)};
    /* An index function waits for what its own thread does: not for ever. */
    const op brief = {.slot = informer.slot, .a = draw(2)};
    int which = draw(ACT_CLOSE_CLIENT);

    if (which < ACT_QUERY) {
        users_query(self, own, informer.b, informer.c);
    } else if (which < ACT_ADD_HANDLER) {
        handlers_add(self, &added);
    } else if (which < ACT_REMOVE_HANDLER) {
        handlers_remove(self, added.slot, inside);
    } else if (which < ACT_ADD_INDEX) {
        users_add_index(self, &informer);
    } else if (which < ACT_OPEN) {
        users_open(self, &informer);
    } else if (which < ACT_WAKE) {
        users_wake(self, &informer);
    } else if (which < ACT_WAIT) {
        users_wait(self, &brief);
    } else if (which < ACT_CLOSE_OWN) {
        users_close(self, own, inside);
    } else if (which < ACT_CLOSE_OTHER) {
        close_other(self, inside);
    } else {
        users_close_client(self);
    }
}

bool callbacks_act(world *self, user_informer *own, bool inside)
{
    if (self->acts_per_mille == 0 || !schedule_chance(self->acts_per_mille)) {
        return false;
    }
    coverage_add(COVER_ACTS, 1);
    act_once(self, own, inside);
    return true;
}
