/** The page: the screen of the address, under one head. */
import { effect } from '@preact/signals';
import { render } from 'preact';
import { later } from './parts/later.tsx';
import { NowScreen } from './screens/now.tsx';
import { RunsScreen } from './screens/runs.tsx';
import { address, hrefOf } from './state/address.ts';
import { liveness, refusal } from './state/readings.ts';

const RunScreen = later(async () => (await import('./screens/run.tsx')).RunScreen);

function Screen() {
  const { path, query } = address.value;
  const [room, name] = path;
  if (room === 'runs' && name !== undefined) return <RunScreen key={name} runId={name} />;
  if (room === 'pipelines' && name !== undefined) return <RunsScreen key={name} pipeline={name} />;
  return <NowScreen after={query.get('after') ?? undefined} />;
}

const App = () => (
  <>
    <header>
      <a href={hrefOf([])}>Tidewheel</a>
      <span id="state" role="status">
        {liveness.value}
      </span>
    </header>
    <main id="main" tabIndex={-1}>
      {refusal.value !== undefined && (
        <p class="problem" role="alert">
          {refusal.value}
        </p>
      )}
      <Screen />
    </main>
    <span id="colour-probe" hidden />
  </>
);

effect(() => {
  const { path } = address.value;
  document.title = `${path.at(-1) ?? 'Now'} · Tidewheel`;
});

const root = document.getElementById('app');
if (root === null) throw new Error('the page lacks its element #app');
root.replaceChildren();
render(<App />, root);
