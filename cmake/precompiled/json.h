// For the parts that read and write JSON.
#pragma once

#include <nlohmann/json.hpp>
