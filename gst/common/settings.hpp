/* Properties of an element, committed together between two frames
 *
 * An element with the property `gain`:
 *
 *   struct GainSettings {
 *     gdouble gain = 1; // the default
 *   };
 *   struct _GstGain {
 *     GstBaseTransform parent;
 *     opencl::Settings<GainSettings> *settings;
 *   };
 *   static const opencl::PropertyTable<GainSettings> properties = {
 *       {"gain", "Gain", "Factor of each sample", &GainSettings::gain, {0, 16},
 *           opencl::controllable},
 *   };
 *
 *   // In gst_gain_init() and gst_gain_class_init(). opencl::FilterElement does both.
 *   self->settings = new opencl::Settings<GainSettings> (self, properties);
 *   opencl::install_settings<&GstGain::settings> (klass, properties);
 *
 *   // In the streaming thread, before each frame: takes new values, unless prepare() fails.
 *   // Then the old ones stay, and its error is a warning on the bus.
 *   self->settings->update ([=] (const GainSettings &wanted, GError **error) {
 *     return prepare (self, wanted, error);
 *   });
 *   const gdouble gain = self->settings->current ().gain; // of this frame
 *
 * Values that are always valid need no update(): committed() returns the last ones.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/base/gstbasetransform.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace opencl {
/* Flags for the states in which a property may be set. All are readable and writable. */
const GParamFlags ready =
    GParamFlags (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);
const GParamFlags playing =
    GParamFlags (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING);
const GParamFlags controllable = GParamFlags (playing | GST_PARAM_CONTROLLABLE);

template <typename Number> struct Range {
  Number least, most;
};

/* A rate or ratio, GST_TYPE_FRACTION. */
struct Fraction {
  gint numerator, denominator;
};

/* Description of a property */
struct PropertyText {
  const char *name, *nick, *blurb;
  GParamFlags flags;
};

/* Value of a boxed type. It is shared and must not be changed. */
using Structure = std::shared_ptr<const GstStructure>;
using Caps = std::shared_ptr<GstCaps>;

/* An enumeration of property values, see EnumTypeOf */
class EnumType {
public:
  EnumType (const EnumType &) = delete;
  GType get () const;

protected:
  EnumType (const char *name, std::vector<GEnumValue> values);

private:
  const char *name;
  std::vector<GEnumValue> values;
  mutable gsize type = 0;
};

/* An enumeration of C++ as values of a property. A static object, which registers the type at
 * its first use. */
template <typename Enum> class EnumTypeOf : public EnumType {
public:
  struct Value {
    Enum value;
    const char *description, *nick;
  };

  EnumTypeOf (const char *name, std::initializer_list<Value> listed)
      : EnumType (name, values_of (listed))
  {
  }

private:
  static std::vector<GEnumValue> values_of (std::initializer_list<Value> listed)
  {
    std::vector<GEnumValue> values;
    for (const Value &one : listed)
      values.push_back ({gint (one.value), one.description, one.nick});
    return values;
  }
};

GParamSpec *new_spec (const PropertyText &, Range<gint>, gint initial);
GParamSpec *new_spec (const PropertyText &, Range<guint>, guint initial);
GParamSpec *new_spec (const PropertyText &, Range<guint64>, guint64 initial);
GParamSpec *new_spec (const PropertyText &, Range<gfloat>, gfloat initial);
GParamSpec *new_spec (const PropertyText &, Range<gdouble>, gdouble initial);
GParamSpec *new_spec (const PropertyText &, Range<Fraction>, const Fraction &initial);
GParamSpec *new_spec (const PropertyText &, bool initial);
GParamSpec *new_spec (const PropertyText &, const std::string &initial);
GParamSpec *new_spec (const PropertyText &, const std::vector<double> &initial);
GParamSpec *new_spec (const PropertyText &, const std::vector<guint> &initial);
GParamSpec *new_spec (const PropertyText &, const Structure &initial);
GParamSpec *new_spec (const PropertyText &, const Caps &initial);
GParamSpec *new_enum_spec (const PropertyText &, GType type, gint initial);

/* An empty string is NULL in GObject. read_value() ignores NaN and values that are not an
 * array of numbers, with a GLib warning. */
void read_value (const GValue *from, gint &to);
void read_value (const GValue *from, guint &to);
void read_value (const GValue *from, guint64 &to);
void read_value (const GValue *from, gfloat &to);
void read_value (const GValue *from, gdouble &to);
void read_value (const GValue *from, Fraction &to);
void read_value (const GValue *from, bool &to);
void read_value (const GValue *from, std::string &to);
void read_value (const GValue *from, std::vector<double> &to);
/* Negative numbers are those of 32 bits: gst-launch reads 0xff00ff00 as such. */
void read_value (const GValue *from, std::vector<guint> &to);
void read_value (const GValue *from, Structure &to);
void read_value (const GValue *from, Caps &to);

void write_value (gint from, GValue *to);
void write_value (guint from, GValue *to);
void write_value (guint64 from, GValue *to);
void write_value (gfloat from, GValue *to);
void write_value (gdouble from, GValue *to);
void write_value (const Fraction &from, GValue *to);
void write_value (bool from, GValue *to);
void write_value (const std::string &from, GValue *to);
void write_value (const std::vector<double> &from, GValue *to);
void write_value (const std::vector<guint> &from, GValue *to);
void write_value (const Structure &from, GValue *to);
void write_value (const Caps &from, GValue *to);

template <typename Values, typename Member, typename... Members>
auto &
member_of (Values &values, Member member, Members... members)
{
  if constexpr (sizeof...(members) == 0)
    return values.*member;
  else
    return member_of (values.*member, members...);
}

/* Combines pointers to members, such as &Values::window, &Window::width, to an `access` of
 * a Property. */
template <typename... Members>
auto
nested (Members... members)
{
  return [=](auto &values) -> auto &
  {
    return member_of (values, members...);
  };
}

/* Posts a warning that new settings were refused. Lines of `reason` after the first, such
 * as a build log, become debug text. */
void warn_of_settings (gpointer owner, const GError *reason);

/* Returns those of `outputs`, the caps that new settings would produce, that the peer of
 * `source` accepts. Returns NULL with an error if there are none, so that such settings are
 * refused and do not stop a pipeline that has a caps filter. (transfer full) (nullable) */
GstCaps *accepted_by_peer (GstPad *source, GstCaps *outputs, GError **error);
/* Returns true if there are any. Takes ownership of @outputs. */
bool is_accepted_downstream (
    GstBaseTransform *transform, GstCaps *outputs, GError **error);

/* Returns true if the output caps of settings match the negotiated ones. Takes ownership
 * of @outputs. */
bool match_negotiated_caps (GstCaps *outputs, GstCaps *agreed);

/* A property and the member of Values that holds it. `access` is a pointer to the member,
 * or a function Values & → Member & if it is nested. The defaults are the initial values
 * of Values. `revision` counts how often the property was committed, also with the same
 * value. */
template <typename Values> class Property {
public:
  using Revision = guint Values::*;

  template <typename Access>
  using Member = std::remove_reference_t<std::invoke_result_t<Access, Values &>>;

  /* A property without a range: a boolean, a text or an array of numbers */
  template <typename Access>
  Property (const char *name, const char *nick, const char *blurb, Access access,
      GParamFlags flags, Revision revision = nullptr)
      : Property (access, revision)
  {
    make_spec = [=] (Values &defaults) {
      return new_spec ({name, nick, blurb, flags}, std::invoke (access, defaults));
    };
  }

  /* A number with a range */
  template <typename Access>
  Property (const char *name, const char *nick, const char *blurb, Access access,
      Range<Member<Access>> range, GParamFlags flags, Revision revision = nullptr)
      : Property (access, revision)
  {
    make_spec = [=] (Values &defaults) {
      return new_spec ({name, nick, blurb, flags}, range, std::invoke (access, defaults));
    };
  }

  /* A value of an enumeration that a C function registers */
  template <typename Access>
  Property (const char *name, const char *nick, const char *blurb, Access access,
      GType (*type) (), GParamFlags flags, Revision revision = nullptr)
      : Property (access, revision)
  {
    make_spec = [=] (Values &defaults) {
      return new_enum_spec (
          {name, nick, blurb, flags}, type (), gint (std::invoke (access, defaults)));
    };
  }

  /* A value of an enumeration */
  template <typename Access>
  Property (const char *name, const char *nick, const char *blurb, Access access,
      const EnumType &type, GParamFlags flags, Revision revision = nullptr)
      : Property (access, revision)
  {
    make_spec = [=, &type] (Values &defaults) {
      return new_enum_spec (
          {name, nick, blurb, flags}, type.get (), gint (std::invoke (access, defaults)));
    };
  }

  std::function<GParamSpec *(Values &defaults)> make_spec;
  std::function<void (const GValue *from, Values &to)> set;
  std::function<void (Values &from, GValue *to)> get;
  std::function<void (Values &from, Values &to)> commit;

private:
  template <typename Access> Property (Access access, Revision revision)
  {
    set = [=] (const GValue *from, Values &to) {
      if constexpr (std::is_enum_v<Member<Access>>)
        std::invoke (access, to) = Member<Access> (g_value_get_enum (from));
      else
        read_value (from, std::invoke (access, to));
    };
    get = [=] (Values &from, GValue *to) {
      if constexpr (std::is_enum_v<Member<Access>>)
        g_value_set_enum (to, gint (std::invoke (access, from)));
      else
        write_value (std::invoke (access, from), to);
    };
    commit = [=] (Values &from, Values &to) {
      std::invoke (access, to) = std::invoke (access, from);
      if (revision)
        to.*revision += 1;
    };
  }
};

/* Properties of an element or a pad, ordered by id from 1 */
template <typename Values> using PropertyTable = std::vector<Property<Values>>;

/* Holds the lock of an object. */
class ObjectLock {
public:
  explicit ObjectLock (gpointer locked) : object (GST_OBJECT_CAST (locked))
  {
    GST_OBJECT_LOCK (object);
  }
  ~ObjectLock () { GST_OBJECT_UNLOCK (object); }
  ObjectLock (const ObjectLock &) = delete;
  ObjectLock &operator= (const ObjectLock &) = delete;

private:
  GstObject *object;
};

/* Caps of the pads `sink` and `src` that an element always has */
struct AlwaysPads {
  const char *sink = nullptr, *src = nullptr; /* (nullable): no such pad */
};

/* Sets the metadata of an element class, all of them static, and adds pad templates. */
void describe_element (gpointer klass, const char *name, const char *classification,
    const char *description, const AlwaysPads &pads = {},
    std::initializer_list<GstStaticPadTemplate *> others = {});

/* Values of the properties of an element or a pad. All changes of one g_object_set(), or
 * between g_object_freeze_notify() and g_object_thaw_notify(), are committed together.
 * The streaming thread uses them between two frames, if they are valid. Otherwise the
 * settings in use stay, one WARNING message gives the reason, and the next change is
 * tried again. A getter returns the value that was set, even if it is not in use. If
 * several threads set the same properties at the same time, their values may be committed
 * in any combination. */
template <typename Values> class Settings {
public:
  Settings (gpointer owner, const PropertyTable<Values> &table)
      : owner (GST_OBJECT_CAST (owner)), table (table), uncommitted (table.size ())
  {
  }

  /* --- any thread --- */

  /* Returns the values committed last, valid or not. For checks before the start, and for
   * elements whose properties are always valid together. */
  Values committed () const
  {
    ObjectLock lock (owner);
    return committed_;
  }

  /* Returns the settings that the output caps must match: those in use, or before the
   * first frame those committed. */
  Values current () const
  {
    ObjectLock lock (owner);
    return started ? in_use : committed_;
  }

  /* Changes values that the element itself resets, such as a pressed button. Returns the
   * values committed before. Does not count as new settings. */
  template <typename Change> Values amend (Change change)
  {
    ObjectLock lock (owner);
    Values before = committed_;
    change (changing);
    change (committed_);
    return before;
  }

  /* Changes values as new settings, for actions that apply to the next frame. */
  template <typename Change> void change (Change change)
  {
    amend (change);
    ObjectLock lock (owner);
    revision++;
  }

  /* --- streaming thread, or a state change while that does not run --- */

  bool is_started () const { return started; }

  /* Call between two frames. Returns true if new settings were committed and `accept`
   * takes them. `accept` (const Values &, GError **) may read files and make tables. It
   * must change nothing if it fails. */
  template <typename Accept> bool update (Accept accept)
  {
    return update (accept, [] (const Values &) { return true; });
  }

  /* The same for settings that need preparation. While `ready` (const Values &) returns
   * false, the settings in use stay, and it is called again with the next frame. */
  template <typename Accept, typename Ready> bool update (Accept accept, Ready ready)
  {
    if (!pending && !has_changed ())
      return false;
    if (!pending)
      pending = read_committed ();
    if (!ready (std::as_const (*pending))) {
      needs_preparation = true;
      return false;
    }
    const Values wanted = *pending;
    pending.reset ();
    GError *reason = nullptr;
    if (accept (wanted, &reason)) {
      use (wanted);
      return true;
    }
    if (seen != refused && reason)
      warn (reason);
    else
      g_clear_error (&reason);
    refused = seen;
    return false;
  }

  /* Call with new caps. Takes the settings committed last. If `accept` refuses these,
   * takes those in use again, or fails if there are none or `accept` refuses them too.
   * Caps were negotiated for current(), and any thread may have changed the settings
   * since. Settings that need other caps, for which `fits` (const Values &) returns
   * false, wait for the next frame. At the start, `fits` is not called, because no
   * settings are in use. */
  template <typename Accept, typename Fits>
  bool adopt (Accept accept, Fits fits, GError **error)
  {
    /* Settings in preparation are tried with the next frame. */
    if (needs_preparation && accept (in_use, nullptr)) {
      if (!pending)
        seen = used_revision;
      return true;
    }
    pending.reset ();
    Values wanted = read_committed ();
    GError *reason = nullptr;
    if ((!started || fits (std::as_const (wanted))) && accept (wanted, &reason)) {
      use (wanted);
      return true;
    }
    if (!started) {
      g_propagate_error (error, reason);
      return false;
    }
    g_clear_error (&reason);
    seen = used_revision; /* newer settings are tried again with the next frame */
    return accept (in_use, error);
  }

  /* For settings that do not affect caps */
  template <typename Accept> bool adopt (Accept accept, GError **error)
  {
    return adopt (
        accept, [] (const Values &) { return true; }, error);
  }

  /* Posts a warning once, until settings are accepted or the text differs. Takes
   * ownership of @reason. */
  void warn (GError *reason)
  {
    if (warned_of != reason->message)
      warn_of_settings (owner, reason);
    warned_of = reason->message;
    g_error_free (reason);
  }

  /* Resets everything for the next start. */
  void stop ()
  {
    ObjectLock lock (owner);
    started = needs_preparation = false;
    pending.reset ();
    refused = 0;
    warned_of.clear ();
  }

  /* --- for install_settings() --- */

  void set (guint id, const GValue *value)
  {
    ObjectLock lock (owner);
    table[id - 1].set (value, changing);
    uncommitted[id - 1] = true;
    sets++;
  }

  void get (guint id, GValue *value)
  {
    ObjectLock lock (owner);
    table[id - 1].get (changing, value);
  }

  /* Returns whether there is anything to commit and no g_object_set() is in progress. */
  bool request_commit ()
  {
    ObjectLock lock (owner);
    committing_thread = g_thread_self ();
    sets_at_request = sets;
    return std::find (uncommitted.begin (), uncommitted.end (), true)
           != uncommitted.end ();
  }

  /* Commits the settings for the thread that called request_commit(). Returns false if
   * another thread has called it since. A thread that sets a property meanwhile commits
   * it afterwards. */
  bool commit ()
  {
    ObjectLock lock (owner);
    if (committing_thread != g_thread_self ())
      return false;
    committing_thread = nullptr;
    if (sets_at_request == sets)
      commit_changed ();
    return true;
  }

private:
  void commit_changed ()
  {
    for (gsize n = 0; n < table.size (); n++) {
      if (!uncommitted[n])
        continue;
      table[n].commit (changing, committed_);
      uncommitted[n] = false;
      revision++;
    }
  }

  bool has_changed () const
  {
    ObjectLock lock (owner);
    return !started || revision != seen;
  }

  Values read_committed ()
  {
    ObjectLock lock (owner);
    seen = revision;
    return committed_;
  }

  void use (const Values &values)
  {
    ObjectLock lock (owner);
    in_use = values;
    used_revision = seen;
    started = true;
    warned_of.clear ();
  }

  GstObject *owner;
  const PropertyTable<Values> &table;

  /* With the owner's object lock */
  Values changing;                      /* also values not committed yet */
  std::vector<bool> uncommitted;        /* properties set but not committed */
  guint64 sets = 0;                     /* number of calls of set() */
  GThread *committing_thread = nullptr; /* last thread that called request_commit() */
  guint64 sets_at_request = 0;          /* `sets` at that call */
  Values committed_;                    /* committed last */
  guint64 revision = 1;                 /* counts commits */
  Values in_use;                        /* by the streaming thread */
  bool started = false;

  /* Used by the streaming thread only */
  guint64 seen = 0; /* revision that was tried last */
  guint64 used_revision = 0;
  guint64 refused = 0;            /* revision that was refused last */
  std::optional<Values> pending;  /* in preparation, of revision `seen` */
  bool needs_preparation = false; /* settings had to be prepared */
  std::string warned_of;
};

/* Adopts settings in set_formats() of a filter. `agreed` are the negotiated output caps.
 * `outputs_of` (const Values &) returns the output caps of settings (transfer full). If
 * settings at the start need other caps, these are negotiated with the first frame. */
template <typename Values, typename Outputs, typename Accept>
bool
adopt_for_caps (Settings<Values> &settings, GstBaseTransform *transform, GstCaps *agreed,
    Outputs outputs_of, Accept accept, GError **error)
{
  auto fits = [&] (const Values &values) {
    return match_negotiated_caps (outputs_of (values), agreed);
  };
  if (!settings.adopt (accept, fits, error))
    return false;
  if (!fits (settings.current ()))
    gst_base_transform_reconfigure_src (transform);
  return true;
}

/* A GParamSpec that is not an installed property. GObject holds back notifications during
 * g_object_set(). A notification of this one arrives when no g_object_set() is in
 * progress. */
GParamSpec *commit_spec ();

/* GObject functions of a class whose instances have Settings in `member` */
template <auto member, auto... owned> struct SettingsClass;

template <typename Instance, typename Values, Settings<Values> *Instance::*member,
    auto... owned>
struct SettingsClass<member, owned...> {
  static inline GObjectClass *parent_class;
  static inline void (*finalize_before) (GObject *object);

  static Settings<Values> *of (GObject *object)
  {
    return reinterpret_cast<Instance *> (object)->*member;
  }

  static void set (GObject *object, guint id, const GValue *value, GParamSpec *)
  {
    of (object)->set (id, value);
  }

  static void get (GObject *object, guint id, GValue *value, GParamSpec *)
  {
    of (object)->get (id, value);
  }

  /* GObject calls this once for all changes of one g_object_set(). It may also call it
   * for changes of another thread, which may be in the middle of its next
   * g_object_set(). */
  static void dispatch (GObject *object, guint n, GParamSpec **specs)
  {
    GParamSpec *spec = commit_spec ();
    if (n == 1 && specs[0] == spec && of (object)->commit ())
      return;
    if (of (object)->request_commit ())
      g_object_notify_by_pspec (object, spec);
    n = guint (std::remove (specs, specs + n, spec) - specs);
    parent_class->dispatch_properties_changed (object, n, specs);
  }

  /* Ends the threads of `owned` members before the parent classes release what these use.
   * Deletes the settings last, because the others may use them. */
  static void finalize (GObject *object)
  {
    Settings<Values> *settings = of (object);
    (delete (reinterpret_cast<Instance *> (object)->*owned), ...);
    finalize_before (object);
    delete settings;
  }
};

/* Installs the properties of `table` and their GObject functions in a class. The
 * instance's init function creates `member`. The class deletes it after the objects in
 * the members `owned` (nullable), which it deletes in their order. A class that needs its
 * own finalize() sets it before this call. Enum types of properties become plugin API. */
template <auto member, auto... owned, typename Values>
void
install_settings (gpointer klass, const PropertyTable<Values> &table)
{
  using Class = SettingsClass<member, owned...>;
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  Values defaults;

  Class::parent_class = G_OBJECT_CLASS (g_type_class_peek_parent (klass));
  object_class->set_property = Class::set;
  object_class->get_property = Class::get;
  object_class->dispatch_properties_changed = Class::dispatch;
  Class::finalize_before = object_class->finalize;
  object_class->finalize = Class::finalize;
  for (guint n = 0; n < table.size (); n++) {
    GParamSpec *spec = table[n].make_spec (defaults);
    g_object_class_install_property (object_class, n + 1, spec);
    if (G_IS_PARAM_SPEC_ENUM (spec))
      gst_type_mark_as_plugin_api (spec->value_type, GstPluginAPIFlags (0));
  }
}
} // namespace opencl
