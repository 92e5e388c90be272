// Says whether values are live, and if not, why.

import { displayText } from './display_text.ts';
import { h, setText } from './dom.ts';
import type { LiveState } from './subscription.ts';

export type BadgeState = LiveState | { kind: 'stale'; age: string } | { kind: 'polling'; seconds: number } | { kind: 'off' };

export class LiveBadge {
  readonly element = h('span', { class: 'badge', role: 'status' });

  show(state: BadgeState): void {
    this.element.dataset.state = state.kind;
    setText(this.element, textOf(state));
    this.element.title = state.kind === 'waiting' ? displayText(state.reason) : '';
  }
}

function textOf(state: BadgeState): string {
  switch (state.kind) {
    case 'off': return '';
    case 'connecting': return 'connecting …';
    case 'live': return 'live';
    case 'stale': return `newest value ${state.age}`;
    case 'polling': return `every ${state.seconds} s`;
    case 'paused': return 'paused in the background';
    case 'waiting': return `not connected: next attempt in ${state.seconds} s`;
    case 'failed': return state.reason;
  }
}
