/** The page: reads the address, shows its screen, and reads again while something may change. */
import type { Answer } from './api.ts';
import { element } from './element.ts';
import { now } from './now.ts';
import { runScreen } from './run.ts';
import type { Screen } from './screen.ts';

const RUN = /^#\/runs\/([^/?]+)$/;
const main = document.getElementById('main') ?? document.body;
const state = document.getElementById('state') ?? document.body;

let shown = '';
let reading = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

function screenAt(hash: string): Promise<Answer<Screen>> {
  const runId = RUN.exec(hash)?.[1];
  if (runId !== undefined) return runScreen(decoded(runId), () => void show());
  return now(new URLSearchParams(hash.split('?')[1] ?? '').get('after') ?? undefined);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function show(): Promise<void> {
  clearTimeout(timer);
  reading += 1;
  const mine = reading;
  const answer = await screenAt(location.hash);
  // A reader who went on meanwhile sees the screen that was chosen last.
  if (mine !== reading) return;
  if (answer.kind === 'refused') {
    refuse(answer.message);
    again(answer.waitSeconds);
    return;
  }
  const { title, content, pollSeconds } = answer.body;
  document.title = `${title} · Tidewheel`;
  state.textContent = pollSeconds === undefined ? 'ended' : 'live';
  if (answer.text !== shown) replace(content);
  shown = answer.text;
  if (pollSeconds !== undefined) again(pollSeconds);
}

/** What was read before stays on the screen. */
function refuse(message: string): void {
  state.textContent = 'not current';
  const problem = element('p', { class: 'problem', role: 'alert', id: 'refusal' }, message);
  const earlier = document.getElementById('refusal');
  if (shown === '') main.replaceChildren(problem);
  else if (earlier === null) main.prepend(problem);
  else earlier.replaceWith(problem);
}

/** Keeps what the reader has opened, and the focus. Open buttons stay as they are, so that no click is lost. */
function replace(content: readonly HTMLElement[]): void {
  const steering = [...main.querySelectorAll('details.steering[open]')];
  const open = [...main.querySelectorAll('details[open]')].map(({ id }) => id);
  const focused = document.activeElement?.id;
  main.replaceChildren(...content);
  for (const kept of steering) document.getElementById(kept.id)?.replaceWith(kept);
  for (const id of open) document.getElementById(id)?.setAttribute('open', '');
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

function again(seconds: number): void {
  timer = setTimeout(() => {
    // Nothing is read while no person looks.
    if (document.visibilityState === 'visible') void show();
  }, seconds * 1000);
}

addEventListener('hashchange', () => {
  shown = '';
  main.replaceChildren(element('p', {}, 'Reading the API…'));
  void show();
});
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') void show();
});
void show();
