// Makes elements. Text is always set as text, never as HTML: names come from
// the machines of the fleet. Text to read is shown by displayText.

import { displayText } from './display_text.ts';

type Child = Node | string | undefined | false;
type Attributes = Record<string, string | number | boolean | undefined | ((event: Event) => void)>;

// The attributes that are text to read.
const READ = ['title', 'aria-label', 'placeholder'];

// Attributes whose values are functions are listeners: `onclick`. `undefined`
// and `false` are left out, `true` is an empty attribute.
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== undefined && value !== false) {
      element.setAttribute(name, READ.includes(name) ? displayText(String(value)) : String(value));
    }
  }
  append(element, children);
  return element;
}

export function append(parent: Element, children: Child[]): void {
  for (const child of children) {
    if (child === undefined || child === false) continue;
    parent.append(typeof child === 'string' ? displayText(child) : child);
  }
}

export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  append(parent, children);
}

// Sets text only if it differs, so that screen readers and layout rest.
export function setText(element: Element, text: string): void {
  const shown = displayText(text);
  if (element.textContent !== shown) element.textContent = shown;
}

export function select(
  label: string, options: readonly (readonly [value: string, text: string])[], value: string,
  use: (value: string) => void,
): HTMLSelectElement {
  const element = h('select', { 'aria-label': label, onchange: () => use(element.value) });
  for (const [of, text] of options) element.append(h('option', { value: of }, text));
  element.value = value;
  return element;
}

// Calls `draw` once in the next animation frame, however often it is requested.
export function oncePerFrame(draw: () => void): () => void {
  let requested = false;
  return () => {
    if (requested) return;
    requested = true;
    requestAnimationFrame(() => {
      requested = false;
      draw();
    });
  };
}
