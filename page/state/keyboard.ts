/** Keys of the page: they act where no field has the focus, and never with Ctrl, Alt or Meta, which are the browser's. */
import { signal } from '@preact/signals';
import { address, hrefOf } from './address.ts';

export const isHelpOpen = signal(false);

/** `run`: of the screen. Says whether the key means something here. */
type Action = (run: string | undefined) => boolean;

const MEANINGS: readonly (readonly [text: string, Readonly<Record<string, Action>>])[] = [
  ['next and previous row', { j: () => move(1), k: () => move(-1) }],
  ['open the row', { Enter: () => false }],
  ['go to Now', { g: () => go([]) }],
  ['the run: from one of its tabs to its overview', { r: (run) => run !== undefined && go(['runs', run]) }],
  ['the log of the run', { l: (run) => run !== undefined && go(['runs', run, 'log']) }],
  ['what can be done to the run: stop or retry', { '.': () => focus('[data-action]') }],
  ['find: in this list, or among all runs', { '/': find }],
  ['this list', { '?': () => (isHelpOpen.value = true) }],
];

export const KEYS = MEANINGS.map(([text, keys]) => [Object.keys(keys).join(', '), text] as const);

const ACTIONS = new Map(MEANINGS.flatMap(([, keys]) => Object.entries(keys)));

addEventListener('keydown', (event) => {
  const { key, ctrlKey, altKey, metaKey, target } = event;
  if (ctrlKey || altKey || metaKey || isField(target)) return;
  const [room, name] = address.value.path;
  if (ACTIONS.get(key)?.(room === 'runs' ? name : undefined)) event.preventDefault();
});

const isField = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('input, select, textarea') !== null;

function go(path: readonly string[]): true {
  location.hash = hrefOf(path);
  return true;
}

function focus(wanted: string | HTMLElement | undefined): boolean {
  const element = typeof wanted === 'string' ? document.querySelector<HTMLElement>(wanted) : wanted;
  element?.focus();
  element?.scrollIntoView({ block: 'nearest' });
  return Boolean(element);
}

function move(by: number): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')];
  const at = rows.findIndex((row) => row === document.activeElement);
  return focus(rows[Math.max(0, Math.min(rows.length - 1, at + by))]);
}

const FOCUS_MILLISECONDS = 100;

/** Where nothing is to be found, all runs are searched. */
function find(): boolean {
  if (focus('#find')) return true;
  // Once the list is drawn.
  setTimeout(() => focus('#find'), FOCUS_MILLISECONDS);
  return go(['runs']);
}
