// The files that the tool needs beside itself: as installed below its own prefix, else of the build
// tree that it is in.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nnd::cli {

std::filesystem::path plugin_file();
std::filesystem::path rank_program();
std::filesystem::path gpu_runtime_file();  // what stands in for the CUDA runtime

// Throw CallError, which names the package to install, where it is missing.
void require_plugin();
void require_rank_program();
void require_emulated_fabric();
void require_gpu_runtime();

// The words in front of a program that is not for this machine ($NND_EMULATOR), else none.
std::vector<std::string> emulator();

}  // namespace nnd::cli
