/*
 * first_process.c - the command as process 1 of a container. The kernel makes
 * every orphan a child of process 1, and drops signals that process 1 does not
 * handle. So process 1 forks before it has threads: the command is its child.
 * Process 1 itself only hands on signals, and takes the status of each process
 * that ends, until that child does.
 */
#include "binding.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

/* As in a shell: the exit status of a program that a signal has ended. */
enum { BY_SIGNAL = 128 };

/* Ends this process if `child` has ended; takes the status of all others. */
static void reap_ended(pid_t child)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0 ||
           (pid < 0 && errno == EINTR)) {
        if (pid == child) {
            _exit(WIFEXITED(status) ? WEXITSTATUS(status)
                                    : BY_SIGNAL + WTERMSIG(status));
        }
    }
}

/* A signal of the terminal (SI_KERNEL) has reached the child already: it is in
 * the same process group. */
static _Noreturn void keep_child(pid_t child, const sigset_t *all)
{
    for (;;) {
        siginfo_t info;
        int number = sigwaitinfo(all, &info);

        if (number == SIGCHLD) {
            reap_ended(child);
        } else if (number > 0 && info.si_code != SI_KERNEL) {
            kill(child, number);
        }
    }
}

/* core.leave_first_process(): in process 1, returns in a child of it, and never
 * in process 1 itself. Does nothing in another process, or if there can be no
 * child. The caller is the only thread. */
static int leave_first_process(lua_State *L)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    sigset_t all, before;
    pid_t child;

    (void)L;
    if (getpid() != 1) {
        return 0;
    }
    sigfillset(&all);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        sigdelset(&all, faults[i]);
    }
    sigprocmask(SIG_SETMASK, &all, &before);
    child = fork();
    if (child > 0) {
        keep_child(child, &all);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return 0;
}

void bind_first_process(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"leave_first_process", leave_first_process}, {NULL, NULL}};

    luaL_setfuncs(L, functions, 0);
}
