// What a user chose once, kept in the browser.

import type { Zone } from './times.ts';

export type Theme = 'auto' | 'light' | 'dark';

const listeners = new Set<() => void>();
const dark = window.matchMedia('(prefers-color-scheme: dark)');

function read(key: string): string | null {
  try {
    return localStorage.getItem(`fleetperf.${key}`);
  } catch {
    return null; // forbidden by the browser
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(`fleetperf.${key}`, value);
  } catch {
    // The choice lasts until the page is left.
  }
}

let theme: Theme = (() => {
  const stored = read('theme');
  return stored === 'light' || stored === 'dark' ? stored : 'auto';
})();
let zone: Zone = read('zone') === 'utc' ? 'utc' : 'local';

export function currentZone(): Zone {
  return zone;
}

export function currentTheme(): Theme {
  return theme;
}

export function isDark(): boolean {
  return theme === 'auto' ? dark.matches : theme === 'dark';
}

export function setZone(value: Zone): void {
  zone = value;
  write('zone', value);
  notify();
}

export function setTheme(value: Theme): void {
  theme = value;
  write('theme', value);
  applyTheme();
}

// Calls `use` when the theme or zone changes. Returns how to stop it.
export function onSettings(use: () => void): () => void {
  listeners.add(use);
  return () => listeners.delete(use);
}

function notify(): void {
  for (const use of listeners) use();
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
  notify();
}

dark.addEventListener('change', applyTheme);
