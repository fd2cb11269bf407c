"""Makes the .ptx beside each kernel source again, and assembles them all with ptxas. README.md says what must be installed."""
import argparse
import ctypes
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
INCLUDE = ROOT / "include"  # dlaunch_device.cuh
PACKAGED = ROOT / "python" / "src" / "dlaunch" / "strided.c"  # which the Python package loads: its .ptx names it
NEWEST_PTX = (9, 0)  # the newest that a CUDA 13.0 driver loads


class Missing(Exception):
    """A compiler is not installed."""


def wheel_folder() -> Path:
    spec = importlib.util.find_spec("nvidia.cu13") if importlib.util.find_spec("nvidia") else None
    if spec is None:
        raise Missing("the nvidia-cuda-* wheels (13.0)")
    return Path(list(spec.submodule_search_locations)[0])


def nvrtc() -> ctypes.CDLL:
    """libnvrtc 13.0 has no RPATH: it finds its builtins only if they are in the process already."""
    folder = wheel_folder() / "lib"
    try:
        ctypes.CDLL(str(folder / "libnvrtc-builtins.so.13.0"), mode=ctypes.RTLD_GLOBAL)
        return ctypes.CDLL(str(folder / "libnvrtc.so.13"))
    except OSError as error:
        raise Missing("nvidia-cuda-nvrtc==13.0.*") from error


def text_of(lib: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    size = ctypes.c_size_t()
    getattr(lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(lib, f"nvrtcGet{what}")(program, buffer)
    return buffer.value.decode()


def compile_cuda(source: Path) -> str:
    """A leading `// arch:` line names another target, `// instances:` the template instances to make, split by `;`."""
    lib = nvrtc()
    code = source.read_text()
    arch = re.search(r"^// arch: (\S+)$", code, re.M)
    instances = re.search(r"^// instances: (.+)$", code, re.M)
    options = [f"--gpu-architecture={arch[1] if arch else 'compute_75'}", f"-I{wheel_folder() / 'include'}", f"-I{wheel_folder() / 'include' / 'cccl'}", f"-I{INCLUDE}"]
    program = ctypes.c_void_p()
    if rc := lib.nvrtcCreateProgram(ctypes.byref(program), code.encode(), source.name.encode(), 0, None, None):
        raise RuntimeError(f"{source.name}: nvrtcCreateProgram: {rc}")
    for name in instances[1].split(";") if instances else []:
        if rc := lib.nvrtcAddNameExpression(program, name.strip().encode()):
            raise RuntimeError(f"{source.name}: nvrtcAddNameExpression({name.strip()}): {rc}")
    rc = lib.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*(o.encode() for o in options)))
    if rc:
        raise RuntimeError(f"{source.name}: nvrtcCompileProgram: {rc}\n{text_of(lib, program, 'ProgramLog')}")
    ptx = text_of(lib, program, "PTX")
    lib.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx


def compile_clang(source: Path) -> str:
    clang = os.environ.get("CLANG") or shutil.which("clang-19")
    if not clang:
        raise Missing("clang-19")
    command = [clang, "--target=nvptx64-nvidia-cuda", "-march=sm_75", "-O2", "-S", source.name, "-o", "-"]
    ptx = subprocess.run(command, cwd=source.parent, check=True, capture_output=True, text=True).stdout
    if source == PACKAGED:
        ptx = f"// {source.name}, sha256 {hashlib.sha256(source.read_bytes()).hexdigest()}\n{ptx}"
    return ptx


def compile_python(source: Path) -> str:
    """Triton and numba files print their PTX; the two seldom share an environment."""
    package = "triton" if source.stem.endswith("_triton") else "numba"
    python = os.environ.get(f"{package.upper()}_PYTHON", sys.executable)
    if subprocess.run([python, "-c", f"import {package}"], capture_output=True).returncode:
        raise Missing(f"{package} for {python}")
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "TRITON_CACHE_DIR": cache, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([python, source.name], cwd=HERE, capture_output=True, text=True, env=env)
    if done.returncode:
        raise RuntimeError(f"{source.name}: {done.stderr}")
    return done.stdout


COMPILERS = {".cu": compile_cuda, ".c": compile_clang, ".py": compile_python}


def check(ptx: Path) -> None:
    """Refuses text that is too new for the driver, and whatever ptxas refuses."""
    text = ptx.read_text()
    major, minor = map(int, re.search(r"^\s*\.version (\d+)\.(\d+)", text, re.M).groups())
    target = re.search(r"^\s*\.target (sm_\w+)", text, re.M)[1]
    if (major, minor) > NEWEST_PTX:
        raise RuntimeError(f"{ptx.name}: PTX {major}.{minor}, at most {NEWEST_PTX[0]}.{NEWEST_PTX[1]} wanted")
    ptxas = wheel_folder() / "bin" / "ptxas"
    if not ptxas.exists():
        raise Missing("nvidia-cuda-nvcc==13.0.*")
    done = subprocess.run([ptxas, f"--gpu-name={target}", "-o", os.devnull, ptx], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{ptx.name}: {done.stdout}{done.stderr}")


def assemble(source: Path) -> None:
    """A leading `// cubin:` line names the target of a .cubin, which is made of the .ptx."""
    target = re.search(r"^// cubin: (\S+)$", source.read_text(), re.M)
    ptxas = wheel_folder() / "bin" / "ptxas"
    if not target:
        return
    if not ptxas.exists():
        raise Missing("nvidia-cuda-nvcc==13.0.*")
    subprocess.run([ptxas, f"--gpu-name={target[1]}", "-o", source.with_suffix(".cubin"), source.with_suffix(".ptx")], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", help="names of sources in this folder, or the Python package's; default: all")
    parser.add_argument("--check", action="store_true", help="compile nothing")
    options = parser.parse_args()
    known = [PACKAGED, *sorted(p for p in HERE.iterdir() if p.suffix in COMPILERS and p.name != Path(__file__).name)]
    chosen = [p for p in known if p.name in options.sources or not options.sources]
    for name in set(options.sources) - {p.name for p in known}:
        parser.error(f"{name} is no source here")
    missing = set()
    for source in chosen:
        ptx = source.with_suffix(".ptx")
        try:
            if not options.check:
                text = COMPILERS[source.suffix](source)
                changed = not ptx.exists() or ptx.read_text() != text
                ptx.write_text(text)
                print(f"{ptx.name}: {'changed' if changed else 'as before'}")
                assemble(source)
            check(ptx)
        except Missing as what:
            missing.add(str(what))
    for what in sorted(missing):
        print(f"not found: {what}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
