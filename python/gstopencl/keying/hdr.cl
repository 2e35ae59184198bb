/* HDR to sRGB: PQ (-DPQ) or HLG of BT.2100, in RGBA of 16 bits
 *
 * Diffuse white has 203 cd/m2 (BT.2408), and a display of HLG at most 1000. Up to half of
 * diffuse white, light stays proportional, so that edges stay mixed as light. Highlights
 * approach 1.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
static float3 light_of (float3 level)
{
#ifdef PQ
  const float3 p = pow (level, 1 / 78.84375f);
  const float3 shown = max (p - 0.8359375f, 0.f) / (18.8515625f - 18.6875f * p);
  return 10000 / 203.f * pow (shown, 1 / 0.1593017578125f);
#else
  const float3 upper = (exp ((level - 0.55991073f) / 0.17883277f) + 0.28466892f) / 12;
  const float3 scene = select (upper, level * level / 3, level <= 0.5f);
  const float luminance = dot (scene, (float3) (0.2627f, 0.678f, 0.0593f));
  return 1000 / 203.f * pow (luminance, 0.2f) * scene;
#endif
}

kernel void to_srgb (global const ushort *input, global ushort *output, int input_stride,
    int output_stride)
{
  const size_t x = get_global_id (0), y = get_global_id (1);
  const ushort4 pixel = vload4 (x, input + y * (input_stride / 2));
  const float3 wide = light_of (convert_float3 (pixel.xyz) / 65535);
  float3 light = max (0.f, (float3) ( /* BT.709's primaries */
      dot (wide, (float3) (1.660491f, -0.587641f, -0.07285f)),
      dot (wide, (float3) (-0.12455f, 1.1329f, -0.008349f)),
      dot (wide, (float3) (-0.018151f, -0.100579f, 1.11873f))));
  const float peak = max (max (light.x, light.y), light.z);
  if (peak > 0.5f)
    light *= (1 - 0.25f / peak) / peak;
  const float3 level = select (1.055f * pow (light, 1 / 2.4f) - 0.055f, 12.92f * light,
      light <= 0.0031308f);
  vstore4 ((ushort4) (convert_ushort3_sat_rte (65535 * level), pixel.w), x,
      output + y * (output_stride / 2));
}
