/*
 * for_sim.h - marks the internal functions of the core that libkubelua-sim.so
 * calls. They are exported under a private symbol version (libkubelua.map.in),
 * and no installed header declares them.
 */
#ifndef KL_BASE_FOR_SIM_H
#define KL_BASE_FOR_SIM_H

#define KL__FOR_SIM __attribute__((visibility("default")))

#endif
