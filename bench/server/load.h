/*
 * load.h - what the measurements of load.c share: the clock, one exchange, and
 * the end of the process after a failure.
 */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include "link.h"

#include <sys/types.h>

#define LOAD_CONFIGMAPS "/api/v1/namespaces/default/configmaps"

enum { LOAD_PATIENCE_MS = 120 * 1000, LOAD_BODY_SIZE = 512 };

double load_now(void);
/* CPU seconds of this process, so that they can be told from the server's. */
double load_spent(void);
/* The same of another process; 0 for process 0. */
double load_spent_by(pid_t process);
/* Prints what went wrong, and ends the process. */
_Noreturn void load_fail(const char *what);

/* Opens a connection; ends the process if that fails. */
link_t *load_open(const link_target *target);
/* Reads an answer, drops its body, and returns its length. Ends the process if
 * the status is another one. */
size_t load_exchange(link_t *link, const char *method, const char *path,
                     const char *body, int wanted);
/* PUT of the ConfigMap of a name. */
void load_send_change(link_t *link, const char *name, int number);
/* The answer to what was sent. */
size_t load_receive(link_t *link, int wanted);

/* writes.c: creates so many objects, updates each once, then deletes all, with
 * so many requests in flight, each on its own connection. */
void load_write(const link_target *target, int count, int in_flight);
/* watches.c: opens so many watches of one resource, and makes so many updates
 * that each of them sees; `server`: the process whose CPU and memory are
 * measured. */
void load_watch(const link_target *target, int count, int updates,
                pid_t server);

#endif
