// The burst of burst.c as a C++17 program would spell it, on tensors.
#include "burst.h"

#include <array>
#include <chrono>
#include <vector>

#include "dlaunch.h"

extern "C" double burst_time_cpp(const burst *b, uint32_t launches) {
  std::array<int64_t, 1> shape{128}, strides{1};
  std::vector<DLTensor> tensors;
  std::vector<dlaunch_arg> args;
  for (uint32_t i = 0; i < b->num_args; i++) {
    auto *data = reinterpret_cast<void *>(b->values[i]);
    tensors.push_back({data, {kDLCUDA, 0}, 1, {kDLFloat, 32, 1}, shape.data(), strides.data(), 0});
  }
  for (const DLTensor &tensor : tensors) {
    dlaunch_arg arg{};
    arg.kind = DLAUNCH_ARG_TENSOR;
    arg.value.tensor = &tensor;
    args.push_back(arg);
  }
  dlaunch_config config = DLAUNCH_CONFIG_INIT;
  config.grid[0] = 1;
  config.block[0] = 32;
  auto begin = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < launches; i++) {
    auto num = static_cast<uint32_t>(args.size());
    if (dlaunch_launch(b->kernels[0], &config, args.data(), num, nullptr) != DLAUNCH_OK) return -1;
  }
  std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  return took.count() / launches;
}
