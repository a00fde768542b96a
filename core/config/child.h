/*
 * child.h - starts a program as a child process and learns how it ends, also
 * where the host takes the status of every child (nginx's handler of SIGCHLD
 * calls waitpid(-1)) or ignores SIGCHLD.
 */
#ifndef KL_CONFIG_CHILD_H
#define KL_CONFIG_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* What is run; all of it is borrowed until the start has returned. */
typedef struct kl__program {
    char *const *args; /* the program first; in PATH if it has no slash */
    char *const *env;
    const char *cwd; /* NULL: this process's */
    int in;          /* descriptors that it gets; all above 2; -1: /dev/null */
    int out;
    int errors;
} kl__program;

typedef struct kl__child {
    pid_t pid;    /* of the program, and of its process group */
    pid_t keeper; /* the process between, which waits for it; 0: none */
    int ended;    /* readable once it has ended; -1: the kernel has no such */
} kl__child;

/* How it ended. */
typedef struct kl__child_status {
    int signal; /* 0: none, it has exited */
    int status;
} kl__child_status;

typedef enum kl__child_end {
    KL__CHILD_RUNS,
    KL__CHILD_ENDED,  /* with a status */
    KL__CHILD_UNKNOWN /* the status is lost: the host took it */
} kl__child_end;

/*
 * Starts it in a process group of its own, with signals and descriptors as a
 * program expects them; an errno, or 0. Once it has, kl__child_reap is to be
 * called until it says that the program has ended, or kl__child_abandon.
 * Thread-safe.
 */
int kl__child_start(const kl__program *program, kl__child *child);

/* Does not block. Once the program has ended, no zombie is left and the child
 * is done with. */
kl__child_end kl__child_reap(kl__child *child, kl__child_status *status);

/* Kills the program with its process group. The child goes on until
 * kl__child_reap says otherwise. */
void kl__child_kill(const kl__child *child);

/* Stops waiting for a program that does not end although it was killed: it is
 * left to init. */
void kl__child_abandon(kl__child *child);

#endif
