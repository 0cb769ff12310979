/** Keys of the page: they act where no field has the focus, and never with Ctrl, Alt or Meta, which are the browser's. */
import { signal } from '@preact/signals';
import { address, hrefOf } from './address.ts';

export const isHelpOpen = signal(false);

export const KEYS: readonly (readonly [string, string])[] = [
  ['j, k', 'next and previous row'],
  ['Enter', 'open the row'],
  ['g', 'go to Now'],
  ['r', 'the run: from one of its tabs to its overview'],
  ['l', 'the log of the run'],
  ['.', 'what can be done to the run: stop or retry'],
  ['/', 'find: in this list, or among all runs'],
  ['?', 'this list'],
];

addEventListener('keydown', (event) => {
  const { key, ctrlKey, altKey, metaKey, target } = event;
  if (ctrlKey || altKey || metaKey || isField(target)) return;
  if (act(key)) event.preventDefault();
});

const isField = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('input, select, textarea') !== null;

type Action = (run: string | undefined) => boolean;

/** Each says whether the key means something here. */
const ACTIONS: ReadonlyMap<string, Action> = new Map<string, Action>([
  ['j', () => move(1)],
  ['k', () => move(-1)],
  ['g', () => go(hrefOf([]))],
  ['r', (run) => run !== undefined && go(hrefOf(['runs', run]))],
  ['l', (run) => run !== undefined && go(hrefOf(['runs', run, 'log']))],
  ['.', () => openActions()],
  ['/', () => find()],
  ['?', () => setHelp(!isHelpOpen.value)],
  ['Escape', () => isHelpOpen.value && setHelp(false)],
]);

function act(key: string): boolean {
  const [room, name] = address.value.path;
  return ACTIONS.get(key)?.(room === 'runs' ? name : undefined) ?? false;
}

function setHelp(isOpen: boolean): true {
  isHelpOpen.value = isOpen;
  return true;
}

function go(href: string): true {
  location.hash = href;
  return true;
}

function focus(element: HTMLElement | null | undefined): boolean {
  element?.focus();
  element?.scrollIntoView({ block: 'nearest' });
  return element !== null && element !== undefined;
}

function move(by: number): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')];
  const at = rows.findIndex((row) => row === document.activeElement);
  return focus(rows[Math.max(0, Math.min(rows.length - 1, at + by))]);
}

/** Where nothing is to be found, all runs are searched. */
function find(): boolean {
  if (focus(document.getElementById('find'))) return true;
  // Once the list is drawn.
  setTimeout(() => focus(document.getElementById('find')), FOCUS_MILLISECONDS);
  return go(hrefOf(['runs']));
}

const FOCUS_MILLISECONDS = 100;

const openActions = (): boolean => focus(document.querySelector<HTMLElement>('[data-action]'));
