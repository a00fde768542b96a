/*
 * history.h - one history: switches, and a list of small operations, all drawn
 * from a seed. Plain records, so that it can be cut down, printed and replayed.
 */
#ifndef KL_SPEC_MODEL_HISTORY_H
#define KL_SPEC_MODEL_HISTORY_H

#include "server.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HISTORY_OPS_MAX = 48,
    HISTORY_INFORMERS = 3, /* handles that are open at a time */
    HISTORY_HANDLERS = 6,  /* registrations at a time */
    HISTORY_HANDS = 2,     /* fibers of the user besides the first */
    HISTORY_SCOPES = 5,
    HISTORY_KEYS = 12,    /* keys that operations name */
    HISTORY_CROWD = 1200, /* further keys of a crowd, at most */
    HISTORY_ALL_KEYS = HISTORY_KEYS + HISTORY_CROWD
};

/* X(constant, name). history_print.c shows what the arguments mean. */
#define HISTORY_OPS(X)                  \
    X(CREATE, "create")                 \
    X(UPDATE, "update")                 \
    X(DELETE, "delete")                 \
    X(RECREATE, "recreate")             \
    X(BURST, "burst")                   \
    X(CROWD, "crowd")                   \
    X(BREAK, "break")                   \
    X(END, "end")                       \
    X(FREEZE, "freeze")                 \
    X(RUBBISH, "rubbish")               \
    X(ERROR_EVENT, "error-event")       \
    X(STATUS, "status")                 \
    X(REFUSE, "refuse")                 \
    X(DELAY, "delay")                   \
    X(COMPACT, "compact")               \
    X(RESTORE, "restore")               \
    X(UPGRADE, "upgrade")               \
    X(STORM, "storm")                   \
    X(PASS, "pass")                     \
    X(OPEN, "open")                     \
    X(CLOSE, "close")                   \
    X(ADD_HANDLER, "add-handler")       \
    X(REMOVE_HANDLER, "remove-handler") \
    X(ADD_INDEX, "add-index")           \
    X(QUERY, "query")                   \
    X(WAIT, "wait-synced")              \
    X(WAKE, "wake-synced")              \
    X(HOLD, "hold")                     \
    X(RELEASE, "release")               \
    X(PAUSE_LOOP, "pause-loop")         \
    X(RESUME_LOOP, "resume-loop")       \
    X(ARM, "arm")                       \
    X(CLOSE_CLIENT, "close-client")

typedef enum op_type {
#define HISTORY_OP_ENUM(constant, name) OP_##constant,
    HISTORY_OPS(HISTORY_OP_ENUM)
#undef HISTORY_OP_ENUM
        OP_TYPES
} op_type;

/* An operation that does not fit (its slot is empty, its key exists) does
 * nothing, so any part of a history is a history too. */
typedef struct op {
    op_type type;
    /* 0: the first fiber does it at once; else the fiber of that hand does it,
     * after its earlier operations */
    int hand;
    int slot; /* slot of an informer, or of a handler */
    int key;
    int a;
    int b;
    int c;
} op;

/* Kinds of handlers. */
typedef enum handler_kind {
    HANDLER_PLAIN,      /* callbacks, on a thread of its own */
    HANDLER_SLOW,       /* the same, and callbacks take some time */
    HANDLER_COALESCING, /* a small backlog */
    HANDLER_EVERY,      /* every change, a small backlog */
    HANDLER_QUIET,      /* wants no errors */
    HANDLER_PULLED,     /* drained from the event queue */
    HANDLER_PULLED_COALESCING,
    HANDLER_PULLED_EVERY,
    HANDLER_KINDS
} handler_kind;

/* What an armed handler does within its next callback. */
typedef enum armed_action {
    ARMED_NOTHING,
    ARMED_REMOVE_SELF,
    ARMED_REMOVE_OTHER,
    ARMED_ADD_HANDLER,
    ARMED_CLOSE_OWN,
    ARMED_CLOSE_OTHER,
    ARMED_QUERY,
    ARMED_CLOSE_CLIENT,
    ARMED_ACTIONS
} armed_action;

/* In what order a run comes to its end. */
typedef enum ending {
    ENDING_INFORMERS, /* the handles are closed, with their registrations */
    ENDING_HANDLERS,  /* each registration is removed first */
    ENDING_CLIENT,    /* the client is closed first of all */
    ENDINGS
} ending;

/* How the objects of the caches rest. */
typedef enum packing {
    PACKING_OFF,   /* plain */
    PACKING_ON,    /* packed, with a dictionary of the first few */
    PACKING_ALWAYS /* packed, with a new dictionary every few objects */
} packing;

/* Settings of a whole run. */
typedef struct switches {
    int preemptions;
    int spurious_per_mille;
    int hurry_per_mille;
    server_options server;
    bool no_streaming_list;
    int page_size;
    int idle_ms;   /* 0: the default */
    int resync_ms; /* default of the informers; 0: none */
    ending ending;
    packing packing;
    int young_ms;       /* how long an object of a watch stays plain; 0: not */
    int acts_per_mille; /* how often a callback makes a call of its own */
    int unreadable_per_mille; /* writes after which an object cannot be read */
    bool discovers;           /* informers have names that are not built in */
} switches;

typedef struct history {
    uint64_t seed;
    switches switches;
    op ops[HISTORY_OPS_MAX];
    size_t count;
} history;

/* What is taken away from a history to make it simpler. */
enum {
    SIMPLER_SPURIOUS = 1,
    SIMPLER_HURRY = 2,
    SIMPLER_CHUNKS = 4,
    SIMPLER_DELAYS = 8,
    SIMPLER_DRAWN_FAULTS = 16,
    SIMPLER_PAGES = 32,
    SIMPLER_RESYNC = 64,
    SIMPLER_WATCH_END = 128,
    SIMPLER_HANDS = 256, /* all operations on the first fiber */
    SIMPLER_STREAMING = 512,
    SIMPLER_PACKING = 1024,
    SIMPLER_TURNS = 2048,
    SIMPLER_READABLE = 4096,
    SIMPLER_BITS = 13
};

typedef struct history_cut {
    uint64_t mask;    /* bits: the operations that stay */
    unsigned simpler; /* bits of SIMPLER_ */
    int preemptions;  /* < 0: as drawn */
} history_cut;

/* Draws the history of a seed. */
void history_draw(history *self, uint64_t seed);
/* Takes away what the cut says. */
void history_apply(history *self, const history_cut *cut);

/* Writes one operation, or all switches, as a line without a line feed. */
void history_op_text(const op *what, char *text, size_t size);
void history_switches_text(const switches *what, char *text, size_t size);
const char *history_op_name(op_type type);

/* The server's key for a number, and the kind of its object; and the number for
 * a key (< 0: unknown). */
const char *history_key(int key, server_kind *kind);
int history_key_index(const char *key);

/* What an informer may ask for. */
typedef struct scope {
    const char *resource;
    const char *discovered; /* a name of it that is not built in */
    server_kind kind;
    const char *name_space; /* NULL: all */
    const char *labels;     /* NULL: all, else "app=app-1" */
} scope;
const scope *history_scope(int number);
/* True if the object is in the scope. */
bool history_in_scope(const scope *where, const server_change *object);

#endif
