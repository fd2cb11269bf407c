#!/bin/sh
# Makes the images of this folder again, with nvcc 13.0 on the PATH.
set -eu
cd "$(dirname "$0")"
for name in caller callee; do
  nvcc -I../../include -rdc=true -arch=compute_75 -ptx $name.cu -o $name.ptx
  nvcc -I../../include -rdc=true -arch=sm_90 -cubin $name.cu -o $name.cubin
  nvcc -I../../include -rdc=true -arch=lto_75 -dlto -ltoir $name.cu -o $name.ltoir
  nvcc -I../../include -dc -gencode arch=compute_90,code=sm_90 -gencode arch=compute_75,code=compute_75 $name.cu -o $name.o
done
rm -f libcallee.a
ar rcD libcallee.a callee.o
nvcc -c -gencode arch=compute_90,code=sm_90 -gencode arch=compute_75,code=compute_75 whole.cu -o whole.o
nvcc -fatbin -gencode arch=compute_90,code=sm_90 -gencode arch=compute_75,code=compute_75 whole.cu -o whole.fatbin
