# Functions of the scripts here: values of options, and a pipeline that writes a file. The
# scripts source it, after setup.sh.
#
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # used by those that source it; of setup.sh
#
# SPDX-License-Identifier: LGPL-2.1-or-later

fail () {
  echo "$(basename "$0"): $*" >&2
  exit 2
}

pixels='[1-9][0-9]{0,8}x[1-9][0-9]{0,8}'

# check NAME VALUE PATTERN WHAT: that all of VALUE is as PATTERN, which WHAT says in words
check () {
  [[ $2 =~ ^($3)$ ]] || fail "$1 $2: expected $4"
}

# split VALUE SEPARATOR: the two parts of VALUE, in `first` and `second`
split () {
  first=${1%%"$2"*}
  second=${1#*"$2"}
}

check_file () {
  [ -e "$2" ] || fail "$1 $2: no such file"
  [ -f "$2" ] || fail "$1 $2: not a regular file"
}

# Process and file to clean up when the script ends for any reason
running='' unfinished=''
clean_up () {
  [ -z "$running" ] || { kill "$running" && wait "$running"; } 2>/dev/null || true
  [ -z "$unfinished" ] || rm -f -- "$unfinished"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

prepare () {
  local folder
  { install_missing && build runtime; } >&2 || exit 1
  for folder in "$build"/gst/*/; do
    # The library is no plugin.
    [ -e "$folder/libgstopencl-1.0.so" ] || GST_PLUGIN_PATH+=:$folder
  done
  export GST_PLUGIN_PATH
}

# prepare_tool TOOL MODULE WORD…: installs and builds. Its path is in `tool`, and the words that are
# for it in `words`. MODULE prints its --help and --help-all, without a build.
prepare_tool () {
  local name=$1 module=$2 word
  shift 2
  words=()
  for word in "$@"; do
    if [ "$word" = --help ] || [ "$word" = --help-all ]; then
      echo "$(basename "$0") installs what is missing (Debian 12 and 13), builds, and runs $name."
      explain_switches
      echo
      # Python would also take modules from the folder that the user is in.
      cd "$root/python" && exec /usr/bin/python3 -m "$module" "$word"
    fi
    take_switch "$word" || words+=("$word")
  done
  prepare
  tool=$build/tools/$name
  [ -x "$tool" ] || tool=$name # installed
}

# relay PID: passes on what PID says. After an error that may be little more: where the
# error comes before the main loop of gst-launch-1.0 runs, that waits for ever.
relay () {
  local line status timeout=()
  while true; do
    status=0
    IFS= read -r "${timeout[@]}" line || status=$?
    [ $status -eq 0 ] || break
    printf '%s\n' "$line" >&2
    [[ $line != ERROR:* ]] || timeout=(-t 1)
  done
  # Neither a line nor the end of them came in time.
  [ $status -le 128 ] || kill -KILL "$1"
}

# escape WORD…: for gst-launch-1.0, in `words`. Values in which it would see the end of a text
# become octal numbers in quotation marks, which two of its parsers read. Refuses control
# characters: it takes what follows a tab for further elements.
escape () {
  local word value
  words=()
  for word in "$@"; do
    [[ $word != *[[:cntrl:]]* ]] \
      || fail "$(printf %q "$word"): gst-launch-1.0 takes no control characters: rename the file"
    if [[ $word == *[\"\'\\]* || $word == *=NULL ]]; then
      value=$(printf %s "${word#*=}" | od -An -v -to1 | tr -d '\n')
      word=${word%%=*}=\\\"${value// /\\\\}\\\"
    fi
    words+=("$word")
  done
}

# play WORD…: runs gst-launch-1.0, with its messages in the language that relay looks for. Of its
# output, --quiet would also leave out warnings.
play () {
  local messages status=0 words
  escape "$@"
  exec {messages}< <(LANGUAGE=en exec gst-launch-1.0 "${words[@]}" 2>&1 \
    > >(grep --line-buffered '^WARNING:'))
  running=$!
  relay "$running" <&"$messages"
  exec {messages}<&-
  wait "$running" || status=1
  running=
  return $status
}

# show_pipeline WORD…: with --verbose, as a command that runs where the elements are found
show_pipeline () {
  local words
  escape "$@"
  [ -z "$verbose" ] || { printf '%q ' gst-launch-1.0 "${words[@]}" && echo; } >&2
}

# launch WORD…: runs a pipeline from the current directory
launch () {
  show_pipeline "$@"
  play "$@"
}

# launch_into FILE NAME WORD…: the same, its output to FILE, or a failure that says NAME.
# Under another name until it is whole: a failure leaves the last FILE as it was. Links are
# followed, and a FILE that exists keeps its mode and, where possible, its owner.
launch_into () {
  local output=$1 name=$2
  shift 2
  show_pipeline "$@" ! filesink "location=$output"
  [ ! -e "$output" ] || [ -f "$output" ] || fail "--output $output: not a regular file"
  output=$(readlink -f -- "$output") || exit 1
  unfinished=$(mktemp -- "$output.XXXXXX") || exit 1
  if [ -e "$output" ]; then
    chown --reference="$output" -- "$unfinished" 2>/dev/null || true
    chmod --reference="$output" -- "$unfinished"
  else
    chmod "$(printf %o $((0666 & ~$(umask))))" "$unfinished"
  fi
  play "$@" ! filesink "location=$unfinished"
  [ -s "$unfinished" ] || fail "$name: not one whole frame"
  mv -- "$unfinished" "$output"
  unfinished=
  realpath -- "$output"
}
