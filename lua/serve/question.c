/*
 * question.c - see question.h.
 */
#include "question.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct questions {
    pthread_mutex_t lock; /* guards all below, and the questions in the list;
                             no lock is taken under it */
    question *first;
    uint64_t last_id;
    bool must_stop;
    bool is_raised;        /* lua_fd is readable */
    int lua_fd, server_fd; /* constant */
};

questions *questions_new(void)
{
    questions *self = calloc(1, sizeof(*self));

    if (self == NULL) {
        return NULL;
    }
    pthread_mutex_init(&self->lock, NULL);
    self->lua_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    self->server_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (self->lua_fd < 0 || self->server_fd < 0) {
        questions_free(self);
        return NULL;
    }
    return self;
}

void questions_free(questions *self)
{
    if (self == NULL) {
        return;
    }
    if (self->lua_fd >= 0) {
        close(self->lua_fd);
    }
    if (self->server_fd >= 0) {
        close(self->server_fd);
    }
    pthread_mutex_destroy(&self->lock);
    free(self);
}

int questions_lua_fd(const questions *self)
{
    return self->lua_fd;
}

int questions_server_fd(const questions *self)
{
    return self->server_fd;
}

question *question_new(const char *path)
{
    question *self = calloc(1, sizeof(*self));

    if (self != NULL && (self->path = strdup(path)) == NULL) {
        free(self);
        return NULL;
    }
    return self;
}

void question_free(question *self)
{
    if (self != NULL) {
        free(self->path);
        free(self->body);
        free(self->text);
        free(self);
    }
}

static void raise_descriptor(int fd)
{
    const uint64_t one = 1;

    /* It can only fail when it is raised already. */
    (void)!write(fd, &one, sizeof(one));
}

static void lower_descriptor(int fd)
{
    uint64_t count;

    (void)!read(fd, &count, sizeof(count));
}

void questions_put(questions *self, question *one)
{
    question **at = &self->first;

    pthread_mutex_lock(&self->lock);
    one->id = ++self->last_id;
    one->state = QUESTION_WAITS;
    one->next = NULL;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = one;
    if (!self->is_raised) {
        raise_descriptor(self->lua_fd);
        self->is_raised = true;
    }
    pthread_mutex_unlock(&self->lock);
}

static void answer_late_locked(question *one)
{
    char text[200];

    snprintf(text, sizeof(text), "kubelua: no answer in time: %s\n",
             one->state == QUESTION_WAITS
                 ? "the script's loop does not go on"
                 : "the script's function has not returned");
    one->status = 500; /* of 504 an API server does not show the text */
    snprintf(one->type, sizeof(one->type), "text/plain; charset=utf-8");
    one->text = strdup(text);
    one->text_length = one->text != NULL ? strlen(text) : 0;
    one->state = QUESTION_ANSWERED;
}

question *questions_next_answered(questions *self, int64_t now_ms)
{
    question **at = &self->first, *one;

    pthread_mutex_lock(&self->lock);
    while ((one = *at) != NULL && one->state != QUESTION_ANSWERED &&
           one->deadline_ms > now_ms) {
        at = &one->next;
    }
    if (one != NULL) {
        if (one->state != QUESTION_ANSWERED) {
            answer_late_locked(one);
        }
        *at = one->next;
    }
    pthread_mutex_unlock(&self->lock);
    return one;
}

int64_t questions_first_deadline(questions *self)
{
    int64_t first = INT64_MAX;

    pthread_mutex_lock(&self->lock);
    for (const question *one = self->first; one != NULL; one = one->next) {
        first = one->deadline_ms < first ? one->deadline_ms : first;
    }
    pthread_mutex_unlock(&self->lock);
    return first;
}

bool questions_must_stop(questions *self)
{
    bool result;

    pthread_mutex_lock(&self->lock);
    lower_descriptor(self->server_fd);
    result = self->must_stop;
    pthread_mutex_unlock(&self->lock);
    return result;
}

void questions_end_all(questions *self)
{
    pthread_mutex_lock(&self->lock);
    for (question *one = self->first; one != NULL; one = one->next) {
        one->deadline_ms = 0;
    }
    pthread_mutex_unlock(&self->lock);
}

bool questions_take(questions *self, int64_t now_ms, taken *out)
{
    question *one;

    *out = (taken){0};
    pthread_mutex_lock(&self->lock);
    one = self->first;
    while (one != NULL && one->state != QUESTION_WAITS) {
        one = one->next;
    }
    if (one == NULL && self->is_raised) {
        lower_descriptor(self->lua_fd);
        self->is_raised = false;
    }
    if (one != NULL) {
        one->state = QUESTION_TAKEN;
        out->id = one->id;
        out->path = strdup(one->path);
        out->body = one->body; /* the server needs it no more */
        out->length = one->length;
        out->left_ms = one->deadline_ms - now_ms;
        one->body = NULL;
        one->length = one->room = 0;
    }
    pthread_mutex_unlock(&self->lock);
    return one != NULL;
}

bool questions_answer(questions *self, uint64_t id, const answered *answer)
{
    question *one;

    pthread_mutex_lock(&self->lock);
    one = self->first;
    while (one != NULL && (one->id != id || one->state != QUESTION_TAKEN)) {
        one = one->next;
    }
    if (one != NULL) {
        one->status = answer->status;
        snprintf(one->type, sizeof(one->type), "%s", answer->type);
        one->text = answer->text;
        one->text_length = answer->length;
        one->state = QUESTION_ANSWERED;
        raise_descriptor(self->server_fd);
    }
    pthread_mutex_unlock(&self->lock);
    if (one == NULL) {
        free(answer->text);
    }
    return one != NULL;
}

void questions_stop(questions *self)
{
    pthread_mutex_lock(&self->lock);
    self->must_stop = true;
    raise_descriptor(self->server_fd);
    pthread_mutex_unlock(&self->lock);
}
