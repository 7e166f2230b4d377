#include "watch/watch.h"
#include "support/catch.h"
