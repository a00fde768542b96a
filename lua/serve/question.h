/*
 * question.h - requests that wait for an answer of Lua. The server's thread
 * puts them in, the thread of the lua_State takes and answers them, and the
 * server's thread sends the answers; or says, when the time is over, that there
 * was none.
 */
#ifndef KUBELUA_SERVE_QUESTION_H
#define KUBELUA_SERVE_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { QUESTION_TYPE = 64 }; /* bytes of a content type */

typedef enum question_state {
    QUESTION_READ,    /* its body comes; it is not in the list */
    QUESTION_WAITS,   /* in the list, for Lua */
    QUESTION_TAKEN,   /* in the list; Lua works on it */
    QUESTION_ANSWERED /* not in the list any more: status, type and text are
                         there */
} question_state;

/* The server's thread owns it. While it is in the list, the lock guards all
 * fields. */
typedef struct question {
    struct question *next;
    question_state state;
    uint64_t id;
    int64_t deadline_ms; /* on CLOCK_MONOTONIC */
    void *connection;    /* of the server */
    char *path, *body;
    size_t length, room;
    size_t counted;  /* bytes of the body: of the server's thread */
    bool is_refused; /* the body is too large: of the server's thread */
    int status;
    char type[QUESTION_TYPE];
    char *text;
    size_t text_length;
} question;

/* A list of questions; see question.c. */
typedef struct questions questions;

/* NULL: no memory or no descriptor. */
questions *questions_new(void);
/* No question may be in it. NULL is fine. */
void questions_free(questions *self);

/* Readable while a question waits for Lua. */
int questions_lua_fd(const questions *self);
/* Readable when a question was answered, or questions_stop was called. */
int questions_server_fd(const questions *self);

/* A new question, for which memory is missing if it is NULL. */
question *question_new(const char *path);
void question_free(question *self);

/* ---- the server's thread ---- */

void questions_put(questions *self, question *one);
/* Takes the next answered question out, or one whose time is over (`now_ms`),
 * which then has an answer that says so. NULL: none. */
question *questions_next_answered(questions *self, int64_t now_ms);
/* When the next time is over; INT64_MAX: no question waits. */
int64_t questions_first_deadline(questions *self);
/* True once questions_stop was called; clears the descriptor. */
bool questions_must_stop(questions *self);
/* Answers all questions: the process ends. */
void questions_end_all(questions *self);

/* ---- the thread of the lua_State ---- */

/* Copies the next question that waits: its id, path and body, which the caller
 * frees, and how long there is time. 0: none. */
typedef struct taken {
    uint64_t id;
    char *path, *body;
    size_t length;
    int64_t left_ms;
} taken;
bool questions_take(questions *self, int64_t now_ms, taken *out);

typedef struct answered {
    int status;
    const char *type;
    char *text; /* malloc'ed; taken in any case */
    size_t length;
} answered;
/* False: it was answered already, as its time was over. */
bool questions_answer(questions *self, uint64_t id, const answered *answer);

/* Makes the server's thread end. */
void questions_stop(questions *self);

#pragma GCC visibility pop

#endif
