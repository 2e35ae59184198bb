/* Values of call and put options by the formula of Black and Scholes
 *
 * The input has shape (3, n): current prices, strikes and years. The output has shape (2, n):
 * calls and puts. A work-item computes LANES of them, 2, 4, 8 or 16; n is a multiple of that.
 *
 * REAL: float or double
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef REAL
#define REAL float
#endif
#ifndef LANES
#define LANES 4
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_ (a, b)
#define REALS JOIN (REAL, LANES)

/* The normal distribution, to 8e-8 (Abramowitz and Stegun, 26.2.17) */
REALS
distribution (REALS x)
{
  const REALS k = 1 / (1 + (REAL) 0.2316419 * fabs (x));
  REALS tail = (REAL) 1.330274429;

  tail = tail * k - (REAL) 1.821255978;
  tail = tail * k + (REAL) 1.781477937;
  tail = tail * k - (REAL) 0.356563782;
  tail = tail * k + (REAL) 0.319381530;
  tail *= k * (REAL) 0.39894228040143268 * exp ((REAL) -0.5 * x * x);
  return select (tail, 1 - tail, x > 0);
}

kernel void
price (global const REAL *input, global REAL *output, ulong shape0, REAL rate,
    REAL volatility)
{
  const ulong n = get_global_id (0) * LANES;
  const REALS now = JOIN (vload, LANES) (0, input + n);
  const REALS strike = JOIN (vload, LANES) (0, input + n + shape0);
  const REALS years = JOIN (vload, LANES) (0, input + n + 2 * shape0);

  const REALS spread = volatility * sqrt (years);
  const REALS d1 =
      (log (now / strike) + (rate + (REAL) 0.5 * volatility * volatility) * years) / spread;
  const REALS strike_now = strike * exp (-rate * years);
  const REALS call = now * distribution (d1) - strike_now * distribution (d1 - spread);
  JOIN (vstore, LANES) (call, 0, output + n);
  JOIN (vstore, LANES) (call - now + strike_now, 0, output + n + shape0);
}
