"""Libraries in the place of those that torch links to and fetch-torch left out.

They have the same soname, symbol versions and functions; a function that is called after all says its name and ends the
process. usage: absent.py DIRECTORY (of the packages, as pip install --target leaves it)
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

# Soname without its number: how its functions begin, where torch asks for them without a version.
LEFT_OUT = {
    "libcublas": "cublas",
    "libcublasLt": "cublasLt",
    "libcudnn": "cudnn",
    "libcufft": "cufft",
    "libcurand": "curand",
    "libcusolver": "cusolver",
    "libcusparse": "cusparse",
    "libcusparseLt": "cusparseLt",
    "libnvrtc": "nvrtc",
}

SOURCE = """
#include <string.h>
#include <unistd.h>
static void absent(const char* name) {
  static const char said[] = " was called: the library is left out of the tests' torch\\n";
  if (write(2, name, strlen(name)) < 0 || write(2, said, sizeof said - 1) < 0) _exit(126);
  _exit(127);
}
#define ABSENT(name) void name(void) { absent(#name); }
"""


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(library):
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-dW", library))


def undefined(library):
    """(name, version or None) of each symbol that the library wants from others."""
    for line in output("nm", "-D", "--undefined-only", library).splitlines():
        name, _, version = line.split()[-1].partition("@")
        yield name, version or None


def build(soname, symbols, directory):
    with tempfile.TemporaryDirectory() as work:
        source = pathlib.Path(work, "absent.c")
        versions = collections.defaultdict(list)
        for name, version in sorted(symbols, key=str):
            versions[version].append(name)
        source.write_text(SOURCE + "".join(f"ABSENT({name})\n" for name in sorted({name for name, _ in symbols})))
        options = []
        if list(versions) != [None]:
            script = pathlib.Path(work, "map")
            script.write_text("".join(f"{version} {{ global: {'; '.join(names)}; }};\n"
                                      for version, names in versions.items() if version))
            options = [f"-Wl,--version-script,{script}"]
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-w", source, "-o", directory / soname,
                        f"-Wl,-soname,{soname}", *options], check=True)


def main():
    packages = pathlib.Path(sys.argv[1])
    libraries = sorted((packages / "torch/lib").glob("*.so"))
    wanted = collections.defaultdict(set)
    for library in libraries:
        left_out = {soname for soname in needed(library) if soname.split(".so")[0] in LEFT_OUT}
        for soname in left_out:
            wanted[soname]
        for name, version in undefined(library):
            for soname in left_out:
                prefix = LEFT_OUT[soname.split(".so")[0]]
                if version == soname or (version is None and re.match(prefix + "[A-Z]|" + prefix + "[a-z]*[A-Z]", name)):
                    wanted[soname].add((name, version))
    directory = packages / "nvidia/cu13/lib" if (packages / "nvidia/cu13").is_dir() else packages / "nvidia/cublas/lib"
    directory.mkdir(parents=True, exist_ok=True)
    for soname, symbols in sorted(wanted.items()):
        build(soname, symbols or {("nnd_absent", None)}, directory)


main()
