// nnd-test-rank: nnd-rank, which also does what tests alone ask for.
#include "driver/requests.h"
#include "rank/rank.h"

int main() { return nnd::driver::be_rank(nnd::driver::test_requests()); }
