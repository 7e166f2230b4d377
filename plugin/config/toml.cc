#define TOML_IMPLEMENTATION
#include "config/toml.h"
