/*
 * Copies between two layouts of the same shape, or fills one: what DeviceArray does with
 * strided memory. C for clang's NVPTX target, which writes a PTX that every driver
 * since CUDA 10 loads; testdata/kernels/compile.py makes strided.ptx of it.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long long u64;
typedef long long i64;
typedef u64 u128 __attribute__((ext_vector_type(2)));

enum { AXES = 40 }; /* those of 2^40 elements, if each axis has two */

struct layout { /* as _strided.py packs it; steps and offsets are in bytes */
  u64 units;    /* to copy: one a thread */
  u32 size;     /* of a unit: 1, 2, 4, 8 or 16 bytes, of which every address is a multiple */
  u32 axes;     /* of the AXES below, the first ones; the last of them is the innermost */
  i64 to_offset, from_offset;
  u64 extent[AXES];
  i64 to_step[AXES], from_step[AXES];
  u64 value[2]; /* a unit, for all places, if there is nothing to copy from */
};

#define COPY(type, value) *(type *)to = from != 0 ? *(const type *)from : (value)

__attribute__((nvptx_kernel)) void dlaunch_strided(u8 *to, const u8 *from, struct layout layout) {
  u64 rest = (u64)__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
  if (rest >= layout.units) return;
  i64 to_at = layout.to_offset, from_at = layout.from_offset;
#pragma nounroll
  for (u32 axis = layout.axes; axis-- > 0;) {
    u64 index = rest % layout.extent[axis];
    rest /= layout.extent[axis];
    to_at += (i64)index * layout.to_step[axis];
    from_at += (i64)index * layout.from_step[axis];
  }
  to += to_at;
  if (from != 0) from += from_at;
  u64 value = layout.value[0];
  switch (layout.size) {
    case 1:
      COPY(u8, (u8)value);
      break;
    case 2:
      COPY(u16, (u16)value);
      break;
    case 4:
      COPY(u32, (u32)value);
      break;
    case 8:
      COPY(u64, value);
      break;
    case 16:
      COPY(u128, ((u128){value, layout.value[1]}));
      break;
  }
}
