/*
 * serve.c - the Lua C module kubelua.serve: an HTTP server, on a thread of its
 * own, for what the report of a lua_State shows (kubelua/report.h). It touches
 * no lua_State, so it answers while the loop hangs. A process that serves
 * nothing does not load it, and so not libmicrohttpd.
 */
#include "binding.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TYPE_SERVER "kubelua.server"

enum {
    BACKLOG = 64,
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

/* A socket that listens on one of the addresses; -1: errno says why. */
static int listen_on(const struct addrinfo *address)
{
    int yes = 1, no = 0;
    int fd = socket(address->ai_family,
                    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (address->ai_family == AF_INET6) { /* "::" is IPv4, too */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    }
    if (bind(fd, address->ai_addr, address->ai_addrlen) != 0 ||
        listen(fd, BACKLOG) != 0) {
        int why = errno;

        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

static const char *remedy_of(int why)
{
    switch (why) {
    case EADDRINUSE:
        return ": another program has this port; choose another one";
    case EACCES:
        return ": a port below 1024 needs a right; choose 1024 or above";
    case EADDRNOTAVAIL:
        return ": this machine does not have that address";
    default:
        return "";
    }
}

/* A socket that listens on host ("": all addresses) and port; -1: an error. */
static int open_socket(const char *host, const char *port, kl_error *err)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int status =
        getaddrinfo(host[0] != '\0' ? host : NULL, port, &hints, &list);
    int fd = -1, why = 0;

    if (status != 0) {
        kl_error_set(err, KL_EINVAL, "cannot serve on %s: %s", host,
                     gai_strerror(status));
        return -1;
    }
    /* All addresses: "::" first, as it takes IPv4, too. */
    for (int family = AF_INET6; fd < 0 && family != 0;
         family = family == AF_INET6 ? AF_INET : 0) {
        for (const struct addrinfo *at = list; fd < 0 && at != NULL;
             at = at->ai_next) {
            if (at->ai_family == family) {
                fd = listen_on(at);
                why = errno;
            }
        }
    }
    freeaddrinfo(list);
    if (fd < 0) {
        kl_error_set(err, KL_EIO, "cannot serve on %s:%s: %s%s",
                     host[0] != '\0' ? host : "*", port, strerror(why),
                     remedy_of(why));
    }
    return fd;
}

static int port_of(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof(address);
    char port[NI_MAXSERV] = "0";

    if (getsockname(fd, (struct sockaddr *)&address, &length) == 0) {
        getnameinfo((struct sockaddr *)&address, length, NULL, 0, port,
                    sizeof(port), NI_NUMERICSERV);
    }
    return atoi(port);
}

/* The server's thread inherits the mask: signals are for the host's threads. */
static struct MHD_Daemon *start_daemon(server *self, int fd)
{
    struct MHD_Daemon *daemon;
    sigset_t all, before;

    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, &before);
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
    fd = open_socket(host, port, &err);
    if (fd < 0) {
        return push_error(L, &err);
    }
    self->report = kl_report_ref(report);
    self->port = port_of(fd);
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
    return 1;
}
