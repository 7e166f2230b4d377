"""What softcuda stands in for, against the packages of a PyTorch that fetch-torch brought: names.py PACKAGES SOFTCUDA COMPILER

Its exports for a release of the CUDA runtime are the package's own (but for the variants with per-thread default streams); all
that PyTorch's libraries take from the runtime and the driver is among them; its numbers and layouts are those of the package's headers.
"""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
COMPARE = HERE.parent / "abi/cuda/compare"
DRIVER = re.compile(r"(cu(?!File)|nvml)[A-Z]")  # these have no version
PER_THREAD = re.compile(r"_pt(sz|ds)$")


def symbols(library, *options):
    """{(name, version or None)} of its dynamic symbols, without those that are versions."""
    listed = subprocess.run(["nm", "-D", *options, library], check=True, capture_output=True, text=True).stdout
    found = set()
    for line in listed.splitlines():
        kind, name = line.split()[-2:]
        name, _, version = name.partition("@")
        if kind != "A":
            found.add((name, version.lstrip("@") or None))
    return found


def of_version(found, version):
    return {name for name, own in found if own == version}


def differences(ours, theirs):
    """What is in one of them only. theirs: all that the package's library exports."""
    theirs = {name for name in theirs if not PER_THREAD.search(name)}
    return [f"not exported: {name}" for name in sorted(theirs - ours)] + [f"not in the package: {name}" for name in sorted(ours - theirs)]


def not_there(packages, exports):
    """What PyTorch's libraries, NCCL among them, take from the runtime or the driver and don't get."""
    given = {name for name, _ in exports}
    libraries = [*packages.glob("torch/lib/*.so"), *packages.glob("nvidia/nccl/lib/libnccl.so.2")]
    taken = set()
    for library in libraries:
        taken |= {(name, version) for name, version in symbols(library, "--undefined-only")
                  if (version or "").startswith("libcudart.so") or version is None and DRIVER.match(name)}
    if len(taken) < 50:
        return [f"PyTorch's libraries take no more than {sorted(taken)}: names.py doesn't see what they take"]
    return [f"taken and not exported: {name} {version or ''}" for name, version in sorted(taken, key=str)
            if (name, version) not in exports and (version or name not in given)]


def main():
    packages, softcuda, compiler = pathlib.Path(sys.argv[1]), *sys.argv[2:]
    if not packages.is_dir():
        print(f"SKIPPED: {packages} is not there (test/torch/fetch-torch)")
        return 77
    runtime, = (file for file in packages.glob("nvidia/*/lib/libcudart.so.1?"))
    exports = symbols(softcuda, "--defined-only")
    ours, theirs = of_version(exports, runtime.name), of_version(symbols(runtime, "--defined-only"), runtime.name)
    wrong = differences(ours, theirs) + not_there(packages, exports)
    if not differences(ours - {"cudaMalloc"}, theirs) or not not_there(packages, exports - {("cudaMalloc", runtime.name)}):
        wrong.append("a name that is missing was not noticed")
    print(f"{runtime.name}: {len(ours)} names")
    for line in wrong:
        print("WRONG:", line)
    layouts = subprocess.run([COMPARE, compiler, "cuda", runtime.parents[1] / "include"])
    return 1 if wrong or layouts.returncode else 0


sys.exit(main())
