// Links from the gaps of a chart to the pages of the other aggregators: the
// samples of such a time are there if the machine's agent had moved.

import type { Line } from './chart_data.ts';
import { h, replace } from './dom.ts';
import { addressOf, sharedGaps, type SharedGap } from './gaps.ts';
import { linkTo, othersWithPages } from './others.ts';
import { currentZone } from './settings.ts';
import { formatClock, formatTime } from './times.ts';
import type { OtherAggregator } from './wire.ts';

function linkElement(other: OtherAggregator, gap: SharedGap): HTMLElement | undefined {
  const link = linkTo(other, addressOf(gap));
  return link && h('a', { href: link.href, title: 'These counters in this time at this aggregator' }, link.text);
}

export class GapLinks {
  readonly element = h('div', { class: 'gap-links', hidden: true });
  private shown = '';

  // Shows the links of the gaps from `from` to `to`, if there are other pages.
  show(lines: readonly Line[], from: number, to: number, step: number): void {
    const others = othersWithPages();
    const gaps = others.length === 0 ? [] : sharedGaps(lines, from, to, step);
    const shown = JSON.stringify([gaps, others, currentZone()]);
    if (shown === this.shown) return;
    this.shown = shown;
    this.element.hidden = gaps.length === 0;
    replace(this.element, ...gaps.map((gap) => h('p', {},
      `No samples ${formatTime(Math.round(gap.from / 1000) * 1000, currentZone())} ` +
        `to ${formatClock(gap.to, 1000, currentZone())}: see `,
      ...others.flatMap((other, i) => [i > 0 && ', ', linkElement(other, gap)]))));
  }
}
