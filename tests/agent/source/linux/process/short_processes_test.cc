// The processor time of `Process V2(_Total)`, compared with getrusage() of real
// processes, most of which live for less than a tick.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <numeric>

#include "agent/source/linux/process/process_list.h"
#include "tests/agent/source/linux/process/process_fixture.h"

namespace fleetperf::agent {
namespace {

using testing::kJiffy;
using testing::kProcesses;
using testing::Reading;

constexpr double kUnitsPerSecond = 1e7;

double InSeconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_usec) / 1e6;
}

double UsedBy(int who) {
  rusage usage;
  getrusage(who, &usage);
  return InSeconds(usage.ru_utime) + InSeconds(usage.ru_stime);
}

// The functions below run in forked processes.

void UseProcessor(double seconds) {
  timespec used;
  do {
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  } while (static_cast<double>(used.tv_sec) +
               static_cast<double>(used.tv_nsec) / 1e9 <
           seconds);
}

template <typename Function>
pid_t StartProcess(Function run) {
  const pid_t pid = fork();
  if (pid == 0) {
    run();
    _exit(0);
  }
  return pid;
}

void AwaitChildren() {
  while (wait(nullptr) > 0) {
  }
}

// A process that runs a load, waits for its descendants, also for those whose
// parents have ended, and then measures their processor time.
class ProcessLoad {
 public:
  template <typename Function>
  explicit ProcessLoad(Function run) {
    EXPECT_EQ(pipe(start_), 0);
    EXPECT_EQ(pipe(result_), 0);
    pid_ = StartProcess([&] {
      close(start_[1]);
      prctl(PR_SET_CHILD_SUBREAPER, 1);
      char byte;
      if (read(start_[0], &byte, 1) != 1) _exit(1);
      run();
      AwaitChildren();
      const double used = UsedBy(RUSAGE_SELF) + UsedBy(RUSAGE_CHILDREN);
      if (write(result_[1], &used, sizeof used) != sizeof used) _exit(1);
      (void)!read(start_[0], &byte, 1);  // until the test has ended
    });
    close(start_[0]);
    close(result_[1]);
  }
  ~ProcessLoad() {
    close(start_[1]);
    close(result_[0]);
    waitpid(pid_, nullptr, 0);
  }
  ProcessLoad(const ProcessLoad&) = delete;
  ProcessLoad& operator=(const ProcessLoad&) = delete;

  pid_t pid() const { return pid_; }
  void Start() { EXPECT_EQ(write(start_[1], "x", 1), 1); }
  bool IsRunning() const {
    pollfd result = {.fd = result_[0], .events = POLLIN};
    return poll(&result, 1, 0) == 0;
  }
  // Seconds of the process and its descendants.
  double Used() const {
    double used = 0;
    EXPECT_EQ(read(result_[0], &used, sizeof used), sizeof used);
    return used;
  }

 private:
  int start_[2];
  int result_[2];
  pid_t pid_;
};

class ShortProcessesTest : public testing::ProcessFixture {
 protected:
  // Makes the processes of the load visible, and no others.
  void ListDescendants(pid_t root) {
    std::vector<uint32_t> pids;
    EXPECT_OK(ListProcesses("/proc", &pids));
    std::map<uint32_t, uint32_t> parents;
    for (const uint32_t pid : pids) {
      std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
      std::string line;
      std::getline(file, line);
      const size_t end = line.rfind(')');
      if (end == std::string::npos) continue;
      parents[pid] =
          static_cast<uint32_t>(std::stoul(line.substr(end + sizeof(") S"))));
    }
    for (const uint32_t pid : linked_) Remove(absl::StrCat("proc/", pid));
    linked_.clear();
    for (const auto& [pid, parent] : parents) {
      uint32_t ancestor = pid;
      while (ancestor > 1 && ancestor != static_cast<uint32_t>(root)) {
        const auto found = parents.find(ancestor);
        ancestor = found == parents.end() ? 0 : found->second;
      }
      if (ancestor <= 1) continue;
      std::filesystem::create_symlink(absl::StrCat("/proc/", pid),
                                      PathOf(absl::StrCat("proc/", pid)));
      linked_.push_back(pid);
    }
  }

  double Total(pid_t root) {
    ListDescendants(root);
    return static_cast<double>(
               *Sample(kProcesses).Get("_Total", "% Processor Time")) /
           kUnitsPerSecond;
  }

  // Samples without pause while the load runs.
  void Compare(ProcessLoad&& load) {
    const double before = Total(load.pid());
    load.Start();
    while (load.IsRunning()) Total(load.pid());
    const double used = load.Used();
    // The kernel rounds down four times to hundredths of a second: user and
    // system time of the load's first process and of its children.
    EXPECT_NEAR(Total(load.pid()) - before, used, used / 100 + 0.04);
  }

  std::vector<uint32_t> linked_;
};

TEST_F(ShortProcessesTest, OneAfterTheOther) {
  Compare(ProcessLoad([] {
    for (int i = 0; i < 100; ++i) {
      StartProcess([] { UseProcessor(0.007); });
      AwaitChildren();
    }
  }));
}

TEST_F(ShortProcessesTest, AtTheSameTime) {
  Compare(ProcessLoad([] {
    for (int i = 0; i < 20; ++i) {
      for (int k = 0; k < 4; ++k) StartProcess([] { UseProcessor(0.009); });
      AwaitChildren();
    }
  }));
}

TEST_F(ShortProcessesTest, ParentsThatEndAfterTheirChildren) {
  Compare(ProcessLoad([] {
    for (int i = 0; i < 15; ++i) {
      StartProcess([] {
        for (int k = 0; k < 4; ++k) StartProcess([] { UseProcessor(0.009); });
        AwaitChildren();
        UseProcessor(0.012);
      });
      AwaitChildren();
    }
  }));
}

// The subreaper waits for the orphans, as init does.
TEST_F(ShortProcessesTest, ParentsThatEndBeforeTheirChildren) {
  Compare(ProcessLoad([] {
    for (int i = 0; i < 15; ++i) {
      StartProcess([] {
        for (int k = 0; k < 4; ++k) StartProcess([] { UseProcessor(0.015); });
        UseProcessor(0.004);
      });
      AwaitChildren();
    }
  }));
}

TEST_F(ShortProcessesTest, Daemons) {
  Compare(ProcessLoad([] {
    for (int i = 0; i < 30; ++i) {
      StartProcess([] {
        StartProcess([] { StartProcess([] { UseProcessor(0.02); }); });
      });
      AwaitChildren();
    }
  }));
}

// The kernel forgets the times of children whose parent ignores SIGCHLD.
TEST_F(ShortProcessesTest, ParentsThatIgnoreTheirChildren) {
  constexpr int kChildren = 10;
  auto* const forgotten = static_cast<double*>(
      mmap(nullptr, kChildren * sizeof(double), PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(forgotten, MAP_FAILED);
  ProcessLoad load([forgotten] {
    for (int i = 0; i < kChildren; ++i) {
      StartProcess([forgotten, i] {
        signal(SIGCHLD, SIG_IGN);
        StartProcess([forgotten, i] {
          UseProcessor(0.05);
          forgotten[i] = UsedBy(RUSAGE_SELF);
        });
        AwaitChildren();  // until none is left
        UseProcessor(0.01);
      });
      AwaitChildren();
    }
  });
  const double before = Total(load.pid());
  load.Start();
  while (load.IsRunning()) Total(load.pid());
  const double known = load.Used();
  const double total = Total(load.pid()) - before;
  // Times of children that ticks saw count once.
  EXPECT_GE(total, known - 0.04);
  // They use time while they end, too.
  EXPECT_LE(total, std::accumulate(forgotten, forgotten + kChildren, known) +
                       kChildren * 0.01);
  munmap(forgotten, kChildren * sizeof(double));
}

// The kernel adds the bytes that children wrote to their parent's.
TEST_F(ShortProcessesTest, BytesCountOnce) {
  constexpr int kChildren = 20;
  constexpr int kWrites = 100;
  static const char kBytes[10'000] = {};
  ProcessLoad load([] {
    for (int i = 0; i < kChildren; ++i) {
      StartProcess([] {
        const int null = open("/dev/null", O_WRONLY);
        for (int k = 0; k < kWrites; ++k) {
          if (write(null, kBytes, sizeof kBytes) != sizeof kBytes) _exit(1);
          UseProcessor(k * 1e-5);
        }
      });
      AwaitChildren();
    }
  });
  const auto written = [&] {
    ListDescendants(load.pid());
    return *Sample(kProcesses).Get("_Total", "IO Write Bytes/sec");
  };
  const uint64_t before = written();
  load.Start();
  while (load.IsRunning()) written();
  // And the result of the load.
  EXPECT_EQ(written() - before,
            kChildren * kWrites * sizeof kBytes + sizeof(double));
}

}  // namespace
}  // namespace fleetperf::agent
