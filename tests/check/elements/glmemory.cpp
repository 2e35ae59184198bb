/* Tests of frames that go between device memory and OpenGL textures without the host
 *
 * Mesa's OpenGL and Vulkan are on the CPU, and so is the device, which imports the memory of
 * Vulkan by importing-device.hpp.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/importing-device.hpp"
#include "tests/check/opencl-counting.hpp"

#include "transfer-chain.hpp"

#include <vulkan/vulkan.h>

using namespace check;

namespace {
/* UUID of Mesa's device of Vulkan that is the CPU */
std::array<guint8, VK_UUID_SIZE>
uuid_of_vulkan ()
{
  VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.apiVersion = VK_API_VERSION_1_1;
  VkInstanceCreateInfo wanted = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  wanted.pApplicationInfo = &application;
  VkInstance instance;
  VkPhysicalDevice devices[8];
  guint32 n = G_N_ELEMENTS (devices);
  fail_unless (vkCreateInstance (&wanted, nullptr, &instance) == VK_SUCCESS);
  fail_unless (vkEnumeratePhysicalDevices (instance, &n, devices) >= VK_SUCCESS);

  std::array<guint8, VK_UUID_SIZE> uuid;
  bool found = false;
  for (guint i = 0; i < n && !found; i++) {
    VkPhysicalDeviceIDProperties id = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceProperties2 all = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &id};
    vkGetPhysicalDeviceProperties2 (devices[i], &all);
    found = all.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    std::copy_n (id.deviceUUID, uuid.size (), uuid.begin ());
  }
  fail_unless (found, "Vulkan does not have the CPU: is mesa-vulkan-drivers installed?");
  vkDestroyInstance (instance, nullptr);
  return uuid;
}

/* A device that is also that of OpenGL and Vulkan */
struct SharingDevice : ImportingDevice {
  SharingDevice ()
  {
    g_setenv ("GST_GL_PLATFORM", "egl", TRUE);
    g_setenv ("GST_GL_WINDOW", "egl-device", TRUE); /* needs no screen */
    g_setenv ("LIBGL_ALWAYS_SOFTWARE", "1", TRUE);
    identify (uuid_of_vulkan ());
  }

  static void identify (const std::array<guint8, VK_UUID_SIZE> &uuid)
  {
    counting::override_device_info (
        0x106A /* CL_DEVICE_UUID_KHR */, uuid.data (), uuid.size ());
  }
};

/* Visible bytes of all planes, without padding */
Bytes
pixels_of (GstSample *sample)
{
  GstVideoInfo info;
  GstVideoFrame frame;
  Bytes pixels;
  fail_unless (gst_video_info_from_caps (&info, gst_sample_get_caps (sample)));
  fail_unless (
      gst_video_frame_map (&frame, &info, gst_sample_get_buffer (sample), GST_MAP_READ));
  for (guint c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS (&frame); c++)
    for (gint y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT (&frame, c); y++)
      for (gint x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH (&frame, c); x++)
        pixels.push_back (GST_VIDEO_FRAME_COMP_DATA (
            &frame, c)[y * GST_VIDEO_FRAME_COMP_STRIDE (&frame, c)
                       + x * GST_VIDEO_FRAME_COMP_PSTRIDE (&frame, c)]);
  gst_video_frame_unmap (&frame);
  return pixels;
}

constexpr guint n_frames = 5;

/* Plays both branches, "out" and "expected", and compares their frames. */
void
compare_branches (Pipeline &pipeline)
{
  pipeline.start ();
  for (guint i = 0; i < n_frames; i++) {
    Owned<GstSample> got = pipeline.pull ("out"), expected = pipeline.pull ("expected");
    fail_unless (got && expected, "%s", pipeline.messages ().line ().c_str ());
    assert_same (pixels_of (got), pixels_of (expected), "frame " + std::to_string (i));
  }
  fail_if (pipeline.pull ("out"));
}

/* Odd sizes, which GstGLMemory pads; one, two and three textures */
std::string
textures (const std::string &format)
{
  return "video/x-raw(memory:GLMemory), format=" + format + ", width=317, height=123";
}

std::string
source (const std::string &format)
{
  return "videotestsrc pattern=ball background-color=0xff336699 num-buffers="
         + std::to_string (n_frames) + " ! video/x-raw, format=" + format
         + ", width=317, height=123 ! tee name=t ";
}

std::string
reading (const std::string &format)
{
  return "gltestsrc num-buffers=" + std::to_string (n_frames)
         + " ! video/x-raw(memory:GLMemory), width=317, height=123 ! glcolorconvert ! "
         + textures (format)
         + " ! tee name=t ! queue ! gldownload ! appsink name=expected sync=false"
           " t. ! queue ! openclupload name=up ! video/x-raw(memory:OpenCLMemory) !"
           " appsink name=out sync=false";
}

std::string
writing (const std::string &format)
{
  return source (format)
         + "! queue ! appsink name=expected sync=false"
           " t. ! queue ! openclupload ! opencldownload name=down ! "
         + textures (format)
         + " ! glcolorconvert ! gldownload ! appsink name=out sync=false";
}
} // namespace

TEST_ROWS (test_textures_are_read_on_the_device, {"RGBA", "NV12", "I420", "GRAY8"})
{
  SharingDevice device;
  Pipeline pipeline (reading (row));
  compare_branches (pipeline);
  fail_unless (device.imported () > 0);
  expect_equal (device.acquired (), n_frames);
  expect_equal (counts_of (pipeline["up"]).uploads, 0u);
}

TEST_ROWS (test_textures_are_written_on_the_device, {"RGBA", "NV12", "I420", "GRAY8"})
{
  SharingDevice device;
  Pipeline pipeline (writing (row));
  compare_branches (pipeline);
  expect_equal (device.imported (), 1u);
  expect_equal (device.acquired (), n_frames);
  expect_equal (counts_of (pipeline["down"]).downloads, 0u);
}

/* Frames wait behind the upload, so that each has memory of its own. */
TEST (test_frames_that_wait_keep_their_textures)
{
  SharingDevice device;
  Pipeline pipeline (
      "gltestsrc num-buffers=4 pattern=snow ! " + textures ("RGBA")
      + " ! tee name=t ! queue ! gldownload ! appsink name=expected sync=false"
        " t. ! queue ! openclupload ! video/x-raw(memory:OpenCLMemory) !"
        " appsink name=out sync=false");
  pipeline.start ();
  std::vector<Owned<GstSample>> got, expected;
  for (guint i = 0; i < 4; i++) {
    got.push_back (pipeline.pull ("out"));
    expected.push_back (pipeline.pull ("expected"));
  }
  for (guint i = 0; i < 4; i++)
    assert_same (pixels_of (got[i]), pixels_of (expected[i]), "frame");
  expect_equal (device.imported (), 4u);
}

/* Elements that accept any caps get ordinary memory, those of OpenGL get textures. */
TEST (test_textures_are_for_elements_of_opengl)
{
  SharingDevice device;
  {
    Pipeline pipeline ("videotestsrc num-buffers=1 ! openclupload ! opencldownload ! "
                       "identity ! fakesink name=end");
    pipeline.play_to_eos ();
    Owned<GstCaps> caps = gst_pad_get_current_caps (pipeline.pad ("end", "sink"));
    fail_unless (
        !gst_caps_features_contains (gst_caps_get_features (caps, 0), "memory:GLMemory"));
  }
  Pipeline pipeline (
      "videotestsrc num-buffers=1 ! openclupload ! opencldownload ! identity"
      " name=end ! gleffects_blur ! fakesink");
  pipeline.play_to_eos ();
  Owned<GstCaps> caps = gst_pad_get_current_caps (pipeline.pad ("end", "sink"));
  fail_unless (
      gst_caps_features_contains (gst_caps_get_features (caps, 0), "memory:GLMemory"));
}

/* The frames are then copied by the host. */
TEST (test_textures_of_another_device_are_copied)
{
  SharingDevice device;
  SharingDevice::identify ({1, 2, 3});
  for (const std::string &line : {reading ("RGBA"), writing ("NV12")}) {
    Pipeline pipeline (line);
    compare_branches (pipeline);
  }
  expect_equal (device.imported (), 0u);
}

TEST (test_textures_that_the_driver_refuses_are_copied)
{
  SharingDevice device;
  for (const std::string &line : {reading ("RGBA"), writing ("NV12")}) {
    device.fail_import (CL_INVALID_OPERATION);
    Pipeline pipeline (line);
    compare_branches (pipeline);
  }
  expect_equal (device.imported (), 0u);
}
