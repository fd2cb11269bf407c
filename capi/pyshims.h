/*
 * torch's tensors read by torch's own C functions (its "shims"), which take a
 * quarter of the time of the exchange API. Not a public header.
 */
#ifndef DL_PYSHIMS_H
#define DL_PYSHIMS_H

#include <stdbool.h>

#include "dlaunch.h"
#include "python.h"

/* How the objects of one class are read. */
typedef struct dl_shims dl_shims;

/* Makes one of the tuple that python/src/dlaunch/_torch.py gives: NULL with an
 * exception set. */
dl_shims *dl_shims_new(const dl_python *py, PyObject *recipe);
void dl_shims_free(dl_shims *how);

/* Reads an object, whose shape and strides stay its own. False for what is no plain
 * tensor on a GPU: without an exception, the exchange API says more. */
bool dl_shims_read(const dl_shims *how, PyObject *object, DLTensor *out);

#endif
