#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/daemon.h"

namespace fleetperf {
namespace {

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

StopSignal::StopSignal() {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // A write to a closed connection returns an error instead of ending the
  // process.
  signal(SIGPIPE, SIG_IGN);
}

void StopSignal::AcceptReload() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

void StopSignal::Wait() {
  const sigset_t signals = StopSignals();
  int received;
  sigwait(&signals, &received);
}

bool StopSignal::WaitForReload() {
  sigset_t signals = StopSignals();
  sigaddset(&signals, SIGHUP);
  int received;
  sigwait(&signals, &received);
  return received == SIGHUP;
}

void StopSignal::Raise() { kill(getpid(), SIGTERM); }

}  // namespace fleetperf
