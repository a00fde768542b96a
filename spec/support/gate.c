/*
 * gate.c - see gate.h. Its mutex has the highest rank: a spec may hold any lock
 * when it takes it.
 */
#include "gate.h"

#include "base/clock.h"

#include <stdio.h>

void gate_init(gate *self)
{
    kl__mutex_init(&self->mutex, KL__RANK_LOG);
    kl__cond_init(&self->cond);
    self->count = 0;
}

void gate_deinit(gate *self)
{
    kl__cond_deinit(&self->cond);
    kl__mutex_deinit(&self->mutex);
}

void gate_pass(gate *self)
{
    kl__mutex_lock(&self->mutex);
    self->count++;
    kl__cond_broadcast(&self->cond);
    kl__mutex_unlock(&self->mutex);
}

bool gate_await(gate *self, int count)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + 60000;
    bool in_time = true;
    bool passed;

    kl__mutex_lock(&self->mutex);
    while (self->count < count && in_time) {
        in_time = kl__cond_wait(&self->cond, &self->mutex, deadline);
    }
    passed = self->count >= count;
    kl__mutex_unlock(&self->mutex);
    return passed;
}

bool is_asleep(int thread)
{
    char path[64], state = 'S';
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
    file = fopen(path, "re");
    if (file != NULL) {
        (void)!fscanf(file, "%*d %*s %c", &state);
        fclose(file);
    }
    return state == 'S';
}
