#include "rank/rank.h"

int main() { return nnd::driver::be_rank(); }
