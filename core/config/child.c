/*
 * child.c - see child.h. If the host handles or ignores SIGCHLD (or libc cannot
 * close the host's descriptors in the program: musl, old glibc), a process
 * stands between the host and the program, the keeper: a fork of the host that
 * starts the program, waits for it and reports its status over a socket. The
 * host cannot reap the keeper: the keeper is cloned so that its end raises no
 * signal, and waitpid finds such a child only with __WALL or __WCLONE. The
 * program itself cannot be started this way: execve restores the signal.
 */
#include "config/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __GLIBC__
#define HAS_GLIBC(major, minor) __GLIBC_PREREQ(major, minor)
#else
#define HAS_GLIBC(major, minor) 0
#endif

/* What the keeper sends: first that the program runs, then how it ended. */
typedef struct report {
    int number; /* first: 0, or the errno of the start; then: 0, or a signal */
    int value;  /* first: the program's pid; then: its exit status */
} report;

/* In the program all signals have their default action and are unblocked,
 * whatever the host process has set. */
static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t all, none;
    int number;

    sigfillset(&all);
    sigemptyset(&none);
    number = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF |
                                                      POSIX_SPAWN_SETSIGMASK |
                                                      POSIX_SPAWN_SETPGROUP);
    if (number == 0) {
        number = posix_spawnattr_setsigdefault(attributes, &all);
    }
    if (number == 0) {
        number = posix_spawnattr_setsigmask(attributes, &none);
    }
    return number != 0 ? number : posix_spawnattr_setpgroup(attributes, 0);
}

static int set_folder(posix_spawn_file_actions_t *files, const char *cwd)
{
    if (cwd == NULL) {
        return 0;
    }
#if !defined(__GLIBC__) || HAS_GLIBC(2, 29) /* musl: since 1.1.24 */
    return posix_spawn_file_actions_addchdir_np(files, cwd);
#else
    (void)files;
    return ENOTSUP;
#endif
}

static int set_files(posix_spawn_file_actions_t *files,
                     const kl__program *program)
{
    int number = program->in >= 0
                     ? posix_spawn_file_actions_adddup2(files, program->in, 0)
                     : posix_spawn_file_actions_addopen(files, 0, "/dev/null",
                                                        O_RDONLY, 0);

    if (number == 0) {
        number = posix_spawn_file_actions_adddup2(files, program->out, 1);
    }
    if (number == 0) {
        number = posix_spawn_file_actions_adddup2(files, program->errors, 2);
    }
#if HAS_GLIBC(2, 34)
    /* The host may have descriptors open that are not close-on-exec. Elsewhere
     * the keeper marks them: see needs_keeper. */
    if (number == 0) {
        number = posix_spawn_file_actions_addclosefrom_np(files, 3);
    }
#endif
    return number;
}

/* All that posix_spawn needs, made before the fork: the keeper must not
 * allocate. */
typedef struct plan {
    const kl__program *program;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
} plan;

static void unmake_plan(plan *self)
{
    posix_spawnattr_destroy(&self->attributes);
    posix_spawn_file_actions_destroy(&self->files);
}

/* Returns 0 or an errno; after 0, unmake_plan frees the plan. */
static int make_plan(const kl__program *program, plan *self)
{
    int number = posix_spawn_file_actions_init(&self->files);

    self->program = program;
    if (number != 0) {
        return number;
    }
    number = posix_spawnattr_init(&self->attributes);
    if (number != 0) {
        posix_spawn_file_actions_destroy(&self->files);
        return number;
    }
    number = set_attributes(&self->attributes);
    if (number == 0) {
        number = set_files(&self->files, program);
    }
    if (number == 0) {
        number = set_folder(&self->files, program->cwd);
    }
    if (number != 0) {
        unmake_plan(self);
    }
    return number;
}

/* Starts the program. Returns 0 or an errno. */
static int spawn_program(const plan *self, pid_t *pid)
{
    return posix_spawnp(pid, self->program->args[0], &self->files,
                        &self->attributes, self->program->args,
                        self->program->env);
}

/* True if the host may learn of a child's end before this library asks. */
static bool is_reaped_by_host(void)
{
    struct sigaction now;

    return sigaction(SIGCHLD, NULL, &now) == 0 &&
           (now.sa_handler != SIG_DFL || (now.sa_flags & SA_NOCLDWAIT) != 0);
}

/* Where posix_spawn cannot close the host's descriptors in the program, the
 * keeper does it, in its own copy of them. */
static bool needs_keeper(void)
{
    return !HAS_GLIBC(2, 34) || is_reaped_by_host();
}

#if !HAS_GLIBC(2, 34)

typedef void visit_fd(int fd);

static void close_fd(int fd)
{
    close(fd);
}

static void mark_fd(int fd)
{
    fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* One entry of a folder, as the kernel writes it: getdents64(2). */
typedef struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short size;
    unsigned char type;
    char name[];
} entry;

/* The number that the text is; -1: it is none. */
static int to_number(const char *text)
{
    int number = 0;

    for (; *text >= '0' && *text <= '9' && number < INT_MAX / 10 - 1; text++) {
        number = number * 10 + (*text - '0');
    }
    return *text == '\0' ? number : -1;
}

/* Visits the open descriptors from `first` on. Only those: the limit of a
 * process may be 2^30 in a container. It allocates nothing, so opendir is no
 * choice. */
static void visit_open(int first, visit_fd *visit)
{
    _Alignas(entry) char room[2048];
    int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long size = 0;

    if (folder < 0) { /* no /proc here */
        for (int fd = first; fd < 65536; fd++) {
            visit(fd);
        }
        return;
    }
    while ((size = syscall(SYS_getdents64, folder, room, sizeof(room))) > 0) {
        for (long at = 0; at < size;) {
            const entry *each = (const entry *)(const void *)(room + at);
            int fd = to_number(each->name);

            if (fd >= first && fd != folder) {
                visit(fd);
            }
            at += each->size;
        }
    }
    close(folder);
}

static void close_from(int first)
{
    if (syscall(SYS_close_range, first, ~0U, 0) != 0) { /* Linux < 5.9 */
        visit_open(first, close_fd);
    }
}

/* The program will have none of the descriptors from `first` on. */
static void mark_from(int first)
{
    enum { CLOEXEC = 1U << 2 };

    if (syscall(SYS_close_range, first, ~0U, CLOEXEC) != 0) { /* < 5.11 */
        visit_open(first, mark_fd);
    }
}

#else

static void close_from(int first)
{
    closefrom(first);
}

static void mark_from(int first)
{
    (void)first; /* posix_spawn closes them */
}

#endif

static bool send_report(int number, int value)
{
    report told = {.number = number, .value = value};

    return syscall(SYS_write, 0, &told, sizeof(told)) == sizeof(told);
}

/* The keeper. It is a fork of a process that has threads, so it allocates
 * nothing and takes no lock. It uses syscall() where a sanitizer would replace
 * a function of libc by one that allocates or locks. All signals are blocked.
 * The keeper reaps the program only after the host has read the status and shut
 * the socket: until then no other process group can get the program's number,
 * and the host may kill that group. */
static _Noreturn void keep_program(const plan *self, int socket)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    pid_t pid = 0;
    siginfo_t end;
    char none;
    int number;

    /* If SIGCHLD were ignored, the kernel would drop the status. */
    sigaction(SIGCHLD, &usual, NULL);
    syscall(SYS_prctl, PR_SET_NAME, "kl-keeper", 0, 0, 0);
    mark_from(3);
    number = spawn_program(self, &pid);
    if (socket != 0) {
        syscall(SYS_dup3, socket, 0, 0);
    }
    close_from(1);
    if (send_report(number, pid) && number == 0) {
        syscall(SYS_waitid, P_PID, pid, &end, WEXITED | WNOWAIT, NULL);
        if (end.si_code == CLD_EXITED) {
            send_report(0, end.si_status);
        } else {
            send_report(end.si_status, 0);
        }
        syscall(SYS_read, 0, &none, sizeof(none));
        syscall(SYS_waitid, P_PID, pid, &end, WEXITED, NULL);
    }
    syscall(SYS_exit_group, 0);
    __builtin_unreachable();
}

/* Reads one report of the keeper; `flags` may be MSG_DONTWAIT. False: there is
 * no report. *is_gone is false if a report may still come, and true if one was
 * read or the keeper is gone. */
static bool receive_report(int socket, int flags, report *told, bool *is_gone)
{
    ssize_t count;

    do {
        count = recv(socket, told, sizeof(*told), flags);
    } while (count < 0 && errno == EINTR);
    *is_gone = count >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    return count == sizeof(*told);
}

/* Waits for the end of a keeper that was killed, or that has nothing more to
 * do: this blocks only until the keeper has exited. */
static void reap_keeper(kl__child *child)
{
    while (waitpid(child->keeper, NULL, __WALL) < 0 && errno == EINTR) {
    }
    child->keeper = 0;
}

/* Closes `ended`. A close alone does not end the keeper's read: the keeper of
 * another program, which another thread has just forked, may have a copy of the
 * socket. */
static void close_end(kl__child *child)
{
    if (child->ended >= 0) {
        if (child->keeper > 0) {
            shutdown(child->ended, SHUT_RDWR);
        }
        close(child->ended);
        child->ended = -1;
    }
}

/* Forks without the handlers of pthread_atfork, and with no signal for the
 * keeper's end. */
static pid_t fork_keeper(const plan *self, int socket)
{
    sigset_t all, before;
    pid_t pid;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
    if (pid == 0) {
        keep_program(self, socket);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

static int start_kept(const plan *self, kl__child *child)
{
    int ends[2];
    report told = {.number = EIO};
    bool is_gone;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        return errno;
    }
    child->ended = ends[0];
    child->keeper = fork_keeper(self, ends[1]);
    if (child->keeper < 0) {
        told.number = errno;
    }
    close(ends[1]);
    if (child->keeper > 0 &&
        !receive_report(child->ended, 0, &told, &is_gone)) {
        told.number = EIO; /* something killed the keeper */
    }
    child->pid = told.value;
    if (told.number != 0) {
        close_end(child);
        if (child->keeper > 0) {
            reap_keeper(child);
        }
    }
    return told.number;
}

/* ---- programs that were left ---- */

#ifndef P_PIDFD
#define P_PIDFD 3 /* Linux 5.4; glibc 2.36 names it */
#endif

enum { LEFT_MAX = 64 };

/* The descriptors (+ 1) of programs that did not end in time after they were
 * killed; 0: none. They stay children of this process, so only it can reap
 * them: when another program is started or left. By descriptor, as the host may
 * have reaped them, and another child of the host may have the number. Any
 * thread takes and puts descriptors. After fork() the child inherits them; but
 * their programs are children of its parent, so waitid fails, and it closes
 * them. */
static atomic_int left[LEFT_MAX];

/* Puts a descriptor into a free place. If there is none, the program is a
 * zombie until this process ends. */
static void keep_left(int descriptor)
{
    for (size_t i = 0; i < LEFT_MAX; i++) {
        int none = 0;

        if (atomic_compare_exchange_strong(&left[i], &none, descriptor + 1)) {
            return;
        }
    }
    close(descriptor);
}

static void reap_left(void)
{
    for (size_t i = 0; i < LEFT_MAX; i++) {
        int descriptor = atomic_exchange(&left[i], 0) - 1;
        siginfo_t end = {.si_pid = 0};

        if (descriptor < 0) {
            continue;
        }
        if (waitid(P_PIDFD, (id_t)descriptor, &end, WEXITED | WNOHANG) == 0 &&
            end.si_pid == 0) {
            keep_left(descriptor);
        } else {
            close(descriptor);
        }
    }
}

int kl__child_start(const kl__program *program, kl__child *child)
{
    plan self;
    int number = make_plan(program, &self);

    reap_left();
    *child = (kl__child){.ended = -1};
    if (number != 0) {
        return number;
    }
    if (needs_keeper()) {
        number = start_kept(&self, child);
    } else {
        number = spawn_program(&self, &child->pid);
        if (number == 0) {
            child->ended = (int)syscall(SYS_pidfd_open, child->pid, 0);
        }
    }
    unmake_plan(&self);
    return number;
}

static kl__child_end reap_kept(kl__child *child, kl__child_status *status)
{
    report told;
    bool is_gone;
    bool is_told = receive_report(child->ended, MSG_DONTWAIT, &told, &is_gone);

    if (!is_gone) {
        return KL__CHILD_RUNS;
    }
    close_end(child);
    reap_keeper(child);
    if (!is_told) {
        return KL__CHILD_UNKNOWN;
    }
    *status = (kl__child_status){.signal = told.number, .status = told.value};
    return KL__CHILD_ENDED;
}

kl__child_end kl__child_reap(kl__child *child, kl__child_status *status)
{
    int ended;
    pid_t pid;

    *status = (kl__child_status){.signal = 0};
    if (child->keeper > 0) {
        return reap_kept(child, status);
    }
    do {
        pid = waitpid(child->pid, &ended, WNOHANG);
    } while (pid < 0 && errno == EINTR);
    if (pid == 0) {
        return KL__CHILD_RUNS;
    }
    close_end(child);
    if (pid < 0) {
        return KL__CHILD_UNKNOWN;
    }
    if (WIFEXITED(ended)) {
        status->status = WEXITSTATUS(ended);
    } else {
        status->signal = WTERMSIG(ended);
    }
    return KL__CHILD_ENDED;
}

bool kl__child_has_ended(const kl__child *child)
{
    struct pollfd socket = {.fd = child->ended, .events = POLLIN};
    siginfo_t end = {.si_pid = 0};

    if (child->keeper > 0) {
        return poll(&socket, 1, 0) > 0;
    }
    return waitid(P_PID, (id_t)child->pid, &end, WEXITED | WNOHANG | WNOWAIT) <
               0 ||
           end.si_pid != 0;
}

void kl__child_signal(const kl__child *child, int number)
{
    kill(-child->pid, number);
}

void kl__child_abandon(kl__child *child)
{
    if (child->keeper == 0 && child->ended >= 0) {
        reap_left();
        keep_left(child->ended);
        child->ended = -1;
    }
    close_end(child);
    if (child->keeper > 0) {
        kill(child->keeper, SIGKILL);
        reap_keeper(child);
    }
}
