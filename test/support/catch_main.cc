#include "support/catch_session.h"

int main(int argc, char** argv) { return nnd::test::run_cases(argc, argv); }
