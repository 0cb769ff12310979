/** The screen "Compare": curves of two to six runs over each other, their figures, and what differs between them. */
import { useSignal } from '@preact/signals';
import { differingInRuns } from '@tidewheel/kit/differences.ts';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { durationText } from '../../client/amounts.ts';
import { Chart, Swatch } from '../charts/chart.tsx';
import { joined } from '../charts/plot.tsx';
import { pointsOf } from '../model/compared-runs.ts';
import * as curve from '../model/curve.ts';
import { dollarText, shortName, shortNumber } from '../model/format.ts';
import { leadingName } from '../model/leading.ts';
import { Empty, Frame, Section } from '../parts/card.tsx';
import { AxisButtons } from '../parts/controls.tsx';
import { numbers, TableSection } from '../parts/table.tsx';
import { Alert, Pill, RunLink } from '../parts/text.tsx';
import { address, hrefOf, setQuery } from '../state/address.ts';
import { type AnswerOf, ask } from '../state/api.ts';

const MOST_RUNS = 6;
const POINTS = 500;
const LINES = [
  { colour: '--runs', dash: [] },
  { colour: '--on-demand', dash: [8, 3] },
  { colour: '--spot', dash: [2, 3] },
  { colour: '--bad', dash: [10, 3, 2, 3] },
  { colour: '--warn', dash: [5, 5] },
  { colour: '--quiet', dash: [1, 4] },
];

type Read = Readonly<{ view: AnswerOf<'getRun'>; series: readonly curve.SeriesView[] }>;
type RunsProps = Readonly<{ runs: readonly Read[] }>;

/** @returns a text that says why it was not read */
async function readRun(runId: string): Promise<Read | string> {
  const [run, series] = await Promise.all([
    ask('getRun', { runId }),
    ask('getSeries', { runId, points: POINTS }),
  ]);
  if (run.kind === 'ok') return { view: run.body, series: series.kind === 'ok' ? series.body.series : [] };
  return `${runId}: ${run.kind === 'refused' ? run.message : 'the API gives no answer'}`;
}

export function CompareScreen() {
  const { query } = address.value;
  const names = [...new Set((query.get('runs') ?? '').split(',').filter(Boolean))].slice(0, MOST_RUNS);
  const by = curve.AXES.find((each) => each === query.get('x')) ?? 'step';
  const name = names.join(' ');
  const known = useSignal<Readonly<{ name: string; all: readonly (Read | string)[] }>>({ name: '', all: [] });
  const read = (): void =>
    void Promise.all(names.map(readRun)).then((all) => {
      if (name === shown.current) known.value = { name, all };
    });
  const shown = useRef(name);
  shown.current = name;
  useEffect(read, [name]);
  const tools = (
    <>
      <Chosen names={names} />
      <AxisButtons chosen={by} />
    </>
  );
  const body = known.value.name === name ? known.value.all : undefined;
  return (
    <Frame
      title="Compare"
      tools={tools}
      of={{ body, refusal: undefined }}
      command={`compare ${name || 'RUN RUN'}`}
    >
      {(all) => {
        const runs = all.filter((one) => typeof one === 'object');
        return (
          <>
            {all.map((one) => typeof one === 'string' && <Alert key={one} text={one} again={read} />)}
            {runs.length > 0 && <Compared runs={runs} by={by} />}
            {all.length === 0 && (
              <Empty>
                <p>Pick two to six runs in the list of all runs, or add one by its id.</p>
                <a class="button" href={hrefOf(['runs'])}>
                  Runs
                </a>
              </Empty>
            )}
          </>
        );
      }}
    </Frame>
  );
}

function Chosen({ names }: Readonly<{ names: readonly string[] }>) {
  const text = useSignal('');
  const setNames = (next: readonly string[]): void => setQuery({ runs: next.join(',') });
  const add = (event: Event): void => {
    event.preventDefault();
    setNames([...names, text.value.trim()]);
    text.value = '';
  };
  return (
    <form class="tools" onSubmit={add}>
      {names.map((name) => {
        const leave = (): void => setNames(names.filter((each) => each !== name));
        return (
          <button key={name} type="button" aria-label={`take ${name} out`} onClick={leave}>
            {`${shortName(name)} ×`}
          </button>
        );
      })}
      <input
        id="find"
        aria-label="run"
        value={text.value}
        placeholder="digits-000001"
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
      />
      <button type="submit" disabled={names.length >= MOST_RUNS}>
        Add
      </button>
    </form>
  );
}

function Compared({ runs, by }: RunsProps & Readonly<{ by: curve.AxisName }>) {
  const ordered = runs.flatMap(({ view, series }) => curve.leadingFirst(series, leadingName(view, series)));
  const names = [...new Set(ordered.map(({ name }) => name))];
  const wanted = address.value.query.get('series') ?? names[0];
  const differing = differingInRuns(runs.map(({ view }) => view.run));
  // A run has the colour of its curve.
  const columns = runs.map(({ view: { run } }, place) => {
    const head = (
      <span class="cell">
        <Swatch place={place} />
        <RunLink runId={run.runId} />
      </span>
    );
    return { title: run.runId, head };
  });
  const states = runs.map(({ view }) => <Pill status={view.run.status} />);
  return (
    <>
      {wanted === undefined ? (
        <Empty>None of them has printed a number yet.</Empty>
      ) : (
        <Section title="Curves">
          <label>
            series
            <select value={wanted} onChange={({ currentTarget: { value } }) => setQuery({ series: value })}>
              {names.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <Overlaid runs={runs} by={by} name={wanted} />
        </Section>
      )}
      <TableSection
        title="Figures"
        columns={['', ...columns]}
        rows={[['state', ...states], ...figuresOf(runs, wanted)]}
      />
      {differing.length === 0 ? (
        <Empty>Nothing that was declared differs, and they read the same data.</Empty>
      ) : (
        <TableSection
          title="What differs"
          note="equal settings are hidden"
          columns={['setting', ...columns]}
          rows={differing.map(({ field, values }) => [
            field.replace('training.hyperparameters.', ''),
            ...values,
          ])}
        />
      )}
    </>
  );
}

function Overlaid({ runs, by, name }: RunsProps & Readonly<{ by: curve.AxisName; name: string }>) {
  const lines = runs.flatMap(({ view, series }, place) => {
    const own = curve.leadingFirst(series, name).find((each) => each.name === name);
    return own ? [{ label: view.run.runId, place, unit: own.unit, points: pointsOf(own, view, by) }] : [];
  });
  const data = useMemo(() => joined(lines.map(({ points }) => points)), [runs, by, name]);
  if (lines.length === 0) return <Empty>None of them has this series.</Empty>;
  const unit = { step: lines[0]?.unit ?? 'step', time: 'hour', dollars: '$' }[by];
  return (
    <Chart
      name={name}
      note={`${lines.length} runs by ${by}`}
      label={`${name} of ${lines.length} runs by ${by}`}
      axis={`compared ${by}`}
      lines={lines.map(({ label, place }) => ({ label, colour: '--quiet', ...LINES[place] }))}
      data={data}
      valueText={(value) => `${shortNumber(value)}${curve.metricUnit(name)}`}
      xText={(x) => `${unit} ${shortNumber(x)}`}
      isLarge
      table={{
        columns: ['run', ...numbers(unit, name)],
        rows: () =>
          lines.flatMap(({ label, points: [x, y] }) => x.map((each, at) => [label, each, y[at] ?? ''])),
      }}
    />
  );
}

type Figure = readonly [
  title: string,
  text: (value: number) => string,
  valueOf: (run: Read) => number | undefined,
  isHighBest?: boolean,
];

const secondsBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 1000;

const FIGURES: readonly Figure[] = [
  ['cost', dollarText, ({ view: { report, money } }) => report?.costUsd ?? money.usd],
  [
    'On-Demand would be',
    dollarText,
    ({ view: { report, money } }) => report?.onDemandUsd ?? money.onDemandUsd,
  ],
  [
    'took',
    durationText,
    ({ view: { run, report } }) => report && secondsBetween(run.createdAt, report.finishedAt),
  ],
  ['interruptions', String, ({ view }) => view.report?.interruptions],
  ['lost work', durationText, ({ view }) => view.money.lost.seconds],
];

/** A row a figure; the best of each stands out. */
function figuresOf(runs: readonly Read[], name = '') {
  const bestValue = ({ series }: Read) => {
    const own = series.find((each) => each.name === name);
    return own && curve.bestOf(own)?.value;
  };
  const best: readonly Figure[] = name
    ? [[`best ${name}`, shortNumber, bestValue, !curve.isFalling(name)]]
    : [];
  return [...best, ...FIGURES].map(([title, text, valueOf, isHighBest]) => {
    const values = runs.map(valueOf);
    const known = values.filter((value) => value !== undefined);
    const first = new Set(known).size > 1 ? Math[isHighBest ? 'max' : 'min'](...known) : undefined;
    const cells = values.map(
      (value) =>
        value !== undefined && <span class={value === first ? 'best' : undefined}>{text(value)}</span>,
    );
    return [title, ...cells];
  });
}
