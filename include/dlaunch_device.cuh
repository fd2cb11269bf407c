/*
 * dlaunch_device.cuh: for kernels in CUDA C++ that are launched with dlaunch.
 *
 * No kernel must include it. It has two things: the struct that a parameter with
 * `@view` is passed as, which brings shape and strides along, and a macro that
 * leaves a kernel's prototype in the image, so that callers need only its name.
 *
 *   #include <dlaunch_device.cuh>
 *
 *   DLAUNCH_PROTOTYPE(scale, "(x: inout f32[rows,cols] @view, by: f32)");
 *
 *   extern "C" __global__ void scale(dlaunch::view<float, 2> x, float by) {
 *     long long i = blockIdx.x * blockDim.x + threadIdx.x;
 *     if (i < x.size()) x(i / x.shape(1), i % x.shape(1)) *= by;
 *   }
 *
 * COMPILERS. NVRTC, nvcc and clang (-x cuda), C++11 or newer, any architecture.
 * It includes no other header: NVRTC needs an include path to this file only, or
 * its text as a header of nvrtcCreateProgram. A plain C++ compiler reads it too,
 * and has the structs without the prototypes.
 *
 * LAYOUT. view<T, rank> has 8 + 16 * rank bytes, aligned to 8: the address, the
 * shape, the strides, each number 64 bits. dlaunch fills it in at every launch.
 * It never changes: an image made today is launched by any later dlaunch.
 */
#ifndef DLAUNCH_DEVICE_CUH
#define DLAUNCH_DEVICE_CUH

/* clang knows __device__ only from a header of the CUDA toolkit. */
#if defined(__clang__) && defined(__CUDA__)
#define DLAUNCH_HOST_DEVICE __attribute__((host)) __attribute__((device))
#define DLAUNCH_DEVICE __attribute__((device))
#elif defined(__CUDACC__)
#define DLAUNCH_HOST_DEVICE __host__ __device__
#define DLAUNCH_DEVICE __device__
#else
#define DLAUNCH_HOST_DEVICE
#endif

namespace dlaunch {

/*
 * view is a tensor, which a kernel takes by value where its prototype says
 * `@view`. It may be copied, and made of any memory: view<int, 1>{p, {n}, {1}}.
 *
 * T     the type of an element, `const T` where the kernel only reads. It must
 *       have the prototype's type, or one of its size: float for f32, __half or
 *       unsigned short for f16. Elements below 8 bits have no view.
 * rank  the number of axes; 0 is one element.
 *
 * Indices are not checked on a device: they are 0 to shape(axis) - 1. The
 * simulator reports an access outside the tensor.
 */
template <typename T, int rank>
struct view {
  static_assert(rank > 0, "dlaunch::view: the rank is negative");

  T *data; /* the element whose indices are all 0 */
  long long extents[rank];
  long long steps[rank]; /* in elements; may be negative or 0 */

  /* v(i, j, ...) is an element: one integer for each axis, of any types. */
  template <typename... Index>
  DLAUNCH_HOST_DEVICE T &operator()(Index... index) const {
    static_assert(sizeof...(Index) == rank, "dlaunch::view: an index for each axis is wanted");
    return data[offset<0>(static_cast<long long>(index)...)];
  }

  /* shape gives the number of elements along an axis, counted from 0. */
  DLAUNCH_HOST_DEVICE long long shape(int axis) const { return extents[axis]; }

  /* stride gives how many elements lie from one index of an axis to the next. */
  DLAUNCH_HOST_DEVICE long long stride(int axis) const { return steps[axis]; }

  /* size gives the number of elements: the product of the shape. */
  DLAUNCH_HOST_DEVICE long long size() const {
    long long product = 1;
    for (int axis = 0; axis < rank; axis++) product *= extents[axis];
    return product;
  }

  /* offset adds up indices times strides. It recurs, so that a view in parameter
   * memory is never indexed by a variable, which would copy it to local memory. */
  template <int axis>
  DLAUNCH_HOST_DEVICE long long offset() const {
    return 0;
  }
  template <int axis, typename... Rest>
  DLAUNCH_HOST_DEVICE long long offset(long long index, Rest... rest) const {
    return index * steps[axis] + offset<axis + 1>(rest...);
  }
};

/* Without axes there is one element: v(). */
template <typename T>
struct view<T, 0> {
  T *data;

  DLAUNCH_HOST_DEVICE T &operator()() const { return *data; }
  DLAUNCH_HOST_DEVICE long long size() const { return 1; }
};

}  // namespace dlaunch

/*
 * DLAUNCH_PROTOTYPE leaves a prototype in the image. dlaunch takes it when the
 * kernel is got by its name alone; one that the caller gives is taken instead.
 * docs/prototypes.md teaches what it says.
 *
 * kernel  the kernel's name in the image: as written if it is extern "C", else
 *         the mangled one, _Z5scaleIfEvPT_i.
 * text    a string literal: "(x: inout f32[n], n: i32 = n)". It may begin with
 *         the same name. It is compared with the kernel when that is got, not by
 *         the compiler.
 *
 * It stands outside of functions, once for each kernel, before or after it. The
 * text is a device variable, dlaunch_prototype_<kernel>: it is found in PTX, in
 * cubins, and in what a fatbin holds uncompressed.
 */
#ifdef DLAUNCH_DEVICE
#define DLAUNCH_PROTOTYPE(kernel, text)                                    \
  extern "C" DLAUNCH_DEVICE char dlaunch_prototype_##kernel[sizeof(text)]; \
  DLAUNCH_DEVICE __attribute__((used)) char dlaunch_prototype_##kernel[sizeof(text)] = text
#else
#define DLAUNCH_PROTOTYPE(kernel, text) static_assert(sizeof(text) > 1, "DLAUNCH_PROTOTYPE: the text is empty")
#endif

#endif /* DLAUNCH_DEVICE_CUH */
