/* Tests of npysink
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "fulldisk.hpp"
#include "programs.hpp"

#include <gst/video/video.h>

#include <glib/gstdio.h>
#include <glob.h>
#include <set>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

using namespace programs;
using check::room;

namespace {
struct Saved {
  std::string header;
  Bytes values;
};

Saved
read_npy (const std::string &path)
{
  const std::string all = check::contents_of (path);
  fail_unless (all.size () >= 10, "%s has %d bytes", path.c_str (), int (all.size ()));
  fail_unless (all.compare (0, 8, std::string ("\x93NUMPY\x01\x00", 8)) == 0);
  const gsize length = guint8 (all[8]) + 256 * guint8 (all[9]);
  fail_unless ((10 + length) % 64 == 0 && all[9 + length] == '\n');
  Saved saved = {all.substr (10, length), Bytes (all.begin () + 10 + length, all.end ())};
  return saved;
}

void
assert_header (const Saved &saved, const char *descr, const char *shape)
{
  const std::string begin = std::string ("{'descr': '") + descr
                            + "', 'fortran_order': False, 'shape': " + shape + ", }";
  fail_unless (saved.header.compare (0, begin.size (), begin) == 0, "%s, expected %s",
      saved.header.c_str (), begin.c_str ());
  fail_unless (
      saved.header.find_first_not_of (' ', begin.size ()) == saved.header.size () - 1);
}

std::vector<std::string>
files_like (const std::string &pattern)
{
  glob_t found;
  std::vector<std::string> names;
  if (glob (pattern.c_str (), 0, nullptr, &found) == 0)
    names.assign (found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree (&found);
  return names;
}

/* appsrc ! npysink, fed with frames of a pattern */
class Writer {
public:
  Writer (const std::string &caps, const std::string &location)
  {
    pipeline = check::launch ("appsrc name=in format=time caps=" + caps
                              + " ! npysink async=false location=" + location);
    in = gst_bin_get_by_name (GST_BIN (pipeline), "in");
    bus = gst_element_get_bus (pipeline);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
  }
  ~Writer ()
  {
    stop ();
    gst_object_unref (in);
    gst_object_unref (bus);
    gst_object_unref (pipeline);
  }
  Writer (const Writer &) = delete;

  void push (gsize size, guint seed)
  {
    gst_app_src_push_buffer (GST_APP_SRC (in), check::pattern_buffer (size, seed));
  }
  void end ()
  {
    gst_app_src_end_of_stream (GST_APP_SRC (in));
    GstMessage *message = gst_bus_timed_pop_filtered (
        bus, 30 * GST_SECOND, GstMessageType (GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    fail_unless (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS);
    gst_message_unref (message);
  }
  void stop () { gst_element_set_state (pipeline, GST_STATE_NULL); }

  GstElement *pipeline, *in;
  GstBus *bus;
};

Bytes
patterns (gsize size, guint frames)
{
  Bytes bytes;
  for (guint frame = 0; frame < frames; frame++) {
    const Bytes one = check::pattern (size, frame);
    bytes.insert (bytes.end (), one.begin (), one.end ());
  }
  return bytes;
}

struct Kind {
  const char *caps, *descr, *shape; /* of three frames */
  const char *frame;                /* of one frame */
  gsize size;
};

const Kind kinds[] = {
    {"other/"
     "tensors,format=static,num_tensors=1,types=float32,dimensions=(string)5:3,framerate="
     "9/1",
        "<f4", "(3, 3, 5)", "(3, 5)", 60},
    {"other/"
     "tensors,format=static,num_tensors=1,types=int64,dimensions=(string)7:1:1:1,"
     "framerate=9/1",
        "<i8", "(3, 1, 1, 1, 7)", "(1, 1, 1, 7)", 56},
    {"other/"
     "tensors,format=static,num_tensors=1,types=uint8,dimensions=(string)9,framerate=9/1",
        "|u1", "(3, 9)", "(9,)", 9},
    {"other/"
     "tensors,format=static,num_tensors=1,types=float16,dimensions=(string)9,framerate=9/"
     "1",
        "<f2", "(3, 9)", "(9,)", 18},
    {"application/x-oct,domain=depth,format=F32LE,samples=8,lines=2,framerate=9/1", "<f4",
        "(3, 2, 8)", "(2, 8)", 64},
    {"application/x-oct,domain=depth,format=CF32LE,samples=8,lines=2,framerate=9/1",
        "<c8", "(3, 2, 8)", "(2, 8)", 128},
    {"application/x-oct,domain=wavelength,format=U16LE,samples=8,lines=2,framerate=9/1",
        "<u2", "(3, 2, 8)", "(2, 8)", 32},
    {"video/x-raw,format=GRAY8,width=8,height=2,framerate=9/1", "|u1", "(3, 2, 8)",
        "(2, 8)", 16},
    {"video/x-raw,format=GRAY16_LE,width=8,height=2,framerate=9/1", "<u2", "(3, 2, 8)",
        "(2, 8)", 32},
    {"video/x-raw,format=RGB,width=4,height=2,framerate=9/1", "|u1", "(3, 2, 4, 3)",
        "(2, 4, 3)", 24},
    {"video/x-raw,format=BGRA,width=5,height=2,framerate=9/1", "|u1", "(3, 2, 5, 4)",
        "(2, 5, 4)", 40},
    {"video/x-raw,format=RGBA64_LE,width=5,height=2,framerate=9/1", "<u2", "(3, 2, 5, 4)",
        "(2, 5, 4)", 80},
};
} // namespace

TEST (test_frames_of_every_kind_become_one_array)
{
  for (const Kind &kind : kinds) {
    Folder folder;
    const std::string file = folder.file ("out.npy");
    Writer writer (kind.caps, file);
    for (guint n = 0; n < 3; n++) {
      for (guint dropped = 0; dropped < 9; dropped++) /* the tenth in a row is an error */
        writer.push (kind.size - 1, 9);
      writer.push (kind.size, n);
    }
    writer.end ();
    const Saved saved = read_npy (file);
    assert_header (saved, kind.descr, kind.shape);
    fail_unless (saved.values == patterns (kind.size, 3), "%s", kind.caps);
    fail_unless_equals_int (int (files_like (folder.path + "/*").size ()), 1);
  }
}

TEST (test_a_location_with_a_counter_has_a_file_for_each_frame)
{
  for (const Kind &kind : kinds) {
    Folder folder;
    Writer writer (kind.caps, folder.path + "/f%03d.npy");
    for (guint n = 0; n < 3; n++)
      writer.push (kind.size, n);
    writer.end ();
    for (guint n = 0; n < 3; n++) {
      const Saved saved = read_npy (folder.file ("f00" + std::to_string (n) + ".npy"));
      assert_header (saved, kind.descr, kind.frame);
      const Bytes all = patterns (kind.size, 3);
      fail_unless (
          saved.values
          == Bytes (all.begin () + n * kind.size, all.begin () + (n + 1) * kind.size));
    }
    fail_unless_equals_int (int (files_like (folder.path + "/*").size ()), 3);
  }
}

/* A folder's name is not the user's choice of files. */
TEST (test_a_counter_in_a_folder_is_part_of_its_name)
{
  Folder folder;
  const std::string inner = folder.file ("5%d-%03d");
  fail_unless_equals_int (g_mkdir (inner.c_str (), 0700), 0);
  for (const char *name : {"whole.npy", "f%d.npy"}) {
    Writer writer (kinds[0].caps, inner + "/" + name);
    for (guint n = 0; n < 2; n++)
      writer.push (kinds[0].size, n);
    writer.end ();
  }
  for (const char *name : {"whole.npy", "f0.npy", "f1.npy"}) {
    fail_unless (!read_npy (inner + "/" + name).values.empty (), "%s", name);
    g_unlink ((inner + "/" + name).c_str ());
  }
  fail_unless_equals_int (g_rmdir (inner.c_str ()), 0);
}

TEST (test_lines_that_stand_apart_are_packed)
{
  Folder folder;
  const std::string file = folder.file ("out.npy");
  Writer writer ("video/x-raw,format=GRAY8,width=7,height=3,framerate=9/1", file);
  GstBuffer *buffer = check::pattern_buffer (5 + 3 * 16, 1);
  gsize offsets[] = {5, 0, 0, 0};
  gint strides[] = {16, 0, 0, 0};
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_GRAY8, 7, 3, 1, offsets, strides);
  gst_app_src_push_buffer (GST_APP_SRC (writer.in), buffer);
  writer.push (8 * 3, 2); /* GStreamer's default stride, a multiple of four bytes */
  writer.end ();
  const Saved saved = read_npy (file);
  assert_header (saved, "|u1", "(2, 3, 7)");
  const Bytes padded = check::pattern (5 + 3 * 16, 1), plain = check::pattern (8 * 3, 2);
  for (gsize n = 0; n < 21; n++) {
    fail_unless_equals_int (saved.values[n], padded[5 + n / 7 * 16 + n % 7]);
    fail_unless_equals_int (saved.values[21 + n], plain[n / 7 * 8 + n % 7]);
  }
}

/* A crash at any moment leaves an array of all frames so far. */
TEST (test_a_growing_file_is_an_array_at_any_moment)
{
  Folder folder;
  const std::string file = folder.file ("out.npy");
  Writer writer (tensors ("uint8", "300"), file);
  for (guint frames = 1; frames <= 12; frames++) {
    const std::string shape = "(" + std::to_string (frames) + ", 300)";
    bool there = false;
    writer.push (300, frames - 1);
    for (int n = 0; n < 2000 && !there; n++) {
      const auto files = files_like (file + ".*");
      there = files.size () == 1
              && read_npy (files[0]).header.find (shape) != std::string::npos;
      if (!there)
        g_usleep (5000);
    }
    fail_unless (there, "no array of shape %s", shape.c_str ());
    fail_unless (read_npy (files_like (file + ".*")[0]).values == patterns (300, frames));
    fail_unless (files_like (file).empty (),
        "the final file name exists before the file is complete");
  }
  /* Stopping a recording completes its file. */
  writer.stop ();
  fail_unless (files_like (file + ".*").empty ());
  assert_header (read_npy (file), "|u1", "(12, 300)");
}

TEST (test_a_full_disk_is_one_error_and_leaves_what_was_there_readable)
{
  Folder folder;
  const std::string file = folder.write ("out.npy", "before");
  Writer writer (tensors ("uint8", "300"), file);
  room = 1000;
  for (guint n = 0; n < 5; n++)
    writer.push (300, n);
  const Messages messages = messages_on (writer.bus, 20 * GST_SECOND);
  room = -1;
  fail_unless (messages.errors.size () == 1, "%d errors", int (messages.errors.size ()));
  fail_unless (messages.errors[0].find (" has 3 complete frames; ") != std::string::npos
                   && messages.errors[0].find ("No space left") != std::string::npos,
      "%s", messages.errors[0].c_str ());
  writer.stop ();
  const auto files = files_like (file + ".*");
  fail_unless_equals_int (int (files.size ()), 1);
  fail_unless (messages.errors[0].find (files[0] + " has 3") == 0);
  const Saved saved = read_npy (folder.file (files[0].substr (folder.path.size () + 1)));
  assert_header (saved, "|u1", "(3, 300)");
  fail_unless (saved.values == patterns (300, 3));
  fail_unless (check::contents_of (file) == "before");
}

TEST (test_a_full_disk_leaves_the_files_of_the_frames_before)
{
  Folder folder;
  Writer writer (tensors ("uint8", "300"), folder.path + "/f%d.npy");
  room = 1000;
  for (guint n = 0; n < 5; n++)
    writer.push (300, n);
  const Messages messages = messages_on (writer.bus, 20 * GST_SECOND);
  room = -1;
  fail_unless_equals_int (int (messages.errors.size ()), 1);
  writer.stop ();
  fail_unless_equals_int (int (files_like (folder.path + "/*").size ()), 3);
  for (const char *name : {"f0.npy", "f1.npy", "f2.npy"})
    assert_header (read_npy (folder.file (name)), "|u1", "(300,)");
}

TEST (test_frames_of_another_shape_are_one_error_of_a_growing_file)
{
  Folder folder;
  const std::string file = folder.file ("out.npy");
  Writer writer (tensors ("uint8", "3"), file);
  writer.push (3, 0);
  GstCaps *other = gst_caps_from_string (tensors ("uint8", "4").c_str ());
  gst_app_src_set_caps (GST_APP_SRC (writer.in), other);
  gst_caps_unref (other);
  writer.push (4, 0);
  const Messages messages = messages_on (writer.bus, 20 * GST_SECOND);
  fail_unless_equals_int (int (messages.errors.size ()), 1);
  fail_unless (messages.errors[0].find ("frames of another shape") != std::string::npos);
  for (const std::string &left : files_like (file + ".*"))
    unlink (left.c_str ());
}

/* A batch that is not full may come before others, after a seek. */
TEST (test_npysink_joins_batches_of_other_lengths)
{
  Folder folder;
  const std::string file = folder.file ("out.npy");
  const guint lengths[] = {4, 1, 4, 2, 4};
  Writer writer (tensors ("uint8", "3:4"), file);
  Bytes expected;
  for (guint n = 0; n < G_N_ELEMENTS (lengths); n++) {
    check::Owned<GstCaps> caps = gst_caps_from_string (
        tensors ("uint8", "3:" + std::to_string (lengths[n])).c_str ());
    gst_app_src_set_caps (GST_APP_SRC (writer.in), caps);
    writer.push (3 * lengths[n], n);
    const Bytes batch = check::pattern (3 * lengths[n], n);
    expected.insert (expected.end (), batch.begin (), batch.end ());
  }
  writer.end ();
  assert_header (read_npy (file), "|u1", "(15, 3)");
  fail_unless (read_npy (file).values == expected);
}

namespace {
/* File mode of new files of this process */
mode_t
usual_mode ()
{
  const mode_t mask = umask (0);
  umask (mask);
  return 0666 & ~mask;
}

struct stat
status_of (const std::string &path)
{
  struct stat status;
  fail_unless_equals_int (lstat (path.c_str (), &status), 0);
  return status;
}

bool
make_socket (const char *path)
{
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  g_strlcpy (address.sun_path, path, sizeof address.sun_path);
  const int descriptor = socket (AF_UNIX, SOCK_STREAM, 0);
  const bool made =
      bind (descriptor, reinterpret_cast<sockaddr *> (&address), sizeof address) == 0;
  close (descriptor);
  return made;
}

/* `make` returns false if this process may not create such a file. */
const struct {
  const char *label;
  bool (*make) (const char *path);
} special_files[] = {
    {"a folder", [] (const char *path) { return mkdir (path, 0755) == 0; }},
    {"a FIFO", [] (const char *path) { return mkfifo (path, 0644) == 0; }},
    {"a socket", make_socket},
    {"a character device",
        [] (const char *path) {
          return mknod (path, S_IFCHR | 0600, makedev (1, 3)) == 0;
        }},
    {"a block device",
        [] (const char *path) {
          return mknod (path, S_IFBLK | 0600, makedev (7, 99)) == 0;
        }},
};

/* Writes one frame of three bytes. */
void
write_a_frame (const std::string &location)
{
  Writer writer (tensors ("uint8", "3"), location);
  writer.push (3, 0);
  writer.end ();
}

void
expect_refused (const std::string &location, const std::vector<std::string> &parts)
{
  Writer writer (tensors ("uint8", "3"), location);
  const Messages messages = messages_on (writer.bus, 20 * GST_SECOND);
  fail_unless_equals_int (int (messages.errors.size ()), 1);
  for (const std::string &part : parts)
    fail_unless (messages.errors[0].find (part) != std::string::npos, "%s, expected %s",
        messages.errors[0].c_str (), part.c_str ());
}
} // namespace

/* The sink refuses them before a frame arrives. */
TEST_ROWS (test_npysink_refuses_special_files, special_files)
{
  Folder folder;
  const std::string file = folder.file ("out.npy"), link = folder.file ("link.npy");
  if (!row.make (file.c_str ()))
    return; /* not allowed here */
  fail_unless_equals_int (symlink ("out.npy", link.c_str ()), 0);
  const struct stat before = status_of (file);
  expect_refused (file, {file, row.label, "expected a regular file"});
  expect_refused (link, {link, row.label, "expected a regular file"});
  const struct stat after = status_of (file);
  fail_unless (before.st_ino == after.st_ino && before.st_mode == after.st_mode);
  fail_unless (S_ISLNK (status_of (link).st_mode));
  fail_unless_equals_int (int (folder.names ().size ()), 2);
}

TEST (test_npysink_refuses_a_special_file_among_numbered_ones)
{
  Folder folder;
  const std::string fifo = folder.file ("f1.npy");
  fail_unless_equals_int (mkfifo (fifo.c_str (), 0644), 0);
  Writer writer (tensors ("uint8", "3"), folder.path + "/f%d.npy");
  for (guint n = 0; n < 3; n++)
    writer.push (3, n);
  const Messages messages = messages_on (writer.bus, 20 * GST_SECOND);
  fail_unless_equals_int (int (messages.errors.size ()), 1);
  fail_unless (messages.errors[0].find (fifo) != std::string::npos
                   && messages.errors[0].find ("a FIFO") != std::string::npos,
      "%s", messages.errors[0].c_str ());
  writer.stop ();
  fail_unless (folder.names () == std::vector<std::string> ({"f0.npy", "f1.npy"}));
  fail_unless (S_ISFIFO (status_of (fifo).st_mode));
}

/* A special file created under that name during the recording is not replaced. */
TEST (test_npysink_leaves_a_special_file_made_while_it_records)
{
  Folder folder;
  const std::string file = folder.file ("out.npy");
  Writer writer (tensors ("uint8", "3"), file);
  writer.push (3, 0);
  fail_unless (check::soon ([&] { return files_like (file + ".*").size () == 1; }));
  fail_unless_equals_int (mkfifo (file.c_str (), 0644), 0);
  gst_app_src_end_of_stream (GST_APP_SRC (writer.in));
  const Messages messages = messages_on (writer.bus, 20 * GST_SECOND);
  fail_unless_equals_int (int (messages.errors.size ()), 1);
  writer.stop ();
  fail_unless (S_ISFIFO (status_of (file).st_mode));
  assert_header (read_npy (files_like (file + ".*")[0]), "|u1", "(1, 3)");
}

/* Relative and absolute links, links to links, and links to a missing file. */
TEST (test_npysink_writes_the_file_that_a_link_leads_to)
{
  Folder folder;
  fail_unless_equals_int (mkdir (folder.file ("data").c_str (), 0755), 0);
  const std::string target = folder.file ("data/target.npy");
  const struct {
    const char *leads_to, *name;
  } links[] = {{"data/target.npy", "relative.npy"}, {"relative.npy", "twice.npy"},
      {target.c_str (), "absolute.npy"}, {"../relative.npy", "data/up.npy"}};
  for (const auto &link : links)
    fail_unless_equals_int (symlink (link.leads_to, folder.file (link.name).c_str ()), 0);
  for (bool exists : {false, true}) {
    for (const auto &link : links) {
      unlink (target.c_str ());
      if (exists)
        folder.write ("data/target.npy", "before");
      write_a_frame (folder.file (link.name));
      fail_unless (S_ISLNK (status_of (folder.file (link.name)).st_mode));
      fail_unless (S_ISREG (status_of (target).st_mode), "%s", link.name);
      assert_header (read_npy (target), "|u1", "(1, 3)");
    }
  }
  fail_unless_equals_int (int (files_like (folder.file ("data/*")).size ()), 2);
}

TEST (test_npysink_refuses_a_link_that_leads_to_itself)
{
  Folder folder;
  const std::string link = folder.file ("out.npy");
  fail_unless_equals_int (symlink ("out.npy", link.c_str ()), 0);
  expect_refused (link, {link, g_strerror (ELOOP)});
}

TEST (test_npysink_keeps_the_mode_and_owner_of_a_file)
{
  Folder folder;
  const uid_t owner = geteuid () == 0 ? 1234 : geteuid ();
  const gid_t group = geteuid () == 0 ? 2345 : getegid ();
  for (mode_t mode : {0600, 0664, 0777}) {
    const std::string file = folder.write ("out.npy", "before");
    fail_unless_equals_int (chown (file.c_str (), owner, group), 0);
    fail_unless_equals_int (chmod (file.c_str (), mode), 0);
    Writer writer (tensors ("uint8", "3"), file);
    writer.push (3, 0);
    fail_unless (check::soon ([&] { return files_like (file + ".*").size () == 1; }));
    /* Other users cannot read the unfinished file, either. */
    fail_unless ((status_of (files_like (file + ".*")[0]).st_mode & 0777 & ~mode) == 0);
    writer.end ();
    const struct stat status = status_of (file);
    fail_unless_equals_int (int (status.st_mode & 07777), int (mode));
    fail_unless (status.st_uid == owner && status.st_gid == group);
    assert_header (read_npy (file), "|u1", "(1, 3)");
  }
}

TEST (test_npysink_gives_a_new_file_the_usual_mode)
{
  Folder folder;
  const std::string file = folder.file ("out.npy");
  Writer writer (tensors ("uint8", "3"), file);
  writer.push (3, 0);
  writer.end ();
  fail_unless_equals_int (int (status_of (file).st_mode & 0777), int (usual_mode ()));
}

/* npyparse reads the file; a kernel in between writes device memory to the sink. */
TEST (test_what_is_written_is_read_again)
{
  Folder folder;
  const std::string first = folder.file ("a.npy"), second = folder.file ("b.npy");
  const check::Outcome made = check::run (
      "openclkernelsrc num-buffers=3 expression=\"i0 + 10 * i1 + 100 * frame\" "
      "output-caps=\"other/tensors,types=float32,dimensions=(string)5:4\" ! npysink "
      "location="
      + first);
  fail_unless (made.eos && made.errors.empty ());
  assert_header (read_npy (first), "<f4", "(3, 4, 5)");
  for (const char *split : {"false", "true"}) {
    const check::Outcome done = check::run (
        "filesrc location=" + first + " ! npyparse split=" + split
        + " ! openclupload ! openclkernel expression=\"-x\" ! opencldownload ! npysink "
          "location="
        + second);
    fail_unless (done.eos && done.errors.empty ());
    const Saved saved = read_npy (second);
    assert_header (
        saved, "<f4", g_str_equal (split, "true") ? "(3, 4, 5)" : "(1, 3, 4, 5)");
    const auto values = values_of<float> (saved.values);
    for (gsize n = 0; n < 60; n++)
      fail_unless (
          values[n] == -float (n % 5 + 10 * (n / 5 % 4) + 100 * (n / 20)), "%d", int (n));
  }
}

/* Downstream also accepts spectra; numbers that spectra cannot represent come as
 * arrays. */
TEST (test_any_file_is_read_and_written_again)
{
  Folder folder;
  const std::string first = folder.file ("a.npy"), second = folder.file ("b.npy");
  const char *const arrays[][3] = {{"uint8", "4:5", "(2, 5, 4)"},
      {"int64", "4:5", "(1, 2, 5, 4)"}, {"float32", "4:3:5", "(1, 2, 5, 3, 4)"},
      {"float32", "4:5", "(2, 5, 4)"}};
  for (const auto &array : arrays) {
    const check::Outcome made = check::run (
        "openclkernelsrc num-buffers=2 expression=i0 output-caps=\"other/tensors,types="
        + std::string (array[0]) + ",dimensions=(string)" + array[1]
        + "\" ! npysink location=" + first);
    fail_unless (made.eos && made.errors.empty ());
    const check::Outcome done = check::run (
        "filesrc location=" + first + " ! npyparse ! npysink location=" + second);
    fail_unless (done.eos && done.errors.empty (), "%s", done.line ().c_str ());
    const Saved from = read_npy (first), to = read_npy (second);
    fail_unless (
        to.header.find (array[2]) != std::string::npos, "%s", to.header.c_str ());
    fail_unless (from.values == to.values, "%s", array[0]);
  }
}

/* A recording ends when the pipeline stops; the next one starts a new file. */
TEST (test_a_pipeline_that_stops_and_plays_again_writes_another_file)
{
  Folder folder;
  const std::string first = folder.file ("a.npy"), second = folder.file ("b.npy");
  GstElement *pipeline = check::launch (
      "openclkernelsrc num-buffers=2 expression=1 output-caps=other/tensors,types=uint8,"
      "dimensions=(string)3 ! npysink name=sink location="
      + first);
  fail_unless (check::play (pipeline).eos);
  gst_element_set_state (pipeline, GST_STATE_READY);
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  g_object_set (sink, "location", second.c_str (), nullptr);
  gst_object_unref (sink);
  fail_unless (check::play (pipeline).eos);
  for (const std::string &file : {first, second})
    assert_header (read_npy (file), "|u1", "(2, 3)");
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
}
