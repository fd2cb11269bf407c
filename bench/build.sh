#!/usr/bin/env bash
# Compiles what the benchmarks load, for a libdlaunch.so that will lie in a folder
# beside theirs, or above it.
#
#   bench/build.sh FOLDER
set -eu
cd "$(dirname "$0")/.."
to=$1
tvm=$(.venv/bin/python -m tvm_ffi.config --includedir)
tvm_library=$(.venv/bin/python -m tvm_ffi.config --libdir)
mkdir -p "$to"
for part in burst burst_builtin; do
  gcc -O2 -fPIC -c -Iinclude "bench/$part.c" -o "$to/$part.o"
done
g++ -std=c++17 -O2 -shared -fPIC -Iinclude bench/burst.cpp "$to/burst.o" "$to/burst_builtin.o" -o "$to/libburst.so" \
  -Lbuild -ldlaunch -Wl,-rpath,'$ORIGIN/../build:$ORIGIN/..' -pthread
rm "$to/burst.o" "$to/burst_builtin.o"
gcc -O2 -shared -fPIC -I"$tvm" bench/burst_tvm.c -o "$to/libburst_tvm.so" -L"$tvm_library" -ltvm_ffi
