/* What a burst of launches is made of; bursts.py mirrors it in ctypes. */
#ifndef BURST_H
#define BURST_H

#include <stdint.h>

enum { MAX_ARGS = 64 };

typedef struct burst {
  const uint64_t *kernels; /* CUkernels or dlaunch_kernels, launched in turn from the one at `next` */
  const uint64_t *values;  /* of the arguments: addresses of f32[128], or handles of arrays */
  uint32_t num_kernels;
  uint32_t num_args;
  uint32_t kind; /* how the values are passed: RAW, or a DLAUNCH_ARG_* */
  uint32_t next;
} burst;

enum { RAW = 0xffff }; /* by the driver's own call, with the parameters ready */

typedef struct launch_config { /* CUlaunchConfig */
  uint32_t grid[3], block[3], shared_bytes;
  void *stream, *attributes;
  uint32_t num_attributes;
} launch_config;

int burst_launch(const launch_config *config, uint64_t kernel, void **params); /* the driver's own call */

#endif
