#define NND_JSON_HERE
#include "precompiled/json.h"

NND_JSON_ONCE();
