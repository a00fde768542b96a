/*
 * schedule_apart.c - makes a run in a child process, whose exit status and
 * output become the outcome; and prints a text if this process itself crashes.
 */
#include "schedule.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 3000, STACK_SIZE = 64 * 1024 };

/* What a child leaves for its parent. */
typedef struct legacy {
    schedule_outcome outcome;
    bool is_complete;
} legacy;

/* Reads the beginning of a child's output, where a sanitizer names the
 * fault. */
static void read_words(int file, char *words, size_t size)
{
    ssize_t got = pread(file, words, size - 1, 0);

    words[got > 0 ? got : 0] = '\0';
}

static void explain_death(int status, int file, schedule_outcome *outcome)
{
    char words[WORDS];

    read_words(file, words, sizeof(words));
    outcome->failed = true;
    if (WIFSIGNALED(status)) {
        snprintf(outcome->message, sizeof(outcome->message),
                 "died of signal %d (%s)%s%s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)), words[0] != '\0' ? ": " : "",
                 words);
    } else {
        snprintf(outcome->message, sizeof(outcome->message),
                 "ended with exit status %d%s%s", WEXITSTATUS(status),
                 words[0] != '\0' ? ": " : "", words);
    }
}

static _Noreturn void run_child(const schedule_options *options,
                                void (*entry)(void *arg), void *arg,
                                legacy *left, int file)
{
    fflush(NULL);
    if (dup2(file, STDERR_FILENO) < 0) {
        _exit(EXIT_FAILURE);
    }
    signal(SIGABRT, SIG_DFL);
    schedule_run(options, entry, arg, &left->outcome);
    left->is_complete = true;
    fflush(NULL);
    _exit(EXIT_SUCCESS);
}

void schedule_run_apart(const schedule_options *options,
                        void (*entry)(void *arg), void *arg,
                        schedule_outcome *outcome)
{
    legacy *left = mmap(NULL, sizeof(*left), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int file = memfd_create("words", MFD_CLOEXEC);
    int status = 0;
    pid_t child;

    if (left == MAP_FAILED || file < 0) {
        abort();
    }
    fflush(NULL);
    child = fork();
    if (child == 0) {
        run_child(options, entry, arg, left, file);
    }
    if (child < 0) {
        abort();
    }
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            abort();
        }
    }
    *outcome = left->outcome;
    if (!left->is_complete || status != 0) {
        explain_death(status, file, outcome);
    }
    close(file);
    munmap(left, sizeof(*left));
}

static char description[1000];

static void say(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));

    (void)written;
}

static void die(int signal_number)
{
    say("\nThe model has crashed: ");
    say(description);
    say("\n");
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* Signal handlers have a stack of their own, as the fiber's stack may have
 * overflowed. */
static void install_handlers(void)
{
    static char stack[STACK_SIZE];
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof(stack)};
    struct sigaction action = {.sa_handler = die, .sa_flags = SA_ONSTACK};

    sigaltstack(&alternative, NULL);
    sigaction(SIGABRT, &action, NULL);
#if !defined(__SANITIZE_ADDRESS__)
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    sigaction(SIGILL, &action, NULL);
#endif
}

void schedule_describe(const char *text)
{
    if (description[0] == '\0') {
        install_handlers();
    }
    snprintf(description, sizeof(description), "%s", text);
}
