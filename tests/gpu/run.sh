#!/usr/bin/env bash
# Runs what stage.sh laid out beside it, on this machine's GPU: the C programs and
# the Python suite, or the benchmarks. Needs Python with NumPy, pytest, hypothesis,
# torch and CuPy. A skip is a failure, and so is a framework with which nothing ran.
#
#   run.sh RESULTS [test | bench]
set -eu
results=$(mkdir -p "$1" && cd "$1" && pwd)
what=${2:-test}
cd "$(dirname "$0")"
python=${PYTHON:-python3}
export DLAUNCH_DRIVER=cuda DLAUNCH_LIBRARY=$PWD/build/libdlaunch.so PYTHONDONTWRITEBYTECODE=1
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
if ! "$python" -c 'import tvm_ffi, cloudpickle' 2>/dev/null; then
  "$python" -m pip install -q --no-index --no-deps --no-cache-dir --target "$site" wheels/*.whl
fi
export PYTHONPATH=$PWD/python/src:$site

if [ "$what" = bench ]; then
  for program in launch_cost growth; do
    "$python" "bench/$program.py" --libraries bin --out "$results"
  done
  exit
fi

: >"$results/programs.txt"
for program in bin/*; do
  name=$(basename "$program")
  case $name in *.so) continue ;; esac
  code=0
  timeout 120 "$program" "$PWD/testdata/kernels" "$PWD/build/libdlaunch.so" >"$results/$name.log" 2>&1 || code=$?
  case $name in
    layout) diff testdata/layout.txt "$results/$name.log" >/dev/null || code=1 ;;
    example) sed s/DRIVER/cuda/ examples/saxpy.c.txt | diff - "$results/$name.log" >/dev/null || code=1 ;;
  esac
  echo "$name $code" >>"$results/programs.txt"
  if [ "$code" = 0 ]; then
    rm "$results/$name.log"
  else
    echo "$name ended with $code:"
    tail -n 20 "$results/$name.log"
  fi
done

"$python" -m pytest -q -p no:cacheprovider --junitxml="$results/pytest.xml" python/tests || true
"$python" summary.py "$results"
