// What the parts of the page have in common.

import type { View } from './address.ts';

export interface Page {
  readonly element: HTMLElement;
  // Shows another view of the same page.
  update(view: View): void;
  // The theme or the zone has changed.
  onSettings(): void;
  destroy(): void;
}

// Goes to a view. `replace`: back does not return to the present one.
export type Navigate = (view: View, replace?: boolean) => void;
