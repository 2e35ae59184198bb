/* Element-wise operators: OpenCL C for the device and functions for the host
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../model/array.hpp"

#include <cmath>

namespace inference {
/* An operator on one element of each operand. In the texts, $0 … are operands and %0 …
 * parameters. T is the type that is computed with and M the integer type of a comparison's
 * result. Every text is right for scalars and for vectors. */
struct ElementOp {
  enum Result {
    same,  /* type of the operands */
    truth, /* boolean */
    other, /* given by the instruction: a cast, or a choice */
  };

  const char *name;
  guint operands;
  Result result;
  const char *real;                                    /* (nullable) */
  const char *integer;                                 /* (nullable) */
  double (*number) (const double *x, const double *p); /* (nullable) */
  gint64 (*whole) (const gint64 *x, const double *p);  /* (nullable) */
};

/* These keep NaN, as NumPy does. */
inline double
larger (double a, double b)
{
  return a > b || std::isnan (a) ? a : b;
}

inline double
smaller (double a, double b)
{
  return a < b || std::isnan (a) ? a : b;
}

/* (nullable) */
const ElementOp *element_op (const std::string &name);

/* One step of an element-wise program. Operand n >= 0 is the n-th input, -1 - n is the
 * result of instruction n. */
struct Instruction {
  const ElementOp *op;
  std::vector<gint32> operands;
  std::vector<double> parameters;
  ElementType computed; /* type of the operands */
  ElementType type;     /* of the result */
};

/* The result is that of the last instruction; without any, the first input itself. */
using ElementProgram = std::vector<Instruction>;
} // namespace inference
