// A check's result as a page for people.
#include <fmt/format.h>

#include <map>

#include "cli/check/result.h"
#include "cli/check/root.h"
#include "cli/common/text_table.h"

namespace nnd::cli {

namespace {

using nlohmann::json;

std::string name_of(const json& hca) {
  return hca["port"].is_null()
             ? hca["name"].get<std::string>()
             : fmt::format("{}:{}", hca["name"].get<std::string>(), hca["port"].get<int>());
}

std::string speed_of(const json& hca) {
  const long mbps = hca.value("speed_mbps", 0L);
  return mbps == 0 ? "-" : fmt::format("{:g}", static_cast<double>(mbps) / 1000);
}

std::string why(const json& hca) {
  std::vector<std::string> parts;
  for (const json& reason : hca["reasons"]) parts.push_back(reason.get<std::string>());
  if (hca.contains("rules"))
    for (const json& rule : hca["rules"]) parts.push_back(rule.get<std::string>());
  return parts.empty() ? "-" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string text_of(const json& value, const char* none = "-") {
  return value.is_string() ? value.get<std::string>() : none;
}

class Page {
 public:
  Page(const json& result, const Screen& screen) : result_(result), screen_(screen) {}

  std::string render() {
    head();
    hcas();
    grouped("GID that NCCL will use", [](const json& hca) { return pick_text(hca); });
    grouped("GPUDirect RDMA", [](const json& hca) {
      return hca["gdr"]["way"].get<std::string>() + ": " + hca["gdr"]["why"].get<std::string>();
    });
    grouped("Nearest GPUs", [this](const json& hca) {
      std::vector<std::string> near;
      for (const json& gpu : hca["gpus"]["nearest"]) near.push_back(gpu_text(gpu));
      return near.empty() ? std::string()
                          : fmt::format("{}: {}", hca["gpus"]["distance"].get<std::string>(),
                                        fmt::join(near, ", "));
    });
    carried();
    system();
    verdicts();
    lint();
    inside();
    proposal();
    return std::move(out_);
  }

 private:
  std::string title(const std::string& text) const {
    return "\n" + screen_.paint(text, Colour::kBold) + "\n";
  }
  // A line of the page, broken where it is too long.
  void line(const std::string& text, std::size_t indent) {
    out_ += screen_.wrap(text, indent) + "\n";
  }

  void head() {
    out_ += fmt::format("{}: mode {}, {}{}\n", result_["host"].get<std::string>(),
                        result_["policy"]["mode"].get<std::string>(),
                        result_["policy"]["source"].get<std::string>(),
                        result_["nccl"].is_null()
                            ? ", rules of the newest NCCL"
                            : ", rules of NCCL " + result_["nccl"].get<std::string>());
    const json& verbs = result_["verbs"];
    if (verbs["problem"].is_string())
      out_ += "libibverbs: " + verbs["problem"].get<std::string>() + "\n";
    if (verbs["list_error"].is_string())
      out_ += "ibv_get_device_list: " + verbs["list_error"].get<std::string>() + "\n";
    if (result_["system"]["network_problem"].is_string())
      out_ += "network: " + result_["system"]["network_problem"].get<std::string>() + "\n";
  }

  // "GPU 3 0000:4c:00.0", with its UUID where all is to be said.
  std::string gpu_text(const json& address) const {
    std::string out = address.get<std::string>();
    for (const json& gpu : result_["system"]["gpu_list"]) {
      if (gpu["pci"] != address || gpu["index"].is_null()) continue;
      out = fmt::format("GPU {} {}", gpu["index"].get<int>(), out);
      if (screen_.verbose() && gpu["uuid"].is_string())
        out += " (" + gpu["uuid"].get<std::string>() + ")";
    }
    return out;
  }

  static Colour colour_of(const json& hca) {
    if (hca["verdict"] == "refused") return Colour::kRed;
    return hca["verdict"] == "skipped" || !hca.value("rules", json::array()).empty()
               ? Colour::kYellow
               : Colour::kPlain;
  }

  void hcas() {
    if (result_["hcas"].empty()) return;
    TextTable table({"HCA", "port", "netdev", "link", "Gbit/s", "MTU", "GID", "subnet", "state",
                     "verdict", "why"});
    for (const json& hca : result_["hcas"]) {
      const json pick = hca.value("pick", json::object());
      table.add({hca["name"].get<std::string>(),
                 hca["port"].is_null() ? "-" : std::to_string(hca["port"].get<int>()),
                 text_of(hca["netdev"]), hca.value("link_layer", "-"), speed_of(hca),
                 hca.contains("mtu") ? std::to_string(hca["mtu"].get<unsigned>()) : "-",
                 text_of(pick.value("gid", json())), text_of(pick.value("subnet", json())),
                 hca.value("state", "-"), hca["verdict"].get<std::string>(), why(hca)},
                colour_of(hca));
    }
    out_ += title("HCAs") + table.render(screen_);
  }

  static std::string pick_text(const json& hca) {
    if (hca["verdict"] != "taken") return {};
    const json& pick = hca["pick"];
    return pick["index"].is_null() ? pick["why"].get<std::string>()
                                   : fmt::format("index {}: {}", pick["index"].get<int>(),
                                                 pick["why"].get<std::string>());
  }

  // What is true of many HCAs is said once; an empty text is not said.
  template <typename Text>
  void grouped(const std::string& heading, Text text) {
    std::vector<std::string> order;
    std::map<std::string, std::vector<std::string>> names;
    for (const json& hca : result_["hcas"]) {
      const std::string said = text(hca);
      if (said.empty()) continue;
      if (!names.contains(said)) order.push_back(said);
      names[said].push_back(name_of(hca));
    }
    if (order.empty()) return;
    out_ += title(heading);
    for (const std::string& said : order) {
      const auto& own = names[said];
      const bool all = own.size() == result_["hcas"].size() && own.size() > 2 && !screen_.verbose();
      line(fmt::format("  {}: {}", all ? "all" : fmt::format("{}", fmt::join(own, ", ")), said), 4);
    }
  }

  static std::string limit_text(const json& value, double unit, const char* name) {
    return value.is_null() ? std::string("unlimited")
                           : fmt::format("{:g}{}", value.get<double>() / unit, name);
  }

  void carried() {
    if (result_["carried"].is_null()) return;
    out_ += title("Bandwidth");
    for (const json& text : result_["carried"]["text"]) line("  " + text.get<std::string>(), 4);
  }

  void system() {
    const json& limits = result_["limits"];
    const json& oob = result_["system"]["oob"];
    out_ += title("This process");
    std::string text = fmt::format(
        "  locked memory: {}{}, open files: {}", limit_text(limits["memlock"], 1024 * 1024, " MiB"),
        limits["cap_ipc_lock"].get<bool>() && !limits["memlock"].is_null()
            ? " (no limit for this process: it has CAP_IPC_LOCK)"
            : "",
        limit_text(limits["nofile"], 1, ""));
    if (limits["dev_infiniband"].is_boolean())
      text += limits["dev_infiniband"].get<bool>() ? ", /dev/infiniband is there"
                                                   : ", /dev/infiniband is missing";
    line(text, 4);
    line(fmt::format("  ranks will meet by {}{} ({})", text_of(oob["netdev"], "nothing"),
                     oob["address"].is_string() ? " " + oob["address"].get<std::string>() : "",
                     oob["why"].get<std::string>()),
         4);
    if (!result_["root"].is_null()) line("  " + root_text(result_["root"]), 4);
  }

  void told(const std::string& word, Colour colour, const std::string& sentence,
            const std::string& fix) {
    line(fmt::format("  {} {}", screen_.paint(fmt::format("{:<7}", word), colour), sentence), 10);
    line(std::string(10, ' ') + fix, 10);
  }

  void verdicts() {
    if (result_["verdicts"].empty()) return;
    out_ += title("Broken rules");
    for (const json& one : result_["verdicts"]) {
      const std::string decision = one["decision"];
      told(decision,
           decision == "refuse" ? Colour::kRed
           : decision == "warn" ? Colour::kYellow
                                : Colour::kPlain,
           fmt::format("{} [{}, {}]", one["fact"].get<std::string>(),
                       one["rule"].get<std::string>(), one["cause"].get<std::string>()),
           one["remedy"].get<std::string>());
    }
  }

  void lint() {
    if (result_["lint"].empty()) return;
    out_ += title("Environment");
    for (const json& one : result_["lint"])
      told("warn", Colour::kYellow,
           fmt::format("{}={}: {} [{}]", one["variable"].get<std::string>(),
                       one["value"].get<std::string>(), one["msg"].get<std::string>(),
                       one["cause"].get<std::string>()),
           one["fix"].get<std::string>());
  }

  void inside() {
    const json& inside = result_["inside"];
    if (inside.is_null() || (inside["text"].empty() && inside["troubles"].empty())) return;
    out_ += title("Inside the node");
    for (const json& text : inside["text"]) line("  " + text.get<std::string>(), 4);
    for (const json& one : inside["troubles"])
      told("warn", Colour::kYellow,
           fmt::format("{} [{}]", one["msg"].get<std::string>(), one["cause"].get<std::string>()),
           one["fix"].get<std::string>());
  }

  void proposal() {
    out_ += title("Proposed environment");
    for (const json& line : result_["proposal"]) out_ += "  " + line.get<std::string>() + "\n";
  }

  const json& result_;
  const Screen& screen_;
  std::string out_;
};

}  // namespace

std::string check_page(const json& result, const Screen& screen) {
  return Page(result, screen).render();
}

std::vector<std::string> check_lines(const json& result) {
  std::vector<std::string> out;
  for (const json& hca : result["hcas"])
    out.push_back(fmt::format("{} {} {} {} Gbit/s {} {}", result["host"].get<std::string>(),
                              name_of(hca), hca["verdict"].get<std::string>(), speed_of(hca),
                              text_of(hca.value("pick", json::object()).value("gid", json())),
                              why(hca)));
  return out;
}

}  // namespace nnd::cli
