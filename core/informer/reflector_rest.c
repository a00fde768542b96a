/*
 * reflector_rest.c - how a reflector waits for the network without a thread: it
 * lends its turn (http/turn.h), and its task rests. A source that cannot take a
 * turn, such as the simulator in the same process, is waited for. See
 * reflector_machine.h.
 */
#include "informer/reflector_machine.h"

/* The part of a lent turn that says that the task has to go on. */
static void wake_task(void *arg)
{
    kl__reflector *self = arg;

    self->options.wake(self->options.context);
}

bool kl__reflector_rest_lent(kl__reflector *self, bool (*run)(void *arg),
                             int64_t timeout_ms)
{
    int64_t until = kl__clock_after(kl__clock_real(), timeout_ms);
    int64_t again = kl__list_watch_look_again_ms(self->options.source);

    self->turn = (kl__stream_turn){.run = run, .wake = wake_task, .arg = self};
    self->is_lent = kl__list_watch_lend(self->options.source, &self->turn);
    if (self->is_lent) {
        kl__reflector_rest(self, kl__clock_real(),
                           again >= 0 && (until < 0 || again < until) ? again
                                                                      : until);
    }
    return self->is_lent;
}

void kl__reflector_take_back(kl__reflector *self)
{
    if (self->is_lent) {
        kl__list_watch_retract(self->options.source);
        self->is_lent = false;
    }
}

bool kl__reflector_await_answer(kl__reflector *self, kl_error *err)
{
    kl__list_watch *source = self->options.source;
    int64_t timeout_ms = kl__list_watch_lends(source) ? 0 : -1;

    while (!kl__list_watch_answer(source, timeout_ms, &self->interrupt.token,
                                  err)) {
        if (timeout_ms == 0 && kl__reflector_rest_lent(self, NULL, -1)) {
            err->code = KL_OK; /* so far */
            return false;
        }
    }
    return true;
}

/* How long to wait for the next byte of a list; 0: the patience is at its end.
 */
static int64_t patience_left(kl__reflector *self, kl__patience patience)
{
    int64_t silence = kl__list_watch_silence_ms(self->options.source);
    int64_t left_ms = patience.silence_ms - (silence > 0 ? silence : 0);

    if (patience.until >= 0 && kl__reflector_now(self) >= patience.until) {
        return 0;
    }
    return left_ms > 0 ? left_ms : 0;
}

bool kl__reflector_next_item(kl__reflector *self, kl__item *item,
                             kl__patience patience, kl_error *err)
{
    kl__list_watch *source = self->options.source;
    bool lends = kl__list_watch_lends(source);

    for (;;) {
        int64_t left_ms = lends ? 0 : patience_left(self, patience);

        err->code = kl__list_watch_next(source, item, left_ms,
                                        &self->interrupt.token, err);
        if (err->code != KL_ETIMEOUT || err->http_status != 0) {
            return true;
        }
        left_ms = patience_left(self, patience);
        if (left_ms == 0) {
            return true;
        }
        if (lends && kl__reflector_rest_lent(self, NULL, left_ms)) {
            err->code = KL_OK; /* so far */
            return false;
        }
    }
}
