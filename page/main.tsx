/** The page: the screen of the address, beside a bar that leads to all screens. */
import { effect, signal } from '@preact/signals';
import { type ComponentType, render } from 'preact';
import { needsOf } from './model/needs.ts';
import { Skeleton } from './parts/card.tsx';
import { Dialog } from './parts/controls.tsx';
import { deployment, Facts, RefusalText } from './parts/text.tsx';
import { NowScreen } from './screens/now.tsx';
import { RunsScreen } from './screens/runs.tsx';
import { address, hrefOf } from './state/address.ts';
import { access } from './state/api.ts';
import { isHelpOpen, KEYS } from './state/keyboard.ts';
import { type Overview, useOverview } from './state/overview.ts';
import { currentRefusal, liveness, readAll } from './state/readings.ts';

const RunScreen = later(async () => (await import('./screens/run/run.tsx')).RunScreen);
const CompareScreen = later(async () => (await import('./screens/compare.tsx')).CompareScreen);
const DataScreen = later(async () => (await import('./screens/data.tsx')).DataScreen);
const MarketScreen = later(async () => (await import('./screens/market.tsx')).MarketScreen);
const ProbesScreen = later(async () => (await import('./screens/probes.tsx')).ProbesScreen);
const MoneyScreen = later(async () => (await import('./screens/money.tsx')).MoneyScreen);

function Screen({ overview }: Readonly<{ overview: Overview }>) {
  const [room, name, tab = ''] = address.value.path;
  if (room === 'runs')
    return name === undefined ? <RunsScreen /> : <RunScreen key={name} runId={name} tab={tab} />;
  if (room === 'pipelines' && name !== undefined) {
    if (tab === 'data') return <DataScreen key={name} pipeline={name} />;
    if (tab === 'probes') return <ProbesScreen key={name} pipeline={name} />;
    return <RunsScreen key={name} pipeline={name} />;
  }
  if (room === 'market') return <MarketScreen />;
  if (room === 'money') return <MoneyScreen />;
  if (room === 'compare') return <CompareScreen />;
  return <NowScreen overview={overview} />;
}

const ROOMS = [
  [undefined, 'Now'],
  ['runs', 'Runs'],
  ['compare', 'Compare'],
  ['market', 'Market'],
  ['money', 'Money'],
] as const;

/** Of these the bar of a phone has room. */
const IN_BAR = 4;

const isSideOpen = signal(false);

const roomLink = ([room, text]: (typeof ROOMS)[number]) => (
  <a
    key={text}
    href={hrefOf(room === undefined ? [] : [room])}
    aria-current={address.value.path[0] === room ? 'page' : undefined}
  >
    <span class="text">{text}</span>
  </a>
);

function Side({ overview: { pipelines, runs } }: { readonly overview: Overview }) {
  const [room, name] = address.value.path;
  const needs = needsOf(pipelines.body?.pipelines ?? [], runs.body ?? []).length;
  return (
    <header class={`side${isSideOpen.value ? ' is-open' : ''}`}>
      <a class="name" href={hrefOf([])}>
        <svg viewBox="0 0 16 16" fill="none" stroke="var(--runs)" stroke-width={1.6} aria-hidden="true">
          <circle cx={8} cy={8} r={6.5} />
          <path d="M1.5 8.5q3.2-3 6.5 0t6.5 0" />
        </svg>
        Tidewheel
      </a>
      <nav aria-label="screens">{ROOMS.map(roomLink)}</nav>
      {needs > 0 && (
        <a href={hrefOf([])} class="is-failed">
          <span class="dot" />
          {`${needs} ${needs === 1 ? 'needs' : 'need'} you`}
        </a>
      )}
      {pipelines.body !== undefined && <p class="label">Pipelines</p>}
      <nav aria-label="pipelines">
        {pipelines.body?.pipelines.map((each) => (
          <a
            key={each.name}
            href={hrefOf(['pipelines', each.name])}
            title={each.name}
            class={`is-${runs.body?.find(({ pipeline }) => pipeline === each.name)?.status}`}
            aria-current={room === 'pipelines' && name === each.name ? 'page' : undefined}
          >
            <span class="dot" />
            <span class="text">{each.name}</span>
          </a>
        ))}
      </nav>
      <div class="foot">
        {access.Account && <access.Account />}
        <span role="status" class={LIVENESS[liveness.value]}>
          <span class="dot" /> {liveness.value}
        </span>
        {deployment() !== '' && <span>{deployment()}</span>}
        <button type="button" onClick={() => (isHelpOpen.value = true)}>
          Keys <kbd>?</kbd>
        </button>
      </div>
    </header>
  );
}

const LIVENESS = {
  live: 'is-succeeded',
  ended: '',
  'not live': '',
  'not current': 'is-failed',
} as const satisfies Record<typeof liveness.value, string>;

const Bar = () => (
  <nav class="bar" aria-label="screens of a phone">
    {ROOMS.slice(0, IN_BAR).map(roomLink)}
    <button
      type="button"
      aria-expanded={isSideOpen.value}
      onClick={() => (isSideOpen.value = !isSideOpen.value)}
    >
      More
    </button>
  </nav>
);

const Help = () => (
  <Dialog title="Keys" onClose={() => (isHelpOpen.value = false)}>
    <Facts items={KEYS} />
  </Dialog>
);

const Refusal = () =>
  currentRefusal.value === undefined ? null : (
    <div class="alert">
      <RefusalText text={currentRefusal.value} />
      <button type="button" onClick={readAll}>
        Try again
      </button>
    </div>
  );

function App() {
  const overview = useOverview();
  return (
    <>
      <Side overview={overview} />
      <main id="main" tabIndex={-1}>
        <Refusal />
        <Screen overview={overview} />
      </main>
      <Bar />
      {isHelpOpen.value && <Help />}
      <span id="colour-probe" hidden />
    </>
  );
}

let shown: string | undefined;
effect(() => {
  const { path } = address.value;
  const [room = 'Now', name = room] = path;
  document.title = `${name} · Tidewheel`;
  // A reader who hears the page begins at the new screen.
  if (shown !== undefined && shown !== path.join('/')) {
    document.getElementById('main')?.focus();
    isSideOpen.value = false;
  }
  shown = path.join('/');
});

const root = document.getElementById('app');
if (root === null) throw new Error('the page lacks its element #app');
const about = document.querySelector<HTMLMetaElement>('meta[name=oidc]')?.content;
if (about === undefined || (await (await import('./people/sign-in.tsx')).signIn(about, root))) {
  root.replaceChildren();
  render(<App />, root);
  // The next screen has charts as a rule. What fails here is tried again there.
  requestIdleCallback(() => void import('./charts/chart.tsx').catch(() => undefined));
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
    return <Skeleton />;
  };
}
