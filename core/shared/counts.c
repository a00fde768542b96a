/*
 * counts.c - opens and closes the area of kubelua/shared_count.h.
 */
#include "shared/counts.h"

/* In the second page is the number of series without room, and behind it are
 * the rows. */
enum { PAGE = KL__AREA_PAGE };

_Static_assert(sizeof(kl__count_row) == 384, "as kl_counts_options says");
_Static_assert(KL__COUNT_SUM_AT < KL_COUNTS_CELLS, "all have a cell");

static kl_counts *of_area(kl__area *area)
{
    return (kl_counts *)(void *)area;
}

static uint32_t round_up(uint32_t number)
{
    uint32_t power = 1;

    while (power < number) {
        power *= 2;
    }
    return power;
}

static kl_code divide_area(kl__area *area, const void *asked, kl_error *err)
{
    const kl_counts_options *options = asked;
    kl_counts *self = of_area(area);
    uint32_t series = options->series != 0 ? options->series : KL_COUNTS_SERIES;

    if (series > KL_COUNTS_SERIES_MAX ||
        options->stripes > KL_COUNTS_STRIPES_MAX) {
        return kl_error_set(err, KL_EINVAL,
                            "counts of more than %d series, or %d stripes",
                            KL_COUNTS_SERIES_MAX, KL_COUNTS_STRIPES_MAX);
    }
    self->series = round_up(series);
    self->stripes = round_up(options->stripes);
    self->row_bytes = (uint32_t)(sizeof(kl__count_row) +
                                 (size_t)self->stripes * KL_COUNTS_CELLS * 8);
    area->size = 2 * PAGE + (size_t)self->series * self->row_bytes;
    return KL_OK;
}

static void lay_out_area(kl__area *area)
{
    kl_counts *self = of_area(area);

    self->full = (_Atomic uint64_t *)(void *)(area->bytes + PAGE);
    self->rows = area->bytes + 2 * PAGE;
}

static kl__area_kind kind = {
    .what = "counts",
    .bytes = sizeof(kl_counts),
    .divide = divide_area,
    .lay_out = lay_out_area,
};

kl_counts *kl_counts_open(const kl_counts_options *options, kl_error *err)
{
    static const kl_counts_options defaults;
    const char *name;

    options = options != NULL ? options : &defaults;
    name = options->name != NULL ? options->name : "default";
    return of_area(kl__area_open(&kind, name, options, err));
}

void kl_counts_close(kl_counts *counts)
{
    if (counts != NULL) {
        kl__area_close(&kind, &counts->area);
    }
}

uint32_t kl_counts_rows(const kl_counts *counts)
{
    return counts->series;
}

uint64_t kl_counts_full(const kl_counts *counts)
{
    return atomic_load_explicit(counts->full, memory_order_relaxed);
}
