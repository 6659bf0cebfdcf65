"""Builds FlashAttention-3's kernels from its own checkout: one library for each type of elements and width of heads."""

import ast
import os
import re
import shutil
import subprocess
import tempfile

ELEMENTS = {"e4m3": "cutlass::float_e4m3_t", "f16": "cutlass::half_t", "bf16": "cutlass::bfloat16_t"}
WIDTHS = (64, 128, 256)
KERNELS = tuple(f"{element}_{width}" for width in WIDTHS for element in ELEMENTS)
# What a plain call does not use. FlashAttention-3 leaves the code for it out where its setup.py is told so; the kernels
# that run are the same.
UNUSED = ("BACKWARD", "PAGEDKV", "APPENDKV", "LOCAL", "SOFTCAP", "PACKGQA", "VARLEN", "SM8x", "HDIMDIFF64",
          "HDIMDIFF192")
# What torch gives nvcc for every extension (torch.utils.cpp_extension.COMMON_NVCC_FLAGS).
TORCH_FLAGS = ("-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__", "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
               "-D__CUDA_NO_HALF2_OPERATORS__", "--expt-relaxed-constexpr")
NO_CODE = ("-lineinfo", "--resource-usage")  # Flags that change no code, only the size and the output.


def library_name(kernel):
    return f"flash_attention3_{kernel}.so"


def checkout():
    """The folder of flash-attention that FLASH_ATTENTION names."""
    folder = os.environ.get("FLASH_ATTENTION")
    if not folder:
        raise ImportError("FLASH_ATTENTION names no checkout of flash-attention")
    for part, remedy in (("hopper/setup.py", "is it a checkout of flash-attention?"),
                         ("csrc/cutlass/include/cutlass/cutlass.h", "git submodule update --init csrc/cutlass")):
        if not os.path.isfile(os.path.join(folder, part)):
            raise ImportError(f"FLASH_ATTENTION: {folder} has no {part}: {remedy}")
    return os.path.abspath(folder)


def compiler():
    toolkit = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "nvcc")
    found = toolkit if os.access(toolkit, os.X_OK) else shutil.which("nvcc")
    if not found:
        raise ImportError("no nvcc")
    return found


def own_flags(setup):
    """nvcc_flags of FlashAttention-3's setup.py."""
    with open(setup) as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "nvcc_flags":
            return [flag for flag in ast.literal_eval(node.value) if flag not in NO_CODE]
    raise ImportError(f"{setup} has no nvcc_flags")


def version_of(folder, nvcc):
    with open(os.path.join(folder, "hopper", "__init__.py")) as file:
        version = re.search(r"__version__\s*=\s*\"(.*?)\"", file.read())
    commit = ""
    if os.path.exists(os.path.join(folder, ".git")):  # No other repository, in which the folder lies.
        commit = subprocess.run(["git", "-C", folder, "rev-parse", "--short=8", "HEAD"], stdout=subprocess.PIPE,
                                text=True).stdout.strip()
    said = subprocess.run([nvcc, "--version"], stdout=subprocess.PIPE, text=True).stdout
    release = re.search(r"release ([\d.]+)", said)
    parts = [version[1] if version else "", commit, f"nvcc {release[1]}" if release else ""]
    return ", ".join(part for part in parts if part)


def run(command, what):
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        raise ImportError(f"{what} does not compile: {(errors or done.stderr.splitlines() or ['?'])[0]}")


def build(kernel, folder):
    """Builds one of KERNELS into the folder. Returns the library's path."""
    if kernel not in KERNELS:
        raise ImportError(f"no kernel {kernel}: there are {', '.join(KERNELS)}")
    flash, nvcc = checkout(), compiler()
    element, width = kernel.split("_")
    name = f"flash_fwd_hdim{width}_{ {'f16': 'fp16'}.get(element, element)}"
    theirs = [os.path.join(flash, "hopper", "instantiations", f"{name}{kind}_sm90.cu") for kind in ("", "_split")]
    ours = os.path.join(os.path.dirname(os.path.abspath(__file__)), "flash_attention3.cu")
    flags = [*own_flags(os.path.join(flash, "hopper", "setup.py")), *TORCH_FLAGS, "-gencode",
             "arch=compute_90a,code=sm_90a", *(f"-DFLASHATTENTION_DISABLE_{feature}" for feature in UNUSED),
             f"-I{flash}/hopper", f"-I{flash}/csrc/cutlass/include", "-w", "-Xcompiler", "-fPIC"]
    chosen = [f"-DELEMENT={ELEMENTS[element]}", f"-DWIDTH={width}", f"-DVERSION=\"{version_of(flash, nvcc)}\""]
    os.makedirs(folder, exist_ok=True)
    library = os.path.join(os.path.abspath(folder), library_name(kernel))
    scratch = tempfile.mkdtemp(prefix="evo-flash-attention3-")
    try:
        objects = []
        for source, more in ((theirs[0], []), (theirs[1], []), (ours, chosen)):
            objects.append(os.path.join(scratch, os.path.basename(source) + ".o"))
            run([nvcc, *flags, *more, "-c", source, "-o", objects[-1]], os.path.basename(source))
        # With a CUDA runtime of its own, which takes no symbol of torch's.
        linked = [f"-Xlinker={option}" for option in ("-Bsymbolic", "--exclude-libs=ALL", "-s")]
        run([nvcc, "-shared", "-cudart", "static", *linked, *objects, "-o", library + ".new"], library_name(kernel))
        os.replace(library + ".new", library)
    finally:
        shutil.rmtree(scratch)
    return library
