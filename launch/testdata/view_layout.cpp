// Reads the parameters of a launch as a kernel that includes dlaunch_device.cuh
// gets them, and prints what it finds in them.
#include <cstddef>
#include <cstdio>

#include <dlaunch_device.cuh>

#include <dlaunch_device.cuh>  // twice is fine

DLAUNCH_PROTOTYPE(k, "(x: f32[a,b,c] @view, s: f32, y: out f64[] @view, z: i8[n] @view)");

struct parameters {
  dlaunch::view<const float, 3> x;
  float s;
  dlaunch::view<double, 0> y;
  dlaunch::view<const signed char, 1> z;
};

template <typename View>
static void print(const char *name, const View &v, int rank) {
  std::printf("%s %p size %lld:", name, static_cast<const void *>(v.data), v.size());
  for (int axis = 0; axis < rank; axis++) std::printf(" %lld/%lld", v.shape(axis), v.stride(axis));
  std::printf("\n");
}

int main() {
  parameters p;
  std::printf("offsets %zu %zu %zu %zu, rank 3 of %zu bytes\n", offsetof(parameters, x), offsetof(parameters, s),
              offsetof(parameters, y), offsetof(parameters, z), sizeof p.x);
  if (std::fread(&p, 1, sizeof p, stdin) != sizeof p || std::fgetc(stdin) != EOF) return 1;
  print("x", p.x, 3);
  std::printf("x(1, 2, 3) is %td elements on\n", &p.x(1, short(2), 3u) - p.x.data);
  std::printf("s %g\n", static_cast<double>(p.s));
  std::printf("y %p size %lld\n", static_cast<void *>(&p.y()), p.y.size());
  print("z", p.z, 1);
#ifdef DLAUNCH_DEVICE
  std::printf("%s\n", dlaunch_prototype_k);
#endif
  double numbers[] = {1, 2, 3, 4};
  dlaunch::view<double, 1> backwards{numbers + 3, {4}, {-1}};
  backwards(0) = 9;
  std::printf("%g %g\n", backwards(3), numbers[3]);
}
