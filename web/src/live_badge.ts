// Says whether values are live, and if not, why.

import { h, setText } from './dom.ts';
import type { LiveState } from './subscription.ts';

export class LiveBadge {
  readonly element = h('span', { class: 'badge', role: 'status' });

  show(state: LiveState | { kind: 'polling'; seconds: number } | { kind: 'off' }): void {
    this.element.dataset.state = state.kind;
    setText(this.element, textOf(state));
    this.element.title = state.kind === 'waiting' ? state.reason : '';
  }
}

function textOf(state: LiveState | { kind: 'polling'; seconds: number } | { kind: 'off' }): string {
  switch (state.kind) {
    case 'off': return '';
    case 'connecting': return 'connecting …';
    case 'live': return 'live';
    case 'polling': return `every ${state.seconds} s`;
    case 'paused': return 'paused in the background';
    case 'waiting': return `not connected: next attempt in ${state.seconds} s`;
    case 'failed': return state.reason;
  }
}
