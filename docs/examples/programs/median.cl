/* Median of 3 x 3 pixels, by 19 exchanges (Paeth, Graphics Gems, 1990)
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define EXCHANGE(a, b)                                                                   \
  {                                                                                      \
    const uchar less = min (p[a], p[b]);                                                 \
    p[b] = max (p[a], p[b]);                                                             \
    p[a] = less;                                                                         \
  }

kernel void
median (global const uchar *input, global uchar *output, int shape0, int shape1)
{
  const int x = get_global_id (0), y = get_global_id (1);
  uchar p[9];

  for (int n = 0; n < 9; n++)
    p[n] = input[clamp (y + n / 3 - 1, 0, shape1 - 1) * shape0
                 + clamp (x + n % 3 - 1, 0, shape0 - 1)];
  EXCHANGE (1, 2)
  EXCHANGE (4, 5) EXCHANGE (7, 8) EXCHANGE (0, 1) EXCHANGE (3, 4) EXCHANGE (6, 7)
      EXCHANGE (1, 2) EXCHANGE (4, 5) EXCHANGE (7, 8) EXCHANGE (0, 3) EXCHANGE (5, 8)
          EXCHANGE (4, 7) EXCHANGE (3, 6) EXCHANGE (1, 4) EXCHANGE (2, 5) EXCHANGE (4, 7)
              EXCHANGE (4, 2) EXCHANGE (6, 4) EXCHANGE (4, 2) output[y * shape0 + x] =
                  p[4];
}
