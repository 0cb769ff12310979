/** The page: the screen of the address, beside a bar that leads to all screens. */
import { effect, signal } from '@preact/signals';
import { type ComponentType, render } from 'preact';
import { needsOf } from './model/needs.ts';
import { Skeleton } from './parts/card.tsx';
import { Dialog } from './parts/controls.tsx';
import { Facts, RefusalText } from './parts/text.tsx';
import { NowScreen } from './screens/now.tsx';
import { RunsScreen } from './screens/runs.tsx';
import { address, deployment, hrefOf } from './state/address.ts';
import { access } from './state/api.ts';
import { isHelpOpen, KEYS } from './state/keyboard.ts';
import { type Overview, useOverview } from './state/overview.ts';
import { currentRefusals, liveness, readAll } from './state/readings.ts';

const ModelsScreen = later(async () => (await import('./screens/models/models.tsx')).ModelsScreen);
const ModelsOfPipeline = later(async () => (await import('./screens/models/models.tsx')).ModelsOfPipeline);
const RunScreen = later(async () => (await import('./screens/run/run.tsx')).RunScreen);
const CompareScreen = later(async () => (await import('./screens/compare.tsx')).CompareScreen);
const DataScreen = later(async () => (await import('./screens/data.tsx')).DataScreen);
const MarketScreen = later(async () => (await import('./screens/market.tsx')).MarketScreen);
const ProbesScreen = later(async () => (await import('./screens/probes.tsx')).ProbesScreen);
const MoneyScreen = later(async () => (await import('./screens/money.tsx')).MoneyScreen);

const OF_PIPELINE = new Map([
  ['models', ModelsOfPipeline],
  ['data', DataScreen],
  ['probes', ProbesScreen],
]);

function Screen({ overview }: Readonly<{ overview: Overview }>) {
  const [room, name, tab = ''] = address.value.path;
  if (room === 'runs' && name !== undefined)
    return <RunScreen key={name} runId={name} tab={tab} overview={overview} />;
  if (room === 'pipelines' && name !== undefined) {
    const Tab = OF_PIPELINE.get(tab) ?? RunsScreen;
    return <Tab key={name} pipeline={name} />;
  }
  if (room === 'runs') return <RunsScreen />;
  if (room === 'models') return <ModelsScreen overview={overview} />;
  if (room === 'market') return <MarketScreen />;
  if (room === 'money') return <MoneyScreen />;
  return room === 'compare' ? <CompareScreen /> : <NowScreen overview={overview} />;
}

/** The bar of a phone has room for the first ones. */
const ROOMS = ['Now', 'Runs', 'Models', 'Compare', 'Market', 'Money'];
const IN_BAR = 4;

const isSideOpen = signal(false);

/** @param state of its dot */
function sideLink(text: string, path: readonly string[], state?: string) {
  const isHere = path.join('/') === address.value.path.slice(0, Math.max(1, path.length)).join('/');
  return (
    <a key={text} href={hrefOf(path)} title={text} class={state} aria-current={isHere ? 'page' : undefined}>
      {state && <span class="dot" />}
      <span class="clip">{text}</span>
    </a>
  );
}

const roomLink = (text: string) => sideLink(text, text === 'Now' ? [] : [text.toLowerCase()]);

function Side({ overview: { pipelines, runs, models } }: { readonly overview: Overview }) {
  const needs = needsOf(pipelines.body?.pipelines ?? [], runs.body ?? [], models.body?.models).length;
  const statusOf = (name: string) => runs.body?.find(({ pipeline }) => pipeline === name)?.status;
  return (
    <header class={`side${isSideOpen.value ? ' is-open' : ''}`}>
      <a class="name" href={hrefOf([])}>
        <svg width={16} viewBox="0 0 16 16" fill="none" stroke="var(--runs)" stroke-width={1.6}>
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
        {pipelines.body?.pipelines.map(({ name }) =>
          sideLink(name, ['pipelines', name], `is-${statusOf(name)}`),
        )}
      </nav>
      <div class="foot label">
        {access.Account && <access.Account />}
        <span role="status" class={LIVENESS[liveness.value]}>
          <span class="dot" /> {liveness.value}
        </span>
        {deployment() !== '' && <span>{deployment()}</span>}
        <button type="button" onClick={() => (isHelpOpen.value = true)}>
          Keys <kbd class="raised">?</kbd>
        </button>
      </div>
    </header>
  );
}

const LIVENESS = { live: 'is-succeeded', ended: '', 'not live': '', 'not current': 'is-failed' } as const;

function App() {
  const overview = useOverview();
  const isOpen = isSideOpen.value;
  return (
    <>
      <Side overview={overview} />
      <main id="main" tabIndex={-1}>
        {currentRefusals.value.size > 0 && (
          <div class="row card pad">
            {[...currentRefusals.value].map((text) => (
              <RefusalText key={text} text={text} />
            ))}
            <button type="button" onClick={readAll}>
              Try again
            </button>
          </div>
        )}
        <Screen overview={overview} />
      </main>
      <nav class="bar" aria-label="screens of a phone">
        {ROOMS.slice(0, IN_BAR).map(roomLink)}
        <button type="button" aria-expanded={isOpen} onClick={() => (isSideOpen.value = !isOpen)}>
          More
        </button>
      </nav>
      {isHelpOpen.value && (
        <Dialog title="Keys" onClose={() => (isHelpOpen.value = false)}>
          <Facts items={KEYS} />
        </Dialog>
      )}
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
  const loaded = signal<Readonly<{ Part: ComponentType<P> }> | undefined>(undefined);
  let isLoading = false;
  return function Later(props: P) {
    if (loaded.value !== undefined) return <loaded.value.Part {...props} />;
    if (!isLoading)
      void load()
        .catch(() => Lost)
        .then((Part) => (loaded.value = { Part }));
    isLoading = true;
    return <Skeleton />;
  };
}
