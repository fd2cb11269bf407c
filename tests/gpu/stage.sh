#!/usr/bin/env bash
# Lays out in one folder what a machine with a GPU needs to run the tests and the
# benchmarks: it may lack Go, a compiler and a network. Runs them if this is one.
#
#   tests/gpu/stage.sh FOLDER [test | bench]
set -eu
cd "$(dirname "$0")/../.."
to=$1
what=${2:-test}
rm -rf "$to"
mkdir -p "$to/bin" "$to/build" "$to/wheels"
cp -P build/libdlaunch.so build/libdlaunch.so.1 "$to/build/"
cp -r --parents docs include testdata examples bench python/src python/tests python/pyproject.toml "$to/"
find "$to" -name __pycache__ -prune -exec rm -r {} +
cp tests/gpu/run.sh tests/gpu/summary.py "$to/"

linked="-Iinclude -Lbuild -ldlaunch -Wl,-rpath,\$ORIGIN/../build -pthread"
for source in capi/testdata/*.c; do
  name=$(basename "$source" .c)
  case $name in header | no_driver | panic | sim_*) continue ;; esac # nothing to run, or not on a GPU
  gcc -std=c11 -O1 "$source" -o "$to/bin/$name" $linked
done
gcc -std=c99 -O1 examples/saxpy.c -o "$to/bin/example" $linked
bench/build.sh "$to/bin"

# What the suite needs and a machine with torch seldom has.
.venv/bin/python -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: \
  --python-version "${GPU_PYTHON:-3.12}" -d "$to/wheels" $(grep -E '^(apache-tvm-ffi|cloudpickle)' python/requirements-test.txt)

if nvidia-smi -L >/dev/null 2>&1; then
  exec "$to/run.sh" "$to/results" "$what"
fi
echo "Staged in $to ($(du -sh "$to" | cut -f1)). There is no GPU here; where there is one, run"
echo "  $to/run.sh RESULTS $what"
