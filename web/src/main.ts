// Starts the page: the header, and the part that the address names.

import './style.css';
import { DEFAULT_FLEET, formatAddress, parseAddress, type View } from './address.ts';
import { whenUnauthenticated } from './api.ts';
import { h, select } from './dom.ts';
import { EMPTY_QUESTION } from './question.ts';
import { ExplorePage } from './explore_page.ts';
import { FleetPage } from './fleet_page.ts';
import { MachinePage } from './machine_page.ts';
import { OtherPages } from './others.ts';
import type { Navigate, Page } from './page.ts';
import { applyTheme, currentTheme, currentZone, onSettings, setTheme, setZone } from './settings.ts';

const app = document.getElementById('app') ?? document.body;
const content = h('main', { id: 'content', tabindex: -1 });
const links = {
  fleet: h('a', { href: formatAddress(DEFAULT_FLEET) }, 'Fleet'),
  explore: h('a', {
    href: formatAddress({ page: 'explore', question: EMPTY_QUESTION, live: false, table: false }),
  }, 'Explore'),
};
const login = h('div', { class: 'login', role: 'alert', hidden: true },
  h('strong', {}, 'The session has ended. '),
  'Run ', h('code', {}, 'fleetperf web login'), ' and open the link that it prints. This page stays as it is: ',
  h('button', { type: 'button', onclick: () => location.reload() }, 'Try again'));

const others = new OtherPages();

let page: Page | undefined;
let shown: View['page'] | undefined;
let machine = '';

const navigate: Navigate = (view, replace = false) => {
  const address = formatAddress(view);
  if (address === location.hash) return;
  if (replace) {
    history.replaceState(null, '', address);
    show();
  } else {
    location.hash = address;
  }
};

function show(): void {
  const view = parseAddress(location.hash);
  others.show();
  for (const [name, link] of Object.entries(links)) {
    if (name === view.page) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const isSame = view.page === shown && (view.page !== 'machine' || view.name === machine);
  if (isSame && page !== undefined) {
    page.update(view);
    return;
  }
  page?.destroy();
  shown = view.page;
  machine = view.page === 'machine' ? view.name : '';
  page = makePage(view);
  content.replaceChildren(page.element);
  window.scrollTo(0, 0);
}

function makePage(view: View): Page {
  if (view.page === 'explore') return new ExplorePage(view, navigate);
  if (view.page === 'machine') return new MachinePage(view, navigate);
  return new FleetPage(view.page === 'fleet' ? view : DEFAULT_FLEET, navigate);
}

function header(): HTMLElement {
  const theme = select('Theme', [['auto', 'System theme'], ['light', 'Light'], ['dark', 'Dark']],
    currentTheme(), (value) => setTheme(value === 'light' || value === 'dark' ? value : 'auto'));
  const zone = select('Time zone', [['local', 'Local time'], ['utc', 'UTC']], currentZone(),
    (value) => setZone(value === 'utc' ? 'utc' : 'local'));
  return h('header', { class: 'top' },
    h('a', { class: 'brand', href: formatAddress(DEFAULT_FLEET) },
      h('img', { src: 'favicon.svg', alt: '', width: 22, height: 22 }), 'fleetperf'),
    h('nav', { 'aria-label': 'Parts' }, links.fleet, links.explore),
    h('span', { class: 'grow' }), others.element, zone, theme);
}

applyTheme();
app.append(header(), login, content);
whenUnauthenticated(() => {
  login.hidden = false;
});
onSettings(() => page?.onSettings());
window.addEventListener('hashchange', show);
show();
void others.load();
