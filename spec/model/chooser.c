/*
 * chooser.c - see chooser.h.
 */
#include "chooser.h"

enum {
    /* How often time hurries in a run, at most. On a machine that is always
     * slow, work that recurs, such as resyncs, would never be finished. */
    HURRIES_MAX = 100,
    GAPS = 10,       /* a walk gives way every 2^0 to 2^9 steps, on average */
    CALM = 400,      /* steps between two bursts, on average */
    BURST_MAX = 60,  /* steps of a burst, at most */
    RANK_GAP_LOG = 4 /* a priority falls every 2^4 to 2^13 steps */
};

uint64_t chooser_draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (*state * UINT64_C(2685821657736338717)) >> 16;
}

/* splitmix64's finaliser. */
uint64_t chooser_seed(uint64_t seed, uint64_t stream)
{
    uint64_t word = seed + (stream + 1) * UINT64_C(0x9e3779b97f4a7c15);

    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    word ^= word >> 31;
    return word != 0 ? word : 1;
}

/* Draws the number of steps to the next event, `mean` on average. */
static uint64_t gap(chooser *self, uint64_t mean)
{
    return 1 + chooser_draw(&self->random) % (2 * mean);
}

void chooser_init(chooser *self, const schedule_options *options)
{
    *self = (chooser){
        .random = chooser_seed(options->seed, 1),
        .preemptions = options->preemptions,
        .lowest = UINT64_MAX / 2,
    };
    self->manner = (chooser_manner)(chooser_draw(&self->random) % 3);
    switch (self->manner) {
    case CHOOSER_WALKS:
        self->mean = UINT64_C(1) << chooser_draw(&self->random) % GAPS;
        break;
    case CHOOSER_BURSTS:
        self->mean = CALM;
        break;
    case CHOOSER_RANKS:
        self->mean = UINT64_C(1)
                     << (RANK_GAP_LOG + chooser_draw(&self->random) % GAPS);
        break;
    }
    self->countdown = gap(self, self->mean);
    if (options->hurry_per_mille > 0) {
        self->hurry_mean = 1000 / (uint64_t)options->hurry_per_mille + 1;
        self->hurry = gap(self, self->hurry_mean);
    }
}

void chooser_rank(chooser *self, strand *made)
{
    made->priority =
        UINT64_MAX / 2 + 1 + chooser_draw(&self->random) % (UINT64_MAX / 4);
}

void chooser_demote(chooser *self, strand *yielding)
{
    yielding->priority = --self->lowest;
}

/* True if one of `others` has a higher priority than the running strand. */
static bool outranks(strand_set others, const strand *running)
{
    for (; others != 0; others &= others - 1) {
        if (strand_at(__builtin_ctzll(others))->priority > running->priority) {
            return true;
        }
    }
    return false;
}

static bool walk(chooser *self)
{
    if (--self->countdown > 0) {
        return false;
    }
    self->countdown = gap(self, self->mean);
    return true;
}

static bool burst(chooser *self)
{
    if (self->burst > 0) {
        self->burst--;
        return chooser_draw(&self->random) % 2 == 0;
    }
    if (--self->countdown == 0) {
        self->countdown = gap(self, self->mean);
        self->burst = 1 + chooser_draw(&self->random) % BURST_MAX;
    }
    return false;
}

bool chooser_preempts(chooser *self, strand *running, strand_set others)
{
    bool gives_way;

    if (self->preemptions == 0) {
        return false;
    }
    switch (self->manner) {
    case CHOOSER_WALKS:
        gives_way = walk(self);
        break;
    case CHOOSER_BURSTS:
        gives_way = burst(self);
        break;
    default:
        if (walk(self)) {
            chooser_demote(self, running);
        }
        gives_way = outranks(others, running);
        break;
    }
    if (!gives_way || others == 0) {
        return false;
    }
    if (self->preemptions > 0) {
        self->preemptions--;
    }
    return true;
}

/* Returns a set's member by its place in the set, from 0. */
static strand *pick(strand_set set, uint64_t place)
{
    for (; place > 0; place--) {
        set &= set - 1;
    }
    return strand_at(__builtin_ctzll(set));
}

strand *chooser_next(chooser *self, strand_set set)
{
    strand *best;

    if ((set & (set - 1)) == 0) {
        return pick(set, 0);
    }
    if (self->manner != CHOOSER_RANKS) {
        uint64_t count = (uint64_t)__builtin_popcountll(set);

        return pick(set, chooser_draw(&self->random) % count);
    }
    best = pick(set, 0);
    for (; set != 0; set &= set - 1) {
        strand *each = pick(set, 0);

        best = each->priority > best->priority ? each : best;
    }
    return best;
}

bool chooser_hurries(chooser *self)
{
    if (self->hurry_mean == 0 || --self->hurry > 0) {
        return false;
    }
    self->hurry = gap(self, self->hurry_mean);
    if (++self->hurries == HURRIES_MAX) {
        self->hurry_mean = 0;
    }
    return true;
}
