// The JSON header of a safetensors file, as a stream of events: it is never in memory as a whole,
// and duplicate keys, which a parsed tree would hide, are seen.
#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "reel/data/safetensors.h"
#include "reel/data/safetensors_impl.h"

namespace reel::data {
namespace {

using nlohmann::json;
using Limits = SafeTensorsLimits;

/// Hands out the bytes of the header and refuses, before the parser stores them, texts and numbers
/// longer than the limits.
class Bytes {
 public:
  Bytes(Reader& reader, std::int64_t length) : reader_(reader), left_(length) { step(); }

  bool done() const { return done_; }
  char current() const { return current_; }
  std::int64_t position() const { return position_; }
  /// Goes to the next byte. Of several blanks in a row only the first is handed out: the parser
  /// keeps all that it sees between two tokens.
  void step() {
    do {
      if (at_ == have_ && !refill()) {
        done_ = true;
        return;
      }
      was_blank_ = !in_text_ && is_blank(current_);
      current_ = buffer_[at_++];
      ++position_;
      // The parser would take a zero byte for the end and not see what follows.
      check<DataError>(current_ != 0, reader_.path(), ": the header has a zero byte at ", position_ - 1);
      watch();
    } while (was_blank_ && !in_text_ && is_blank(current_));
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

  bool refill() {
    have_ = static_cast<std::size_t>(std::min<std::int64_t>(left_, static_cast<std::int64_t>(buffer_.size())));
    at_ = 0;
    if (have_ == 0) return false;
    reader_.read(buffer_.data(), have_, "the header");
    left_ -= static_cast<std::int64_t>(have_);
    return true;
  }
  void watch() {
    constexpr std::int64_t kNumber = 32;
    ++run_;
    if (in_text_) {
      if (escaped_)
        escaped_ = false;
      else if (current_ == '\\')
        escaped_ = true;
      else if (current_ == '"')
        in_text_ = false, run_ = 0;
    } else if (current_ == '"')
      in_text_ = true, run_ = 0;
    else if (is_blank(current_) || std::string_view(",:{}[]").find(current_) != std::string_view::npos)
      run_ = 0;
    check<DataError>(run_ <= (in_text_ ? Limits::kText : kNumber), reader_.path(), ": the header has a ",
                     in_text_ ? "text" : "number", " that ends beyond byte ", position_, ", but at most ",
                     in_text_ ? Limits::kText : kNumber, " bytes are allowed");
  }

  Reader& reader_;
  std::int64_t left_, position_ = 0, run_ = 0;
  std::array<char, 1 << 16> buffer_;
  std::size_t at_ = 0, have_ = 0;
  char current_ = 0;
  bool done_ = false, was_blank_ = false, in_text_ = false, escaped_ = false;
};

struct ByteIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;
  Bytes* bytes = nullptr;
  char operator*() const { return bytes->current(); }
  ByteIterator& operator++() {
    bytes->step();
    return *this;
  }
  ByteIterator operator++(int) { return ++*this; }
  bool at_end() const { return !bytes || bytes->done(); }
  friend bool operator==(const ByteIterator& a, const ByteIterator& b) { return a.at_end() == b.at_end(); }
};

/// Receives the parser's events and accepts the one form a header may have.
class Handler : public nlohmann::json_sax<json> {
 public:
  Handler(const std::string& path, const Bytes& bytes) : path_(path), bytes_(bytes) {}
  SafeTensorsHeader header;

  bool start_object(std::size_t) override {
    if (at_ == At::top)
      at_ = At::names;
    else if (at_ == At::names && name_ == "__metadata__")
      at_ = At::metadata;
    else if (at_ == At::names) {
      at_ = At::entry;
      field_.clear();
      entry_ = {};
      has_dtype_ = has_shape_ = false;
      offsets_ = -1;
    } else
      unexpected("an object");
    return true;
  }
  bool end_object() override {
    if (at_ == At::entry) finish_entry();
    at_ = at_ == At::names ? At::top : At::names;
    return true;
  }
  bool key(std::string& text) override {
    if (at_ == At::names)
      new_name(text);
    else if (at_ == At::metadata) {
      const bool fresh = header.metadata.emplace(text, "").second;
      check<DataError>(fresh, path_, ": the metadata has the key '", shown(text), "' twice");
      check<DataError>(std::ssize(header.metadata) <= Limits::kMetadata, path_, ": has more than ", Limits::kMetadata,
                       " metadata entries");
      name_ = text;
    } else
      new_field(text);
    return true;
  }
  bool string(std::string& text) override {
    if (at_ == At::metadata)
      header.metadata[name_] = std::string(text.data(), text.size());
    else if (at_ == At::entry && field_ == "dtype") {
      const std::optional<DType> dtype = safetensors_dtype(text);
      check<DataError>(dtype.has_value(), path_, ": ", entry_name(), " has dtype ", shown(text),
                       ", but supported are BOOL, U8, I32, I64, F16, BF16, F32 and F64");
      entry_.dtype = *dtype;
      has_dtype_ = true;
    } else
      unexpected("a text");
    return true;
  }
  bool start_array(std::size_t) override {
    if (at_ == At::entry && field_ == "shape")
      at_ = At::shape;
    else if (at_ == At::entry && field_ == "data_offsets")
      at_ = At::offsets, offsets_ = 0;
    else
      unexpected("an array");
    return true;
  }
  bool end_array() override {
    if (at_ == At::shape)
      has_shape_ = true;
    else
      check<DataError>(offsets_ == 2, path_, ": ", entry_name(), " has ", offsets_, " data offsets, but 2 are needed");
    at_ = At::entry;
    return true;
  }
  bool number_unsigned(std::uint64_t v) override {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
    if (at_ != At::shape && at_ != At::offsets) unexpected("a number");
    check<DataError>(v <= kMost, path_, ": ", entry_name(), " has the number ", v, ", more than any file holds");
    const auto n = static_cast<std::int64_t>(v);
    if (at_ == At::shape) {
      check<DataError>(entry_.shape.rank() < kMaxRank, path_, ": ", entry_name(), " has more than ", kMaxRank,
                       " dimensions");
      entry_.shape.push_back(n);
    } else {
      check<DataError>(offsets_ < 2, path_, ": ", entry_name(), " has more than 2 data offsets");
      (offsets_++ == 0 ? entry_.begin : entry_.end) = n;
    }
    return true;
  }
  bool number_integer(std::int64_t v) override { no_number(v); }
  bool number_float(double v, const std::string&) override { no_number(v); }
  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a truth value"); }
  bool binary(json::binary_t&) override { unexpected("binary data"); }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    fail<DataError>(path_, ": the header is not valid JSON at byte ", bytes_.position());
  }

 private:
  enum class At { top, names, metadata, entry, shape, offsets };

  [[noreturn]] void unexpected(const char* what) const {
    fail<DataError>(path_, ": the header has ", what, " where none is allowed, at byte ", bytes_.position());
  }
  template <class T>
  [[noreturn]] void no_number(T v) const {
    fail<DataError>(path_, ": the header has the number ", v, " at byte ", bytes_.position(),
                    ", but only whole numbers from 0 are allowed");
  }
  /// Names come from the file: a message shows no more than their beginning.
  static std::string shown(const std::string& text) { return text.size() <= 80 ? text : text.substr(0, 80) + "..."; }
  std::string entry_name() const { return "tensor '" + shown(name_) + "'"; }

  void new_name(const std::string& text) {
    check<DataError>(std::ssize(text) <= Limits::kName, path_, ": a tensor's name has ", text.size(),
                     " bytes, but at most ", Limits::kName, " are supported");
    name_ = text;
    const bool metadata = text == "__metadata__";
    const bool fresh = metadata ? !std::exchange(has_metadata_, true) : header.entries.try_emplace(text).second;
    check<DataError>(fresh, path_, ": the header has the name '", shown(text), "' twice");
    check<DataError>(std::ssize(header.entries) <= Limits::kTensors, path_, ": has more than ", Limits::kTensors,
                     " tensors");
  }
  void new_field(const std::string& text) {
    const bool known = text == "dtype" || text == "shape" || text == "data_offsets";
    check<DataError>(known, path_, ": ", entry_name(), " has the unknown field '", shown(text), "'");
    const bool twice = text == "dtype" ? has_dtype_ : text == "shape" ? has_shape_ : offsets_ >= 0;
    check<DataError>(!twice, path_, ": ", entry_name(), " has the field ", text, " twice");
    field_ = text;
  }
  void finish_entry() {
    const char* missing = !has_dtype_ ? "dtype" : !has_shape_ ? "shape" : offsets_ < 0 ? "data_offsets" : nullptr;
    check<DataError>(!missing, path_, ": ", entry_name(), " has no field ", missing ? missing : "");
    const SafeTensorsEntry& e = entry_;
    // Sizes of 0 count as 1, so that strides, too, cannot overflow.
    auto strides = static_cast<std::int64_t>(size_of(e.dtype)), bytes = strides;
    bool overflow = false;
    for (const std::int64_t d : e.shape) {
      overflow = overflow || __builtin_mul_overflow(strides, std::max<std::int64_t>(d, 1), &strides);
      bytes = overflow ? 0 : bytes * d;
    }
    check<DataError>(!overflow, path_, ": ", entry_name(), " has shape ", e.shape, ", more bytes than any file holds");
    check<DataError>(e.begin <= e.end && e.end - e.begin == bytes, path_, ": ", entry_name(), " of shape ", e.shape,
                     " and dtype ", safetensors_name(e.dtype), " needs ", bytes, " bytes, but its data offsets are ",
                     e.begin, " and ", e.end);
    header.entries[name_] = entry_;
  }

  const std::string& path_;
  const Bytes& bytes_;
  At at_ = At::top;
  std::string name_, field_;
  SafeTensorsEntry entry_;
  bool has_metadata_ = false, has_dtype_ = false, has_shape_ = false;
  int offsets_ = -1;  // how many are known; -1 before the field
};

}  // namespace

SafeTensorsHeader parse_safetensors_header(Reader& reader, std::int64_t length) {
  Bytes bytes(reader, length);
  check<DataError>(!bytes.done() && bytes.current() == '{', reader.path(),
                   ": is no safetensors file: its header does not begin with {");
  Handler handler(reader.path(), bytes);
  json::sax_parse(ByteIterator{&bytes}, ByteIterator{}, &handler);
  return std::move(handler.header);
}

}  // namespace reel::data
