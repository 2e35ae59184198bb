kernel void missing (global int *sum) {}
#include "nowhere.clh"
