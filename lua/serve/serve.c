/*
 * serve.c - the Lua C module kubelua.serve: an HTTP server, on a thread of its
 * own, for what the report of a lua_State shows (kubelua/report.h). It touches
 * no lua_State, so it answers while the loop hangs. A process that serves
 * nothing does not load it, and so not libmicrohttpd.
 */
#include "admit.h"
#include "authority.h"
#include "binding.h"
#include "listen.h"

#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define TYPE_SERVER "kubelua.server"

enum {
    CONNECTIONS = 64, /* more wait to be accepted */
    TIMEOUT_S = 15    /* a connection without a request is closed */
};

typedef struct server {
    kl_report *report; /* a reference */
    struct MHD_Daemon *daemon;
    int port;
} server;

/* ---- answers: they run on the server's thread ---- */

static enum MHD_Result send_text(struct MHD_Connection *connection, int status,
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
    MHD_add_response_header(response, "Cache-Control", "no-store");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) {
        MHD_add_response_header(response, "Allow", "GET, HEAD");
    }
    result = MHD_queue_response(connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return result;
}

static const char PLAIN[] = "text/plain; charset=utf-8";

static enum MHD_Result send_line(struct MHD_Connection *connection, int status,
                                 const char *text)
{
    return send_text(connection, status, PLAIN, text, strlen(text));
}

static enum MHD_Result send_failure(struct MHD_Connection *connection,
                                    const kl_error *err)
{
    return send_line(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, err->message);
}

static enum MHD_Result send_metrics(const server *self,
                                    struct MHD_Connection *connection)
{
    size_t length;
    kl_error err;
    char *text = kl_report_metrics_text(self->report, &length, &err);
    enum MHD_Result result;

    if (text == NULL) {
        return send_failure(connection, &err);
    }
    result =
        send_text(connection, MHD_HTTP_OK,
                  "text/plain; version=0.0.4; charset=utf-8", text, length);
    kl_free(text);
    return result;
}

static enum MHD_Result send_status(const server *self,
                                   struct MHD_Connection *connection)
{
    size_t length;
    kl_error err;
    char *text = kl_report_status(self->report, &length, &err);
    enum MHD_Result result;

    if (text == NULL) {
        return send_failure(connection, &err);
    }
    result =
        send_text(connection, MHD_HTTP_OK, "application/json", text, length);
    kl_free(text);
    return result;
}

typedef char *verdict(kl_report *report, bool *is_well, kl_error *err);

static enum MHD_Result send_verdict(const server *self,
                                    struct MHD_Connection *connection,
                                    verdict *make)
{
    bool is_well;
    kl_error err;
    char *text = make(self->report, &is_well, &err);
    enum MHD_Result result;

    if (text == NULL) {
        return send_failure(connection, &err);
    }
    result = send_line(
        connection, is_well ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, text);
    kl_free(text);
    return result;
}

static enum MHD_Result send_health(const server *self,
                                   struct MHD_Connection *connection)
{
    return send_verdict(self, connection, kl_report_health);
}

static enum MHD_Result send_readiness(const server *self,
                                      struct MHD_Connection *connection)
{
    return send_verdict(self, connection, kl_report_readiness);
}

static const struct {
    const char *path;
    enum MHD_Result (*send)(const server *self,
                            struct MHD_Connection *connection);
} pages[] = {{"/metrics", send_metrics},
             {"/healthz", send_health},
             {"/readyz", send_readiness},
             {"/status", send_status}};

static enum MHD_Result answer(void *context, struct MHD_Connection *connection,
                              const char *path, const char *method,
                              const char *version, const char *body,
                              size_t *body_length, void **state)
{
    static int has_begun;

    (void)version;
    (void)body;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        return send_line(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
                         "only GET and HEAD\n");
    }
    if (*state == NULL) { /* the head has come; a body may follow */
        *state = &has_begun;
        return MHD_YES;
    }
    if (*body_length > 0) {
        *body_length = 0;
        return MHD_YES;
    }
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        if (strcmp(path, pages[i].path) == 0) {
            return pages[i].send(context, connection);
        }
    }
    return send_line(connection, MHD_HTTP_NOT_FOUND,
                     "there are /metrics, /healthz, /readyz and /status\n");
}

/* ---- the server ---- */

static struct MHD_Daemon *start_daemon(server *self, int fd)
{
    struct MHD_Daemon *daemon;
    sigset_t before;

    block_signals(&before);
    daemon = MHD_start_daemon(
        MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ITC, 0, NULL,
        NULL, answer, self, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return daemon;
}

static void stop_server(server *self)
{
    /* In a child of fork() the thread does not exist, and a stop would shut the
     * socket that the parent listens on. */
    if (self->daemon != NULL && kl_report_check(self->report, NULL) == KL_OK) {
        MHD_stop_daemon(self->daemon);
    }
    self->daemon = NULL;
    kl_report_unref(self->report);
    self->report = NULL;
}

/* serve.start(report, host, port): a server; or nil, message, code. `report` is
 * core.report_pointer(); host "": all addresses; port "0": a free one. */
static int server_start(lua_State *L)
{
    kl_report *report = lua_touserdata(L, 1);
    const char *host = luaL_checkstring(L, 2);
    const char *port = luaL_checkstring(L, 3);
    server *self = lua_newuserdata(L, sizeof(*self));
    kl_error err;
    int fd;

    luaL_argcheck(L, report != NULL, 1, "a report expected");
    *self = (server){0};
    luaL_getmetatable(L, TYPE_SERVER);
    lua_setmetatable(L, -2);
    fd = open_listener(host, port, &err);
    if (fd < 0) {
        return push_error(L, &err);
    }
    self->report = kl_report_ref(report);
    self->port = port_of_listener(fd);
    self->daemon = start_daemon(self, fd);
    if (self->daemon == NULL) {
        close(fd);
        kl_error_set(&err, KL_EIO,
                     "cannot serve on %s:%s: no thread or no "
                     "descriptor is left",
                     host, port);
        return push_error(L, &err);
    }
    return 1;
}

static int server_port(lua_State *L)
{
    const server *self = luaL_checkudata(L, 1, TYPE_SERVER);

    lua_pushinteger(L, self->port);
    return 1;
}

static int server_stop(lua_State *L)
{
    stop_server(luaL_checkudata(L, 1, TYPE_SERVER));
    return 0;
}

static int server_gc(lua_State *L)
{
    stop_server(lua_touserdata(L, 1));
    return 0;
}

LUALIB_API int luaopen_kubelua_serve(lua_State *L);

KL_API int luaopen_kubelua_serve(lua_State *L)
{
    static const luaL_Reg methods[] = {{"__gc", server_gc},
                                       {"port", server_port},
                                       {"stop", server_stop},
                                       {NULL, NULL}};
    static const luaL_Reg functions[] = {{"start", server_start}, {NULL, NULL}};

    push_type(L, TYPE_SERVER, methods);
    lua_newtable(L);
    luaL_setfuncs(L, functions, 0);
    bind_admit(L);
    bind_authority(L);
    return 1;
}
