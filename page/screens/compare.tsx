/** The screen "Compare": curves of two to six runs over each other, their figures, and what differs between them. */
import { differingInRuns } from '@tidewheel/kit/differences.ts';
import { useMemo } from 'preact/hooks';
import { durationText } from '../../client/amounts.ts';
import { Chart } from '../charts/chart.tsx';
import { joined, LOOKS, Swatch } from '../charts/plot.tsx';
import * as curve from '../model/curve.ts';
import { dollarText, shortName, shortNumber } from '../model/format.ts';
import { leadingName } from '../model/leading.ts';
import { Empty, Frame, Section } from '../parts/card.tsx';
import { ChoiceButtons } from '../parts/controls.tsx';
import { numbers, TableSection } from '../parts/table.tsx';
import { LinkButton, Pill, RunLink } from '../parts/text.tsx';
import { address, setQuery } from '../state/address.ts';
import type { AnswerOf } from '../state/api.ts';
import { useReading } from '../state/readings.ts';

const PLACES = [0, 1, 2, 3, 4, 5] as const;
const POINTS = 500;

type Read = Readonly<{ view: AnswerOf<'getRun'>; series: readonly curve.SeriesView[] }>;
type RunsProps = Readonly<{ runs: readonly Read[] }>;

/** @returns undefined until each of them is read or refused, which stands above the screen */
function useRead(names: readonly string[]): readonly Read[] | undefined {
  // Each place has its readings, as hooks are known by their order.
  const places = PLACES.map((place) => {
    const runId = names[place];
    const run = useReading('getRun', runId ? { runId } : undefined);
    const series = useReading('getSeries', runId ? { runId, points: POINTS } : undefined);
    return { run, series, isOpen: [run, series].some(({ body, refusal }) => runId && !body && !refusal) };
  });
  if (places.some(({ isOpen }) => isOpen)) return undefined;
  return places.flatMap(({ run: { body: view }, series: { body } }) =>
    view && names.includes(view.run.runId) ? [{ view, series: body?.series ?? [] }] : [],
  );
}

export function CompareScreen() {
  const { query } = address.value;
  const all = new Set((query.get('runs') ?? '').split(',').filter(Boolean));
  const names = [...all].slice(0, PLACES.length);
  const by = curve.AXES.find((each) => each === query.get('x')) ?? 'step';
  const of = { body: useRead(names), refusal: undefined };
  const tools = (
    <>
      <Chosen names={names} />
      <ChoiceButtons word="x" values={curve.AXES} chosen={by} />
    </>
  );
  return (
    <Frame title="Compare" tools={tools} of={of} command={`compare ${names.join(' ') || 'RUN RUN'}`}>
      {(runs) => (
        <>
          {runs.length > 0 && <Compared runs={runs} by={by} />}
          {names.length === 0 && (
            <Empty>
              <p>Pick two to six runs in the list of all runs, or add one by its id.</p>
              <LinkButton text="Runs" to={['runs']} />
            </Empty>
          )}
        </>
      )}
    </Frame>
  );
}

/** The key / leads to the field. */
function Chosen({ names }: Readonly<{ names: readonly string[] }>) {
  const choose = (next: readonly string[]): void => setQuery({ runs: next.join(',') });
  const add = (event: SubmitEvent): void => {
    event.preventDefault();
    const field = document.getElementById('find');
    if (!(field instanceof HTMLInputElement)) return;
    choose([...names, field.value.trim()]);
    field.value = '';
  };
  return (
    <form class="row" onSubmit={add}>
      {names.map((name) => {
        const leave = (): void => choose(names.filter((each) => each !== name));
        return (
          <button key={name} type="button" aria-label={`take ${name} out`} onClick={leave}>
            {`${shortName(name)} ×`}
          </button>
        );
      })}
      <input id="find" aria-label="run" placeholder="digits-000001" />
      <button type="submit" disabled={names.length >= PLACES.length}>
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
      <span class="row">
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
    const look = LOOKS[place];
    if (!own || !look) return [];
    return [{ label: view.run.runId, ...look, unit: own.unit, points: curve.comparedPoints(own, view, by) }];
  });
  const data = useMemo(() => joined(lines.map(({ points }) => points)), [runs, by, name]);
  if (lines.length === 0) return <Empty>None of them has this series.</Empty>;
  const unit = { step: lines[0]?.unit ?? 'step', time: 'hour', dollars: '$' }[by];
  return (
    <Chart
      name={name}
      note={`${lines.length} runs by ${by}`}
      axis={by}
      lines={lines}
      data={data}
      valueText={(value) => curve.unitText(name, value)}
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

const took = ({ run, report }: Read['view']): number | undefined =>
  report && (Date.parse(report.finishedAt) - Date.parse(run.createdAt)) / 1000;

const FIGURES: readonly Figure[] = [
  ['cost', dollarText, ({ view: { report, money } }) => (report ?? { costUsd: money.usd }).costUsd],
  ['On-Demand would be', dollarText, ({ view: { report, money } }) => (report ?? money).onDemandUsd],
  ['took', durationText, ({ view }) => took(view)],
  ['interruptions', String, ({ view }) => view.report?.interruptions],
  ['lost work', durationText, ({ view }) => view.money.lost.seconds],
];

/** A row a figure; the best of each stands out. */
function figuresOf(runs: readonly Read[], name = '') {
  const bestValue = ({ series }: Read) => {
    const own = series.find((each) => each.name === name);
    return own && curve.bestOf(own)?.value;
  };
  const best: Figure = [`best ${name}`, shortNumber, bestValue, !curve.isFalling(name)];
  return [...(name ? [best] : []), ...FIGURES].flatMap(([title, text, valueOf, isHighBest]) => {
    const values = runs.map(valueOf);
    const known = values.filter((value) => value !== undefined);
    if (known.length === 0) return [];
    const first = new Set(known).size > 1 ? Math[isHighBest ? 'max' : 'min'](...known) : undefined;
    const cells = values.map((value) => {
      const shown = value !== undefined && text(value);
      return value === first ? <strong>{shown}</strong> : shown;
    });
    return [[title, ...cells]];
  });
}
