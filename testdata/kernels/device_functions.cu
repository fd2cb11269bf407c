// calls that stay calls: structs in and out, a pointer to a local, a switch
struct Ray { float origin, slope; int bounces; };
struct Hit { double where; int kind; };

__device__ __noinline__ Hit intersect(Ray ray, float wall) {
  Hit hit;
  hit.where = (double)wall - ray.origin;
  hit.kind = ray.bounces * 2 + (ray.slope < 0.0f);
  return hit;
}

__device__ __noinline__ void advance(Ray* ray, int steps) {
  for (int s = 0; s < steps; ++s) {
    ray->origin += ray->slope;
    ray->bounces += ray->origin > 8.0f;
  }
}

__device__ __noinline__ int grade(int op, int a, int b) {
  switch (op) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return b ? a / b : -1;
    case 4: return b ? a % b : -2;
    case 5: return a & b;
    case 6: return a | (b << 3);
    case 7: return a ^ b;
    default: return op;
  }
}

extern "C" __global__ void device_functions(const float* origin, const float* slope, const int* op, double* where, int* score, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Ray ray = {origin[i], slope[i], 0};
  advance(&ray, i % 7);
  Hit hit = intersect(ray, 100.0f);
  where[i] = hit.where;
  score[i] = grade(op[i], hit.kind * 37 - 50, ray.bounces);
}
