#include <string>

#include "absl/strings/str_cat.h"
#include "base/daemon/command_parser.h"
#include "base/os/files.h"
#include "base/os/user_directory.h"
#include "cli/aggregators.h"
#include "cli/arguments.h"

namespace fleetperf::cli {
namespace {

std::string DefaultPkiDirectory() {
  const std::string directory = UserConfigDirectory();
  return directory.empty() ? "" : ResolvePath(directory, "pki");
}

void AddPkiDirectory(Command& command, PkiFlags& flags) {
  command
      .AddText("--directory", &flags.directory,
               absl::StrCat("The authority's directory (", kUserConfigDirectory,
                            "/pki)"))
      .SetType("DIR");
}

void AddPkiOptions(Command& command, PkiFlags& flags) {
  AddPkiDirectory(command, flags);
  command.AddText("--valid", &flags.valid, "How long the certificate is valid")
      .SetType("DURATION");
  command.AddFlag("--force", &flags.force, "Replace existing files");
}

void AddPkiRevoke(Command& pki, Arguments& arguments) {
  PkiFlags& flags = arguments.pki;
  Command revoke = AddCommand(
      pki, arguments, "revoke",
      "Revoke all certificates of a name. Takes effect when the list "
      "in the authority's directory is copied to the aggregators",
      "  fleetperf pki revoke agent web-1\n"
      "  fleetperf pki revoke --file reader-alice.pem\n",
      [&flags] { return PkiRevoke(flags); });
  revoke.AddText("ROLE", &flags.role, "agent, reader, operator, or aggregator");
  revoke.AddText("NAME", &flags.revoked, "A name in the certificates");
  revoke
      .AddText("--file", &flags.file,
               "Revoke the certificate in this file instead")
      .SetType("FILE");
  AddPkiDirectory(revoke, flags);
}

void AddPkiEnrolment(Command& pki, Arguments& arguments) {
  PkiFlags& flags = arguments.pki;
  Command token =
      AddCommand(pki, arguments, "token",
                 "Make a token with which an agent gets its certificate, once",
                 "  fleetperf pki token web-1\n"
                 "  fleetperf pki token win-1 db1 db2 --valid 1d\n"
                 "On the agent's machine, while fleetperf pki serve runs:\n"
                 "  fleetperf-agent enroll ADDRESS TOKEN --config agent.yaml\n",
                 [&flags] { return PkiToken(flags); });
  token.AddList("NAME", &flags.names, "The agent's machine, then others")
      .Require();
  AddPkiDirectory(token, flags);
  token.AddText("--valid", &flags.valid, "How long the token is valid (1h)")
      .SetType("DURATION");
  Command serve = AddCommand(
      pki, arguments, "serve",
      "Exchange tokens for certificates. Needs the authority's key, so run it "
      "where that is, and only while machines enroll",
      "  fleetperf pki serve --listen 0.0.0.0:7444\n",
      [&flags] { return PkiServe(flags); });
  flags.listen = "0.0.0.0:7444";
  serve.AddText("--listen", &flags.listen, "host:port (0.0.0.0:7444)")
      .SetType("ADDRESS");
  AddPkiDirectory(serve, flags);
}

void AddBackupCommand(Command& app, Arguments& arguments) {
  Arguments* a = &arguments;
  Command backup = AddCommand(
      app, arguments, "backup",
      "Back up the store of the running aggregator (operators only)",
      "  fleetperf backup /backup/monday --certificate "
      "operator-alice.pem --key "
      "operator-alice.key\n"
      "To restore a backup: fleetperf-aggregator restore --help\n",
      ConnectedToOne(arguments, "backup", [a](const Connection& connection) {
        return Backup(connection, a->directory);
      }));
  backup
      .AddText("DIRECTORY", &arguments.directory,
               "An absolute path on the aggregator's machine that does "
               "not exist yet")
      .Require();
}

void AddStatusCommands(Command& app, Arguments& arguments) {
  Arguments* a = &arguments;
  Command status = AddCommand(
      app, arguments, "status", "Show the status of the aggregator itself",
      "  fleetperf status\n"
      "  fleetperf status --verbose\n"
      "  fleetperf status --format json\n",
      Connected(arguments, [a](const Aggregators& aggregators) {
        return ShowStatus(aggregators, a->format, a->verbose);
      }));
  status.AddFlag("--verbose", &arguments.verbose,
                 "Show the aggregator's own counters, too, over the last 5 "
                 "minutes");
  AddFormat(status, arguments);
  AddCommand(app, arguments, "confirm-clock",
             "Confirm that the aggregator's clock is right (operators only). "
             "Resumes the removal of old samples, which stops when the clock "
             "jumps ahead. fleetperf status shows the time",
             "  fleetperf confirm-clock --certificate operator-alice.pem --key "
             "operator-alice.key\n",
             ConnectedToOne(arguments, "confirm-clock",
                            [](const Connection& connection) {
                              return ConfirmClock(connection);
                            }));
}

void AddWebCommands(Command& app, Arguments& arguments) {
  const Arguments* a = &arguments;
  Command web =
      app.AddCommand("web", "Use the aggregator's page with a browser");
  web.SetFooter(
      "Examples:\n"
      "  fleetperf web login\n"
      "Run a command with --help to see its flags and examples.");
  AddCommand(web, arguments, "login",
             "Print a link that logs a browser in with your rights. It works "
             "once, for five minutes; the session lasts 12 hours at most. If "
             "the aggregator's configuration names others, print a link for "
             "the page of each",
             "  fleetperf web login\n",
             Connected(arguments, [a](const Aggregators& aggregators) {
               return MakeLoginLinks(aggregators, a->connection);
             }));
}

void AddPkiCommands(Command& app, Arguments& arguments) {
  PkiFlags& flags = arguments.pki;
  flags.directory = DefaultPkiDirectory();
  flags.name = "fleetperf authority";
  Command pki = app.AddCommand("pki", "Create the certificates for mutual TLS");
  pki.SetFooter(
      "Examples:\n"
      "  fleetperf pki init\n"
      "  fleetperf pki issue aggregator aggregator.example localhost "
      "127.0.0.1\n"
      "  fleetperf pki issue agent web-1\n"
      "  fleetperf pki revoke agent web-1\n"
      "  fleetperf pki token web-1\n"
      "  fleetperf pki serve --listen 0.0.0.0:7444\n"
      "Run a command with --help to see its flags and examples.");
  Command init =
      AddCommand(pki, arguments, "init", "Create a certificate authority",
                 "  fleetperf pki init --directory pki\n",
                 [&flags] { return PkiInit(flags); });
  init.AddText("--name", &flags.name, "The authority's name").SetType("NAME");
  AddPkiOptions(init, flags);

  Command issue = AddCommand(
      pki, arguments, "issue", "Issue a certificate",
      "  fleetperf pki issue aggregator aggregator.example localhost "
      "127.0.0.1\n"
      "  fleetperf pki issue agent web-1\n"
      "  fleetperf pki issue reader alice --valid 90d\n",
      [&flags] { return PkiIssue(flags); });
  issue.AddText("ROLE", &flags.role, "agent, aggregator, reader, or operator")
      .Require();
  issue
      .AddList("NAME", &flags.names,
               "An agent's machine, an aggregator's host names and addresses, "
               "or a user")
      .Require();
  issue
      .AddText("--output", &flags.output,
               "Write FILE.pem and FILE.key (ROLE-NAME in the directory)")
      .SetType("FILE");
  AddPkiOptions(issue, flags);
  AddPkiRevoke(pki, arguments);
  AddPkiEnrolment(pki, arguments);
}

}  // namespace

void AddAdministrationCommands(Command& app, Arguments& arguments) {
  AddBackupCommand(app, arguments);
  AddStatusCommands(app, arguments);
  AddWebCommands(app, arguments);
  AddPkiCommands(app, arguments);
}

}  // namespace fleetperf::cli
