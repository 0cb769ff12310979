/** The address holds the state of the page, such as `#/runs/digits-000001?x=step`, so that a link shows what its sender saw. */
import { signal } from '@preact/signals';

export type Query = Readonly<Record<string, string | undefined>>;

/** The words that name the deployment, which the server of the page knows. */
export const deployment = (): string => {
  const [, place = ''] = new RegExp(`tidewheel-${location.port}-place=([^;]*)`).exec(document.cookie) ?? [];
  return decodeURIComponent(place);
};

/** The parts of the path are decoded. */
const current = () => {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return { path: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) };
};

/** Changes with the address. */
export const address = signal(current());

addEventListener('hashchange', () => {
  address.value = current();
});

export function hrefOf(path: readonly string[], query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') parameters.set(name, value);
  const text = parameters.toString();
  return `#/${path.filter(Boolean).map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

/** @param model the run whose model is chosen */
export const modelsHref = (pipeline: string, model?: string): string =>
  hrefOf(['pipelines', pipeline, 'models'], { model });

/** Changes parameters of the address in place: the way back leads to the screen before. */
export function setQuery(change: Query): void {
  const { path, query } = address.value;
  const next = hrefOf(path, { ...Object.fromEntries(query), ...change });
  history.replaceState(null, '', next);
  address.value = current();
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
