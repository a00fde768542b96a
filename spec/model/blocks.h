/*
 * blocks.h - counts the blocks of memory that the core has, so that a run shows
 * what it does not give back.
 */
#ifndef KL_SPEC_MODEL_BLOCKS_H
#define KL_SPEC_MODEL_BLOCKS_H

/* From now on the core's memory is counted, and a block that it frees is
 * overwritten, so that a use after that shows. Call it before all else. */
void blocks_watch(void);
/* How many blocks the core has now. */
long blocks_count(void);

#endif
