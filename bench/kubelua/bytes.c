/*
 * bytes.c - what no client can do without: receives the events of a watch with
 * libcurl on one thread, finds where each one ends, and forgets it. It reads
 * and keeps nothing. The benchmark shows it beside the clients, as the least
 * that JSON over HTTP costs on the machine. Usage: bytes SERVER
 */
#include <curl/curl.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { READ = 512 << 10, HEAD = 18 };

static const char bookmark[] = "{\"type\":\"BOOKMARK\"";
static const char written[] = "bench.example.com/written\":\"";

/* What has been received in a phase; guarded by `mutex`. */
typedef struct tally {
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    long wanted; /* events; 0: the first bookmark ends the phase */
    long events;
    long *delays; /* nanoseconds, one an event, or NULL */
    bool is_done;
} tally;

/* The line that has begun. The receiving thread's own. */
typedef struct line {
    tally *seen;
    char head[HEAD]; /* its first bytes */
    size_t length;   /* of all so far */
    char *text;      /* all of it, in a phase with delays */
    size_t room;
} line;

static long monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}

static long cpu_us(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
           usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static void add(line *self, const char *bytes, size_t length)
{
    if (self->length < HEAD) {
        size_t missing = HEAD - self->length;

        memcpy(self->head + self->length, bytes,
               missing < length ? missing : length);
    }
    if (self->seen->delays != NULL) {
        if (self->length + length > self->room) {
            self->room = 2 * (self->length + length);
            self->text = realloc(self->text, self->room);
            if (self->text == NULL) {
                abort();
            }
        }
        memcpy(self->text + self->length, bytes, length);
    }
    self->length += length;
}

/* Call with the lock held. */
static void end_line(line *self)
{
    tally *seen = self->seen;
    bool is_bookmark =
        self->length >= HEAD && memcmp(self->head, bookmark, HEAD) == 0;

    if (seen->delays != NULL && seen->events < seen->wanted) {
        long now = monotonic_ns();
        const char *stamp =
            memmem(self->text, self->length, written, sizeof written - 1);

        seen->delays[seen->events] =
            now - (stamp ? atol(stamp + sizeof written - 1) : 0);
    }
    seen->events += is_bookmark ? 0 : 1;
    if (seen->wanted > 0 ? seen->events == seen->wanted : is_bookmark) {
        seen->is_done = true;
        pthread_cond_signal(&seen->ended);
    }
    self->length = 0;
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *context)
{
    line *self = context;
    char *end = bytes + size * count;
    char *cut;

    pthread_mutex_lock(&self->seen->mutex);
    for (char *at = bytes; at < end; at = cut) {
        char *newline = memchr(at, '\n', (size_t)(end - at));

        cut = newline != NULL ? newline + 1 : end;
        add(self, at, (size_t)(cut - at));
        if (newline != NULL) {
            end_line(self);
        }
    }
    pthread_mutex_unlock(&self->seen->mutex);
    return size * count;
}

typedef struct receiver {
    CURL *curl;
    line line;
} receiver;

static void *receive(void *context)
{
    receiver *self = context;
    CURLcode code = curl_easy_perform(self->curl);

    fprintf(stderr, "bytes: the watch has ended: %s\n",
            curl_easy_strerror(code));
    exit(1);
}

static void begin(tally *seen, const char *name, long count)
{
    pthread_mutex_lock(&seen->mutex);
    seen->wanted = count;
    seen->events = 0;
    seen->is_done = false;
    if (strcmp(name, "delays") == 0) {
        seen->delays = calloc((size_t)count, sizeof *seen->delays);
    }
    pthread_mutex_unlock(&seen->mutex);
}

/* Waits for the end of a phase that began at the CPU time `since`, and prints
 * what it cost. */
static void end(tally *seen, const char *name, long since)
{
    pthread_mutex_lock(&seen->mutex);
    while (!seen->is_done) {
        pthread_cond_wait(&seen->ended, &seen->mutex);
    }
    printf("%s %ld %ld 0", name, cpu_us() - since, seen->events);
    for (long i = 0; seen->delays != NULL && i < seen->events; i++) {
        printf(" %ld", seen->delays[i]);
    }
    printf("\n");
    free(seen->delays);
    seen->delays = NULL;
    pthread_mutex_unlock(&seen->mutex);
}

static void wait_line(void)
{
    while (getchar() != '\n' && !feof(stdin)) {
    }
}

int main(int argc, char **argv)
{
    tally seen = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                  .ended = PTHREAD_COND_INITIALIZER};
    receiver receiver = {.curl = curl_easy_init(), .line = {.seen = &seen}};
    pthread_t thread;
    char name[16];
    char url[256];
    long count;
    long since;

    if (argc != 2 || receiver.curl == NULL) {
        fprintf(stderr, "usage: bytes SERVER\n");
        return 2;
    }
    snprintf(url, sizeof url,
             "%s/api/v1/pods?watch=true&sendInitialEvents=true"
             "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
             argv[1]);
    curl_easy_setopt(receiver.curl, CURLOPT_URL, url);
    curl_easy_setopt(receiver.curl, CURLOPT_BUFFERSIZE, (long)READ);
    curl_easy_setopt(receiver.curl, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(receiver.curl, CURLOPT_WRITEDATA, &receiver.line);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("ready 0 0 0\n");
    wait_line();
    since = cpu_us();
    pthread_create(&thread, NULL, receive, &receiver);
    end(&seen, "synced", since);
    wait_line();
    printf("rest 0 0 0\n");
    while (scanf("%15s %ld", name, &count) == 2) {
        since = cpu_us();
        begin(&seen, name, count);
        printf("begun\n");
        end(&seen, "done", since);
    }
    return 0;
}
