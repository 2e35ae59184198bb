/* A user-supplied kernel with its arguments bound to streams and settings
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "frameimage.hpp"
#include "guardedbuffer.hpp"
#include "signature.hpp"
#include "programfile.hpp"
#include "../streamcaps.hpp"
#include "worksize.hpp"

#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/device/kernel.hpp>
#include <gst/common/npyfile.hpp>

#include <array>
#include <map>
#include <memory>

namespace compute {
/* Description of a program to build and run */
struct Task {
  std::string source; /* OpenCL C with includes inserted; empty for a compiled program */
  std::shared_ptr<const ProgramFile> compiled; /* (nullable): in place of `source` */
  std::string options;
  std::string parameters; /* of a kernel that the driver does not describe, or empty */
  std::string kernel;     /* empty: the only one */
  std::string inputs, outputs; /* names of arguments, "y,count"; empty: the default */
  std::string global_size, local_size;     /* "width/4,height"; empty: the default */
  const GstStructure *arguments = nullptr; /* (nullable) */
  guint reloads = 0;                       /* files are read again if this differs */
  gsize alignment = 1;                     /* of rows in bytes, for vector access */
  bool checks_size = false;   /* by the kernel; work-groups of any size fit */
  gint fill_output = -1;      /* byte, or -1 */
  bool checks_bounds = false; /* reports writes outside of arrays, and waits for them */
  double flop = 0; /* floating-point operations of a frame, or 0 if not known */
};

/* Number and time of a frame */
struct Moment {
  guint64 frame;
  double time; /* in seconds */
};

/* A user-supplied array on the device */
struct StoredArray {
  std::string path;
  guint reloads;
  GstOpenCLContext *context;
  opencl::NpyHeader header;
  cl::Buffer buffer;
  cl::Buffer initial; /* the file's contents, of an array that the kernel writes */
};

class Program {
public:
  /* `streams`: all inputs, then all outputs. `previous` (nullable) lends what has not
   * changed, and its state if the streams are the same. Returns NULL with an error about
   * the kernel, its arguments or its size. */
  static std::unique_ptr<Program> create (GstOpenCLContext *context, const Task &task,
      const std::vector<Stream> &streams, const Program *previous, GError **error);

  /* `frames`: one mapped frame per input, then that of all outputs. Does not wait for the
   * kernel. */
  bool enqueue_kernel (cl_command_queue queue,
      const std::vector<const GstOpenCLFrame *> &frames, const Moment &moment,
      GError **error);

  /* Finds the parameters of a kernel, without streams. */
  static bool describe (
      GstOpenCLContext *context, const Task &task, Signature &signature, GError **error);

  /* Returns whether the kernel calls an atomic function on an output that holds old
   * values. */
  bool adds_to_old_values (const std::string &source) const;

  /* Sets arrays that the kernel writes, and `previous`, back before the next frame. */
  bool start_over (cl_command_queue queue, GError **error);

private:
  /* An argument that changes with each frame */
  struct Binding {
    enum Kind { STREAM, STRIDE, FRAME, TIME } kind;
    cl_uint index;
    gsize stream;
  };
  /* Row stride that the kernel expects for a stream */
  enum class RowStride { OWN, OF_OUTPUT, OF_IMAGE, CONTIGUOUS };
  /* Memory and row stride of a frame that the kernel gets */
  struct Place {
    cl_mem data;
    gsize stride;
    bool is_scratch;
  };

  /* Copy of an output of the last frame, in its layout: the kernel's argument
   * `previous` */
  struct LastOutput {
    gsize output, stream; /* indices of the output and of `previous` */
    cl::Buffer buffer;
    gsize bytes = 0;
    gsize stride = 0; /* 0: there is none yet */

    bool reserve (GstOpenCLContext *context, gsize wanted, GError **error);
  };

  /* An input and the output that begins with its contents, by their index */
  struct InOut {
    gsize input, output;
  };

  /* Copy of an array for check-bounds. `original` is null if there is none. */
  struct Guarded {
    cl_mem original = nullptr;
    GuardedBuffer copy;
  };

  bool build (const Task &task, const Program *previous, GError **error);
  bool take_names (const char *property, const std::string &text, gsize first,
      gsize count, GError **error);
  bool find_in_out (GError **error);
  bool is_filled (gsize output) const;
  bool check_outputs (GError **error) const;
  void add_last_outputs (const Task &task, const Program *previous);
  cl::Program build_source (const Task &task, GError **error) const;
  cl::Program build_compiled (const Task &task, const Program *previous, GError **error);
  std::array<gsize, 3> constants_of (
      const std::string &source, const std::string &constants) const;
  void find_typedef (const std::string &source, Parameter &parameter) const;
  void find_types (const std::string &source);
  bool choose_kernel (cl_program program, const Task &task, GError **error);
  bool check_arguments (const GstStructure *arguments, GError **error) const;
  bool bind_all (const Task &task, const Program *previous, GError **error);
  bool bind (cl_uint index, const Task &task, const Program *previous, GError **error);
  bool bind_array (
      cl_uint index, const Task &task, const Program *previous, GError **error);
  bool bind_image (cl_uint index, const Task &task, GError **error);
  bool bind_sampler (cl_uint index, const GValue *value, GError **error);
  bool bind_struct (cl_uint index, const GValue *value, GError **error);
  bool bind_local (cl_uint index, const GValue *value, GError **error);
  bool bind_number (cl_uint index, const GValue *value, GError **error);
  bool bind_attribute (cl_uint index, bool &bound, GError **error);
  bool set (cl_uint index, gsize size, const void *value, GError **error);
  bool set_numbers (cl_uint index, const std::vector<Number> &numbers, GError **error);
  bool store_array (const char *path, const Parameter &parameter, const Task &task,
      const Program *previous, std::shared_ptr<StoredArray> &stored,
      GError **error) const;

  bool set_size (const Task &task, GError **error);
  bool default_size (const Task &task, std::vector<gsize> &global, GError **error) const;

  bool find_attribute (const std::string &name, gsize &value) const;
  const Stream *stream_named (const std::string &name) const;
  const Parameter *parameter_named (const std::string &name) const; /* (nullable) */
  bool has (const std::string &name) const { return parameter_named (name); }
  /* The first one, which `width`, `count` and so on belong to */
  const Stream &output () const { return streams[n_inputs]; }
  gsize n_outputs () const { return n_given - n_inputs; }
  void name_streams (const GstStructure *arguments);
  bool choose_row_strides (GError **error);

  cl::Buffer part_of (cl_mem data, gsize offset, gsize bytes) const;
  bool place (gsize stream, cl_command_queue queue, const GstOpenCLFrame &frame,
      gsize output_stride, Place &placed, GError **error);
  bool copy_rows (gsize stream, cl_command_queue queue, const Place &from,
      gsize from_offset, const Place &to, gsize to_offset, GError **error) const;
  bool begin_check (
      cl_command_queue queue, const std::vector<Place> &places, GError **error);
  bool end_check (cl_command_queue queue, GError **error);
  bool check_guards (cl_command_queue queue, const GuardedBuffer &copy,
      const Parameter &parameter, GError **error) const;
  gsize vector_length () const;
  bool place_outputs (cl_command_queue queue, const GstOpenCLFrame &frame,
      std::vector<Place> &places, GError **error);
  bool place_inputs (cl_command_queue queue,
      const std::vector<const GstOpenCLFrame *> &frames, std::vector<Place> &places,
      GError **error);
  bool finish_outputs (cl_command_queue queue, const GstOpenCLFrame &frame,
      const std::vector<Place> &places, GError **error);
  bool fill_output (
      gsize stream, cl_command_queue queue, const Place &placed, GError **error) const;
  bool map_last_output (
      LastOutput &last, cl_command_queue queue, GstOpenCLFrame &frame, GError **error);
  bool keep_output (
      LastOutput &last, cl_command_queue queue, const Place &placed, GError **error);
  bool check_overlap (const std::vector<Place> &places, GError **error) const;
  bool set_frame_arguments (
      const std::vector<Place> &places, const Moment &moment, GError **error);

  GstOpenCLContext *context = nullptr; /* outlives this */
  std::vector<Stream> given;           /* with the names that the properties give */
  std::vector<Stream> streams;     /* inputs, outputs, then `previous` of the kernel */
  gsize n_inputs = 0, n_given = 0; /* n_given: inputs and outputs */
  bool continues = false;          /* the state of the previous program */
  std::vector<LastOutput> last_outputs;
  gsize alignment = 1;
  gint fill = -1; /* byte, or -1 */
  std::vector<InOut> in_outs;
  bool checks_bounds = false;
  std::vector<Guarded> guarded;                /* of each parameter, if checks_bounds */
  std::shared_ptr<const ProgramFile> compiled; /* (nullable) */
  std::string options;
  cl::Program built; /* of `compiled` with `options` */
  cl::Kernel kernel;
  opencl::LocalArguments local_arguments;
  std::string kernel_name;
  Signature signature;
  std::vector<Binding> bindings;
  std::vector<RowStride> row_strides; /* of each stream */
  std::vector<bool> written;          /* of each stream */
  std::vector<cl::Buffer> scratch;    /* of each stream; most are empty */
  std::vector<cl::Buffer> parts;      /* of each stream: of one buffer for all outputs */
  gsize part_alignment = 1;           /* of a part's start in its buffer, in bytes */
  std::vector<gsize> scratch_bytes;
  std::vector<std::unique_ptr<FrameImage>> images; /* of each stream (nullable) */
  std::vector<cl::Sampler> samplers;
  std::map<std::string, std::shared_ptr<StoredArray>> arrays; /* by parameter */
  WorkSize size;
};
} // namespace compute
