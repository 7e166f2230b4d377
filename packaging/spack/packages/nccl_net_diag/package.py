from spack.package import *


class NcclNetDiag(CMakePackage):
    """Tells why the network of a multi-node NCCL job is slow, stuck or dead: a plugin that wraps NCCL's own transport, and a tool."""

    # In a clone: spack repo add packaging/spack, spack dev-build nccl-net-diag@0.1.0
    version("0.1.0")

    license("Apache-2.0")

    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("fmt@8:")
    depends_on("nlohmann-json")
    depends_on("cli11@2:")
    depends_on("tomlplusplus")
    depends_on("rdma-core")
    depends_on("elfutils")
    depends_on("libmicrohttpd")
    depends_on("libsodium")
    depends_on("simdjson")
    depends_on("zlib-api")
    depends_on("zstd")

    conflicts("platform=darwin", msg="NCCL runs on Linux")
    conflicts("%gcc@:10", msg="C++20 as GCC 11 has it")

    def cmake_args(self):
        return [self.define("NND_TESTS", False)]
