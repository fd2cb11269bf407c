/*
 * Python arrays that are read by their attributes, since their protocols are
 * slow: CuPy's. Not a public header.
 */
#ifndef DL_PYATTRIBUTES_H
#define DL_PYATTRIBUTES_H

#include <stdbool.h>

#include "dlaunch.h"
#include "python.h"

enum { DL_ATTRIBUTES_RANK = 8, DL_AXES = 2 * DL_ATTRIBUTES_RANK }; /* shape, then strides */

/* How the objects of one class are read. */
typedef struct dl_attributes dl_attributes;

/* Makes one of the tuple that python/src/dlaunch/_recipes.py gives: NULL with an
 * exception set. type_offset: in every object, of its type. */
dl_attributes *dl_attributes_new(const dl_python *py, size_t type_offset, PyObject *recipe);
void dl_attributes_free(dl_attributes *how);

/* Reads an object; shape and strides are put into `axes`. False where it cannot
 * be said in a DLTensor of so few axes, perhaps with an exception set. */
bool dl_attributes_read(dl_attributes *how, PyObject *object, DLTensor *out, int64_t axes[DL_AXES]);

/* Whether the class has a current stream of its own. */
bool dl_attributes_has_stream(const dl_attributes *how);

/* Asks for it: false with an exception set. */
bool dl_attributes_stream(const dl_attributes *how, int32_t device, uint64_t *out);

#endif
