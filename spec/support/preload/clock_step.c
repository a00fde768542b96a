/*
 * clock_step.c - with LD_PRELOAD, gives a program a wall clock that a spec
 * moves. The first byte of the file in KUBELUA_CLOCK_STEP says how: a digit is
 * so many days ahead, minus 5 ("5": the machine's time); "s": the clock stands
 * still. The monotonic clocks and the kernel's timers are not changed.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS_A_DAY = 86400, NS_A_SECOND = 1000000000 };

static const volatile char *step; /* the mapped file; set once */
/* the time at which the clock stands still; 0: the clock runs */
static atomic_llong stood_ns;

__attribute__((constructor)) static void map_step(void)
{
    const char *path = getenv("KUBELUA_CLOCK_STEP");
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped;

    if (fd < 0) {
        return;
    }
    mapped = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED) {
        step = mapped;
    }
    close(fd);
}

static long long machine_ns(clockid_t clock)
{
    struct timespec now;

    syscall(SYS_clock_gettime, clock, &now);
    return (long long)now.tv_sec * NS_A_SECOND + now.tv_nsec;
}

static long long stepped_ns(clockid_t clock)
{
    long long ns = machine_ns(clock);
    long long none = 0;
    char how = step != NULL ? *step : '5';

    if (how == 's') {
        return atomic_compare_exchange_strong(&stood_ns, &none, ns) ? ns : none;
    }
    atomic_store(&stood_ns, 0);
    if (how >= '0' && how <= '9') {
        ns += (long long)(how - '5') * SECONDS_A_DAY * NS_A_SECOND;
    }
    return ns;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    long long ns;

    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) {
        return (int)syscall(SYS_clock_gettime, clock, now);
    }
    ns = stepped_ns(clock);
    now->tv_sec = (time_t)(ns / NS_A_SECOND);
    now->tv_nsec = (long)(ns % NS_A_SECOND);
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    long long ns = stepped_ns(CLOCK_REALTIME);

    (void)zone;
    now->tv_sec = (time_t)(ns / NS_A_SECOND);
    now->tv_usec = (suseconds_t)(ns % NS_A_SECOND / 1000);
    return 0;
}

time_t time(time_t *out)
{
    time_t now = (time_t)(stepped_ns(CLOCK_REALTIME) / NS_A_SECOND);

    if (out != NULL) {
        *out = now;
    }
    return now;
}
