/*
 * sim_listen.c - see sim_listen.h. libmicrohttpd serves HTTP/1.1, with one
 * thread for each connection. A second socket, bound but never listening, keeps
 * the port reserved while connections are refused.
 */
#include "sim/core/http/sim_listen.h"

#include "base/mem.h"
#include "base/remedy.h"
#include "base/str.h"
#include "kubelua/log.h"
#include "sim/core/http/sim_connections.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BACKLOG = 512,
    MAX_CONNECTIONS = 4096,
    /* an idle connection is closed after this; a connection with a watch is not
     * idle */
    IDLE_SECONDS = 120,
    /* a connection's buffer for a request's head; the kernel counts all of it
     * once the buffer is reused */
    MEMORY_LIMIT = 64 * 1024,
    REST_MS = 50, /* pause before accepting is tried again */
    /* of a connection's thread; only the used part takes memory */
    STACK_SIZE = 1024 * 1024
};

/* GnuTLS's defaults, but nothing older than TLS 1.2. */
static const char TLS_VERSIONS[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

typedef struct kl__sim_listener {
    kl__sim_http http;
    struct MHD_Daemon *daemon; /* NULL: connections are refused */
    struct sockaddr_storage address;
    socklen_t address_length;
    int holder; /* a socket that reserves the port; -1: none */
    /* no descriptor is free, and that is logged; relaxed: this flag only keeps
     * the log to one line */
    atomic_bool is_starved;
    bool has_tls;
    kl__sim_tls tls;
    char *url;
    char host[256]; /* the address as given, which its certificate names */
} kl__sim_listener;

/* A socket bound to the listener's address; -1 and errno. With SO_REUSEADDR two
 * sockets may be bound to a port as long as neither listens. */
static int bind_socket(const kl__sim_listener *listener)
{
    int fd = socket(listener->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;

    if (fd < 0) {
        return -1;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        bind(fd, (const struct sockaddr *)&listener->address,
             listener->address_length) == 0) {
        return fd;
    }
    on = errno;
    close(fd);
    errno = on;
    return -1;
}

/* libmicrohttpd calls this with a log message, on a thread of its own. While no
 * descriptor is free for a waiting connection, its loop spins on accept()
 * without a pause; it can be made to sleep only in this callback. */
static void rest_if_starved(void *context, const char *format,
                            va_list arguments)
{
    kl__sim_listener *listener = context;
    int fd = fcntl(listener->holder, F_DUPFD_CLOEXEC, 0);

    (void)format;
    (void)arguments;
    if (fd >= 0) {
        close(fd);
        atomic_store_explicit(&listener->is_starved, false,
                              memory_order_relaxed);
        return;
    }
    if (!atomic_exchange_explicit(&listener->is_starved, true,
                                  memory_order_relaxed)) {
        kl_log(KL_LOG_WARN, "simulator: a connection has to wait: %s%s",
               strerror(EMFILE), kl__remedy(EMFILE));
    }
    poll(NULL, 0, REST_MS);
}

/* Starts the daemon with the host program's signals blocked in its threads. */
static struct MHD_Daemon *start_daemon(kl__sim_listener *listener, int fd)
{
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD |
                     MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL |
                     MHD_USE_ITC | MHD_USE_ERROR_LOG;
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_TRUST, 0, listener->tls.ca},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, listener->tls.key},
        {MHD_OPTION_HTTPS_MEM_CERT, 0, listener->tls.cert},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_VERSIONS},
        {MHD_OPTION_END, 0, NULL}};
    struct MHD_Daemon *daemon;
    sigset_t blocked, before;

    if (!listener->has_tls) {
        tls[0].option = MHD_OPTION_END;
    }
    sigfillset(&blocked);
    sigdelset(&blocked, SIGILL);
    sigdelset(&blocked, SIGFPE);
    sigdelset(&blocked, SIGSEGV);
    sigdelset(&blocked, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    daemon = MHD_start_daemon(
        flags | (listener->has_tls ? MHD_USE_TLS : 0), 0, NULL, NULL,
        kl__sim_http_handle, &listener->http, MHD_OPTION_EXTERNAL_LOGGER,
        rest_if_starved, listener, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_NOTIFY_CONNECTION, kl__sim_connections_notice,
        &listener->http, MHD_OPTION_URI_LOG_CALLBACK, kl__sim_http_begin,
        &listener->http, MHD_OPTION_NOTIFY_COMPLETED, kl__sim_http_end,
        &listener->http, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)MEMORY_LIMIT, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)MAX_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_SECONDS, MHD_OPTION_THREAD_STACK_SIZE,
        (size_t)STACK_SIZE, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return daemon;
}

static kl_code accept_connections(kl__sim_listener *listener, kl_error *err)
{
    int fd = bind_socket(listener);

    if (fd < 0 || listen(fd, BACKLOG) != 0) {
        kl_error_set(err, KL_EIO, "simulator: cannot listen: %s%s",
                     strerror(errno), kl__remedy(errno));
        if (fd >= 0) {
            close(fd);
        }
        return KL_EIO;
    }
    listener->daemon = start_daemon(listener, fd);
    if (listener->daemon == NULL) {
        close(fd);
        return kl_error_set(err, KL_EIO,
                            "simulator: the HTTP server does not start: no "
                            "thread (ulimit -u), descriptor (ulimit -n) or "
                            "memory for it");
    }
    return KL_OK;
}

/* Ends every connection and waits for its thread. */
static void stop_daemon(kl__sim_listener *listener)
{
    int fd;

    if (listener->daemon == NULL) {
        return;
    }
    /* the daemon accepts no more connections */
    fd = MHD_quiesce_daemon(listener->daemon);
    kl__sim_connections_end(&listener->http);
    MHD_stop_daemon(listener->daemon);
    listener->daemon = NULL;
    if (fd >= 0) {
        /* libmicrohttpd does not close the socket of a quiesced daemon */
        close(fd);
    }
    kl__sim_connections_reopen(&listener->http);
}

static void free_listener(kl__sim_listener *listener)
{
    if (listener->holder >= 0) {
        close(listener->holder);
    }
    kl__cond_deinit(&listener->http.gone);
    kl__sim_tls_clear(&listener->tls);
    kl__free(listener->url);
    kl__free(listener);
}

static kl_code resolve_address(kl__sim_listener *listener, const char *address,
                               int port, kl_error *err)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV | AI_PASSIVE};
    struct addrinfo *found = NULL;
    char service[16];
    int status;

    snprintf(service, sizeof(service), "%d", port);
    status = getaddrinfo(address, service, &hints, &found);
    if (status != 0) {
        return kl_error_set(err, KL_EINVAL,
                            "simulator: \"%s\" is no address to listen on: "
                            "%s; write one of this machine, such as 127.0.0.1",
                            address, gai_strerror(status));
    }
    memcpy(&listener->address, found->ai_addr, found->ai_addrlen);
    listener->address_length = found->ai_addrlen;
    freeaddrinfo(found);
    return KL_OK;
}

static const char *name_remedy(int number)
{
    switch (number) {
    case EADDRNOTAVAIL:
        return "; write an address of this machine, such as 127.0.0.1";
    case EACCES:
        return "; choose a port from 1024 on, or 0 for a free one";
    case EADDRINUSE:
        return "; choose another port, or 0 for a free one";
    default:
        return kl__remedy(number);
    }
}

/* Binds the port, and reads its number back (the kernel chooses it if `port` is
 * 0). */
static kl_code hold_port(kl__sim_listener *listener, const char *address,
                         int port, kl_error *err)
{
    struct sockaddr *bound = (struct sockaddr *)&listener->address;
    char service[16];

    listener->holder = bind_socket(listener);
    if (listener->holder < 0) {
        return kl_error_set(err, KL_EIO,
                            "simulator: cannot listen on %s port %d: %s%s",
                            address, port, strerror(errno), name_remedy(errno));
    }
    if (getsockname(listener->holder, bound, &listener->address_length) != 0 ||
        getnameinfo(bound, listener->address_length, NULL, 0, service,
                    sizeof(service), NI_NUMERICSERV) != 0) {
        return kl_error_set(err, KL_EIO, "simulator: no port: %s",
                            strerror(errno));
    }
    listener->url = kl__strprintf(
        strchr(address, ':') != NULL ? "%s://[%s]:%s" : "%s://%s:%s",
        listener->has_tls ? "https" : "http", address, service);
    return listener->url != NULL
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for a port");
}

/* Sets the cluster's listener; NULL removes it. */
static void install_listener(kl_sim *sim, kl__sim_listener *listener)
{
    sim->listener = listener;
    kl__mutex_lock(&sim->mutex);
    sim->port.has_tls = listener != NULL && listener->has_tls;
    kl__mutex_unlock(&sim->mutex);
}

/* True if a client needs credentials to do anything. */
static bool asks_for_credentials(const kl_sim *sim)
{
    return sim->token != NULL || sim->admin_token != NULL;
}

/* True if only this machine reaches the address. */
static bool is_loopback(const kl__sim_listener *listener)
{
    const struct sockaddr_in *four =
        (const struct sockaddr_in *)(const void *)&listener->address;
    const struct sockaddr_in6 *six =
        (const struct sockaddr_in6 *)(const void *)&listener->address;

    return listener->address.ss_family == AF_INET
               ? ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
               : IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

/* Makes the token of control requests once, before the first connection. */
static kl_code make_control_token(kl_sim *sim, kl_error *err)
{
    unsigned char bytes[(sizeof(sim->control_token) - 1) / 2];

    if (sim->control_token[0] != '\0') {
        return KL_OK;
    }
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        return kl_error_set(err, KL_EIO, "simulator: no random bytes: %s",
                            strerror(errno));
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        snprintf(sim->control_token + 2 * i, 3, "%02x", bytes[i]);
    }
    return KL_OK;
}

static kl_code start_listener(kl_sim *sim, const kl_sim_listen_options *options,
                              kl_error *err)
{
    const char *address =
        options->address != NULL ? options->address : "127.0.0.1";
    kl__sim_listener *listener = kl__calloc(1, sizeof(*listener));
    kl_code code;

    if (listener == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a port");
    }
    listener->holder = -1;
    listener->http.sim = sim;
    kl__list_init(&listener->http.connections);
    kl__cond_init(&listener->http.gone);
    listener->has_tls = options->tls;
    listener->http.has_tls = options->tls;
    snprintf(listener->host, sizeof(listener->host), "%s", address);
    listener->http.host = listener->host;
    code = resolve_address(listener, address, options->port, err);
    if (code == KL_OK) {
        code = hold_port(listener, address, options->port, err);
    }
    if (code == KL_OK && !asks_for_credentials(sim) && !is_loopback(listener)) {
        code = kl_error_set(
            err, KL_EINVAL,
            "simulator: other machines reach %s, and the cluster asks for no "
            "credentials: give it a token, users or RBAC, or listen on "
            "127.0.0.1",
            address);
    }
    if (code == KL_OK) {
        code = make_control_token(sim, err);
    }
    if (code == KL_OK && options->tls) {
        code = kl__sim_tls_make(&listener->tls, address, err);
    }
    if (code == KL_OK) {
        code = accept_connections(listener, err);
    }
    if (code != KL_OK) {
        free_listener(listener);
        return code;
    }
    install_listener(sim, listener);
    return KL_OK;
}

kl_code kl_sim_listen(kl_sim *sim, const kl_sim_listen_options *options,
                      kl_error *err)
{
    static const kl_sim_listen_options defaults;
    kl_code code = kl__check_process(sim->made_in, err);

    if (code != KL_OK) {
        return code;
    }
    options = options != NULL ? options : &defaults;
    if (options->port < 0 || options->port > 65535) {
        return kl_error_set(err, KL_EINVAL,
                            "simulator: a port is 0 to 65535, not %d",
                            options->port);
    }
    kl__mutex_lock(&sim->listening);
    code = sim->listener == NULL
               ? start_listener(sim, options, err)
               : kl_error_set(err, KL_EINVAL,
                              "simulator: it listens on %s already",
                              sim->listener->url);
    kl__mutex_unlock(&sim->listening);
    return code;
}

void kl__sim_listener_stop(kl_sim *sim)
{
    if (kl__check_process(sim->made_in, NULL) != KL_OK) {
        return;
    }
    kl__mutex_lock(&sim->listening);
    if (sim->listener != NULL) {
        stop_daemon(sim->listener);
        free_listener(sim->listener);
        install_listener(sim, NULL);
    }
    kl__mutex_unlock(&sim->listening);
}

void kl_sim_unlisten(kl_sim *sim)
{
    kl__sim_listener_stop(sim);
}

static void set_refused(kl_sim *sim, bool on)
{
    kl__mutex_lock(&sim->mutex);
    sim->refused = on;
    sim->breaks += on;
    kl__sim_wake_all(sim);
    kl__mutex_unlock(&sim->mutex);
}

void kl__sim_listener_refuse(kl_sim *sim, bool on)
{
    kl_error err;

    if (on) {
        set_refused(sim, true);
        if (sim->listener != NULL) {
            stop_daemon(sim->listener);
        }
        return;
    }
    if (sim->listener != NULL && sim->listener->daemon == NULL &&
        accept_connections(sim->listener, &err) != KL_OK) {
        kl_log(KL_LOG_ERROR, "%s", err.message);
    }
    set_refused(sim, false);
}

kl_code kl__sim_listener_certify(kl_sim *sim, const char *host, int64_t seconds,
                                 kl_error *err)
{
    kl__sim_listener *listener = sim->listener;
    kl_code code;
    bool accepts;

    if (listener == NULL || !listener->has_tls) {
        return kl_error_set(
            err, KL_EINVAL,
            "simulator: it does not listen with TLS, so it has no "
            "certificate");
    }
    accepts = listener->daemon != NULL;
    stop_daemon(listener);
    code = kl__sim_tls_renew(
        &listener->tls, host != NULL ? host : listener->host, seconds, err);
    if (accepts) { /* if the new certificate fails, go on with the old one */
        kl_code again = accept_connections(listener, err);

        code = code != KL_OK ? code : again;
    }
    return code;
}

const char *kl_sim_control_token(const kl_sim *sim)
{
    return kl_sim_url(sim) != NULL ? sim->control_token : NULL;
}

const char *kl_sim_url(const kl_sim *sim)
{
    kl_sim *locked = (kl_sim *)(uintptr_t)sim;
    const char *url;

    if (kl__check_process(sim->made_in, NULL) != KL_OK) {
        return NULL;
    }
    kl__mutex_lock(&locked->listening);
    url = sim->listener != NULL ? sim->listener->url : NULL;
    kl__mutex_unlock(&locked->listening);
    return url;
}

const char *kl__sim_listener_look(const kl_sim *sim, const kl__sim_tls **tls)
{
    const kl__sim_listener *listener = sim->listener;

    *tls = listener != NULL && listener->has_tls ? &listener->tls : NULL;
    return listener != NULL ? listener->url : NULL;
}
