/** The screen "Compare": curves of two to six runs over each other, their figures, and what differs between them. */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { durationText } from '../../client/amounts.ts';
import { timeOf } from '../../client/run-view.ts';
import { Chart, Swatch } from '../charts/chart.tsx';
import { joined } from '../charts/plot.tsx';
import { differences, pointsOf } from '../model/compared-runs.ts';
import {
  AXES,
  type AxisName,
  bestOf,
  isFalling,
  leadingFirst,
  metricUnit,
  type SeriesView,
} from '../model/curve.ts';
import { dollarText, shortName, shortNumber } from '../model/format.ts';
import { leadingName } from '../model/leading.ts';
import { Empty, Head, Section, Skeleton } from '../parts/card.tsx';
import { ChoiceButtons } from '../parts/controls.tsx';
import { numbers, Table } from '../parts/table.tsx';
import { Command, Pill, RunLink } from '../parts/text.tsx';
import { address, hrefOf, setQuery } from '../state/address.ts';
import { type AnswerOf, client, inWords } from '../state/api.ts';

const MOST_RUNS = 6;
const POINTS = 500;
const COLOURS = ['--runs', '--on-demand', '--spot', '--bad', '--warn', '--quiet'];
const DASHES = [[], [8, 3], [2, 3], [10, 3, 2, 3], [5, 5], [1, 4]];

type Read = Readonly<{ view: AnswerOf<'getRun'>; series: readonly SeriesView[] }>;
type RunsProps = Readonly<{ runs: readonly Read[] }>;

async function readRun(runId: string): Promise<Read | string> {
  const [run, series] = await Promise.all([
    client.call('getRun', { runId }).then(inWords),
    client.call('getSeries', { runId, points: POINTS }).then(inWords),
  ]);
  if (run.kind !== 'ok') return run.kind === 'refused' ? run.message : 'the API gives no answer';
  return { view: run.body, series: series.kind === 'ok' ? series.body.series : [] };
}

export function CompareScreen() {
  const { query } = address.value;
  const names = [...new Set((query.get('runs') ?? '').split(',').filter(Boolean))].slice(0, MOST_RUNS);
  const by = AXES.find((each) => each === query.get('x')) ?? 'step';
  // A text says why a run was not read.
  const known = useSignal<ReadonlyMap<string, Read | string>>(new Map());
  const read = (runId: string): void =>
    void readRun(runId).then((one) => {
      known.value = new Map([...known.value, [runId, one]]);
    });
  useEffect(() => {
    for (const runId of names) if (!known.value.has(runId)) read(runId);
  }, [names.join(' ')]);
  const all = names.map((name) => ({ name, one: known.value.get(name) }));
  const runs = all.flatMap(({ one }) => (typeof one === 'object' ? [one] : []));
  return (
    <>
      <Head title="Compare">
        <ChoiceButtons
          word="x"
          values={AXES}
          chosen={by}
          text={(each) => (each === 'dollars' ? '$' : each)}
        />
      </Head>
      <Chosen names={names} />
      {all.map(
        ({ name, one }) =>
          typeof one === 'string' && (
            <div key={name} class="alert">
              <p class="problem">{`${name}: ${one}`}</p>
              <button type="button" onClick={() => read(name)}>
                Try again
              </button>
            </div>
          ),
      )}
      {names.length === 0 && (
        <Empty>
          <p>Pick two to six runs in the list of all runs, or add one by its id.</p>
          <a class="button" href={hrefOf(['runs'])}>
            Runs
          </a>
        </Empty>
      )}
      {all.some(({ one }) => one === undefined) ? (
        <Skeleton />
      ) : (
        runs.length > 0 && <Compared runs={runs} by={by} />
      )}
      <Command text={`npx tidewheel compare ${names.join(' ') || 'RUN RUN'}`} />
    </>
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
      {names.map((name) => (
        <button
          key={name}
          type="button"
          aria-label={`take ${name} out`}
          onClick={() => setNames(names.filter((each) => each !== name))}
        >
          {`${shortName(name)} ×`}
        </button>
      ))}
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

function Compared({ runs, by }: RunsProps & Readonly<{ by: AxisName }>) {
  const ordered = runs.flatMap(({ view, series }) => leadingFirst(series, leadingName(view, series)));
  const names = [...new Set(ordered.map(({ name }) => name))];
  const wanted = address.value.query.get('series') ?? names[0];
  const differing = differences(runs.map(({ view }) => view.run));
  // A run has the colour of its curve.
  const columns = runs.map(({ view: { run } }, place) => ({
    title: run.runId,
    head: (
      <span class="cell">
        <Swatch place={place} />
        <RunLink runId={run.runId} />
      </span>
    ),
  }));
  const rows = differing.map(({ field, values }) => [
    field.replace('training.hyperparameters.', ''),
    ...values,
  ]);
  return (
    <>
      {wanted === undefined ? (
        <Empty>None of them has printed a number yet.</Empty>
      ) : (
        <Section title="Curves">
          <label>
            series
            <select
              value={wanted}
              onChange={({ currentTarget }) => setQuery({ series: currentTarget.value })}
            >
              {names.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <Overlaid runs={runs} by={by} name={wanted} />
        </Section>
      )}
      <Section title="Figures">
        <Table
          caption="outcomes"
          columns={['', ...columns]}
          rows={[
            ['state', ...runs.map(({ view }) => <Pill status={view.run.status} />)],
            ...figuresOf(runs, wanted),
          ]}
        />
      </Section>
      <Section title="What differs" note="equal settings are hidden">
        {rows.length === 0 ? (
          <Empty>Nothing that was declared, and they read the same data.</Empty>
        ) : (
          <Table caption="what differs" columns={['setting', ...columns]} rows={rows} />
        )}
      </Section>
    </>
  );
}

function Overlaid({ runs, by, name }: RunsProps & Readonly<{ by: AxisName; name: string }>) {
  const lines = runs.flatMap(({ view, series }, place) => {
    const own = leadingFirst(series, name).find((each) => each.name === name);
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
      lines={lines.map(({ label, place }) => ({
        label,
        colour: COLOURS[place] ?? '--quiet',
        dash: DASHES[place] ?? [],
      }))}
      data={data}
      valueText={(value) => `${shortNumber(value)}${metricUnit(name)}`}
      xText={(x) => `${unit} ${shortNumber(x)}`}
      isLarge
      table={{
        columns: ['run', ...numbers(unit, name)],
        rows: () =>
          lines.flatMap(({ label, points: [x, y] }) => x.map((each, place) => [label, each, y[place] ?? ''])),
      }}
    />
  );
}

/** A row a figure; the best of each stands out. */
function figuresOf(runs: readonly Read[], name: string | undefined) {
  const row = (
    title: string,
    text: (value: number) => string,
    valueOf: (run: Read) => number | undefined,
    isLowBest = true,
  ) => {
    const values = runs.map(valueOf);
    const known = values.filter((value) => value !== undefined);
    const best = new Set(known).size > 1 ? Math[isLowBest ? 'min' : 'max'](...known) : undefined;
    const cells = values.map(
      (value) =>
        value !== undefined && <span class={value === best ? 'best' : undefined}>{text(value)}</span>,
    );
    return [title, ...cells];
  };
  const bestValue = ({ series }: Read) => {
    const own = series.find((each) => each.name === name);
    return own && bestOf(own)?.value;
  };
  const took = ({ view: { run, report } }: Read) =>
    report && ((timeOf(report.finishedAt) ?? 0) - Date.parse(run.createdAt)) / 1000;
  return [
    ...(name === undefined ? [] : [row(`best ${name}`, shortNumber, bestValue, isFalling(name))]),
    row('cost', dollarText, ({ view: { report, money } }) => report?.costUsd ?? money.usd),
    row(
      'On-Demand would be',
      dollarText,
      ({ view: { report, money } }) => report?.onDemandUsd ?? money.onDemandUsd,
    ),
    row('took', durationText, took),
    row('interruptions', String, ({ view }) => view.report?.interruptions),
    row('lost work', durationText, ({ view }) => view.money.lost.seconds),
  ];
}
