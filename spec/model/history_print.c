/*
 * history_print.c - histories in words, and the names that they use: keys and
 * scopes.
 */
#include "history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const keys[HISTORY_KEYS] = {"n1/a", "n1/b", "n1/c", "n1/d",
                                               "n2/a", "n2/b", "n2/c", "n2/d",
                                               "n3/a", "x",    "y",    "z"};

enum { FIRST_NODE = 9 };

const char *history_key(int key, server_kind *kind)
{
    static char crowd[HISTORY_CROWD][sizeof("n4/c0000")];

    *kind =
        key >= FIRST_NODE && key < HISTORY_KEYS ? SERVER_NODES : SERVER_PODS;
    if (key < HISTORY_KEYS) {
        return keys[key];
    }
    key -= HISTORY_KEYS;
    /* printing a key each time took half the CPU time */
    if (crowd[key][0] == '\0') {
        snprintf(crowd[key], sizeof(crowd[key]), "n4/c%04u",
                 (unsigned)key % 10000);
    }
    return crowd[key];
}

int history_key_index(const char *key)
{
    if (strncmp(key, "n4/c", 4) == 0) {
        int number = atoi(key + 4);

        return number < HISTORY_CROWD ? HISTORY_KEYS + number : -1;
    }
    for (int i = 0; i < HISTORY_KEYS; i++) {
        if (strcmp(keys[i], key) == 0) {
            return i;
        }
    }
    return -1;
}

const scope *history_scope(int number)
{
    static const scope scopes[HISTORY_SCOPES] = {
        {"pods", "pods.v1", SERVER_PODS, NULL, NULL},
        {"pods", "pods.v1", SERVER_PODS, "n1", NULL},
        {"pods", "pods.v1", SERVER_PODS, NULL, "app=app-1"},
        {"nodes", "nodes.v1", SERVER_NODES, NULL, NULL},
        {"pods", "pods.v1", SERVER_PODS, "n2", "app=app-1"},
    };

    return &scopes[number];
}

bool history_in_scope(const scope *where, const server_change *object)
{
    size_t length = where->name_space != NULL ? strlen(where->name_space) : 0;

    return object->kind == where->kind &&
           (where->name_space == NULL ||
            (strncmp(object->key, where->name_space, length) == 0 &&
             object->key[length] == '/')) &&
           (where->labels == NULL || object->spec.app == 1);
}

const char *history_op_name(op_type type)
{
    static const char *const names[] = {
#define HISTORY_OP_NAME(constant, name) name,
        HISTORY_OPS(HISTORY_OP_NAME)
#undef HISTORY_OP_NAME
    };

    return names[type];
}

static const char *handler_name(int kind)
{
    static const char *const names[] = {
        "plain", "slow",   "coalescing",        "every-change",
        "quiet", "pulled", "pulled-coalescing", "pulled-every"};

    return names[kind];
}

static const char *action_name(int action)
{
    static const char *const names[] = {
        "nothing",   "remove-self", "remove-other", "add-handler",
        "close-own", "close-other", "query",        "close-client"};

    return names[action];
}

static const char *target_name(int target)
{
    static const char *const names[] = {"any", "list", "watch", "discovery"};

    return names[target];
}

static void fault_text(const op *what, char *text, size_t size)
{
    switch (what->type) {
    case OP_ERROR_EVENT:
        snprintf(text, size, "%d on open watches", what->b);
        break;
    case OP_STATUS:
        snprintf(text, size, "%d for %d requests (%s)", what->b, what->c,
                 target_name(what->a));
        break;
    case OP_STORM:
        snprintf(text, size,
                 "every request fails for long with %d (0: refused)", what->b);
        break;
    case OP_DELAY:
        snprintf(text, size, "%d requests by %d ms", what->c, what->b);
        break;
    case OP_REFUSE:
        snprintf(text, size, "%d connections, and break what is open", what->c);
        break;
    default:
        snprintf(text, size, "%s after %d bytes",
                 what->c != 0 ? "open streams" : "the next answer", what->a);
        break;
    }
}

static void write_text(const op *what, char *text, size_t size)
{
    server_kind kind;
    const char *key = history_key(what->key, &kind);

    switch (what->type) {
    case OP_DELETE:
        snprintf(text, size, "%s", key);
        break;
    case OP_BURST:
        snprintf(text, size, "%d updates over %d keys from %s", what->a,
                 what->b, key);
        break;
    case OP_CROWD:
        snprintf(text, size, "%d objects", what->a);
        break;
    default:
        snprintf(text, size, "%s node=%d app=%d", key, what->a - 1,
                 what->b - 1);
        break;
    }
}

static void call_text(const op *what, char *text, size_t size)
{
    const scope *where;

    switch (what->type) {
    case OP_OPEN:
        where = history_scope(what->a);
        snprintf(text, size, "informer %d, scope %d (%s %s %s)", what->slot,
                 what->a, where->resource,
                 where->name_space != NULL ? where->name_space : "*",
                 where->labels != NULL ? where->labels : "");
        break;
    case OP_ADD_HANDLER:
        snprintf(text, size, "handler %d to informer %d, %s (%x)", what->slot,
                 what->a, handler_name(what->b), (unsigned)what->c);
        break;
    case OP_ARM:
        snprintf(text, size, "handler %d: %s (%d)", what->slot,
                 action_name(what->a), what->b);
        break;
    case OP_REMOVE_HANDLER:
    case OP_HOLD:
    case OP_RELEASE:
        snprintf(text, size, "handler %d", what->slot);
        break;
    case OP_PAUSE_LOOP:
    case OP_RESUME_LOOP:
    case OP_CLOSE_CLIENT:
        text[0] = '\0';
        break;
    default:
        snprintf(text, size, "informer %d (%d, %d, %d)", what->slot, what->a,
                 what->b, what->c);
        break;
    }
}

static void arguments_text(const op *what, char *text, size_t size)
{
    switch (what->type) {
    case OP_CREATE:
    case OP_UPDATE:
    case OP_DELETE:
    case OP_RECREATE:
    case OP_BURST:
    case OP_CROWD:
        write_text(what, text, size);
        break;
    case OP_PASS:
        snprintf(text, size, "%d ms", what->a);
        break;
    case OP_COMPACT:
        snprintf(text, size, "but for the last %d changes", what->a);
        break;
    case OP_RESTORE:
        snprintf(text, size, "what was %d changes ago", what->a);
        break;
    case OP_UPGRADE:
        snprintf(text, size, "to streaming mode %d", what->a);
        break;
    default:
        if (what->type < OP_PASS) {
            fault_text(what, text, size);
        } else {
            call_text(what, text, size);
        }
        break;
    }
}

void history_op_text(const op *what, char *text, size_t size)
{
    char arguments[160];
    char hand[24] = "";

    arguments_text(what, arguments, sizeof(arguments));
    if (what->hand != 0) {
        snprintf(hand, sizeof(hand), "hand %d: ", what->hand);
    }
    snprintf(text, size, "%s%s %s", hand, history_op_name(what->type),
             arguments);
}

void history_switches_text(const switches *what, char *text, size_t size)
{
    const server_options *served = &what->server;

    snprintf(text, size,
             "preemptions=%d spurious=%d hurry=%d %s page=%d idle=%d resync=%d "
             "ending=%d packing=%d young=%d acts=%d unreadable=%d "
             "discovers=%d; server: "
             "streaming=%d future=%d "
             "bookmarks=%s/%d "
             "rv-after=%d cached=%d watch=%d chunk=%zu delay=%d faults=%d "
             "apart=%d wordless=%d lends=%d",
             what->preemptions, what->spurious_per_mille, what->hurry_per_mille,
             what->no_streaming_list ? "paged" : "streaming", what->page_size,
             what->idle_ms, what->resync_ms, (int)what->ending,
             (int)what->packing, what->young_ms, what->acts_per_mille,
             what->unreadable_per_mille, what->discovers,
             (int)served->streaming, (int)served->future,
             served->no_bookmarks ? "no" : "yes", served->bookmark_ms,
             served->rv_after_items, served->cached_lists, served->watch_ms,
             served->chunk_max, served->delay_max_ms, served->fault_per_mille,
             served->lists_apart, served->wordless, served->lends);
}
