/*
 * listen.h - what the servers of kubelua.serve listen with.
 */
#ifndef KUBELUA_SERVE_LISTEN_H
#define KUBELUA_SERVE_LISTEN_H

#include "kubelua/error.h"

#include <signal.h>

#pragma GCC visibility push(hidden) /* a rock is built without that flag */

/* A socket that listens on host ("": all addresses) and port ("0": a free
 * one); -1: an error. */
int open_listener(const char *host, const char *port, kl_error *err);

/* The port of such a socket. */
int port_of_listener(int fd);

/* Blocks signals in this thread, so that a thread that it makes gets none:
 * signals are for the host's threads. `before` is for pthread_sigmask. */
void block_signals(sigset_t *before);

#pragma GCC visibility pop

#endif
