/** The page: the screen of the address, under one head. */
import { effect, signal } from '@preact/signals';
import { type ComponentType, render } from 'preact';
import { RefusalText } from './parts/text.tsx';
import { NowScreen } from './screens/now.tsx';
import { RunsScreen } from './screens/runs.tsx';
import { address, hrefOf } from './state/address.ts';
import { access } from './state/api.ts';
import { isHelpOpen, KEYS } from './state/keyboard.ts';
import { currentRefusal, liveness } from './state/readings.ts';

const RunScreen = later(async () => (await import('./screens/later.ts')).RunScreen);
const CompareScreen = later(async () => (await import('./screens/later.ts')).CompareScreen);
const DataScreen = later(async () => (await import('./screens/later.ts')).DataScreen);
const MarketScreen = later(async () => (await import('./screens/later.ts')).MarketScreen);
const ProbesScreen = later(async () => (await import('./screens/later.ts')).ProbesScreen);
const MoneyScreen = later(async () => (await import('./screens/later.ts')).MoneyScreen);

function Screen() {
  const { path, query } = address.value;
  const [room, name, tab = ''] = path;
  if (room === 'runs' && name !== undefined) return <RunScreen key={name} runId={name} tab={tab} />;
  if (room === 'pipelines' && name !== undefined) {
    if (tab === 'data') return <DataScreen key={name} pipeline={name} />;
    if (tab === 'probes') return <ProbesScreen key={name} pipeline={name} />;
    return <RunsScreen key={name} pipeline={name} />;
  }
  if (room === 'market') return <MarketScreen />;
  if (room === 'money') return <MoneyScreen />;
  if (room === 'compare') return <CompareScreen />;
  return <NowScreen after={query.get('after') ?? undefined} />;
}

const ROOMS = [
  [undefined, 'Now'],
  ['market', 'Market'],
  ['money', 'Money'],
  ['compare', 'Compare'],
] as const;

const Head = () => (
  <header>
    <a class="name" href={hrefOf([])}>
      Tidewheel
    </a>
    <nav aria-label="screens">
      {ROOMS.map(([room, text]) => (
        <a
          key={text}
          href={hrefOf(room === undefined ? [] : [room])}
          aria-current={address.value.path[0] === room ? 'page' : undefined}
        >
          {text}
        </a>
      ))}
    </nav>
    <span class={`state ${liveness.value.replace(' ', '-')}`} role="status">
      {liveness.value}
    </span>
    <button
      type="button"
      class="small"
      aria-expanded={isHelpOpen.value}
      onClick={() => (isHelpOpen.value = !isHelpOpen.value)}
    >
      keys
    </button>
    {access.Account && <access.Account />}
  </header>
);

const Help = () => (
  <section class="help" aria-label="keys">
    <dl>
      {KEYS.map(([key, text]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  </section>
);

const App = () => (
  <>
    <Head />
    {isHelpOpen.value && <Help />}
    <main id="main" tabIndex={-1}>
      <RefusalText text={currentRefusal.value} />
      <Screen />
    </main>
    <span id="colour-probe" hidden />
  </>
);

let shown: string | undefined;
effect(() => {
  const { path } = address.value;
  const [room = 'Now', name = room] = path;
  document.title = `${name} · Tidewheel`;
  // A reader who hears the page begins at the new screen.
  if (shown !== undefined && shown !== path.join('/')) document.getElementById('main')?.focus();
  shown = path.join('/');
});

const root = document.getElementById('app');
if (root === null) throw new Error('the page lacks its element #app');
const about = document.querySelector<HTMLMetaElement>('meta[name=oidc]')?.content;
if (about === undefined || (await (await import('./people/sign-in.tsx')).signIn(about, root))) {
  root.replaceChildren();
  render(<App />, root);
}

// A component whose code is loaded when it is first shown.

/** A later deployment has other files. */
const Lost = () => (
  <RefusalText text="This part of the page is not there: reload it. A newer version has other parts, or its server has ended." />
);

/** @param load such as `() => import('./run.tsx')`, with the component taken out of the module */
function later<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  const loaded = signal<ComponentType<P> | undefined>(undefined);
  let isLoading = false;
  return function Later(props: P) {
    const Loaded = loaded.value;
    if (Loaded !== undefined) return <Loaded {...props} />;
    if (!isLoading)
      load().then(
        (component) => {
          // A signal that is given a function keeps it.
          loaded.value = component;
        },
        () => {
          loaded.value = Lost;
        },
      );
    isLoading = true;
    return <p>Reading the API…</p>;
  };
}
