/*
 * child.h - starts a program as a child process and gets its exit status, even
 * if the host reaps every child (nginx's handler of SIGCHLD calls waitpid(-1))
 * or ignores SIGCHLD.
 */
#ifndef KL_CONFIG_CHILD_H
#define KL_CONFIG_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* The program to run; borrowed until kl__child_start has returned. */
typedef struct kl__program {
    char *const *args; /* the program first; in PATH if it has no slash */
    char *const *env;
    const char *cwd; /* NULL: the working directory of this process */
    int in;          /* becomes its descriptor 0; above 2; -1: /dev/null */
    int out;         /* becomes its descriptor 1; above 2 */
    int errors;      /* becomes its descriptor 2; above 2 */
} kl__program;

typedef struct kl__child {
    pid_t pid;    /* of the program, and of its process group */
    pid_t keeper; /* a process that waits for the program; 0: none */
    int ended;    /* readable when the program has ended; -1: no pidfd */
} kl__child;

/* How the program has ended. */
typedef struct kl__child_status {
    int signal; /* 0: it has exited with `status` */
    int status;
} kl__child_status;

typedef enum kl__child_end {
    KL__CHILD_RUNS,
    KL__CHILD_ENDED,  /* its status is known */
    KL__CHILD_UNKNOWN /* its status is lost: the host has reaped it */
} kl__child_end;

/*
 * Starts the program in a new process group, with default signal handling and
 * (glibc 2.34 or later) only descriptors 0 to 2 open. Returns 0 or an errno.
 * After 0, call kl__child_reap until it says that the program has ended, or
 * kl__child_abandon. Thread-safe.
 */
int kl__child_start(const kl__program *program, kl__child *child);

/* Asks if the program has ended; does not block. When it has, no zombie is left
 * and `child` must not be used any more. */
kl__child_end kl__child_reap(kl__child *child, kl__child_status *status);

/* True if the program has ended; does not block. It is still to be reaped:
 * until then no other process group can get its number. */
bool kl__child_has_ended(const kl__child *child);

/* Sends a signal to the program and its process group, which must not have been
 * reaped yet. SIGKILL ends them; call kl__child_reap afterwards. */
void kl__child_signal(const kl__child *child, int number);

/* Stops waiting for a program that does not end although it was killed. Once it
 * has ended, the next start of a program reaps it (init, if this process has
 * ended, or if the kernel has no pidfd). */
void kl__child_abandon(kl__child *child);

#endif
