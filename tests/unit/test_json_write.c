#include "json/write.h"
#include "support/test.h"
