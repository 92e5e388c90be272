// Saves charts as a picture, and their values as CSV.

import type { Chart } from './chart.ts';
import { toCsv } from './csv.ts';
import { displayText } from './display_text.ts';
import { h } from './dom.ts';
import { lineColor, lineDash, themeColor } from './palette.ts';

const MARGIN = 16;
const LINE_HEIGHT = 20;
// Browsers need the address of a download for a moment.
const KEEP_MS = 60_000;

export function saveCsv(charts: readonly Chart[], from: number, to: number): void {
  const lines = charts.flatMap((chart) => chart.shown.lines);
  save(new Blob([toCsv(lines, from, to)], { type: 'text/csv' }), 'fleetperf.csv');
}

// Draws the charts below each other, each with its title and its legend.
export async function savePng(charts: readonly Chart[], title: string): Promise<void> {
  if (charts.length === 0) return;
  const ratio = devicePixelRatio;
  const width = Math.max(...charts.map((chart) => chart.canvas.width)) + 2 * MARGIN * ratio;
  const height = charts.reduce((sum, chart) => sum + chart.canvas.height +
    (chart.shown.lines.length + 2) * LINE_HEIGHT * ratio, 0) + (2 * MARGIN + LINE_HEIGHT) * ratio;
  const canvas = h('canvas', { width, height });
  const context = canvas.getContext('2d');
  if (context === null) return;
  context.fillStyle = themeColor('--surface');
  context.fillRect(0, 0, width, height);
  context.scale(ratio, ratio);
  let y = MARGIN;
  const write = (text: string, x: number, weight: number): void => {
    context.font = `${weight} 13px system-ui, sans-serif`;
    context.fillStyle = themeColor('--ink');
    context.textBaseline = 'top';
    context.fillText(displayText(text), x, y, width / ratio - x - MARGIN);
  };
  write(title, MARGIN, 600);
  y += LINE_HEIGHT;
  for (const chart of charts) {
    write(chart.title, MARGIN, 400);
    y += LINE_HEIGHT;
    const size = { width: chart.canvas.width / ratio, height: chart.canvas.height / ratio };
    context.drawImage(chart.canvas, MARGIN, y, size.width, size.height);
    y += size.height + 4;
    for (const line of chart.shown.lines.filter((one) => !one.isHidden)) {
      context.strokeStyle = lineColor(line.style);
      context.lineWidth = 3;
      context.setLineDash(lineDash(line.style));
      context.beginPath();
      context.moveTo(MARGIN, y + 8);
      context.lineTo(MARGIN + 28, y + 8);
      context.stroke();
      write(line.label, MARGIN + 36, 400);
      y += LINE_HEIGHT;
    }
    y += LINE_HEIGHT - 4;
  }
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'));
  if (blob !== null) save(blob, 'fleetperf.png');
}

function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  h('a', { href: url, download: name }).click();
  window.setTimeout(() => URL.revokeObjectURL(url), KEEP_MS);
}
