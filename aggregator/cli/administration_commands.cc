#include <CLI/CLI.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "aggregator/cli/arguments.h"
#include "aggregator/cli/web.h"
#include "base/files.h"
#include "base/user_directory.h"

namespace fleetperf::cli {
namespace {

std::string DefaultPkiDirectory() {
  const std::string directory = UserConfigDirectory();
  return directory.empty() ? "" : ResolvePath(directory, "pki");
}

void AddPkiDirectory(CLI::App* command, PkiFlags& flags) {
  command
      ->add_option("--directory", flags.directory,
                   absl::StrCat("The authority's directory (",
                                kUserConfigDirectory, "/pki)"))
      ->type_name("DIR");
}

void AddPkiOptions(CLI::App* command, PkiFlags& flags) {
  AddPkiDirectory(command, flags);
  command
      ->add_option("--valid", flags.valid, "How long the certificate is valid")
      ->type_name("DURATION");
  command->add_flag("--force", flags.force, "Replace existing files");
}

void AddPkiRevoke(CLI::App& pki, Arguments& arguments) {
  PkiFlags& flags = arguments.pki;
  CLI::App* revoke = AddCommand(
      pki, arguments, "revoke",
      "Revoke all certificates of a name. Takes effect when the list "
      "in the authority's directory is copied to the aggregators",
      "  fleetperf pki revoke agent web-1\n"
      "  fleetperf pki revoke --file reader-alice.pem\n",
      [&flags] { return PkiRevoke(flags); });
  revoke->add_option("ROLE", flags.role,
                     "agent, reader, operator, or aggregator");
  revoke->add_option("NAME", flags.names, "A name in the certificates")
      ->expected(1);
  revoke
      ->add_option("--file", flags.file,
                   "Revoke the certificate in this file instead")
      ->type_name("FILE");
  AddPkiDirectory(revoke, flags);
}

void AddPkiEnrolment(CLI::App& pki, Arguments& arguments) {
  PkiFlags& flags = arguments.pki;
  CLI::App* token =
      AddCommand(pki, arguments, "token",
                 "Make a token with which an agent gets its certificate, once",
                 "  fleetperf pki token web-1\n"
                 "  fleetperf pki token win-1 db1 db2 --valid 1d\n"
                 "On the agent's machine, while fleetperf pki serve runs:\n"
                 "  fleetperf-agent enroll ADDRESS TOKEN --config agent.yaml\n",
                 [&flags] { return PkiToken(flags); });
  token->add_option("NAME", flags.names, "The agent's machine, then others")
      ->required();
  AddPkiDirectory(token, flags);
  token->add_option("--valid", flags.valid, "How long the token is valid (1h)")
      ->type_name("DURATION");
  CLI::App* serve = AddCommand(
      pki, arguments, "serve",
      "Exchange tokens for certificates. Needs the authority's key, so run it "
      "where that is, and only while machines enroll",
      "  fleetperf pki serve --listen 0.0.0.0:7444\n",
      [&flags] { return PkiServe(flags); });
  flags.listen = "0.0.0.0:7444";
  serve->add_option("--listen", flags.listen, "host:port (0.0.0.0:7444)")
      ->type_name("ADDRESS");
  AddPkiDirectory(serve, flags);
}

void AddBackupCommand(CLI::App& app, Arguments& arguments) {
  Arguments* a = &arguments;
  CLI::App* backup =
      AddCommand(app, arguments, "backup",
                 "Back up the store of the running aggregator (operators only)",
                 "  fleetperf backup /backup/monday --certificate "
                 "operator-alice.pem --key "
                 "operator-alice.key\n"
                 "To restore a backup: fleetperf-aggregator restore --help\n",
                 Connected(arguments, [a](const Connection& connection) {
                   return Backup(connection, a->directory);
                 }));
  backup
      ->add_option("DIRECTORY", arguments.directory,
                   "An absolute path on the aggregator's machine that does "
                   "not exist yet")
      ->required();
}

void AddStatusCommands(CLI::App& app, Arguments& arguments) {
  Arguments* a = &arguments;
  CLI::App* status = AddCommand(
      app, arguments, "status", "Show the status of the aggregator itself",
      "  fleetperf status\n"
      "  fleetperf status --verbose\n"
      "  fleetperf status --format json\n",
      Connected(arguments, [a](const Connection& connection) {
        return ShowStatus(connection, a->format, a->verbose);
      }));
  status->add_flag("--verbose", arguments.verbose,
                   "Show the aggregator's own counters, too, over the last 5 "
                   "minutes");
  AddFormat(status, arguments);
  AddCommand(app, arguments, "confirm-clock",
             "Confirm that the aggregator's clock is right (operators only). "
             "Resumes the removal of old samples, which stops when the clock "
             "jumps ahead. fleetperf status shows the time",
             "  fleetperf confirm-clock --certificate operator-alice.pem --key "
             "operator-alice.key\n",
             Connected(arguments, [](const Connection& connection) {
               return ConfirmClock(connection);
             }));
}

void AddWebCommands(CLI::App& app, Arguments& arguments) {
  CLI::App* web =
      app.add_subcommand("web", "Use the aggregator's page with a browser");
  web->require_subcommand(1);
  AddCommand(*web, arguments, "login",
             "Print a link that logs a browser in with your rights. It works "
             "once, for five minutes; the session lasts 12 hours at most",
             "  fleetperf web login\n",
             Connected(arguments, [](const Connection& connection) {
               return MakeLoginLink(connection);
             }));
}

void AddPkiCommands(CLI::App& app, Arguments& arguments) {
  PkiFlags& flags = arguments.pki;
  flags.directory = DefaultPkiDirectory();
  flags.name = "fleetperf authority";
  CLI::App* pki =
      app.add_subcommand("pki", "Create the certificates for mutual TLS");
  pki->require_subcommand(1);
  pki->footer(
      "Examples:\n"
      "  fleetperf pki init\n"
      "  fleetperf pki issue aggregator aggregator.example localhost "
      "127.0.0.1\n"
      "  fleetperf pki issue agent web-1\n"
      "Run a command with --help to see its flags and examples.");
  CLI::App* init =
      AddCommand(*pki, arguments, "init", "Create a certificate authority",
                 "  fleetperf pki init --directory pki\n",
                 [&flags] { return PkiInit(flags); });
  init->add_option("--name", flags.name, "The authority's name")
      ->type_name("NAME");
  AddPkiOptions(init, flags);

  CLI::App* issue = AddCommand(
      *pki, arguments, "issue", "Issue a certificate",
      "  fleetperf pki issue aggregator aggregator.example localhost "
      "127.0.0.1\n"
      "  fleetperf pki issue agent web-1\n"
      "  fleetperf pki issue reader alice --valid 90d\n",
      [&flags] { return PkiIssue(flags); });
  issue
      ->add_option("ROLE", flags.role, "agent, aggregator, reader, or operator")
      ->required();
  issue
      ->add_option(
          "NAME", flags.names,
          "An agent's machine, an aggregator's host names and addresses, "
          "or a user")
      ->required();
  issue
      ->add_option("--output", flags.output,
                   "Write FILE.pem and FILE.key (ROLE-NAME in the directory)")
      ->type_name("FILE");
  AddPkiOptions(issue, flags);
  AddPkiRevoke(*pki, arguments);
  AddPkiEnrolment(*pki, arguments);
}

}  // namespace

void AddAdministrationCommands(CLI::App& app, Arguments& arguments) {
  AddBackupCommand(app, arguments);
  AddStatusCommands(app, arguments);
  AddWebCommands(app, arguments);
  AddPkiCommands(app, arguments);
}

}  // namespace fleetperf::cli
