/* Which of the two known layouts an interpreter's ints have. */
#include "pylong.h"

static bool fits(const dl_python *py, dl_long_layout layout) {
  const long long read[] = {0, 1, 255, (1LL << 30) - 1, 1LL << 30, (1LL << 48) + 12345, (1LL << 60) - 1};
  const long long refused[] = {-1, -(1LL << 30), -(1LL << 48), 1LL << 60, 1LL << 62};
  bool all = true;
  for (size_t i = 0; all && i < sizeof read / sizeof *read; i++) {
    PyObject *number = py->PyLong_FromLongLong(read[i]);
    uint64_t value;
    all = number != NULL && dl_long_read(layout, number, &value) && value == (uint64_t)read[i] &&
          dl_long_read_handle(layout, number, &value) && value == (uint64_t)read[i];
    if (number != NULL) py->Py_DecRef(number);
  }
  for (size_t i = 0; all && i < sizeof refused / sizeof *refused; i++) {
    PyObject *number = py->PyLong_FromLongLong(refused[i]);
    uint64_t value;
    all = number != NULL && !dl_long_read(layout, number, &value) && !dl_long_read_handle(layout, number, &value);
    if (number != NULL) py->Py_DecRef(number);
  }
  return all;
}

dl_long_layout dl_long_find(const dl_python *py, size_t type_offset) {
  dl_long_layout layout = {.head = type_offset + sizeof(PyObject *)};
  for (layout.kind = DL_LONG_SIZED; layout.kind <= DL_LONG_TAGGED; layout.kind++) {
    layout.two = layout.kind == DL_LONG_SIZED ? 2 : 2 << 3;
    if (fits(py, layout)) return layout;
  }
  py->PyErr_Clear();
  layout.kind = DL_LONG_UNKNOWN;
  layout.two = UINT64_MAX; /* no number's */
  return layout;
}
