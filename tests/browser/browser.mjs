// Starts Debian's Chromium.
import { chromium } from 'playwright-core';

// FLEETPERF_CHROMIUM names another executable.
export function startBrowser() {
  return chromium.launch({
    executablePath: process.env.FLEETPERF_CHROMIUM ?? '/usr/bin/chromium',
    // Containers and root have no sandbox. Without a GPU, canvases are drawn by
    // the processor.
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
}
