/*
 * admit.c - see admit.h: an HTTPS server, on a thread of its own, that hands
 * the bodies of POST /admit/... to the loop of the lua_State and sends what the
 * loop answers (question.h). It touches no lua_State, so it answers in time
 * while the loop hangs: that there was no answer.
 *
 * The thread calls everything of libmicrohttpd, so no lock is needed for it.
 */
#include "admit.h"

#include "binding.h"
#include "credential.h"
#include "listen.h"
#include "question.h"

#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TYPE_ADMIT "kubelua.admit_server"

enum {
    CONNECTIONS = 512,
    TIMEOUT_S = 15,  /* of a connection without a request */
    IDLE_S = 300,    /* of one that had one: API servers keep theirs for 90 s,
                        and a close at the moment of a request would fail it */
    TOO_LARGE = 413, /* a status whose name libmicrohttpd has changed */
    BODY = 8 << 20,  /* an object has 3 MB at most, and a review two */
    ALL_BODIES = 128 << 20, /* of all requests at one time */
    ANSWER_MS = 10000,      /* as kube-apiserver, if a request names none */
    LONGEST_MS = 30000,
    END_MS = 500 /* for the last answers */
};

typedef struct admit_server {
    questions *list;
    struct MHD_Daemon *daemon;
    pthread_t thread;
    bool has_thread;
    pid_t pid; /* of the process that has the thread */
    int port;
    size_t bodies;      /* bytes; of the server's thread */
    bool has_ended;     /* of the server's thread: no request is taken now, as
                           libmicrohttpd aborts if one is suspended then */
    atomic_bool drains; /* each answer closes its connection */
} admit_server;

/* The credentials are the process's, so it has one such server. */
static atomic_bool is_there;

static int64_t read_clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- requests: the server's thread ---- */

static enum MHD_Result send_copy(const admit_server *self,
                                 struct MHD_Connection *connection, int status,
                                 const char *type, const char *text,
                                 size_t length)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        length, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result;

    if (response == NULL) {
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", type);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) {
        MHD_add_response_header(response, "Allow", "POST");
    }
    if (atomic_load_explicit(&self->drains, memory_order_relaxed)) {
        MHD_add_response_header(response, "Connection", "close");
    }
    result = MHD_queue_response(connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse_request(const admit_server *self,
                                      struct MHD_Connection *connection,
                                      int status, const char *text)
{
    return send_copy(self, connection, status, "text/plain; charset=utf-8",
                     text, strlen(text));
}

/* How long the API server waits, "timeout=10s", less a tenth and a second at
 * most: the answer must come before it gives up. */
static int64_t read_timeout_ms(struct MHD_Connection *connection)
{
    const char *given = MHD_lookup_connection_value(
        connection, MHD_GET_ARGUMENT_KIND, "timeout");
    int64_t ms = ANSWER_MS;
    char *end = NULL;

    if (given != NULL) {
        double number = strtod(given, &end);

        if (strcmp(end, "s") == 0 && number > 0 && number <= LONGEST_MS) {
            ms = (int64_t)(number * 1000);
        } else if (strcmp(end, "ms") == 0 && number > 0 &&
                   number <= LONGEST_MS) {
            ms = (int64_t)number;
        }
    }
    ms = ms > LONGEST_MS ? LONGEST_MS : ms;
    return ms - (ms > 10000 ? 1000 : ms / 10);
}

/* Adds bytes of the body. False: it is too large, or memory is missing. */
static bool append_body(admit_server *self, question *one, const char *bytes,
                        size_t count)
{
    size_t room = one->room > 0 ? one->room : 8192;
    char *larger;

    if (count > BODY - one->length || count > ALL_BODIES - self->bodies) {
        return false;
    }
    while (room < one->length + count) {
        room *= 2;
    }
    if (room != one->room) {
        larger = realloc(one->body, room);
        if (larger == NULL) {
            return false;
        }
        one->body = larger;
        one->room = room;
    }
    memcpy(one->body + one->length, bytes, count);
    one->length += count;
    one->counted += count;
    self->bodies += count;
    return true;
}

static enum MHD_Result ask_lua(admit_server *self,
                               struct MHD_Connection *connection, question *one)
{
    one->deadline_ms = read_clock_ms() + read_timeout_ms(connection);
    one->connection = connection;
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
                              (unsigned)IDLE_S);
    MHD_suspend_connection(connection);
    questions_put(self->list, one);
    return MHD_YES;
}

static enum MHD_Result handle_request(void *context,
                                      struct MHD_Connection *connection,
                                      const char *path, const char *method,
                                      const char *version, const char *body,
                                      size_t *body_length, void **state)
{
    admit_server *self = context;
    question *one = *state;

    (void)version;
    if (one == NULL) {
        if (strncmp(path, "/admit/", strlen("/admit/")) != 0) {
            return refuse_request(self, connection, MHD_HTTP_NOT_FOUND,
                                  "there is only /admit/NAME\n");
        } else if (strcmp(method, "POST") != 0) {
            return refuse_request(self, connection, MHD_HTTP_METHOD_NOT_ALLOWED,
                                  "only POST of an AdmissionReview\n");
        }
        *state = question_new(path);
        return *state != NULL ? MHD_YES : MHD_NO;
    } else if (*body_length > 0) {
        one->is_refused =
            one->is_refused || !append_body(self, one, body, *body_length);
        *body_length = 0;
        return MHD_YES;
    } else if (one->is_refused) {
        return refuse_request(self, connection, TOO_LARGE,
                              "the body is too large\n");
    } else if (one->state == QUESTION_READ && self->has_ended) {
        return refuse_request(self, connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
                              "kubelua: this replica ends\n");
    } else if (one->state == QUESTION_READ) {
        return ask_lua(self, connection, one);
    }
    return send_copy(self, connection, one->status, one->type,
                     one->text != NULL ? one->text : "", one->text_length);
}

static void end_request(void *context, struct MHD_Connection *connection,
                        void **state, enum MHD_RequestTerminationCode why)
{
    admit_server *self = context;
    question *one = *state;

    (void)connection;
    (void)why;
    if (one != NULL) {
        self->bodies -= one->counted;
        question_free(one);
    }
    *state = NULL;
}

/* ---- the server's thread ---- */

static bool resume_answered(admit_server *self)
{
    question *one = questions_next_answered(self->list, read_clock_ms());
    bool has_resumed = one != NULL;

    while (one != NULL) {
        MHD_resume_connection(one->connection);
        one = questions_next_answered(self->list, read_clock_ms());
    }
    return has_resumed;
}

/* The timeout for poll. */
static int wait_ms(admit_server *self)
{
    int64_t first = questions_first_deadline(self->list), ms = INT_MAX;
    MHD_UNSIGNED_LONG_LONG of_daemon;

    if (first != INT64_MAX) {
        ms = first - read_clock_ms();
    }
    if (MHD_get_timeout(self->daemon, &of_daemon) == MHD_YES &&
        (int64_t)of_daemon < ms) {
        ms = (int64_t)of_daemon;
    }
    return ms < 0 ? 0 : ms < INT_MAX ? (int)ms : -1;
}

static void run_once(admit_server *self, int most_ms)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(self->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct pollfd fds[] = {
        {.fd = info->epoll_fd, .events = POLLIN},
        {.fd = questions_server_fd(self->list), .events = POLLIN}};
    int ms = resume_answered(self) ? 0 : wait_ms(self);

    poll(fds, 2, most_ms >= 0 && (ms < 0 || ms > most_ms) ? most_ms : ms);
    MHD_run(self->daemon);
}

/* Sends the last answers: libmicrohttpd does not end with suspended
 * connections. */
static void send_last(admit_server *self)
{
    int64_t end = read_clock_ms() + END_MS;

    self->has_ended = true;
    close(MHD_quiesce_daemon(self->daemon));
    questions_end_all(self->list);
    do {
        const union MHD_DaemonInfo *info;

        run_once(self, END_MS / 10);
        info = MHD_get_daemon_info(self->daemon,
                                   MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
        if (info == NULL || info->num_connections == 0) {
            break;
        }
    } while (self->bodies > 0 && read_clock_ms() < end);
    while (resume_answered(self)) {
        MHD_run(self->daemon);
    }
}

/* Touches the daemon, the questions, `bodies` and `has_ended`. */
static void *run_server(void *context)
{
    admit_server *self = context;

    while (!questions_must_stop(self->list)) {
        run_once(self, -1);
    }
    send_last(self);
    return NULL;
}

static bool start_thread(admit_server *self)
{
    sigset_t before;

    block_signals(&before);
    self->pid = getpid();
    self->has_thread =
        pthread_create(&self->thread, NULL, run_server, self) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return self->has_thread;
}

static struct MHD_Daemon *start_daemon(admit_server *self, int fd)
{
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_TLS | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
        handle_request, self, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_HTTPS_CERT_CALLBACK, credential_retrieve,
        MHD_OPTION_NOTIFY_COMPLETED, end_request, self,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)TIMEOUT_S, MHD_OPTION_END);
}

/* ---- Lua ---- */

static void stop_server(admit_server *self)
{
    if (self->list == NULL) {
        return;
    }
    /* In a child of fork() the thread does not exist, and a stop would shut the
     * socket that the parent listens on. */
    if (self->pid == 0 || self->pid == getpid()) {
        if (self->has_thread) {
            questions_stop(self->list);
            pthread_join(self->thread, NULL);
        }
        if (self->daemon != NULL) {
            MHD_stop_daemon(self->daemon);
        }
        credential_clear();
        questions_free(self->list);
        atomic_store(&is_there, false);
    }
    self->list = NULL;
    self->daemon = NULL;
}

static admit_server *check_server(lua_State *L)
{
    admit_server *self = luaL_checkudata(L, 1, TYPE_ADMIT);

    luaL_argcheck(L, self->list != NULL && self->pid == getpid(), 1,
                  "the server was stopped");
    return self;
}

static kl_code start_all(admit_server *self, const char *host, const char *port,
                         kl_error *err)
{
    int fd = open_listener(host, port, err);

    if (fd < 0) {
        return err->code;
    }
    self->port = port_of_listener(fd);
    self->daemon = start_daemon(self, fd);
    if (self->daemon == NULL) {
        close(fd);
    }
    if (self->daemon == NULL || !start_thread(self)) {
        return kl_error_set(err, KL_EIO,
                            "cannot serve on %s:%s: no thread or no "
                            "descriptor is left, or libmicrohttpd has no TLS",
                            host, port);
    }
    return KL_OK;
}

/* serve.admit(host, port, certificates, key): a server; or nil, message, code.
 * The last two are PEM. */
static int admit_new(lua_State *L)
{
    const char *host = luaL_checkstring(L, 1);
    const char *port = luaL_checkstring(L, 2);
    const char *chain = check_text(L, 3), *key = check_text(L, 4);
    admit_server *self = lua_newuserdata(L, sizeof(*self));
    bool none = false;
    credential *pair;
    kl_error err;

    *self = (admit_server){.pid = 0};
    luaL_getmetatable(L, TYPE_ADMIT);
    lua_setmetatable(L, -2);
    if (!atomic_compare_exchange_strong(&is_there, &none, true)) {
        kl_error_set(&err, KL_EINVAL, "this process serves webhooks already");
        return push_error(L, &err);
    }
    pair = credential_new(chain, key, &err);
    self->list = pair != NULL ? questions_new() : NULL;
    if (self->list == NULL) {
        if (pair != NULL) {
            kl_error_set(&err, KL_EIO, "no memory or descriptor is left");
        }
        credential_free(pair);
        atomic_store(&is_there, false);
        return push_error(L, &err);
    }
    credential_use(pair);
    if (start_all(self, host, port, &err) != KL_OK) {
        stop_server(self);
        return push_error(L, &err);
    }
    return 1;
}

/* server:renew(certificates, key): true, or nil, message, code; then the one
 * before stays. */
static int admit_renew(lua_State *L)
{
    const char *chain = check_text(L, 2), *key = check_text(L, 3);
    credential *pair;
    kl_error err;

    (void)check_server(L);
    pair = credential_new(chain, key, &err);
    if (pair == NULL) {
        return push_error(L, &err);
    }
    credential_use(pair);
    lua_pushboolean(L, true);
    return 1;
}

/* serve.fits(certificates, key): true if the key is that of the first
 * certificate, and both can be served. */
static int lua_fits(lua_State *L)
{
    const char *chain = check_text(L, 1), *key = check_text(L, 2);
    kl_error err;
    credential *self = credential_new(chain, key, &err);

    lua_pushboolean(L, self != NULL);
    credential_free(self);
    return 1;
}

/* What a question holds, on the stack of Lua: freed with it. */
static int taken_gc(lua_State *L)
{
    taken *one = lua_touserdata(L, 1);

    free(one->path);
    free(one->body);
    *one = (taken){0};
    return 0;
}

/* server:take(): the id, path and body of a request that waits, and how many
 * seconds there are for its answer; nil: none waits. */
static int admit_take(lua_State *L)
{
    taken *one = lua_newuserdata(L, sizeof(*one));

    *one = (taken){0};
    luaL_getmetatable(L, "kubelua.taken");
    lua_setmetatable(L, -2);
    if (!questions_take(check_server(L)->list, read_clock_ms(), one)) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushnumber(L, (lua_Number)one->id);
    lua_pushstring(L, one->path != NULL ? one->path : "");
    lua_pushlstring(L, one->body != NULL ? one->body : "", one->length);
    lua_pushnumber(L, (lua_Number)one->left_ms / 1000);
    free(one->path);
    free(one->body);
    *one = (taken){0};
    return 4;
}

/* server:answer(id, status, content type, text): false: too late. */
static int admit_answer(lua_State *L)
{
    admit_server *self = check_server(L);
    answered answer = {.status = (int)luaL_checkinteger(L, 3),
                       .type = luaL_checkstring(L, 4)};
    const char *text = luaL_checklstring(L, 5, &answer.length);
    uint64_t id = (uint64_t)luaL_checknumber(L, 2);

    answer.text = malloc(answer.length + 1);
    if (answer.text == NULL) {
        return luaL_error(L, "out of memory");
    }
    memcpy(answer.text, text, answer.length);
    lua_pushboolean(L, questions_answer(self->list, id, &answer));
    return 1;
}

/* server:drain(): from now on each answer closes its connection, so that a
 * client sends its next request to another server. */
static int admit_drain(lua_State *L)
{
    atomic_store_explicit(&check_server(L)->drains, true, memory_order_relaxed);
    return 0;
}

/* server:fd(): a descriptor that is readable while a request waits. */
static int admit_fd(lua_State *L)
{
    lua_pushinteger(L, questions_lua_fd(check_server(L)->list));
    return 1;
}

static int admit_port(lua_State *L)
{
    lua_pushinteger(L, check_server(L)->port);
    return 1;
}

static int admit_stop(lua_State *L)
{
    stop_server(luaL_checkudata(L, 1, TYPE_ADMIT));
    return 0;
}

static int admit_gc(lua_State *L)
{
    stop_server(lua_touserdata(L, 1));
    return 0;
}

void bind_admit(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"__gc", admit_gc},     {"port", admit_port},     {"fd", admit_fd},
        {"take", admit_take},   {"answer", admit_answer}, {"stop", admit_stop},
        {"renew", admit_renew}, {"drain", admit_drain},   {NULL, NULL}};
    static const luaL_Reg of_taken[] = {{"__gc", taken_gc}, {NULL, NULL}};
    static const luaL_Reg functions[] = {
        {"admit", admit_new}, {"fits", lua_fits}, {NULL, NULL}};

    push_type(L, TYPE_ADMIT, methods);
    push_type(L, "kubelua.taken", of_taken);
    luaL_setfuncs(L, functions, 0);
}
